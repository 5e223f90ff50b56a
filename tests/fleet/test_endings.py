"""However bd ends, no command that it has started goes on, and its bead is free, finished, or still claimed until it stalls.

The table is signal x kind of command; a worker has one bead of each kind in hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.processes.commands import KINDS, all_gone, hard_to_end, pids_of
from tests.running import BD
from tests.truth import git, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = [
    pytest.mark.one_in(9),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere daemons leave their tree"),
]

BEADS = {f"hub-{number}": kind for number, kind in enumerate(KINDS)}


class Ending(NamedTuple):
    """How bd is ended: a signal, to it alone or to its whole group, perhaps under nohup first."""

    number: int
    to_group: bool = False
    is_nohup: bool = False


ENDINGS = {
    "TERM": Ending(signal.SIGTERM),
    "INT": Ending(signal.SIGINT),
    "HUP": Ending(signal.SIGHUP),
    "QUIT": Ending(signal.SIGQUIT),
    "KILL": Ending(signal.SIGKILL),
    "HUP to the group": Ending(signal.SIGHUP, to_group=True),
    "QUIT to the group": Ending(signal.SIGQUIT, to_group=True),
    "KILL to the group": Ending(signal.SIGKILL, to_group=True),
    "HUP under nohup": Ending(signal.SIGHUP, is_nohup=True),
}


def start(clone: Clone, *words: str, log: Path, is_nohup: bool = False) -> subprocess.Popen[bytes]:
    """A worker of short grace and frequent heartbeats, in a process group of its own."""
    command = [*BD, "work", "--agent", "coder", "--grace", "0.5s", *words]
    env = {**os.environ, "BD_HEARTBEAT_INTERVAL": "1s"}
    before = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"] if is_nohup else []
    with log.open("w") as out:
        return subprocess.Popen([*before, *command], cwd=clone.path, stdout=out, stderr=out, env=env, start_new_session=True)


def hard_commands(tmp_path: Path) -> list[str]:
    """A command that is of another kind for each bead."""
    cases = "".join(f"{bead}) exec {shlex.join(hard_to_end(kind, tmp_path / bead))};; " for bead, kind in BEADS.items())
    return ["sh", "-c", f"case $BD_BEAD_ID in {cases} esac"]


@pytest.fixture
def at_work(clone: Clones, tmp_path: Path) -> Iterator[Callable[..., tuple[subprocess.Popen[bytes], list[int]]]]:
    """Starts a worker with a bead of each kind in hand; nothing of it is left in the end."""
    pids: list[int] = []

    def begin(*, is_nohup: bool = False) -> tuple[subprocess.Popen[bytes], list[int]]:
        ada = clone("ada")
        for bead in BEADS:
            ada.here("create", "Do it", "--id", bead)
        words = ("--jobs", str(len(BEADS)), "--", *hard_commands(tmp_path))
        worker = start(ada, *words, log=tmp_path / "log", is_nohup=is_nohup)
        for bead, kind in BEADS.items():
            pids.extend(pids_of(kind, tmp_path / bead))
        pids.append(worker.pid)
        return worker, pids[:-1]

    yield begin
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.one_in(27)
@pytest.mark.parametrize("name", ENDINGS)
def test_where_the_processes_and_the_beads_are(
    name: str, at_work: Callable[..., tuple[subprocess.Popen[bytes], list[int]]], hub: Path, clone: Clones
) -> None:
    ending = ENDINGS[name]
    worker, pids = at_work(is_nohup=ending.is_nohup)
    (os.killpg if ending.to_group else os.kill)(worker.pid, ending.number)
    if ending.is_nohup:
        sign = git(hub, "for-each-ref", "refs/bd/claims")
        until(lambda: git(hub, "for-each-ref", "refs/bd/claims") != sign)
        assert worker.poll() is None, "it has not heard of it"
        worker.terminate()
    code = worker.wait(PATIENCE_S)
    if ending.number == signal.SIGKILL:
        until(lambda: all_gone(pids))
        assert [tip_bead(hub, bead).status for bead in BEADS] == ["in_progress"] * len(BEADS)
        bob = clone("bob")
        for later_s in (60, 120, 180):  # who has been silent for the stall time, by this observer's own clock
            bob.bd("stalled", "--reassign", env={"BD_TEST_UPTIME_OFFSET_S": str(later_s)})
        assert [tip_bead(hub, bead).get("failures")[-1]["reason"] for bead in BEADS] == ["stalled"] * len(BEADS)
    else:
        assert all_gone(pids)
        assert code == (130 if ending.number == signal.SIGINT else 0)
    assert [tip_bead(hub, bead).claim for bead in BEADS] == [None] * len(BEADS)
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_what_finishes_in_its_time_is_closed(number: int, clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    script = f"trap 'exit 0' TERM; touch {tmp_path}/ready; sleep 86400 & wait"
    worker = start(ada, "--", "sh", "-c", script, log=tmp_path / "log")
    until((tmp_path / "ready").exists)
    worker.send_signal(number)
    assert worker.wait(PATIENCE_S) == 0
    assert tip_bead(hub, "hub-a").status == "closed"


def test_a_terminal_that_is_closed_ends_the_command_and_frees_the_bead(clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    command = [*BD, "work", "--agent", "coder", "--grace", "0.5s", "--", *hard_to_end("deaf with daemons", tmp_path / "said")]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ada.path)
        os.execv(command[0], command)  # noqa: S606  bd itself, on a terminal of its own
    pids = pids_of("deaf with daemons", tmp_path / "said")
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert all_gone(pids)
    assert tip_bead(hub, "hub-a").claim is None


@pytest.mark.one_in(27)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("key", ["validators", "notify"])
def test_a_command_of_the_clone_s_own_ends_with_bd(key: str, number: int, clone: Clones, hub: Path, tmp_path: Path) -> None:
    """A validator of `bd close`, and a hook of `bd fail`: the bead is where bd had left it."""
    ada, said = clone("ada"), tmp_path / "said"
    command = shlex.join(hard_to_end("deaf with daemons", said))
    layer = {"validators": {"tests": command}} if key == "validators" else {"notify": {"all": command}}
    (ada.path / ".git" / "bd").mkdir(exist_ok=True)
    (ada.path / ".git" / "bd" / "config.yaml").write_text(json.dumps(layer) + "\n")
    plan = {"title": "Do it", "id": "hub-a", "output": {"validation": "test-pass"}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    ada.here("create", "--file", str(tmp_path / "plan.json"))
    ada.here("claim", "hub-a", "--agent", "coder")
    deed = ["close", "hub-a"] if key == "validators" else ["fail", "hub-a", "--reason", "budget_exceeded", "--error", "revoked"]
    bd = subprocess.Popen([*BD, *deed, "--agent", "coder"], cwd=ada.path, stdout=-1, stderr=-1, start_new_session=True)
    pids = pids_of("deaf with daemons", said)
    bd.send_signal(number)
    bd.communicate()
    until(lambda: all_gone(pids))
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.claim is None) == (("dead_letter", True) if key == "notify" else ("validating", False))


@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_validates_leaves_nothing_and_the_bead_is_done_once_more(
    clone: Clones, hub: Path, tmp_path: Path
) -> None:
    ada, said = clone("ada"), tmp_path / "said"
    command = f"test -e {tmp_path}/good || exec {shlex.join(hard_to_end('deaf with daemons', said))}"
    (ada.path / ".git" / "bd").mkdir(exist_ok=True)
    (ada.path / ".git" / "bd" / "config.yaml").write_text(json.dumps({"validators": {"tests": command}}) + "\n")
    plan = {"title": "Do it", "id": "hub-a", "output": {"validation": "test-pass"}, "retry": {"strategy": "immediate"}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    ada.here("create", "--file", str(tmp_path / "plan.json"))
    runs = ("--", "sh", "-c", f"echo run >> {tmp_path}/runs")
    worker = start(ada, *runs, log=tmp_path / "log")
    pids = pids_of("deaf with daemons", said)
    worker.kill()
    worker.wait(PATIENCE_S)
    until(lambda: all_gone(pids))
    assert tip_bead(hub, "hub-a").claim is not None
    bob = clone("bob")
    for later_s in (60, 120, 180):
        bob.bd("stalled", "--reassign", env={"BD_TEST_UPTIME_OFFSET_S": str(later_s)})
    assert (tip_bead(hub, "hub-a").status, tip_bead(hub, "hub-a").claim) == ("open", None)
    (tmp_path / "good").touch()
    ada.bd("work", "--agent", "coder", "--once", *runs)
    assert (tip_bead(hub, "hub-a").status, (tmp_path / "runs").read_text()) == ("closed", "run\nrun\n")
