"""What goes wrong around a controller: checks, files, disks, hubs that are away. It says so, changes nothing, and goes on."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import RemoteUnreachable
from bd.pool.controller import Controller
from bd.pool.decisions import Progress
from bd.pool.session import Session
from bd.pool.state import Quarters
from bd.store.hub_location import locate
from bd.store.replica import Replica
from tests.fleet.poolhost import WAITS, Host, is_alive, text_of
from tests.hub.hooks import hook
from tests.race.seeds import put, seed
from tests.running import BD, Clone, run_process, start_process
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip_bead, tip_file
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones


@pytest.mark.parametrize(
    ("check", "error"),
    [
        ("echo many", "did not print a number: 'many'"),
        ("echo 3; exit 2", "exit code 2"),
        ("echo 3; echo no jq here >&2; exit 127", "exit code 127: no jq here"),
        ("true", "did not print a number"),
        ("echo -1", "did not print a number"),
        ("echo 1.5", "did not print a number"),
        ("echo 1e3", "did not print a number"),
        ("echo 0x10", "did not print a number"),
        ("echo 1 2", "did not print a number"),
        ("echo ١", "did not print a number"),
        ("head -c 5000 /dev/zero | tr '\\0' 9", "did not print a number"),
        ("sleep 600", "took longer than 0.3s"),
        ("echo 2; sleep 600", "took longer than 0.3s"),
    ],
)
def test_a_check_that_says_nothing_changes_nothing(host: Host, check: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "sleep" in check:
        monkeypatch.setattr("bd.pool.desired_size.CHECK_LIMIT_S", 0.3)
    host.pool(max=3, start=WAITS, check="echo 2", cooldown_down="0s")
    assert host.round() == [("started", "worker-1"), ("started", "worker-2")]
    host.pool(max=3, start=WAITS, check=check, cooldown_down="0s")
    for events in (["check failed"], []):
        assert [one["event"] for one in host.clone.here("pool", "run", "--once", "--json").json] == events, "told once"
    assert error in host.status["last_error"]
    assert error in host.events[-1]["why"]
    assert (host.status["running"], host.status["desired"]) == (["worker-1", "worker-2"], 2)


@pytest.mark.parametrize(
    ("check", "size"), [("echo 99999999999999999999", 2), ("printf ' 1 \\n\\n'", 1), ("echo 007", 2), ("echo 0", 0)]
)
def test_any_whole_number_is_one_and_is_held_within_the_limits(host: Host, check: str, size: int) -> None:
    host.pool(max=2, start=WAITS, check=check)
    host.round()
    assert len(host.status["running"]) == host.status["desired"] == size


def test_what_a_check_started_ends_with_its_time(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bd.pool.desired_size.CHECK_LIMIT_S", 3.0)  # until then it has begun
    host.pool(max=1, start=WAITS, check=f"sh -c 'echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done'")
    host.clone.here("pool", "run", "--once", "--json")
    until(lambda: not is_alive(int(text_of(f"{tmp_path}/pid"))))


def test_checks_run_side_by_side_and_one_that_hangs_stops_no_other_pool(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other: one after the other they would never end."""
    monkeypatch.setattr("bd.pool.desired_size.CHECK_LIMIT_S", 120.0)
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.02; done; echo 1"
    here = host.clone.path.parent
    host.pool(max=1, start=WAITS, check=meet.format(here / "a", here / "b"))
    host.pool(name="other", max=1, start=WAITS, check=meet.format(here / "b", here / "a"))
    told = host.clone.here("pool", "run", "--once", "--json").json
    assert sorted((one["event"], one["member"]) for one in told) == [("started", "other"), ("started", "worker")]


# --- the controller ---------------------------------------------------------------------------


class Watched:
    """A controller in this process, and what it told."""

    def __init__(self, host: Host) -> None:
        def open_hub() -> Replica:
            return open_clone(locate(str(host.clone.path)))

        hub = open_hub()
        self.told: list[tuple[str, str]] = []
        self.controller = Controller(open_hub, Quarters(hub), "agent:ada", self._hear, RUNTIME)
        hub.close()

    def _hear(self, event: dict[str, Any]) -> None:
        self.told.append((event["event"], event.get("why", "")))

    def round(self) -> tuple[list[tuple[str, str]], float]:
        self.told.clear()
        rest_s = self.controller.tolerant_round()
        return list(self.told), rest_s


def test_a_round_that_fails_is_told_once_and_tried_again_ever_more_rarely(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.pool(max=1, min=1, start=WAITS, scale_interval="7s")
    watched = Watched(host)
    for error in (OSError(errno.ENOSPC, "No space left on device"), RuntimeError("a bug")):
        with monkeypatch.context() as broken:
            broken.setattr("bd.pool.controller.look_if_possible", lambda *_, error=error: _raise(error))
            rounds = [watched.round() for _ in range(12)]
        assert [len(told) for told, _ in rounds] == [1, *[0] * 11]
        [(event, why)] = rounds[0][0]
        assert event == "round failed"
        assert str(error) in why
        rests = [rest_s for _, rest_s in rounds]
        assert rests == sorted(rests)
        assert (rests[0], rests[-1]) == (2.0, 300.0)
        assert watched.round()[1] <= 7, "and all is well again"
    assert host.status["running"] == ["worker"]


def _raise(error: Exception) -> Any:
    raise error


def test_members_that_fail_together_are_one_failure_and_their_log_is_told(host: Host) -> None:
    host.pool(max=3, min=3, start="echo no such model; exit 7")
    names = ["worker-1", "worker-2", "worker-3"]
    assert host.round() == [("started", name) for name in names]
    for name in names:
        host.until_ended(name)
    much_later = {"BD_TEST_CLOCK_OFFSET_S": "300"}  # how long they lived counts, and not when that is seen
    told = host.clone.bd("pool", "run", "--once", "--json", env=much_later).json
    assert sorted((one["event"], one["member"]) for one in told) == [("ended", name) for name in names]
    assert host.quarters.read("pool-worker.json")["fails"] == 1
    last = host.events[-1]
    assert (last["exit_code"], text_of(last["log"])) == (7, "no such model\n")
    assert "worker: its members end as soon as they are started" in host.clone.here("pool", "status").out.splitlines()
    assert last["log"] in host.clone.here("pool", "events").out


def test_a_full_disk_ends_neither_the_controller_nor_a_member(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.pool(max=2, min=1, start=WAITS, scale_interval="1s")
    watched = Watched(host)
    watched.round()
    leader = host.leader("worker-1")

    def full(_self: Quarters, _name: str, _note: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    host.clone.here("pool", "scale", "worker", "2")
    with monkeypatch.context() as broken:
        broken.setattr(Quarters, "write", full)
        watched.controller._progress = Progress()  # everything is due
        told, _ = watched.round()
    assert [event for event, _ in told] == ["trouble"]
    assert "No space left" in told[0][1]
    assert is_alive(leader)
    watched.controller._progress = Progress()  # everything is due
    assert [event for event, _ in watched.round()[0]] == ["started"]


def test_a_hub_that_is_away_changes_no_size_and_is_waited_for(host: Host, hub: Path, tmp_path: Path) -> None:
    host.pool(max=2, start=WAITS, cooldown_down="0s")
    seed(host.clone, "hub-a", "hub-b")
    assert host.round() == [("started", "worker-1"), ("started", "worker-2")]
    leaders = [host.leader(name) for name in ("worker-1", "worker-2")]
    host.clone.here("cancel", "hub-a", "hub-b", "--reason", "silence")
    hub.rename(tmp_path / "away")
    assert host.round() == [("check failed", "")]
    assert "can't be reached" in host.status["last_error"]
    os.killpg(leaders[0], signal.SIGKILL)
    host.until_ended("worker-1")
    assert host.round() == [("ended", "worker-1")], "nobody is started for whom nobody knows"
    assert host.status["running"] == ["worker-2"]
    assert is_alive(leaders[1])
    (tmp_path / "away").rename(hub)
    assert host.round() == [("draining", "worker-2")]
    assert tip_file(hub, ".agent-status/worker-1.yaml") is None, "what was kept in the clone has come through"


def test_what_others_did_is_seen_also_after_a_write_was_kept_for_a_hub_that_was_away(
    host: Host, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]
) -> None:
    other = clone("other")
    host.pool(max=2, min=1, start=WAITS)
    host.round()
    host.clone.bd("drain", "worker-1")
    host.kill("worker-1")
    hub.rename(tmp_path / "away")
    assert host.round()[0] == ("ended", "worker-1"), "its capacity file goes, which is kept in the clone"
    (tmp_path / "away").rename(hub)
    other.bd("create", "Meanwhile", "--id", "hub-a")
    host.round()
    assert host.status["wanted"] == 1
    assert tip_file(hub, ".agent-status/worker-1.yaml") is None


def test_members_are_looked_after_also_where_the_server_takes_nothing(host: Host, hub: Path, tmp_path: Path) -> None:
    host.pool(max=2, min=1, start=WAITS)
    host.round()
    hub.rename(tmp_path / "away")
    host.clone.bd("create", "Kept here")
    (tmp_path / "away").rename(hub)
    hook(hub, "pre-receive", "exit 1")
    host.kill("worker-1")
    assert host.round() == [("ended", "worker-1"), ("check failed", ""), ("started", "worker-1")]
    assert "refuses this clone's writes" in host.status["last_error"]


def test_who_held_something_is_followed_by_nobody_before_that_is_given_back(host: Host, hub: Path, tmp_path: Path) -> None:
    host.pool(max=1, size=1, start=WAITS)
    seed(host.clone, "hub-a")
    host.round()
    host.clone.bd("claim", "hub-a", "--agent", "worker")
    host.kill("worker")
    hub.rename(tmp_path / "away")
    assert host.round() == [("trouble", "")]
    (tmp_path / "away").rename(hub)
    assert host.round() == [("ended", "worker"), ("started", "worker")]
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, [one["reason"] for one in bead.get("failures")]) == ("open", ["lost"])


def test_what_a_member_did_while_the_hub_was_away_is_not_done_again(host: Host, hub: Path, tmp_path: Path) -> None:
    host.pool(max=1, size=1, start=WAITS)
    seed(host.clone, "hub-a")
    host.round()
    member = Clone(Path(host.quarters.path("clones", "worker")))
    member.bd("claim", "hub-a", "--agent", "worker")
    hub.rename(tmp_path / "away")
    member.bd("close", "hub-a", "--agent", "worker", "--reason", "done", code=6)
    host.kill("worker")
    (tmp_path / "away").rename(hub)
    assert host.round() == [("ended", "worker"), ("started", "worker")]
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("failures")) == ("closed", None)


def test_who_could_not_be_told_to_drain_is_told_by_the_next_round(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.pool(max=1, size=1, start=WAITS, cooldown_down="0s")
    host.round()
    host.leader("worker")
    host.clone.here("pool", "scale", "worker", "0")
    with monkeypatch.context() as broken:
        broken.setattr(Session, "ask_to_drain", lambda _session: _raise(OSError(errno.ENOSPC, "No space left on device")))
        assert [one["event"] for one in host.clone.here("pool", "run", "--once", "--json").json] == ["trouble"]
    assert host.round() == [("draining", "worker")]
    host.until_ended("worker")


def test_one_that_can_not_be_ended_stops_no_other(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.pool(max=3, size=2, start=WAITS, cooldown_down="0s", drain_timeout="0s")
    host.round()
    for name in ("worker-1", "worker-2"):
        host.leader(name)
        note = host.quarters.read(f"members/{name}.json")
        host.quarters.write(f"members/{name}.json", {**note, "drained_at": note["started_at"]})
    end = Session.end

    def broken(session: Session) -> None:
        if session.name == "worker-1":
            raise OSError(errno.ENOSPC, "No space left on device")
        end(session)

    monkeypatch.setattr(Session, "end", broken)
    told = host.clone.here("pool", "run", "--once", "--json").json
    happened = [("killed", "worker-2"), ("ended", "worker-2"), ("started", "worker-3"), ("trouble", None)]
    assert [(one["event"], one.get("member")) for one in told] == happened
    assert told[-1]["why"] == "worker-1: [Errno 28] No space left on device"


def test_a_log_of_a_member_that_lives_stays_small(host: Host) -> None:
    host.pool(max=1, size=1, start=f"yes 0123456789 | head -c 3000000; {WAITS}; echo the end")
    host.round()
    log = host.quarters.path("logs", "worker.log")
    until(lambda: os.path.exists(log) and os.path.getsize(log) == 3_000_000)
    host.round()
    assert (os.path.getsize(log), os.path.getsize(f"{log}.1")) == (0, 3_000_000)
    with open(host.quarters.path("members", "worker.drain"), "w", encoding="ascii"):
        pass
    host.until_ended("worker")
    assert text_of(log) == "the end\n"


def test_a_write_that_does_not_come_through_stops_no_other_pool(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.pool(max=1, size=1, start=WAITS, cooldown_down="0s")
    host.pool(name="other", max=1, size=0, start=WAITS)
    host.round()
    host.clone.here("pool", "scale", "worker", "0")
    host.clone.here("pool", "scale", "other", "1")
    with monkeypatch.context() as broken:
        broken.setattr(
            "bd.pool.supervisor.Round.publish", lambda _round, _operation: _raise(RemoteUnreachable("the hub is away"))
        )
        told = host.clone.here("pool", "run", "--once", "--json").json
    assert sorted((one["pool"], one["event"]) for one in told) == [("other", "started"), ("worker", "trouble")]
    assert host.round() == [("draining", "worker")], "tried again, and no cooldown for what was not done"


def test_an_agent_file_that_can_not_be_read_drains_nobody(host: Host) -> None:
    host.pool(max=2, min=2, start=WAITS)
    host.pool(name="other", max=1, min=0, start=WAITS)
    host.round()
    leaders = [host.leader(name) for name in ("worker-1", "worker-2")]
    host.clone.here("pool", "scale", "other", "1")
    (host.clone.path / ".beads" / "agents" / "worker.yaml").write_text("name: worker\npool: {max: 2\n")
    put(host.clone, ".beads/agents", "a slip")
    assert sorted(host.round()) == [("started", "other"), ("trouble", "")]
    assert "can't be read" in next(one["why"] for one in host.events if one["event"] == "trouble")
    assert host.round() == []
    assert all(is_alive(leader) for leader in leaders)
    assert Watched(host).round()[1] > 1.0, "nor is the hub looked at each second for its sake"


def test_a_pool_that_is_gone_drains_its_members(host: Host) -> None:
    host.pool(max=1, min=1, start=WAITS)
    host.round()
    host.leader("worker")
    (host.clone.path / ".beads" / "agents" / "worker.yaml").unlink()
    host.clone.here("sync")
    assert host.round() == [("draining", "worker")]
    host.until_ended("worker")
    assert host.round() == [("ended", "worker")]


def test_what_can_not_be_in_a_pool_is_told_and_not_done(host: Host) -> None:
    host.pool(min=5, max=2, size=9, start=WAITS, chekc="echo 1")
    status = host.status
    assert len(status["flaws"]) == 3
    assert (status["min"], status["max"]) == (2, 2)
    shown = host.clone.here("pool", "status").out
    assert "`min: 5` is more than `max`" in " ".join(shown.split())
    found = host.clone.here("doctor", "--json").json["findings"]
    assert [one["where"] for one in found if one["code"] == "pool"] == [".beads/agents/worker.yaml"] * 3
    host.pool(max=2, start=WAITS, provider="cloud", min=1)
    assert host.round() == [("trouble", "")]
    assert "no provider is called cloud" in host.status["last_error"]


def test_names_that_lead_elsewhere_are_nobodys(host: Host) -> None:
    host.pool(min=2, max=2, start=WAITS, names=["../../../evil", "toast"])
    assert host.round() == [("started", "toast"), ("started", "worker-2")]


def test_a_name_that_two_have_is_told(host: Host) -> None:
    host.pool(max=2, names=["toast"], start=WAITS)
    host.pool(name="other", max=2, names=["toast"], start=WAITS)
    [found] = [one for one in host.clone.here("doctor", "--json").json["findings"] if one["code"] == "pool"]
    assert "member toast is also a member of other" in found["text"]


def test_a_remote_that_is_a_path_from_the_clone_is_found_from_everywhere(host: Host, hub: Path, tmp_path: Path) -> None:
    git(host.clone.path, "remote", "set-url", "origin", os.path.relpath(hub, host.clone.path))
    host.pool(max=1, size=1, start=WAITS)
    elsewhere = tmp_path / "some" / "where"
    elsewhere.mkdir(parents=True)
    told = run_process("-C", str(host.clone.path), "pool", "run", "--once", "--json", cwd=elsewhere).json
    assert [one["event"] for one in told] == ["started"]
    assert os.path.samefile(git(Path(host.quarters.path("clones", "worker")), "remote", "get-url", "origin"), hub)


def test_a_clone_that_was_not_finished_is_made_anew(host: Host) -> None:
    half = host.quarters.path("clones", "worker.new", ".git", "HEAD")
    with open(half, "w", encoding="ascii") as file:
        file.write("ref: refs/heads/nowhere\n")
    host.pool(max=1, min=1, start=WAITS)
    assert host.round() == [("started", "worker")]
    assert os.path.isdir(host.quarters.path("clones", "worker", ".git"))
    assert os.listdir(host.quarters.path("clones")) == ["worker"]


def test_what_a_killed_worker_had_running_ends_before_its_bead_is_anybodys(host: Host, hub: Path, tmp_path: Path) -> None:
    """A command of `bd work` that ignores TERM outlives its worker for a moment; its bead must not be done twice at once."""
    says = f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"
    host.pool(max=1, size=1, start=f"{shlex.join(BD)} work --interval 1s -- sh -c {shlex.quote(says)}")
    seed(host.clone, "hub-a")
    host.round()
    until(lambda: text_of(f"{tmp_path}/pid").endswith("\n"))
    command = int(text_of(f"{tmp_path}/pid"))
    bystander = start_process("show", "hub-a", cwd=host.clone.path)
    host.kill("worker")
    assert is_alive(command)
    assert host.round() == [("ended", "worker"), ("started", "worker")]
    until(lambda: not is_alive(command))
    assert bystander.wait() == 0
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [one["reason"] for one in bead.get("failures")] == ["lost"]


def test_a_pool_is_looked_at_as_often_as_it_says(host: Host, tmp_path: Path) -> None:
    host.pool(max=1, start=WAITS, scale_interval="1h", check=f"echo look >> {tmp_path}/seldom; echo 0")
    host.pool(name="other", max=1, start=WAITS, scale_interval="0s", check=f"echo look >> {tmp_path}/often; echo 0")
    watched = Watched(host)
    assert [watched.round()[1] for _ in range(3)] == [1.0] * 3
    assert len(text_of(f"{tmp_path}/often").split()) == 3
    assert len(text_of(f"{tmp_path}/seldom").split()) == 1


def test_a_controller_that_is_killed_at_any_moment_starts_nobody_twice_and_loses_nobody(host: Host) -> None:
    """Each is killed as soon as a member more is noted: before it is started, while it is, or right after."""
    names = ["worker-1", "worker-2", "worker-3", "worker-4"]
    host.pool(max=4, size=4, start=WAITS)
    for count in range(1, 5):
        controller = start_process("pool", "run", cwd=host.clone.path)
        until(lambda count=count: len(list(host.quarters.members())) >= count)  # type: ignore[misc]
        controller.kill()
        controller.communicate()
    host.round()
    assert host.status["running"] == names
    leaders = {name: host.leader(name) for name in names}
    assert host.round() == []
    assert {name: leaders_of(host, name) for name in names} == {name: [leader] for name, leader in leaders.items()}


def leaders_of(host: Host, name: str) -> list[int]:
    """The processes that lead a member's session, by the system's own account; without their supervisors."""
    mark = f"BD_POOL_PID={host.quarters.path('members', f'{name}.pid')}".encode()
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{entry}/environ", "rb") as file:
            is_supervisor = "supervisor.py" in text_of(f"/proc/{entry}/cmdline")
            if mark in file.read().split(b"\0") and os.getsid(int(entry)) == int(entry) and not is_supervisor:
                found.append(int(entry))
    return found


def test_what_somebody_of_the_same_name_holds_on_another_host_is_not_given_away(host: Host, hub: Path) -> None:
    host.pool(max=1, min=1, start=WAITS)
    seed(host.clone, "hub-a")
    host.round()
    host.clone.bd("claim", "hub-a", "--agent", "worker")
    text = (host.clone.path / "beads" / "hub-a.yaml").read_text()
    (host.clone.path / "beads" / "hub-a.yaml").write_text(text.replace(socket.gethostname(), "elsewhere"))
    put(host.clone, "beads", "as from another host")
    host.kill("worker")
    host.round()
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("failures")) == ("in_progress", None)
    assert tip_file(hub, ".agent-status/worker.yaml") is not None
