"""What runs a member other than a child process: tmux for real, systemd by a stand-in, commands of the pool's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from tests.fleet.poolhost import DEAF, WAITS, Host, is_alive, text_of
from tests.hostile.planting import plant
from tests.race.seeds import seed
from tests.truth import tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.one_in(9)

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")

# Runs what systemd would, in a session of its own, and knows whether it is there by a lock.
# In each argument of a unit, systemd puts its own environment's values for `${NAME}`, and a dollar sign for two.
AS_A_UNIT = r"""import os, re, sys
words = [re.sub(r"\$(?:\$|\{(\w+)\})", lambda found: os.environ.get(found[1], "") if found[1] else "$", one) for one in sys.argv[1:]]
os.execvp(words[0], words)
"""
SYSTEMD_RUN = """#!/bin/sh
printf '%s\\n' "$*" >> {folder}/said
while [ "$1" != --unit ]; do shift; done; unit=$2; shift 2
[ "$1" = --working-directory ] && cd "$2" && shift 2
flock {folder}/$unit.lock setsid env -i HOME="$HOME" {python} {folder}/as_a_unit.py "$@" > {folder}/$unit.log 2>&1 &
until ! flock -n {folder}/$unit.lock true; do [ -s {folder}/$unit.log ] && exit 1; sleep 0.05; done
"""
SYSTEMCTL = """#!/bin/sh
printf '%s\\n' "$*" >> {folder}/said
[ -e {folder}/no-manager ] && {{ echo Failed to connect to bus >&2; exit 1; }}
for unit in "$@"; do :; done
case "$*" in
    *is-active*) ! flock -n {folder}/$unit.lock true || exit 3 ;;
esac
"""


@pytest.fixture
def tmux(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tmux server of the test's own; a socket's path may not be long."""
    folder = tempfile.mkdtemp(prefix="bd-tmux-")
    monkeypatch.setenv("TMUX_TMPDIR", folder)
    monkeypatch.delenv("TMUX", raising=False)
    yield
    subprocess.run(["tmux", "kill-server"], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def has_session(name: str) -> bool:
    return subprocess.run(["tmux", "has-session", "-t", f"={name}"], capture_output=True).returncode == 0


@needs_tmux
@pytest.mark.usefixtures("tmux")
def test_members_in_tmux(host: Host, tmp_path: Path) -> None:
    says = f'pwd > {tmp_path}/where; echo "$BD_AGENT $BD_POOL ${{BD_TOKEN-none}}" > {tmp_path}/who; {WAITS}'
    host.pool(max=2, size=1, provider="tmux", start=says, cooldown_down="0s")
    assert host.round() == [("started", "worker-1")]
    assert has_session("bd-hub-worker-1")
    leader = host.leader("worker-1")
    assert host.round() == [], "it is found again"
    until(lambda: text_of(f"{tmp_path}/who") != "")
    assert text_of(f"{tmp_path}/who").split() == ["worker-1", "worker", "none"]
    assert text_of(f"{tmp_path}/where").strip() == host.quarters.path("clones", "worker-1")
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker-1")]
    until(lambda: not has_session("bd-hub-worker-1"))
    assert host.round() == [("ended", "worker-1")]
    assert not is_alive(leader)


@needs_tmux
@pytest.mark.usefixtures("tmux")
def test_a_deaf_member_in_tmux_is_killed(host: Host, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bd.pool.session.KILL_GRACE_S", 0.5)
    host.pool(max=1, size=1, provider="tmux", start=DEAF, drain_timeout="0s", cooldown_down="0s")
    seed(host.clone, "hub-a")
    assert host.round() == [("started", "worker")]
    leader = host.leader("worker")
    host.clone.bd("claim", "hub-a", "--agent", "worker")
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker")]
    told = host.clone.here("pool", "run", "--once", "--json").json
    assert [one["event"] for one in told] == ["killed", "ended"]
    assert not has_session("bd-hub-worker")
    until(lambda: not is_alive(leader))
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.claim, bead.attempts_counted) == ("open", None, 0)


@needs_tmux
@pytest.mark.usefixtures("tmux")
def test_a_member_in_tmux_that_ends_at_once_is_started_ever_more_rarely(host: Host) -> None:
    host.pool(max=1, min=1, provider="tmux", start="exit 7")
    assert host.round() == [("started", "worker")]
    until(lambda: not has_session("bd-hub-worker"))
    assert host.round() == [("ended", "worker")]
    assert host.events[-1]["exit_code"] == 7
    assert "as soon as they are started" in host.status["waits"]


@needs_tmux
@pytest.mark.usefixtures("tmux")
def test_a_start_that_changes_under_a_running_member_concerns_only_the_next_start(host: Host, hub: Path) -> None:
    """bd goes on asking tmux, whose commands are this machine's own."""
    plant(hub, {"agent.sh": f"{WAITS}\n"})
    host.pool(max=1, size=1, provider="tmux", start="sh ./agent.sh", cooldown_down="0s")
    assert host.round() == [("started", "worker")]
    plant(hub, {"agent.sh": f"{WAITS} # changed\n"})
    host.clone.here("sync")
    assert host.round() == []
    assert "last_error" not in host.status
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker")]
    until(lambda: not has_session("bd-hub-worker"))
    assert host.round() == [("ended", "worker")]


def test_commands_that_change_under_a_running_member_are_asked_again_once_they_are_trusted(
    host: Host, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bd.pool.session.KILL_GRACE_S", 0.2)
    lives = tmp_path / "lives"
    plant(hub, {"alive.sh": f"test -e {lives}\n", "end.sh": f"rm {lives}\n"})
    commands = {"start": f"touch {lives}", "alive": "sh ./alive.sh", "stop": "sh ./end.sh"}
    host.pool(max=1, size=1, **commands, drain_timeout="0s", cooldown_down="0s")
    assert host.round() == [("started", "worker")]
    plant(hub, {"alive.sh": f"test -e {lives} # changed\n"})
    host.clone.here("sync")
    assert host.round() == [("trouble", "")]
    assert "sh ./alive.sh was not run: " in host.status["last_error"]
    host.clone.here("trust", "--yes")
    assert host.round() == []
    assert "last_error" not in host.status
    plant(hub, {"end.sh": f"rm {lives} # changed\n"})
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker")]
    host.clone.here("pool", "run", "--once")
    assert "worker: it can't be ended: its stop was not run: " in host.status["last_error"]
    host.clone.here("trust", "--yes")
    assert [one["event"] for one in host.clone.here("pool", "run", "--once", "--json").json] == ["killed", "ended"]
    assert not lives.exists()


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first on PATH with stand-ins for systemd's commands; what they were told stands in `said`."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    for name, text in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
        (folder / name).write_text(text.format(folder=folder, python=sys.executable))
        (folder / name).chmod(0o755)
    (folder / "as_a_unit.py").write_text(AS_A_UNIT)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_members_under_systemd(host: Host, systemd: Path, tmp_path: Path) -> None:
    """The manager's environment is not the controller's: what the member needs comes with its command."""
    says = f'echo "$BD_AGENT $XDG_STATE_HOME $PWD" {{name}} {{clone}} "${{HOME:+home}}" > {tmp_path}/who; {WAITS}'
    host.pool(max=2, size=1, provider="systemd", start=says, cooldown_down="0s")
    assert host.round() == [("started", "worker-1")]
    [run] = [line for line in (systemd / "said").read_text().splitlines() if line.startswith("--user --quiet --collect")]
    clone = host.quarters.path("clones", "worker-1")
    assert run.startswith(f"--user --quiet --collect --unit bd-hub-worker-1 --working-directory {clone} sh -c exec env ")
    until(lambda: text_of(f"{tmp_path}/who") != "")
    assert text_of(f"{tmp_path}/who").split() == ["worker-1", os.environ["XDG_STATE_HOME"], clone, "worker-1", clone, "home"]
    assert is_alive(host.leader("worker-1"))
    assert host.round() == []
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker-1")]
    host.until_ended("worker-1")
    assert host.round() == [("ended", "worker-1")]


def test_where_a_provider_can_not_tell_nobody_is_given_up_and_nobody_started(host: Host, systemd: Path) -> None:
    host.pool(max=1, size=1, provider="systemd", start=WAITS)
    assert host.round() == [("started", "worker")]
    (systemd / "no-manager").touch()
    assert host.round() == [("trouble", "")]
    assert "Failed to connect to bus" in host.status["last_error"]
    assert host.status["running"] == ["worker"]
    assert host.round() == [], "told once"
    (systemd / "no-manager").unlink()
    assert host.round() == []
    assert "last_error" not in host.status


def test_a_provider_that_is_not_there(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.pool(max=1, min=1, provider="tmux", start=WAITS, cooldown_up="0s")
    monkeypatch.setattr("bd.pool.session.PROVIDERS", {"tmux": _missing()})
    for events in (["trouble"], []):
        assert [one["event"] for one in host.clone.here("pool", "run", "--once", "--json").json] == events
    assert "not found" in host.status["last_error"]
    assert host.status["running"] == []


def _missing() -> object:
    from bd.pool.session import Commands

    return Commands("no-such-tmux new {session}", "no-such-tmux has {session}", "no-such-tmux kill {session}")


def test_members_by_commands_of_the_pools_own(host: Host, tmp_path: Path) -> None:
    """`start` returns at once; `alive` says by its exit code whether it is there; `stop` and `nudge` are told where to look."""
    lock = f"{tmp_path}/{{session}}"
    deaf = f"echo $$ > {lock}.pid; echo {{session}} in {{clone}} of {{hub}} > {lock}.said; while [ -e {lock}.go ]; do sleep 0.05; done"
    host.pool(
        max=2,
        size=1,
        start=f"touch {lock}.go; flock -n {lock} sh -c '{deaf}' > /dev/null 2>&1 &",
        alive=f"! flock -n {lock} true",
        stop=f"rm {lock}.go",
        nudge=f"echo nudged {{name}} > {lock}.nudge",
        drain_timeout="0s",
        cooldown_down="0s",
    )
    assert host.round() == [("started", "worker-1")]
    until(lambda: text_of(f"{tmp_path}/bd-hub-worker-1.said") != "")
    clone = host.quarters.path("clones", "worker-1")
    assert text_of(f"{tmp_path}/bd-hub-worker-1.said").strip() == f"bd-hub-worker-1 in {clone} of hub"
    host.clone.here("config", "set", "prefix", "other")
    assert host.round() == [], "it is found again under the name that it began with, and nobody started beside it"
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker-1")]
    assert text_of(f"{tmp_path}/bd-hub-worker-1.nudge") == "nudged worker-1\n"
    assert host.round() == [("killed", "worker-1"), ("ended", "worker-1")]
    assert not is_alive(int(text_of(f"{tmp_path}/bd-hub-worker-1.pid")))
