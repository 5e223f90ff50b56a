"""The controller with real children: sizes, drains, kills, its own death, checks that say nothing."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.fleet.poolhost import DEAF, WAITS, Host, claimed_by, is_alive, status_of, text_of
from tests.hostile.planting import plant
from tests.processes.commands import KINDS, all_gone, hard_to_end, pids_of
from tests.race.history import assert_nothing_twice, assert_one_owner
from tests.race.seeds import put, seed
from tests.running import BD, start_process
from tests.truth import tip_bead, tip_file
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones


def test_a_burst_and_then_silence(host: Host, hub: Path) -> None:
    host.pool(max=3, start=WAITS, cooldown_down="0s")
    assert host.round() == []
    seed(host.clone, *(f"hub-n{number}" for number in range(5)))
    names = ["worker-1", "worker-2", "worker-3"]
    assert host.round() == [("started", name) for name in names]
    assert host.round() == [], "nobody is started twice"
    assert (host.status["running"], host.status["desired"]) == (names, 3)
    assert os.path.isdir(host.quarters.path("clones", "worker-1", ".git"))
    kept = ("events.jsonl", "members/worker-1.json", *(f"logs/{name}.log" for name in names))
    assert {stat.S_IMODE(os.stat(host.quarters.path(name)).st_mode) for name in kept} == {0o600}, "nobody else reads them"
    host.clone.here("cancel", *(f"hub-n{number}" for number in range(5)), "--reason", "silence")
    assert sorted(host.round()) == [("draining", name) for name in names]
    assert b"status: draining" in (tip_file(hub, ".agent-status/worker-1.yaml") or b"")
    for name in names:
        host.until_ended(name)
    assert sorted(host.round()) == [("ended", name) for name in names]
    assert host.status["running"] == host.status["draining"] == []
    assert tip_file(hub, ".agent-status/worker-1.yaml") is None, "its capacity file is gone"
    assert "draining: fewer are needed" in host.clone.here("pool", "events").out


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
    until(lambda: len(host.events) == len(names))
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
    kinds = Counter(one["event"] for one in host.events)
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
    host.kill("worker")
    host.round()
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.claim, [one["reason"] for one in bead.get("failures")]) == ("open", None, ["lost"])


def test_a_drained_worker_closes_what_it_has_and_leaves_what_that_makes_ready_to_others(
    host: Host, hub: Path, tmp_path: Path
) -> None:
    """Its last close frees the next bead: nobody is left owning it, and the drain is over with nothing in hand."""
    go, started = tmp_path / "go", tmp_path / "started"
    tells = f"echo ${{BD_DRAIN:-no}} >> {tmp_path}/drain; touch {started}; until [ -e {go} ]; do sleep 0.05; done"
    work = f"{shlex.join(BD)} work --interval 1s -- sh -c {shlex.quote(tells)}"
    host.pool(max=1, size=1, start=work, cooldown_down="0s")
    seed(host.clone, "hub-a")
    host.clone.here("create", "The next step", "--id", "hub-b", "--deps", "hub-a", "--assignee", "worker")
    host.round()
    until(started.exists)
    host.clone.here("pool", "scale", "worker", "0")
    assert host.round() == [("draining", "worker")]
    assert claimed_by(hub, "hub-a") == "worker", "what it is at, it finishes"
    go.touch()
    host.until_ended("worker")
    assert (status_of(hub, "hub-a"), status_of(hub, "hub-b")) == ("closed", "open")
    assert host.round() == [("ended", "worker")]
    assert host.events[-1]["why"] == "it was drained", "it held nothing"
    after = tip_bead(hub, "hub-b")
    assert after is not None
    assert (after.claim, after.assignee) == (None, None), "nobody in particular has it"
    assert host.clone.bd("claim", "--next", "--agent", "other", "--json").json[0]["id"] == "hub-b"
    assert (tmp_path / "drain").read_text().split() == ["no"]


def test_a_member_that_ends_well_and_has_not_closed_is_told_of(host: Host, hub: Path) -> None:
    """Its exit code says 0; the hub says that it still held a bead."""
    host.pool(max=1, size=1, start=WAITS, cooldown_down="0s")
    seed(host.clone, "hub-a")
    host.round()
    host.leader("worker")
    host.clone.bd("claim", "hub-a", "--agent", "worker")
    host.clone.here("pool", "scale", "worker", "0")
    host.round()
    host.until_ended("worker")
    assert host.round() == [("ended", "worker")]
    assert host.events[-1]["why"] == "it held hub-a"
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, [one["reason"] for one in bead.get("failures")]) == ("open", ["lost"])


def test_who_does_not_end_in_time_is_killed_and_its_bead_costs_no_attempt(
    host: Host, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bd.pool.session.KILL_GRACE_S", 0.2)
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


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_killed_is_killed_with_all_that_it_has_started(
    kind: str, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bd.pool.session.KILL_GRACE_S", 0.5)
    start = shlex.join(hard_to_end(kind, tmp_path / "said"))
    host.pool(max=1, min=1, start=start, drain_timeout="0s")
    host.round_here()
    pids = pids_of(kind, tmp_path / "said")
    host.pool(max=1, size=0, start=start, drain_timeout="0s", cooldown_down="0s")
    assert host.round_here() == [("draining", "worker")]
    assert host.round_here() == [("killed", "worker"), ("ended", "worker")]
    assert all_gone(pids)


def test_a_check_counts_for_the_pool_what_its_members_may_take(host: Host) -> None:
    """The source's `bd ready --json | jq length`: it runs under the pool's name, and claims go by the same answer."""
    length = f"{shlex.quote(sys.executable)} -c 'import json, sys; print(len(json.load(sys.stdin)))'"
    host.pool(max=9, start=WAITS, check=f"{shlex.join(BD)} ready --json | {length}")
    seed(host.clone, "hub-a", "hub-b")
    seed(host.clone, "hub-c", assignee="ada")
    seed(host.clone, "hub-d", needs="[gpu]")
    assert host.round() == [("started", "worker-1"), ("started", "worker-2")]
    for name in ("worker-1", "worker-2"):
        host.clone.bd("claim", "--next", "--agent", name)
    assert host.clone.bd("claim", "--next", "--agent", "worker-3", code=3).out == ""
    host.round()
    assert host.status["wanted"] == 0


def test_commands_that_nobody_has_trusted_do_not_run(host: Host, tmp_path: Path) -> None:
    host.pool(max=1, min=1, start=f"touch {tmp_path}/ran", check=f"touch {tmp_path}/ran; echo 1")
    host.clone.here("trust", "--revoke")
    host.round()
    assert not (tmp_path / "ran").exists()
    assert "bd trust" in host.status["last_error"]


def test_a_prefix_that_changes_later_is_no_part_of_a_trusted_command(host: Host, hub: Path, tmp_path: Path) -> None:
    """The command is pinned; what its places stand for is not, so it must never be read as a command."""
    said, owned = tmp_path / "said", tmp_path / "owned"
    host.pool(max=1, min=1, start=f"sh -c 'echo start for {{hub}} > {said}'")
    plant(hub, {".beads/config.yaml": f'format: 2\nprefix: "x;touch {owned};"\n'})
    assert host.round() == [("started", "worker")]
    until(lambda: text_of(str(said)).endswith("\n"))
    assert (text_of(str(said)), owned.exists()) == ("start for hub\n", False)


def test_a_script_that_changes_is_not_started_before_somebody_has_looked_at_it(host: Host, hub: Path, tmp_path: Path) -> None:
    """A member's clone brings its files along by itself; and one that is older than what was trusted since is brought along."""
    said = tmp_path / "said"
    plant(hub, {"bot.sh": f"echo 1 >> {said}\n"})
    host.pool(max=1, start="sh bot.sh {clone}", size=1, cooldown_up="0s")
    assert host.round() == [("started", "worker")]
    host.until_ended("worker")
    plant(hub, {"bot.sh": f"echo 2 >> {said}\n"})
    assert ("ended", "worker") in host.round()
    assert "not trusted here" in host.status["last_error"]
    host.clone.here("trust", "--yes")
    (tmp_path / "clock").write_text("400")
    told = host.clone.bd("pool", "run", "--once", "--json", env={"BD_TEST_AHEAD": str(tmp_path / "clock")}).json
    assert ("started", "worker") in [(one["event"], one.get("member", "")) for one in told]
    host.until_ended("worker")
    assert text_of(str(said)) == "1\n2\n"


def test_a_size_somebody_asked_for_goes_before_the_check(host: Host) -> None:
    host.pool(max=3, start=WAITS, check="echo 0", cooldown_down="0s")
    host.clone.here("pool", "scale", "worker", "1")
    assert host.round() == [("started", "worker-1")]
    host.clone.here("pool", "scale", "worker", "up")
    assert host.round() == [("started", "worker-2")]
    assert "may have 0 to 3 members" in host.clone.here("pool", "scale", "worker", "4", code=2).err
    host.clone.here("pool", "scale", "worker", "auto")
    assert sorted(host.round()) == [("draining", "worker-1"), ("draining", "worker-2")]


def test_who_was_set_offline_is_drained_and_not_started_again(host: Host) -> None:
    def pool(check: str) -> None:
        host.pool(min=0, max=2, start=WAITS, check=check, cooldown_down="0s")

    pool("echo 1")
    assert host.round() == [("started", "worker-1")]
    host.leader("worker-1")
    host.clone.here("offline", "worker-1")
    pool("echo 0")
    assert host.round() == [("draining", "worker-1")]
    host.until_ended("worker-1")
    assert host.round() == [("ended", "worker-1")]
    pool("echo 2")
    assert host.round() == [("started", "worker-2")]
    assert "offline" in host.status["waits"]
    host.clone.here("online", "worker-1")
    assert host.round() == [("started", "worker-1")]


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
