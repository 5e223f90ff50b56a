"""`bd demo` from end to end, and its parts: the example fleet, the board, the lines."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bd.core.errors import Damaged
from bd.core.model import Bead
from bd.demo.board import Board, Happening, read_happening
from bd.demo.example import example_folder, in_work_order, read_example, sized
from bd.demo.hub import Demo
from bd.demo.view import Lines, LiveTable
from bd.policy.eligibility import is_root, matches_skills
from bd.policy.roles import skills_of
from tests.fleet.poolhost import is_alive
from tests.memory import MemorySnapshot
from tests.running import run_here, run_process, start_process
from tests.truth import commit_file, git, log, tip
from tests.waiting import until

pytestmark = pytest.mark.one_in(15)

# An example that the package reads: `example_folder("factory")`, or the default of its parameter.
EXAMPLES = re.compile(r"""example_folder\((?:name: str = )?"(\w+)"\)""")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


# --- the whole ----------------------------------------------------------------------------


@pytest.mark.one_in(1)
def test_every_bead_of_the_example_is_for_an_agent() -> None:
    """A root without a prompt waits for a person, and the race for ever."""
    beads = [Bead(fields) for fields in read_example().beads]
    snapshot = MemorySnapshot(beads)
    assert [bead.id for bead in beads if is_root(bead, snapshot)] == []
    assert any(snapshot.has_children(bead.id) for bead in beads), "there is an epic among them"


@pytest.mark.slow
def test_the_work_is_done_and_the_proof_holds(tmp_path: Path) -> None:
    where = tmp_path / "made"
    told = run_process("demo", "--beads", "6", "--dir", str(where), "--seed", "1", "--json", cwd=tmp_path).json
    assert told["verified"]
    assert (told["beads"], told["done"], told["claims"], told["doubles"]) == (6, 6, 6, 0)
    assert told["pushes"] >= told["claims"]
    assert sum(agent["done"] for agent in told["agents"].values()) == 6
    assert told["hub"] == str(where / "hub.git")
    # The same, asked of git: each bead was claimed by one commit, and every agent is an author of its own.
    claims = [line for line in log(where / "hub.git") if "claim" in line]
    assert len({re.search(r"claim:? (hub-\S+)", line).group(1) for line in claims}) == len(claims) == 6
    statuses = git(where / "hub.git", "grep", "-h", "^status:", "refs/heads/main", "--", "beads").splitlines()
    assert statuses == ["status: closed"] * 6


@pytest.mark.slow
def test_plain_lines_tell_the_story_and_what_to_type_next(tmp_path: Path) -> None:
    told = run_process("demo", "--beads", "4", "--dir", "made", cwd=tmp_path)
    assert not CONTROL.search(told.out.replace("\n", ""))
    assert told.err == ""
    clone = tmp_path / "made" / "clone"
    assert "4 beads, 4 done; 4 claims; no bead had two owners" in told.out
    assert f"cd {clone} && " in told.out
    # What it says to type works, in the folder it says: the clone is where the hub is.
    assert len(run_process("list", "--all", "--json", cwd=clone).json) == 4
    shown = re.search(r"bd history (\S+)", told.out)
    assert shown
    assert run_process("history", shown.group(1), "--json", cwd=clone).json
    assert git(clone, "rev-parse", "HEAD") == tip(tmp_path / "made" / "hub.git")
    assert git(clone, "status", "--porcelain") == ""


def test_nothing_is_kept_where_nothing_is_wanted(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    told = run_process("demo", "--beads", "1", "--no-keep", "--json", cwd=tmp_path, env=env).json
    assert told["verified"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_the_callers_identity_and_hub_stay_out(tmp_path: Path) -> None:
    env = {"BD_AGENT": "zed", "BD_TOKEN": "x", "BEADS_DIR": str(tmp_path / "elsewhere"), "BD_BRANCH": "other"}
    told = run_here("demo", "--beads", "1", "--dir", "made", "--json", cwd=tmp_path, env=env).json
    assert told["verified"]
    assert set(told["agents"]) == {"brenner", "codemonkey", "pltops", "romanov"}


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine", encoding="utf-8")
    told = run_here("demo", "--dir", "mine", "--no-keep", "--json", cwd=tmp_path, code=2)
    assert told.json["code"] == "bad_input"
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]


def test_a_proof_that_does_not_hold_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    well_behaved = Demo.bring_along

    def meddle(demo: Demo) -> None:
        """Type a claim into a bead's file and push it with plain git, as bd never would."""
        well_behaved(demo)
        name = next((demo.clone_path / "beads").glob("*.yaml")).name
        text = (demo.clone_path / "beads" / name).read_text(encoding="utf-8")
        commit_file(demo.clone_path, f"beads/{name}", f"{text}claim:\n  agent: zed\n  token: T\n")
        git(demo.clone_path, "push", "--quiet", "origin", "HEAD:main")

    monkeypatch.setattr(Demo, "bring_along", meddle)
    told = run_here("demo", "--beads", "1", "--dir", "made", "--no-keep", "--json", cwd=tmp_path, code=7)
    assert told.json["code"] == "damaged"
    assert [violation["code"] for violation in told.json["violations"]] == ["unannounced"]
    assert (tmp_path / "made" / "hub.git").is_dir(), "the evidence is kept"


def _first_claim(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if b" claimed " in line:
            return line.decode()
    raise AssertionError("the race never began")


def _agents_of(folder: Path) -> dict[str, int]:
    """The process of each agent, from the first line of its log."""
    found = {}
    for log_path in (folder / "logs").iterdir():
        name, process_id = log_path.read_text(encoding="utf-8").split("\n", 1)[0].split(" is process ")
        found[name] = int(process_id)
    return found


def test_an_interrupt_ends_every_agent(tmp_path: Path) -> None:
    process = start_process("demo", "--dir", str(tmp_path / "made"), cwd=tmp_path)
    _first_claim(process)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    agents = _agents_of(tmp_path / "made")
    assert len(agents) == 4
    for process_id in agents.values():
        until(lambda process_id=process_id: not is_alive(process_id))  # type: ignore[misc]


def test_an_agent_that_dies_ends_the_demo(tmp_path: Path) -> None:
    process = start_process("demo", "--dir", str(tmp_path / "made"), "--no-keep", cwd=tmp_path)
    _first_claim(process)
    os.kill(_agents_of(tmp_path / "made")["romanov"], signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 7
    assert b"the agent romanov ended early" in err
    assert (tmp_path / "made" / "logs" / "romanov.log").exists(), "what went wrong is kept, to be looked at"


# --- the example fleet --------------------------------------------------------------------


def test_the_example_is_whole() -> None:
    example = read_example()
    assert set(example.agents) == {"brenner", "codemonkey", "pltops", "romanov"}
    assert len(example.beads) == 25
    assert {path.stem for path in (example_folder() / "beads").iterdir()} == {bead["id"] for bead in example.beads}
    ids = {bead["id"] for bead in example.beads}
    for bead in example.beads:
        assert {*bead["depends_on"], *([bead["parent"]] if "parent" in bead else [])} <= ids


def test_a_wheel_has_what_the_demo_reads() -> None:
    root = Path(__file__).parents[2]
    wheel = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    names = {name for text in (root / "bd" / "demo").glob("*.py") for name in EXAMPLES.findall(text.read_text(encoding="utf-8"))}
    assert wheel["force-include"] == {f"examples/{name}": f"bd/examples/{name}" for name in names}


def test_some_work_fits_two_agents_and_some_nobody() -> None:
    example = read_example()
    able = [
        sum(matches_skills(Bead(bead), skills_of(agent)) for agent in example.agents.values() if not agent.get("fallback"))
        for bead in example.beads
    ]
    assert able.count(2) >= 3
    assert able.count(0) >= 3


def test_every_need_is_met_by_an_agent_who_fits() -> None:
    example = read_example()
    for bead in example.beads:
        needs = set(bead.get("needs", []))
        fitting = [
            agent for agent in example.agents.values() if agent.get("fallback") or matches_skills(Bead(bead), skills_of(agent))
        ]
        assert any(needs <= set(agent["capabilities"]) for agent in fitting), bead["id"]


@pytest.mark.parametrize("count", [1, 7, 24, 25, 26, 60])
def test_any_number_of_beads_can_be_worked_off(count: int) -> None:
    beads = read_example(count).beads
    assert len(beads) == count
    names = [bead["name"] for bead in beads]
    assert len(set(names)) == count
    for place, bead in enumerate(beads):
        assert set(bead["depends_on"]) <= set(names)
        assert "parent" not in bead or bead["parent"] in names[:place]
    assert len([bead for bead in beads if "id" in bead]) == min(count, 25)


def test_work_order_puts_what_is_waited_for_first() -> None:
    beads: list[dict[str, Any]] = [
        {"id": "hub-a", "priority": 0, "depends_on": ["hub-b"]},
        {"id": "hub-b", "priority": 3},
        {"id": "hub-c", "priority": 2},
    ]
    assert [bead["id"] for bead in in_work_order(beads)] == ["hub-c", "hub-b", "hub-a"]
    assert [bead["id"] for bead in sized(beads, 1)] == ["hub-c"]


def test_beads_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(Damaged, match="hub-a, hub-b"):
        in_work_order([{"id": "hub-a", "depends_on": ["hub-b"]}, {"id": "hub-b", "depends_on": ["hub-a"]}])


# --- the board and how it looks -----------------------------------------------------------


def made_board() -> Board:
    return Board({"ann": "coding", "ben": "research"}, {"hub-a": "Fix it", "hub-b": "Research: It"})


def test_a_board_adds_up_what_happens() -> None:
    board = made_board()
    board.take(Happening("ann", (), ("hub-a",), 2), 0.5)
    assert (board.rows["ann"].bead, board.closed, board.is_done) == ("hub-a", 0, False)
    board.take(Happening("ann", ("hub-a",), ("hub-b",), 1), 1.0)
    assert board.rows["ann"] == ("ann", "coding", "hub-b", 1, 3)
    board.take(Happening("ann", ("hub-b",), (), 1), 1.5)
    assert (board.rows["ann"].bead, board.closed, board.is_done) == ("", 2, True)
    assert board.pushes_per_claim == 2.0


def test_a_happening_is_read_from_a_commit() -> None:
    head = "tree 0\nauthor ann <ann@hub> 0 +0000\n\nclose: hub-a by ann, claim hub-b\n\n"
    form = 'Bd-Op: {"verb":"close","uid":"U","by":"agent:ann","at":"x","args":{"ids":["hub-a"]}}\n'
    told = f"{head}{form}Bd-Bead: hub-a\nBd-Bead: hub-b\nBd-Agent: ann\nBd-Tries: 3\n"
    assert read_happening(told.encode()) == Happening("ann", ("hub-a",), ("hub-b",), 3)
    assert read_happening(told.replace('"close"', '"comment"').encode()) is None
    assert read_happening(f"{head}no trailers".encode()) is None


def test_each_event_is_one_line_and_is_written_once() -> None:
    board = made_board()
    lines: list[str] = []
    with Lines(lines.append) as view:
        board.take(Happening("ann", (), ("hub-a",), 1), 0.5)
        view.show(board, 0.6)
        view.show(board, 0.7)
        board.take(Happening("ann", ("hub-a",), (), 2), 1.5)
        view.show(board, 1.6)
    assert [line.split() for line in lines] == [
        ["0.5s", "ann", "claimed", "hub-a", "Fix", "it"],
        ["1.5s", "ann", "closed", "hub-a", "(2", "tries)", "Fix", "it"],
    ]


def test_the_live_table_keeps_to_its_width(capsys: pytest.CaptureFixture[str]) -> None:
    board = Board({"ann": "coding"}, {"hub-a": "[bold]A title that is much longer than there is room for[/bold] " * 3})
    board.take(Happening("ann", (), ("hub-a",), 1), 0.5)
    with LiveTable(80) as view:
        view.show(board, 0.6)
    shown = capsys.readouterr().out
    assert "[bold]" in shown
    assert "hub-a" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
