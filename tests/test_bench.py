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
from bench import baseline, simulated
from bench.__main__ import BENCHES
from bench.api import Reply, backward
from bench.course import Call, calls, traced
from bench.hubs import SMALL
from bench.line import Calls, Line, delay_pushes
from bench.machine import Machine
from bench.rows import Agreement, Figure
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


def test_the_history_of_a_hub_says_when_beads_were_ready_claimed_and_closed(clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada = clone("ada")
    since = git(hub, "rev-parse", "main")
    env = {**os.environ, **traced(tmp_path / "trace", Path(os.environ["GIT_CONFIG_GLOBAL"]))}
    for words in (("create", "Do it", "--id", "hub-a"), ("claim", "hub-a", "--agent", "ada")):
        subprocess.run([*BD, *words], cwd=ada.path, env=env, check=True)
    ada.here("create", "Do that", "--id", "hub-b")
    ada.here("claim", "hub-b", "--agent", "ada")
    ada.here("close", "hub-a", "--agent", "ada", "--reason", "done")
    ada.here("comment", "hub-a", "No change of its status")
    made, claimed, *rest = found = simulated.changes(hub, since)
    assert [one.commit for one in found] == git(hub, "rev-list", "--reverse", f"{since}..main").split()
    assert [one.statuses for one in found] == [
        {"hub-a": "open"},
        {"hub-a": "in_progress"},
        {"hub-b": "open"},
        {"hub-b": "in_progress"},
        {"hub-a": "closed"},
        {},
    ]
    pushes = [call for call in calls(tmp_path / "trace") if call.verb == "push"]
    assert [call.tip for call in pushes] == [made.commit, claimed.commit]
    at_s = simulated.landed_s([made.commit, claimed.commit], pushes)
    assert at_s == {call.tip: call.ended_s for call in pushes}
    assert len(rest) == 4


def test_a_fleet_is_measured_from_the_first_ready_bead_to_the_last_close() -> None:
    """A commit that somebody else's push carried is in the hub when that push has ended; refused pushes count, and change nothing."""
    history = [
        simulated.Change("made", {"a": "open", "b": "open"}),
        simulated.Change("first", {"a": "in_progress"}),
        simulated.Change("carried", {"b": "in_progress"}),
        simulated.Change("both", {"a": "closed", "b": "closed"}),
    ]
    pushed = [("made", 10.0, 0), ("first", 12.0, 0), ("lost", 13.0, 1), ("both", 40.0, 0)]
    own = [Call(at_s - 1, at_s, "push", code, tip) for tip, at_s, code in pushed]
    other = [Call(14.0, 15.0, "ask", 0), Call(16.0, 18.0, "push", 0, "carried"), Call(30.0, 31.0, "fetch", 0)]
    assert simulated.seen(history, [own, other]) == simulated.Seen(per_minute=4.0, wait_s=5.0, pushes=6, lost=1)


def test_the_costs_are_those_of_undisturbed_calls_of_the_lone_agent() -> None:
    trace = [
        Call(0.0, 0.1, "fetch", 0),
        Call(0.3, 0.5, "push", 0),
        Call(3.5, 3.6, "fetch", 0),
        Call(3.9, 3.95, "push", 1),
        Call(4.0, 4.1, "fetch", 0),
        Call(4.4, 4.8, "push", 0),
        Call(7.8, 7.9, "list", 0),
    ]
    found = simulated.costs_of(trace, 2.0)
    assert [round(value, 3) for value in found] == [0.35, 0.3, 1.0]


@pytest.mark.parametrize(("measured", "paper", "verdict"), [(10, 11.5, "ok"), (10, 8.5, "ok"), (10, 8.4, "miss"), (0, 1, "miss")])
def test_an_agreement_is_in_percent_of_what_was_measured(measured: float, paper: float, verdict: str) -> None:
    assert Agreement("what", measured, paper, 15).verdict == verdict


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


def test_an_answer_of_an_older_tip_than_one_seen_before_is_counted() -> None:
    def reply(sent_s: float, done_s: float, tip: str) -> Reply:
        return Reply(sent_s, sent_s, done_s, 200, tip, b"")

    newer, older = reply(0.0, 1.0, "b"), reply(1.5, 2.0, "a")
    assert backward([newer, older], ["a", "b"]) == 1
    assert backward([newer, reply(0.5, 2.0, "a")], ["a", "b"]) == 0, "it was asked for before the newer one was seen"
    assert backward([older, reply(2.5, 3.0, "b")], ["a", "b"]) == 0
