"""The example fleet's crontab and its worker: the lines are those that bd writes, and the worker says how it went."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bd.core.schema import AGENT_FIELDS
from bd.core.times import duration_s
from bd.demo.example import example_folder
from bd.schedule.interval import timetable
from bd.store.yaml import codec

FOLDER = Path(__file__).parents[2] / "examples" / "fleet"
AGENTS = example_folder() / "agents"
BEAD = {"id": "hub-7k3q", "title": "Fix CORS", "description": "It fails.\n", "acceptance_criteria": "- it works\n"}


def interval_of(agent: str) -> float:
    fields = codec.parse((AGENTS / f"{agent}.yaml").read_bytes(), AGENT_FIELDS).fields
    return duration_s(str(fields["interval"]))


def test_the_crontab_is_what_bd_writes() -> None:
    lines = [line for line in (FOLDER / "crontab").read_text().splitlines() if line and not line.startswith("#")]
    agents = {path.stem for path in AGENTS.glob("*.yaml")}
    found = {line.partition(" work --agent ")[2].partition(" ")[0]: line for line in lines if " work --agent " in line}
    assert set(found) == agents
    assert len(lines) == len(agents) + 1
    for agent, line in found.items():
        assert line.startswith(f"{timetable(agent, interval_of(agent)).cron} cd /srv/fleet/hub && ")
        assert f" bd work --agent {agent} --once -C /srv/fleet/hub -- /srv/fleet/worker.sh " in line
        assert line.endswith(f" >> /srv/fleet/hub/.git/bd/logs/{agent}.log 2>&1")
    assert sum(" bd overseer --once " in line for line in lines) == 1


def run_worker(folder: Path, *program: str) -> tuple[int, dict[str, Any] | None]:
    """The worker's exit code, and what it said in the result file."""
    (folder / "bead.json").write_text(json.dumps(BEAD))
    result = folder / "result.json"
    given = {
        "BD_BEAD_ID": "hub-7k3q",
        "BD_ATTEMPT": "2",
        "BD_BEAD_FILE": str(folder / "bead.json"),
        "BD_RESULT_FILE": str(result),
    }
    ended = subprocess.run([str(FOLDER / "worker.sh"), *program], env={**os.environ, **given}, capture_output=True)
    return ended.returncode, json.loads(result.read_text()) if result.exists() else None


def test_the_worker_hands_the_bead_on_and_the_answer_back(tmp_path: Path) -> None:
    code, said = run_worker(tmp_path, "cat")
    assert code == 0
    assert said is not None
    assert said["outcome"] == "done"
    assert said["text"] == "- it works"
    assert said["output"]["answer"].splitlines()[0] == "# Fix CORS (hub-7k3q, attempt 2)"
    assert "## Description\n\nIt fails." in said["output"]["answer"]


@pytest.mark.parametrize(
    ("program", "kind", "says"), [("echo no; exit 3", "other", "exit code 3: no"), ("exit 0", "invalid_output", "said nothing")]
)
def test_the_worker_tells_a_failure(tmp_path: Path, program: str, kind: str, says: str) -> None:
    code, said = run_worker(tmp_path, "sh", "-c", program)
    assert code == 0
    assert said is not None
    assert (said["outcome"], said["kind"]) == ("failed", kind)
    assert says in said["text"]


@pytest.mark.parametrize("program", [(), ("sh", "-c", "exit 75")])
def test_the_worker_gives_back_what_it_can_not_do(tmp_path: Path, program: tuple[str, ...]) -> None:
    assert run_worker(tmp_path, *program) == (75, None)
