"""The controller with real children: sizes, drains, kills, its own death, checks that say nothing."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from bd.fleet.quarters import Quarters
from bd.store.hub import Hub
from bd.store.place import locate
from tests.race.history import assert_nothing_twice, assert_one_owner
from tests.race.seeds import put, seed
from tests.running import BD, start_process
from tests.truth import tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

# A member that lives until it is drained, and one that does not listen.
WAITS = 'while [ ! -e "$BD_DRAIN_FILE" ]; do sleep 0.05; done'
DEAF = "trap '' TERM; while :; do sleep 0.05; done"


class Host:
    """A host that runs pools of one hub."""

    def __init__(self, clone: Clone) -> None:
        self.clone = clone

    def pool(self, **settings: Any) -> None:
        """Make worker a pool, and trust its commands here."""
        lines = "".join(f"  {key}: {value if isinstance(value, int) else repr(value)}\n" for key, value in settings.items())
        file = self.clone.path / ".beads" / "agents" / "worker.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"name: worker\npool:\n{lines}", encoding="utf-8")
        self.clone.bd("sync")
        self.clone.bd("trust", "--yes")

    def round(self) -> list[tuple[str, str]]:
        """One round of the controller: (event, member) of what it did."""
        told = self.clone.bd("pool", "run", "--once", "--json").json
        return [(one["event"], one.get("member", "")) for one in told]

    @property
    def status(self) -> dict[str, Any]:
        return next(one for one in self.clone.bd("pool", "status", "--json").json if one["name"] == "worker")

    @property
    def quarters(self) -> Quarters:
        hub = Hub(locate(str(self.clone.path)))
        try:
            return Quarters(hub)
        finally:
            hub.close()

    def leader(self, name: str) -> int:
        """The process of a member; waits until it has said so."""
        path = self.quarters.path("members", f"{name}.pid")
        until(lambda: text_of(path).endswith("\n"))
        return int(text_of(path))

    def until_ended(self, name: str) -> None:
        leader = self.leader(name)
        until(lambda: not is_alive(leader))


def text_of(path: str) -> str:
    """What a file says; nothing where there is none."""
    with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as file:
        return file.read()
    return ""


def until(holds: Callable[[], bool]) -> None:
    """Wait for another process to get there; longer than this is a hang."""
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return ") Z" not in file.read()


def status_of(hub: Path, bead_id: str) -> str | None:
    bead = tip_bead(hub, bead_id)
    return bead and bead.status


def claimed_by(hub: Path, bead_id: str) -> str | None:
    bead = tip_bead(hub, bead_id)
    return bead.claim.agent if bead and bead.claim else None


@pytest.fixture
def host(clone: Clones) -> Iterator[Host]:
    made = Host(clone("ada"))
    yield made
    for name, _ in made.quarters.members():
        with contextlib.suppress(OSError, ValueError):
            os.killpg(int(text_of(made.quarters.path("members", f"{name}.pid"))), signal.SIGKILL)


def test_a_burst_and_then_silence(host: Host, hub: Path) -> None:
    host.pool(max=3, start=WAITS, cooldown_down="0s")
    assert host.round() == []
    seed(host.clone, *(f"hub-n{number}" for number in range(5)))
    names = ["worker-1", "worker-2", "worker-3"]
    assert host.round() == [("started", name) for name in names]
    assert host.round() == [], "nobody is started twice"
    assert (host.status["running"], host.status["desired"]) == (names, 3)
    assert os.path.isdir(host.quarters.path("clones", "worker-1", ".git"))
    host.clone.bd("cancel", *(f"hub-n{number}" for number in range(5)), "--reason", "silence")
    assert sorted(host.round()) == [("draining", name) for name in names]
    assert b"status: draining" in (tip_file(hub, ".agent-status/worker-1.yaml") or b"")
    for name in names:
        host.until_ended(name)
    assert sorted(host.round()) == [("ended", name) for name in names]
    assert host.status["running"] == host.status["draining"] == []
    assert tip_file(hub, ".agent-status/worker-1.yaml") is None, "its capacity file is gone"
    assert "draining: fewer are needed" in host.clone.bd("pool", "events").out


def test_a_burst_is_done_whoever_is_killed_meanwhile(host: Host, hub: Path, tmp_path: Path) -> None:
    """The controller dies, a worker dies, the check says nonsense: nobody is started twice, all is done, nobody is left."""
    go, names = tmp_path / "go", ["worker-1", "worker-2", "worker-3"]
    work = f"{shlex.join(BD)} work --interval 1s -- sh -c 'until [ -e {go} ]; do sleep 0.05; done'"
    settings = {"max": 3, "start": work, "scale_interval": "1s", "cooldown_down": "0s"}
    host.pool(**settings)
    with open(host.clone.path / ".beads" / "config.yaml", "a", encoding="utf-8") as config:
        config.write("retry: {strategy: immediate}\n")
    put(host.clone, ".beads", "retries")
    beads = seed(host.clone, *(f"hub-n{number}" for number in range(8)))
    controller = start_process("pool", "run", cwd=host.clone.path)
    leaders = {name: host.leader(name) for name in names}
    controller.kill()
    controller.communicate()
    until(lambda: {claimed_by(hub, bead) for bead in beads} == {*names, None})
    host.pool(**settings, check="echo a lot")
    os.killpg(leaders["worker-1"], signal.SIGKILL)
    host.until_ended("worker-1")
    assert sorted(host.round()) == [("check failed", ""), ("ended", "worker-1")], "its size is as it is"
    assert host.status["running"] == ["worker-2", "worker-3"]
    host.pool(**settings)
    assert host.round() == [("started", "worker-1")]
    assert [host.leader(name) for name in names[1:]] == [leaders[name] for name in names[1:]]
    go.touch()
    until(lambda: all(status_of(hub, bead) == "closed" for bead in beads))
    told = host.round()
    for name in names:
        host.until_ended(name)
    assert sorted([*told, *host.round()]) == sorted((event, name) for event in ("draining", "ended") for name in names)
    assert host.status["running"] == host.status["draining"] == []
    kinds = Counter(one["event"] for one in host.quarters.events())
    assert kinds == {"started": 4, "draining": 3, "ended": 4, "check failed": 1}, "no flapping"
    assert_one_owner(hub)
    assert_nothing_twice(hub)


def test_a_controller_that_was_killed_is_followed_by_one_that_finds_the_children(host: Host) -> None:
    host.pool(max=2, min=2, start=WAITS)
    first = start_process("pool", "run", cwd=host.clone.path)
    leaders = [host.leader(name) for name in ("worker-1", "worker-2")]
    refused = host.clone.bd("pool", "run", "--once", code=5)
    assert "runs on this host already" in refused.err
    first.kill()
    first.communicate()
    assert all(is_alive(leader) for leader in leaders)
    assert host.round() == []
    assert [host.leader(name) for name in ("worker-1", "worker-2")] == leaders
    os.killpg(leaders[0], signal.SIGKILL)
    host.until_ended("worker-1")
    assert sorted(host.round()) == [("ended", "worker-1"), ("started", "worker-1")]


def test_what_a_killed_worker_held_is_open_again_at_once(host: Host, hub: Path) -> None:
    host.pool(max=1, min=1, start=WAITS)
    seed(host.clone, "hub-a")
    host.round()
    host.clone.bd("claim", "hub-a", "--agent", "worker")
    os.killpg(host.leader("worker"), signal.SIGKILL)
    host.until_ended("worker")
    host.round()
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.claim, [one["reason"] for one in bead.get("failures")]) == ("open", None, ["lost"])


def test_who_does_not_end_in_time_is_killed_and_its_bead_costs_no_attempt(
    host: Host, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bd.fleet.session.KILL_GRACE_S", 0.2)
    host.pool(max=1, min=1, start=DEAF, drain_timeout="0s")
    seed(host.clone, "hub-a", "hub-b")
    host.round()
    leader = host.leader("worker")
    host.clone.bd("claim", "hub-a", "--agent", "worker")
    host.clone.bd("assign", "hub-b", "worker")
    host.pool(max=1, size=0, start=DEAF, drain_timeout="0s", cooldown_down="0s")
    assert host.round() == [("draining", "worker")]
    told = host.clone.here("pool", "run", "--once", "--json").json
    assert [(one["event"], one.get("member")) for one in told] == [("killed", "worker"), ("ended", "worker")]
    assert not is_alive(leader)
    for bead_id in ("hub-a", "hub-b"):
        bead = tip_bead(hub, bead_id)
        assert bead is not None
        assert (bead.status, bead.claim, bead.assignee, bead.attempts_counted) == ("open", None, None, 0)


@pytest.mark.parametrize(
    ("check", "error"),
    [
        ("echo many", "printed no number: 'many'"),
        ("echo 3; exit 2", "exit code 2"),
        ("true", "printed no number"),
        ("echo -1", "no number"),
    ],
)
def test_a_check_that_says_nothing_changes_nothing(host: Host, check: str, error: str) -> None:
    host.pool(max=3, start=WAITS, check="echo 2", cooldown_down="0s")
    assert host.round() == [("started", "worker-1"), ("started", "worker-2")]
    host.pool(max=3, start=WAITS, check=check, cooldown_down="0s")
    assert host.round() == [("check failed", "")]
    assert host.round() == [], "told once"
    assert error in host.status["last_error"]
    assert host.status["running"] == ["worker-1", "worker-2"]


def test_commands_that_nobody_has_trusted_do_not_run(host: Host, tmp_path: Path) -> None:
    host.pool(max=1, min=1, start=f"touch {tmp_path}/ran", check=f"touch {tmp_path}/ran; echo 1")
    host.clone.bd("trust", "--revoke")
    host.round()
    assert not (tmp_path / "ran").exists()
    assert "bd trust" in host.status["last_error"]


def test_a_size_somebody_asked_for_goes_before_the_check(host: Host) -> None:
    host.pool(max=3, start=WAITS, check="echo 0", cooldown_down="0s")
    host.clone.bd("pool", "scale", "worker", "1")
    assert host.round() == [("started", "worker-1")]
    host.clone.bd("pool", "scale", "worker", "up")
    assert host.round() == [("started", "worker-2")]
    assert "may have 0 to 3 members" in host.clone.bd("pool", "scale", "worker", "4", code=2).err
    host.clone.bd("pool", "scale", "worker", "auto")
    assert sorted(host.round()) == [("draining", "worker-1"), ("draining", "worker-2")]


def test_workers_do_a_burst_and_end_when_they_are_drained(host: Host, hub: Path) -> None:
    """bd work as a member: it sees the drain file, and ends by itself."""
    host.pool(max=2, start=f"{shlex.join(BD)} work --interval 1s -- true", cooldown_down="0s")
    seed(host.clone, *(f"hub-n{number}" for number in range(4)))
    assert host.round() == [("started", "worker-1"), ("started", "worker-2")]
    until(lambda: all(bead is not None and bead.status == "closed" for bead in (tip_bead(hub, f"hub-n{n}") for n in range(4))))
    assert sorted(host.round()) == [("draining", "worker-1"), ("draining", "worker-2")]
    for name in ("worker-1", "worker-2"):
        host.until_ended(name)
    assert sorted(host.round()) == [("ended", "worker-1"), ("ended", "worker-2")]
