"""What a command, the hub or the machine does wrong while a worker works: no bead is lost, and the worker goes on."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bd.cli.commands import work as work_command
from bd.store.hub_location import locate
from bd.store.replica import Replica
from bd.worker.child import Child, Lines
from bd.worker.job import Job
from bd.worker.loop import Worker
from bd.worker.prepared_child import PreparedChild
from bd.worker.result import DONE, FAILED, Outcome, outcome_of, read_result
from tests.fleet.poolhost import is_alive
from tests.running import BD
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.cli.app import App
    from bd.cli.worker_log import WorkerLog
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(30)

LIMIT = 4000
QUICK = {"BD_HEARTBEAT_INTERVAL": "1s"}


def work(clone: Clone, *words: str, options: tuple[str, ...] = ("--once",)) -> list[tuple[str, str]]:
    """Run a worker to its end: each attempt's bead and outcome."""
    result = clone.bd("work", "--agent", "coder", "--json", *options, "--", *words, env=QUICK)
    return [(one["id"], one["outcome"]) for one in result.json]


# --- what a command hands over -----------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"cost": Infinity}', '{"output": NaN}', "[" * 200_000, '{"outcome": [1]}', "\xff{"])
def test_a_result_that_is_no_json_is_invalid_output(text: str) -> None:
    outcome = outcome_of(0, text.encode("latin-1"), [])
    assert (outcome.what, outcome.kind) == (FAILED, "invalid_output")


@pytest.mark.parametrize("cost", ["9" * 400, "1e400", "-1", "true", '"much"'])
def test_a_cost_that_is_no_amount_is_left_out(cost: str) -> None:
    outcome = outcome_of(0, f'{{"cost": {cost}}}'.encode(), [])
    assert (outcome.what, outcome.cost) == (DONE, {})


def test_work_that_the_hub_refused_fails_with_its_cost_and_where_its_commits_are() -> None:
    done = outcome_of(0, b'{"cost": 0.5, "model": "m"}', [])._replace(branch="bd/hub-a")
    failure = Outcome(FAILED, "bad_output", "no").of_the_run(done).failure
    assert failure == {"reason": "bad_output", "error": "no", "branch": "bd/hub-a", "cost_usd": 0.5, "model": "m"}


def test_halves_of_characters_in_a_text_are_replaced() -> None:
    assert outcome_of(0, rb'{"text": "a\ud800b"}', []).text == "a?b"


def test_a_result_file_that_is_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("{}")
    found = [read_result(str(tmp_path / name)) for name in ("pipe", "device", "folder", "missing", "file")]
    assert found == [None, None, None, None, b"{}"]


@pytest.mark.parametrize("output", [r'"\udfff"', "[" * 100 + "]" * 100])
def test_what_the_hub_can_not_keep_is_a_failure_and_the_worker_goes_on(clone: Clones, hub: Path, output: str) -> None:
    alice = clone("alice")
    for bead_id in ("hub-a", "hub-b"):
        alice.here("create", "Do it", "--id", bead_id)
    script = f"[ $BD_BEAD_ID = hub-b ] || printf '%s' '{{\"output\": {output}}}' > $BD_RESULT_FILE"
    assert work(alice, "sh", "-c", script) == [("hub-a", "failed"), ("hub-b", "done")]
    (failure,) = tip_bead(hub, "hub-a").get("failures")
    assert failure["reason"] == "invalid_output"
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_a_bead_that_may_not_be_closed_is_a_failure_and_not_left_claimed(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "Do it", "--id", "hub-a")
    child = f"cd {bob.path} && {sys.executable} -m bd create Part --id hub-a.1 --parent hub-a --assignee other"
    alice.here("agent", "add", "other", "--role", "coding")
    assert work(alice, "sh", "-c", child, options=("--once", "--max-tasks", "1")) == [("hub-a", "failed")]
    bead = tip_bead(hub, "hub-a")
    assert bead.claim is None
    assert "unfinished children" in bead.get("failures")[0]["error"]


# --- what a command prints ---------------------------------------------------------------------


def run_child(*words: str, on_line: Callable[[str], None]) -> Child:
    ended = threading.Event()
    child = Child(words, ".", os.environ, None, Lines(on_line, LIMIT), ended.set, RUNTIME, grace_s=1.0)
    assert ended.wait(60)
    return child


def lines_of(*words: str) -> list[str]:
    lines: list[str] = []
    run_child(*words, on_line=lines.append)
    return lines


def test_of_a_line_without_end_only_the_beginning_is_kept() -> None:
    script = "import sys\nfor _ in range(100): sys.stdout.write('x' * 100_000)\nprint()\nprint('end')"
    assert [len(line) for line in lines_of(sys.executable, "-c", script)] == [LIMIT, 3]


def test_a_command_that_ends_without_a_line_end_is_heard() -> None:
    assert lines_of("printf", "one\n\ntwo") == ["one", "", "two"]


def test_a_command_is_not_over_before_it_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last it said is the reason of its failure."""
    monkeypatch.setattr("bd.worker.child._DRAIN_S", 60.0)
    goes_on, ended = threading.Event(), threading.Event()
    heard: list[str] = []

    def slow(line: str) -> None:
        goes_on.wait(60)
        heard.append(line)

    child = Child(("printf", "one\ntwo\n"), ".", os.environ, None, Lines(slow, LIMIT), ended.set, RUNTIME, grace_s=1.0)
    until(lambda: child.code is not None)
    assert not child.is_over
    goes_on.set()
    assert ended.wait(60)
    assert (child.is_over, heard) == (True, ["one", "two"])


def test_a_child_that_ends_before_its_preparation_does_is_seen_to_end() -> None:
    """Its worker would wait for it for ever."""
    changes: queue.SimpleQueue[None] = queue.SimpleQueue()
    looked = threading.Event()

    def begin() -> Child:
        child = run_child("true", on_line=print)
        changes.put(None)
        assert looked.wait(PATIENCE_S)
        return child

    prepared = PreparedChild(lambda _: None, begin, lambda: changes.put(None), RUNTIME)
    while not prepared.is_over:
        changes.get(timeout=PATIENCE_S)
        looked.set()


def test_a_bead_whose_model_no_variable_can_hold_is_given_back_and_ends_nobody(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    plan = {"title": "Strange", "priority": 0, "spec": {"model_preferences": ["a\0b"]}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    [strange] = alice.bd("create", "--file", str(tmp_path / "plan.json"), "--quiet").lines
    alice.bd("create", "Plain", "--id", "hub-plain", "--priority", "4")
    assert ("hub-plain", "done") in work(alice, "true")
    bead = tip_bead(hub, strange)
    assert bead is not None
    assert (bead.status, bead.claim) == ("open", None)


def test_a_listener_that_has_gone_does_not_block_the_command() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError

    child = run_child(sys.executable, "-c", "for _ in range(20_000): print('words, words')", on_line=gone)
    assert child.code == 0


# --- the clone's own notes ---------------------------------------------------------------------


def test_threads_of_one_worker_note_things_at_the_same_time(clone: Clones) -> None:
    hub = open_clone(locate(str(clone("alice").path)))
    failed: list[Exception] = []

    def note(number: int) -> None:
        try:
            for _ in range(300):
                hub.note_json("same.json", {"by": number, "words": "x" * 5000})
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=note, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert json.dumps(hub.noted_json("same.json"))
    hub.close()


# --- what the hub does -------------------------------------------------------------------------


def start(clone: Clone, *words: str, log: Path, **more: str) -> subprocess.Popen[str]:
    """A worker in a process group of its own."""
    with log.open("w") as err:
        return subprocess.Popen(
            [*BD, "work", "--agent", "coder", "--json", *words],
            cwd=clone.path,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            env={**os.environ, **more},
            start_new_session=True,
        )


def ended(worker: subprocess.Popen[str]) -> list[tuple[str, str]]:
    out, _ = worker.communicate(timeout=PATIENCE_S)
    return [(one["id"], one["outcome"]) for one in json.loads(out)]


def waiting(tmp_path: Path) -> tuple[str, ...]:
    """A command that says it runs, and works until it is told to go on."""
    return ("sh", "-c", f"touch {tmp_path}/runs; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo did it")


def refuse(hub: Path, name: str, script: str) -> Path:
    hook = hub / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)
    return hook


@pytest.mark.one_in(8)
@pytest.mark.parametrize("where", ["_sign", "_open"])
@pytest.mark.parametrize("error", [OSError("too many open files"), ValueError("a bug")])
def test_signs_of_life_go_on_after_any_failure(
    where: str, error: Exception, clone: Clones, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends when the next sign was given."""
    ann, given, failed = clone("ann"), tmp_path / "given", list[str]()
    sign, opener = Job._sign, work_command._opener

    def fail(here: str) -> None:
        if here == where and not failed and threading.current_thread() is not threading.main_thread():
            failed.append(here)
            raise error

    def signing(self: Job, hub: Replica, interval_s: float, known: str) -> str:
        fail("_sign")
        tip = sign(self, hub, interval_s, known)
        given.touch()
        return tip

    def opening(app: App, log: WorkerLog) -> Callable[[], Replica]:
        opened = opener(app, log)
        return lambda: (fail("_open"), opened())[1]

    monkeypatch.setattr(Job, "_sign", signing)
    monkeypatch.setattr(work_command, "_opener", opening)
    monkeypatch.setenv("BD_HEARTBEAT_INTERVAL", "1s")
    ann.here("create", "One", "--id", "hub-a")
    script = f"until [ -e {given} ]; do sleep 0.05; done"
    told = ann.here("work", "--max-tasks", "1", "--agent", "coder", "--json", "--", "sh", "-c", script).json
    assert ([one["outcome"] for one in told], failed) == (["done"], [where])


def test_no_thread_outlives_its_worker(clone: Clones, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BD_DRAIN_FILE", str(tmp_path / "drain"))  # of a pool that does not drain it
    ann, before = clone("ann"), set(threading.enumerate())
    ann.here("create", "One", "--id", "hub-a")
    ann.here("work", "--max-tasks", "1", "--agent", "coder", "--", "true")
    ann.here("work", "--once", "--agent", "coder", "--", "true", code=3)
    for thread in set(threading.enumerate()) - before:
        thread.join()  # one that goes on for ever is told of here


def test_a_worker_that_breaks_off_leaves_nothing_running(clone: Clones, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a command that does not heed TERM."""
    said = tmp_path / "said"

    def broken(_: Worker) -> None:
        until(said.exists)
        raise KeyboardInterrupt

    monkeypatch.setattr(Worker, "_wait", broken)
    ann, before = clone("ann"), set(threading.enumerate())
    ann.here("create", "One", "--id", "hub-a")
    script = f"trap '' TERM; echo $$ > {said}.new; mv {said}.new {said}; while :; do sleep 0.1; done"
    ann.here("work", "--agent", "coder", "--", "sh", "-c", script, code=130)
    until(lambda: not is_alive(int(said.read_text())))
    for thread in set(threading.enumerate()) - before:
        thread.join()


@pytest.mark.slow
def test_finished_work_is_kept_in_the_clone_while_the_hub_is_away(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    for bead_id in ("hub-a", "hub-b"):
        alice.here("create", "Do it", "--id", bead_id)
    worker = start(alice, "--once", "--", *waiting(tmp_path), log=tmp_path / "log")
    until((tmp_path / "runs").exists)
    hub.rename(tmp_path / "away.git")
    (tmp_path / "go").touch()
    assert ended(worker) == [("hub-a", "done")]
    (tmp_path / "away.git").rename(hub)
    alice.here("sync")
    assert tip_bead(hub, "hub-a").get("close_reason") == "did it"
    assert tip_bead(hub, "hub-b").claim is None


def test_a_server_that_refuses_for_a_moment_costs_no_finished_work(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a")
    worker = start(alice, "--once", "--", *waiting(tmp_path), log=tmp_path / "log")
    until((tmp_path / "runs").exists)
    hook = refuse(hub, "pre-receive", f"touch {tmp_path}/refused; exit 1")
    (tmp_path / "go").touch()
    until((tmp_path / "refused").exists)
    hook.unlink()
    assert ended(worker) == [("hub-a", "done")]
    assert tip_bead(hub, "hub-a").status == "closed"


def test_a_claim_ends_where_the_server_no_longer_takes_refs_beside_the_branch(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a")
    worker = start(alice, "--once", "--", *waiting(tmp_path), log=tmp_path / "log")
    until((tmp_path / "runs").exists)
    refuse(hub, "update", "case $1 in refs/bd/*) exit 1;; esac")
    (tmp_path / "go").touch()
    assert ended(worker) == [("hub-a", "done")]
    assert tip_bead(hub, "hub-a").status == "closed"


def test_a_probe_leaves_nothing_on_a_server_that_does_not_list(clone: Clones, hub: Path) -> None:
    git(hub, "config", "uploadpack.hideRefs", "refs/bd")
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a")
    assert work(alice, "true") == [("hub-a", "done")]
    assert git(hub, "for-each-ref", "--format=%(refname)", "refs/bd") == "refs/bd/probed"  # of whoever made the hub


def test_a_bead_that_is_gone_is_lost_and_leaves_nothing_behind(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "Do it", "--id", "hub-a")
    worker = start(alice, "--once", "--", *waiting(tmp_path), log=tmp_path / "log")
    until((tmp_path / "runs").exists)
    git(bob.path, "pull", "--quiet")
    git(bob.path, "rm", "--quiet", "beads/hub-a.yaml")
    git(bob.path, "commit", "--quiet", "--message", "by hand")
    git(bob.path, "push", "--quiet")
    (tmp_path / "go").touch()
    assert ended(worker) == [("hub-a", "lost")]
    folder = alice.path / ".git" / "bd"
    assert [path for name in ("work", "beats", "progress") for path in folder.glob(f"{name}/*")] == []


# --- signals and leftovers ---------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_still_gives_the_bead_back(clone: Clones, hub: Path, tmp_path: Path, number: int) -> None:
    """As Ctrl-C in a terminal does: the worker's git processes get it too."""
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a")
    worker = start(alice, "--grace", "1s", "--", *waiting(tmp_path), log=tmp_path / "log")
    until((tmp_path / "runs").exists)
    for _ in range(3):
        os.killpg(worker.pid, number)
        time.sleep(0.02)
    assert ended(worker) == [("hub-a", "released")]
    assert tip_bead(hub, "hub-a").claim is None


def test_what_killed_workers_left_is_removed_a_day_later(clone: Clones) -> None:
    alice = clone("alice")
    folder = alice.path / ".git" / "bd"
    for name in ("work/TOKEN/bead.json", "beats/TOKEN", "progress/hub-x.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    alice.bd("overseer", "--once", "--agent", "boss")
    assert (folder / "work/TOKEN").exists()
    alice.bd("overseer", "--once", "--agent", "boss", env={"BD_TEST_CLOCK_OFFSET_S": "90000"})
    assert [path for name in ("work", "beats", "progress") for path in folder.glob(f"{name}/*")] == []


def test_what_an_ended_command_started_ends_with_it(clone: Clones, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a")
    script = f"(trap '' TERM; exec sleep 86400) & echo $! > {tmp_path}/forked; exec sleep 86400"
    assert work(alice, "sh", "-c", script, options=("--once", "--idle-timeout", "1s")) == [("hub-a", "failed")]
    forked = int((tmp_path / "forked").read_text())
    until(lambda: not is_running(forked))


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
