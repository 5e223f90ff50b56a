"""The benchmarks' instruments: what they count, and that each is explained. How fast anything is, is no test's business."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bench
from bench import baseline
from bench.__main__ import BENCHES
from bench.hubs import SMALL
from bench.line import Calls, Line, delay_pushes
from bench.machine import Machine
from bench.rows import Figure
from bench.stopwatch import Program, paired, spent
from bench.timeline import WATCHED
from tests.running import BD
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(3)

TYPED = Path(bench.__file__).with_name("typed")


@pytest.fixture
def machine() -> Iterator[Machine]:
    made = Machine(quick=True)
    yield made
    made.remove()


def test_each_section_is_explained() -> None:
    words = (bench.__doc__ or "").replace(",", " ").split()
    assert [name for name in BENCHES if name not in words] == []


@pytest.mark.parametrize(("module", "inside", "function"), WATCHED)
def test_every_function_that_the_timeline_watches_is_there(module: str, inside: str, function: str) -> None:
    found = importlib.import_module(module)
    assert function in vars(getattr(found, inside) if inside else found)


@pytest.mark.parametrize(
    ("value", "bound", "verdict"),
    [(3, "<", "miss"), (3, "<=", "ok"), (3.1, "<=", "miss"), (3, ">=", "ok"), (2.9, ">=", "miss"), (2.9, "<", "ok")],
)
def test_a_figure_is_held_against_its_limit(value: float, bound: str, verdict: str) -> None:
    assert Figure("what", value, "", 3, bound).verdict == verdict


@pytest.mark.parametrize(
    ("value", "known", "verdict"),
    [
        (1.0, {"what": 1.0}, []),
        (1.25, {"what": 1.0}, []),
        (1.26, {"what": 1.0}, ["what"]),
        (0.1, {"what": 1.0}, []),
        (9.0, {}, []),
    ],
)
def test_the_gate_holds_what_is_worse_than_its_baseline(value: float, known: dict[str, float], verdict: list[str]) -> None:
    assert baseline.worse([baseline.Held("what", value)], known) == verdict


def test_of_two_measurements_the_lesser_counts() -> None:
    first, second = [baseline.Held("a", 2.0), baseline.Held("b", 1.0)], [baseline.Held("a", 1.0), baseline.Held("b", 3.0)]
    assert [held.value for held in baseline.least([first, second])] == [1.0, 1.0]


@pytest.mark.slow
def test_every_ratio_of_the_baseline_is_measured(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "FAR_S", 0.0)
    monkeypatch.setattr(baseline, "FLAT", SMALL)
    found = {held.what: held for measure in baseline.MEASURES for held in measure(machine, machine.bd)}
    assert json.loads(baseline.BASELINE.read_text())["ratios"].keys() == {what for what in found if not found[what].is_of_two}
    assert sum(held.is_of_two for held in found.values()) == 3
    assert 1 <= found["connections of a claim, 150 ms away"].value <= 2


def test_a_round_is_compared_within_itself() -> None:
    assert paired([1, 20, 3], [2, 40, 6]) == 0.5


def test_the_processor_time_of_processes_below_is_counted(machine: Machine) -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    assert spent(machine, Program([machine.python, "-c", script])).cpu_ms >= 200


def test_refused_pushes_are_counted(machine: Machine, clone: Clones) -> None:
    line = Line(machine)
    env = {**os.environ, **line.of("ada")}
    ada, ben = clone("ada"), clone("ben")
    for one in (ada, ben):
        git(one.path, "commit", "--quiet", "--allow-empty", "-m", one.path.name)

    def call(where: Path, *words: str) -> int:
        return subprocess.run(["git", *words], cwd=where, env=env, capture_output=True).returncode

    assert call(ben.path, "push", "origin", "HEAD:main") == 0
    assert call(ada.path, "push", "origin", "HEAD:refs/heads/main") != 0
    assert call(ada.path, "push", "origin", "HEAD:refs/bd/intents/x") == 0
    assert call(ada.path, "fetch") == 0
    assert call(ada.path, "ls-remote") == 0
    assert call(ada.path, "status") == 0
    assert line.drain() == Calls(pushes=3, on_branch=2, beside=1, looks=2)
    assert line.drain() == Calls(0, 0, 0, 0)


def test_every_push_of_bd_is_seen(machine: Machine, clone: Clones) -> None:
    line = Line(machine)
    ada = clone("ada")
    subprocess.run([*BD, "create", "Do it"], cwd=ada.path, env={**os.environ, **line.of("ada")}, check=True)
    assert line.drain("ben").pushes == 0
    subprocess.run([*BD, "create", "Do that"], cwd=ada.path, env={**os.environ, **line.of("ada")}, check=True)
    calls = line.drain("ada")
    assert calls.on_branch == 1


def test_a_hub_that_takes_its_time_is_a_hook_and_can_be_undone(hub: Path) -> None:
    delay_pushes(hub, 0.5)
    assert "sleep 0.5" in (hub / "hooks" / "pre-receive").read_text()
    delay_pushes(hub, 0)
    assert not (hub / "hooks" / "pre-receive").exists()


def test_the_retry_loop_takes_what_is_open_and_no_more(clone: Clones, hub: Path) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    argv = ["sh", str(TYPED / "retry.sh")]
    done = [subprocess.run([*argv, name], cwd=clone(name).path, capture_output=True, text=True) for name in ("ben", "cat")]
    assert [(each.returncode, each.stdout) for each in done] == [(0, "hub-a\n"), (3, "")]
    assert (tip_bead(hub, "hub-a").status, tip_bead(hub, "hub-a").get("assignee")) == ("in_progress", "ben")
