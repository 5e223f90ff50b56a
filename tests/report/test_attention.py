"""What needs a person: each kind alone, all together, and nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.schema import agent_path, bead_path, capacity_path
from bd.core.times import instant_of
from tests.race.seeds import seed
from tests.truth import commit_file, git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

KINDS = ["dead_letters", "waiting", "stalled", "refused", "offline", "damaged", "unpublished", "overloaded", "given_back"]
# As they were before the last three came.
ORDER = [*KINDS[:6], "total", *KINDS[6:]]


def asked(clone: Clone) -> dict[str, Any]:
    found: dict[str, Any] = clone.here("attention", "--json").json
    assert list(found)[: len(ORDER)] == ORDER
    assert found["total"] == sum(len(found[kind]) for kind in KINDS)
    return found


def kinds_in(clone: Clone) -> list[str]:
    found = asked(clone)
    return [kind for kind in KINDS if found[kind]]


def test_nothing(local_hub: Clone) -> None:
    seed(local_hub, "hub-a")
    local_hub.here("close", "hub-a")
    assert kinds_in(local_hub) == []
    assert local_hub.here("attention").out == "Nothing needs a person.\n"


def test_questions_with_their_age_the_longest_wait_first(local_hub: Clone, clock: FakeClock) -> None:
    seed(local_hub, "hub-a", "hub-b")
    local_hub.here("claim", "hub-b", "--agent", "coder")
    local_hub.here("wait-human", "hub-b", "--reason", "Which\nlogo?", "--agent", "coder")
    clock.move(hours=2)
    local_hub.here("wait-human", "hub-a", "--reason", "Really?")
    clock.move(hours=1)
    found = asked(local_hub)["waiting"]
    assert [(one["id"], one["age_s"], one["question"], one.get("asked_by")) for one in found] == [
        ("hub-b", 10800, "Which\nlogo?", "coder"),
        ("hub-a", 3600, "Really?", None),
    ]
    lines = local_hub.here("attention").lines
    assert lines[0].startswith("Waiting for a person")
    assert lines[1] == "  hub-b  Do hub-b   coder, 3h ago: Which\\x0alogo?"
    local_hub.here("answer", "hub-b", "The blue one.")
    local_hub.here("cancel", "hub-a")
    assert kinds_in(local_hub) == []


def test_dead_letters_until_somebody_has_looked(local_hub: Clone, clock: FakeClock) -> None:
    clock.set("2026-02-21T15:00:00Z")
    text = "id: hub-a\ntitle: A\nstatus: dead_letter\nattempts: 3\ndead_lettered_at: 2026-02-21T13:00:00Z\n"
    failures = "failures:\n- {attempt: 2, reason: crash}\n- {attempt: 3, reason: timeout, error: too slow}\n"
    commit_file(local_hub.path, bead_path("hub-a"), text + failures)
    [one] = asked(local_hub)["dead_letters"]
    assert (one["id"], one["attempts"], one["reason"], one["error"], one["age_s"]) == ("hub-a", 3, "timeout", "too slow", 7200)
    assert "hub-a  A   3 attempts, timeout: too slow, 2h ago" in local_hub.here("attention").out
    commit_file(local_hub.path, bead_path("hub-a"), text + failures + "reviewed: true\n")
    assert kinds_in(local_hub) == []


def test_stalls_by_the_same_rule_as_everywhere(local_hub: Clone, clock: FakeClock) -> None:
    seed(local_hub, "hub-a", "hub-b", "hub-c")
    local_hub.here("claim", "hub-a", "--agent", "coder")
    local_hub.here("claim", "hub-b", "--agent", "coder", "--reserve")
    assert kinds_in(local_hub) == []
    clock.move(minutes=60)  # a ttl of 15 minutes, and as much again as two clocks may differ
    assert [(one["id"], one["why"], one["owner"], one["attempt"]) for one in asked(local_hub)["stalled"]] == [
        ("hub-b", "never_started", "coder@hub", 1)
    ]
    clock.move(hours=3)
    found = asked(local_hub)["stalled"]
    assert [(one["id"], one["why"]) for one in found] == [("hub-a", "overdue"), ("hub-b", "never_started")]
    assert [one["id"] for one in found] == [one["id"] for one in local_hub.here("stalled", "--json").json]
    assert "hub-b  Do hub-b   coder@hub: it was reserved and never started, last sign 4h ago" in local_hub.here("attention").out
    local_hub.here("stalled", "--reassign")
    assert "stalled" not in kinds_in(local_hub)


def test_agents_that_fell_silent_but_not_those_that_were_sent_away(local_hub: Clone, clock: FakeClock) -> None:
    seed(local_hub, "hub-a")
    for name, status in (("coder", "available"), ("reader", "available"), ("sent", "offline")):
        commit_file(local_hub.path, agent_path(name), f"name: {name}\ninterval: 10m\nmax_concurrent: 2\nskills: {{}}\n")
        record = f"agent: {name}\nstatus: {status}\nlast_heartbeat: 2026-02-21T10:00:00Z\n"
        commit_file(local_hub.path, capacity_path(name), record)
    clock.set("2026-02-21T10:20:00Z")
    assert kinds_in(local_hub) == []
    local_hub.here("claim", "hub-a", "--agent", "coder")
    clock.set("2026-02-21T11:30:00Z")
    found = asked(local_hub)["offline"]
    assert [(one["agent"], one.get("beads")) for one in found] == [("reader", None), ("coder", ["hub-a"])]
    assert "  coder   last heard of 1h ago, holds hub-a" in local_hub.here("attention").out


def test_agents_that_are_overloaded_until_somebody_clears_them(local_hub: Clone, clock: FakeClock) -> None:
    for bead in ("hub-a", "hub-b"):
        seed(local_hub, bead)
        local_hub.here("claim", bead, "--agent", "coder")
        local_hub.here("fail", bead, "--agent", "coder", "--reason", "crash", "--error", "broken")
    clock.move(hours=1)
    [one] = asked(local_hub)["overloaded"]
    assert (one["agent"], one["failed"], one["of"], one["age_s"]) == ("coder", 2, 2, 3600)
    assert "  coder   2 of its last 2 attempts failed, the last 1h ago" in local_hub.here("attention").lines
    local_hub.here("agent", "clear", "coder")
    assert asked(local_hub)["overloaded"] == []


def test_beads_that_are_given_back_again_and_again_and_wait_longer_each_time(local_hub: Clone, clock: FakeClock) -> None:
    seed(local_hub, "hub-a")
    waits = []
    for number in range(1, 13):
        local_hub.here("claim", "hub-a", "--agent", "coder")
        local_hub.here("release", "hub-a", "--agent", "coder", "--reason", "no validator here")
        found = asked(local_hub)["given_back"]
        assert [one["times"] for one in found] == ([number] if number >= 5 else [])
        bead = local_hub.here("show", "hub-a", "--json").json[0]
        start = clock.now
        clock.move(hours=3, minutes=1)
        waits.append((instant_of(bead["retry_at"]) - start).total_seconds() if bead.get("retry_at") else 0.0)
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (0.0, 7200.0)
    assert len(set(waits)) >= len(waits) - 1, "longer each time, until the longest"
    lines = local_hub.here("attention").lines
    assert "  hub-a  Do hub-a   12 times in a row, last 3h ago: no validator here" in lines
    local_hub.here("claim", "hub-a", "--agent", "coder")
    local_hub.here("close", "hub-a", "--agent", "coder")
    assert kinds_in(local_hub) == []


def test_damaged_files(local_hub: Clone) -> None:
    commit_file(local_hub.path, bead_path("hub-bad"), "<<<<<<< ours\n")
    [one] = asked(local_hub)["damaged"]
    assert one["path"] == bead_path("hub-bad")
    assert "conflict markers" in one["reason"]
    assert local_hub.here("attention").code == 0


@pytest.mark.parametrize("dismissed", [True, False])
def test_what_the_hub_refused_of_this_clone(dismissed: bool, clone: Callable[[str], Clone]) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    url = git(alice.path, "remote", "get-url", "origin")
    git(alice.path, "remote", "set-url", "origin", "/nowhere")
    alice.here("close", "hub-a")
    assert "using this clone's last known state" in alice.here("attention").err
    git(alice.path, "remote", "set-url", "origin", url)
    bob.here("claim", "hub-a", "--agent", "coder")
    alice.here("sync", code=5)
    [one] = asked(alice)["refused"]
    assert "coder@hub" in one["error"]
    assert one["uid"] in alice.here("attention").out
    assert kinds_in(bob) == [], "it is a matter of that clone"
    if dismissed:
        alice.here("sync", "--dismiss", one["uid"])
        assert kinds_in(alice) == []


def test_it_looks_at_the_hub_as_it_is_now(clone: Callable[[str], Clone]) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.here("list")
    bob.here("wait-human", "hub-a", "--reason", "Which?")
    assert alice.here("attention", "--no-fetch", "--json").json["total"] == 0
    assert kinds_in(alice) == ["waiting"]
