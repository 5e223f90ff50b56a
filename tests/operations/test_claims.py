"""Claims and the ends of work: happy paths, refusals, and what a lost race makes of each."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import (
    AgentBusy,
    AgentOffline,
    AlreadyClaimed,
    BdError,
    DoesNotFit,
    NoSuchBead,
    NothingReady,
    OverCapacity,
    StaleToken,
    StillBlocked,
    WrongState,
)
from bd.core.model import Bead, Change
from bd.core.schema import CONFIG_PATH, agent_path, capacity_path
from bd.operations.beads import Delete, Update
from bd.operations.capacity_file import with_capacity
from bd.operations.claims import Claim, Release, Start
from bd.operations.close import Cancel, Close, Reopen
from bd.operations.create import Create
from bd.operations.take import Take
from bd.policy.overload import Ending
from bd.policy.ranking import longest_waiting_is_due
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import STAMP, by

FUTURE = "2026-03-01T00:00:00Z"


def agents(**files: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Agent files by name."""
    return {agent_path(name): {"name": name, **fields} for name, fields in files.items()}


def claim(agent: str = "coder", *ids: str, **args: Any) -> Claim:
    """A claim by an agent of its own: of these beads, or of the next."""
    named: dict[str, Any] = {"ids": list(ids)} if ids else {"next": True}
    return Claim(agent=agent, **named, **args, **by(agent))


def capacity(store: MemoryStore, name: str = "coder") -> Any:
    return store.tip.capacity(name)


# --- claiming one -----------------------------------------------------------------------------


def test_a_claim() -> None:
    store = MemoryStore(make_bead(), records=agents(coder={"max_concurrent": 2}))
    operation = claim("coder", "a", host="build-3")
    change = store.publish(operation)
    bead = store.bead("hub-a")
    (token,) = operation.args["new_tokens"]
    assert change.tokens == ((token, "hub-a"),)
    assert change.subject == "claim: hub-a by coder"
    assert (bead.status, bead.assignee, bead.owner, bead.attempts) == ("in_progress", "coder", "coder@hub", 1)
    held_by = bead.get("claim")
    assert {key: held_by[key] for key in ("agent", "token", "attempt", "claimed_at", "started_at", "host")} == {
        "agent": "coder",
        "token": token,
        "attempt": 1,
        "claimed_at": STAMP,
        "started_at": STAMP,
        "host": "build-3",
    }
    assert "expires_at" not in held_by
    assert capacity(store)["current_tasks"] == 1
    assert capacity(store)["beads"] == ["hub-a"]
    assert capacity(store)["status"] == "available"
    assert capacity(store)["last_heartbeat"] == STAMP


def test_a_reservation_expires_and_is_not_started() -> None:
    store = MemoryStore(make_bead())
    store.publish(claim("coder", "hub-a", reserve=True))
    held_by = store.bead("hub-a").get("claim")
    assert held_by["expires_at"] == "2026-02-21T15:15:00Z"
    assert "started_at" not in held_by
    assert store.bead("hub-a").get("started_at") is None


REFUSED: list[tuple[Bead, dict[str, Any], type[BdError]]] = [
    (held(agent="other"), {}, AlreadyClaimed),
    (held(), {}, AlreadyClaimed),
    (make_bead(status="in_progress", assignee="Ada"), {}, AlreadyClaimed),
    (make_bead(depends_on=["hub-b"]), {}, StillBlocked),
    (make_bead(depends_on=["hub-none"]), {}, StillBlocked),
    (make_bead(status="deferred", defer_until=FUTURE), {}, StillBlocked),
    (make_bead(parent="hub-b", depends_on=["hub-b"]), {}, StillBlocked),
    (make_bead(retry_at=FUTURE), {}, WrongState),
    (make_bead(status="closed"), {}, WrongState),
    (make_bead(status="cancelled"), {}, WrongState),
    (make_bead(status="blocked"), {}, WrongState),
    (make_bead(status="dead_letter"), {}, WrongState),
    (make_bead(type="gate"), {}, WrongState),
    (make_bead(assignee="other"), {}, DoesNotFit),
    (make_bead(needs=["gpu"]), {}, DoesNotFit),
    (make_bead(title="Water the plants"), {"role": "coding"}, DoesNotFit),
    (make_bead(exclusive="repo:site"), {}, DoesNotFit),
]


@pytest.mark.parametrize(("bead", "agent", "error"), REFUSED)
def test_a_claim_is_refused(bead: Bead, agent: dict[str, Any], error: type[BdError]) -> None:
    store = MemoryStore(
        bead,
        make_bead("hub-b"),
        held("hub-x", "third", exclusive="repo:site"),
        records=agents(coder={"max_concurrent": 9, **agent}),
    )
    with pytest.raises(error) as refusal:
        store.publish(claim("coder", "hub-a"))
    assert type(refusal.value) is error
    assert refusal.value.exit_code == 5
    assert "hub-a" in str(refusal.value)
    assert refusal.value.hint
    assert store.tip.commit == "c0"


@pytest.mark.parametrize(
    ("bead", "taken"),
    [
        (make_bead(assignee="other"), True),
        (make_bead(needs=["gpu"]), True),
        (make_bead(title="Water the plants"), True),
        (make_bead(exclusive="repo:site"), False),
        (make_bead(exclusive="repo:site", assignee="other"), False),
        (make_bead(depends_on=["hub-b"]), False),
        (held(agent="other"), False),
        (make_bead(status="closed"), False),
    ],
)
def test_force_takes_what_does_not_fit_and_nothing_else(bead: Bead, taken: bool) -> None:
    rival = held("hub-x", "third", exclusive="repo:site")
    store = MemoryStore(bead, make_bead("hub-b"), rival, records=agents(coder={"role": "coding", "max_concurrent": 9}))
    operation = claim("coder", "hub-a", force=True)
    if taken:
        store.publish(operation)
        assert store.bead("hub-a").claim is not None
    else:
        with pytest.raises(BdError):
            store.publish(operation)


def test_a_full_agent_gets_nothing() -> None:
    store = MemoryStore(make_bead(), held("hub-h", "coder"), records=agents(coder={}))
    for operation in (claim("coder", "hub-a"), claim("coder")):
        with pytest.raises(AgentBusy, match="hub-h") as refusal:
            store.publish(operation)
        assert refusal.value.exit_code == 3
        assert refusal.value.data["retry_after_s"] > 0


@pytest.mark.parametrize("status", ["draining", "offline"])
def test_a_draining_agent_gets_nothing(status: str) -> None:
    store = MemoryStore(make_bead(), records={capacity_path("coder"): {"agent": "coder", "status": status}})
    with pytest.raises(AgentBusy, match=status):
        store.publish(claim("coder", "hub-a"))


def test_several_by_name_as_far_as_there_is_room() -> None:
    beads = [make_bead(f"hub-{name}") for name in "abc"]
    store = MemoryStore(*beads, records=agents(coder={"max_concurrent": 2}))
    change = store.publish(claim("coder", "hub-a", "hub-b", "hub-c"))
    assert change.touched == ("hub-a", "hub-b")
    assert [failure["code"] for failure in change.failures] == [OverCapacity.code]
    first, second = store.bead("hub-a").get("claim"), store.bead("hub-b").get("claim")
    assert first["token"] != second["token"]
    assert "started_at" in first
    assert "expires_at" in second, "the further ones are reserved"


def test_two_beads_of_one_exclusive_name_are_not_taken_in_one_call() -> None:
    beads = [make_bead(f"hub-{name}", exclusive="repo:site" if name != "c" else None) for name in "abc"]
    for operation in (claim("coder", "hub-a", "hub-b", "hub-c"), claim("coder", count=3)):
        store = MemoryStore(*beads)
        change = store.publish(operation)
        assert change.touched == ("hub-a", "hub-c")


# --- claiming the best ------------------------------------------------------------------------


def test_the_next_is_the_best_that_fits() -> None:
    beads = [
        make_bead("hub-a", title="Water the plants", priority=0),
        make_bead("hub-b", title="Fix it", priority=0, depends_on=["hub-a"]),
        make_bead("hub-c", title="Fix it", priority=1, assignee="other"),
        make_bead("hub-d", title="Fix it", priority=2, created_at="2026-02-20T09:00:01Z"),
        make_bead("hub-e", title="Fix it", priority=2),
        held("hub-f", "other", title="Fix it", priority=0),
    ]
    store = MemoryStore(*beads, records=agents(coder={"role": "coding", "max_concurrent": 9}))
    taken = [store.publish(claim("coder")).touched for _ in range(2)]
    assert taken == [("hub-e",), ("hub-d",)]
    with pytest.raises(NothingReady) as refusal:
        store.publish(claim("coder"))
    assert refusal.value.exit_code == 3


def test_count_takes_so_many_and_no_more_than_there_is_room() -> None:
    beads = [make_bead(f"hub-{name}") for name in "abcde"]
    store = MemoryStore(*beads, records=agents(coder={"max_concurrent": 3}))
    assert store.publish(claim("coder", count=2)).touched == ("hub-a", "hub-b")
    assert store.publish(claim("coder", count=2)).touched == ("hub-c",)


def test_a_lone_urgent_bead_that_comes_late_is_next() -> None:
    store = MemoryStore(*[make_bead(f"hub-{number}") for number in range(5)])
    store.publish(Create(beads=[{"title": "Now", "id": "hub-now", "priority": 0}], **by("chief", at="2026-02-21T16:00:00Z")))
    assert store.publish(claim("coder")).touched == ("hub-now",)


# --- races ------------------------------------------------------------------------------------


def test_the_loser_of_a_named_bead_is_told_who_has_it() -> None:
    store = MemoryStore(make_bead())
    with pytest.raises(AlreadyClaimed, match="other@hub"):
        store.publish(claim("coder", "hub-a"), overtaken_by=lambda: store.publish(claim("other", "hub-a")))
    bead = store.bead("hub-a")
    assert bead.claim is not None
    assert (bead.claim.agent, bead.attempts) == ("other", 1)
    assert capacity(store, "coder") is None, "the loser's capacity was not written"


def test_the_loser_of_the_next_takes_the_next_best() -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    change = store.publish(claim("coder"), overtaken_by=lambda: store.publish(claim("other")))
    assert change.touched == ("hub-b",)
    assert [store.bead(name).owner for name in ("hub-a", "hub-b")] == ["other@hub", "coder@hub"]


def test_nobody_goes_home_empty_while_something_is_open() -> None:
    store = MemoryStore(*[make_bead(f"hub-{number}") for number in range(8)])
    operations = [claim(f"agent-{number}") for number in range(8)]
    for operation in operations:
        store.decide(operation)  # all of them saw the same tip
    won = [store.publish(operation).touched[0] for operation in operations]
    assert sorted(won) == sorted(bead.id for bead in store.tip.claimed())
    assert len(set(won)) == 8


def test_room_is_judged_on_the_tip_that_is_written_to() -> None:
    """The same agent claims from two places: its limit holds for both together."""
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"), records=agents(coder={"max_concurrent": 1}))
    with pytest.raises(AgentBusy):
        store.publish(claim("coder"), overtaken_by=lambda: store.publish(claim("coder")))
    assert len(list(store.tip.claimed())) == 1


def test_an_exclusive_name_is_judged_on_the_tip_too() -> None:
    store = MemoryStore(make_bead("hub-a", exclusive="x"), make_bead("hub-b", exclusive="x"))
    with pytest.raises(DoesNotFit):
        store.publish(claim("coder", "hub-a"), overtaken_by=lambda: store.publish(claim("other", "hub-b")))


def test_a_bead_that_was_deleted_meanwhile_is_no_more() -> None:
    store = MemoryStore(make_bead())

    with pytest.raises(NoSuchBead):
        store.publish(claim("coder", "hub-a"), overtaken_by=lambda: store.publish(Delete(ids=["hub-a"], **by("Ada"))))


def test_a_bead_that_was_blocked_meanwhile_is_refused() -> None:
    store = MemoryStore(make_bead())
    with pytest.raises(StillBlocked):
        store.publish(
            claim("coder", "hub-a"), overtaken_by=lambda: store.put(make_bead("hub-b"), make_bead(depends_on=["hub-b"]))
        )


def test_a_claim_that_landed_is_found_again_by_its_token() -> None:
    """The push was accepted and the answer lost: deciding again says so, whatever else has happened."""
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"), records=agents(coder={}))
    operation = claim("coder")
    won = store.publish(operation)
    store.put(make_bead("hub-urgent", priority=0))
    again = store.decide(operation)
    assert again.is_empty
    assert (again.touched, again.tokens) == (won.touched, won.tokens)


def test_a_claim_that_landed_and_ended_is_not_won_again() -> None:
    store = MemoryStore(make_bead("hub-a"))
    operation = claim("coder", "hub-a")
    ((token, _),) = store.publish(operation).tokens
    store.publish(Close(ids=["hub-a"], **by("coder", hub_a=token)))
    with pytest.raises(WrongState):
        store.decide(operation)


# --- resuming ---------------------------------------------------------------------------------


def test_resuming_takes_over_ones_own_claim_under_a_new_token() -> None:
    store = MemoryStore(held("hub-h", "coder", "old"), records=agents(coder={}))
    change = store.publish(Claim(agent="coder", ids=["hub-h"], resume=True, **by()))
    bead = store.bead("hub-h")
    ((token, _),) = change.tokens
    assert bead.claim is not None
    assert (bead.claim.token, bead.claim.attempt, bead.attempts) == (token, 1, 1)
    with pytest.raises(StaleToken):
        store.publish(Close(ids=["hub-h"], **by("coder", hub_h="old")))


def test_resuming_without_ids_takes_one_of_what_it_holds() -> None:
    store = MemoryStore(held("hub-h", "coder"), held("hub-i", "other"))
    assert store.publish(Claim(agent="coder", resume=True, **by())).touched == ("hub-h",)


@pytest.mark.parametrize(
    ("bead", "error"),
    [(held("hub-h", "other"), DoesNotFit), (make_bead("hub-h"), WrongState), (make_bead("hub-h", status="closed"), WrongState)],
)
def test_only_ones_own_claim_is_resumed(bead: Bead, error: type[BdError]) -> None:
    with pytest.raises(error):
        MemoryStore(bead).publish(Claim(agent="coder", ids=["hub-h"], resume=True, **by()))


def test_nothing_to_resume() -> None:
    with pytest.raises(NothingReady):
        MemoryStore(make_bead()).publish(Claim(agent="coder", resume=True, **by()))


# --- start, release ---------------------------------------------------------------------------


def test_starting_a_reservation() -> None:
    store = MemoryStore(held("hub-h", "coder", "t", claim={"started_at": None, "expires_at": FUTURE}))
    store.publish(Start(ids=["hub-h"], **by("coder", hub_h="t")))
    claim_map = store.bead("hub-h").get("claim")
    assert (claim_map["started_at"], claim_map.get("expires_at")) == (STAMP, None)
    assert store.publish(Start(ids=["hub-h"], **by("coder", hub_h="t"))).is_empty, "begun work stays as it was"


@pytest.mark.parametrize(("bead", "error"), [(make_bead("hub-h"), WrongState), (held("hub-h", "coder", "new"), StaleToken)])
def test_starting_is_refused(bead: Bead, error: type[BdError]) -> None:
    with pytest.raises(error):
        MemoryStore(bead).publish(Start(ids=["hub-h"], **by("coder", hub_h="t")))


def test_a_release_gives_back_and_costs_nothing() -> None:
    store = MemoryStore(make_bead("hub-h", assignee="reader"), records=agents(reader={}))
    ((token, _),) = store.publish(claim("reader", "hub-h")).tokens
    store.publish(Release(ids=["hub-h"], reason="broken", **by("reader", hub_h=token)))
    bead = store.bead("hub-h")
    assert (bead.status, bead.assignee, bead.owner, bead.claim) == ("open", "reader", None, None)
    assert (bead.attempts, bead.attempts_counted, bead.get("status_reason")) == (1, 0, "broken")
    assert capacity(store, "reader")["current_tasks"] == 0
    assert store.publish(claim("reader")).touched == ("hub-h",)


@pytest.mark.parametrize(
    ("token", "force", "passes"), [("t", False, True), ("old", False, False), ("", False, False), ("", True, True)]
)
def test_a_release_needs_the_token_or_force(token: str, force: bool, passes: bool) -> None:
    store = MemoryStore(held("hub-h", "coder", "t"))
    operation = Release(ids=["hub-h"], reason="r", force=force, **by("other", hub_h=token))
    if passes:
        store.publish(operation)
        assert store.bead("hub-h").claim is None
    else:
        with pytest.raises(StaleToken):
            store.publish(operation)
        assert store.tip.commit == "c0"


def test_a_token_for_every_bead() -> None:
    """BD_TOKEN is sent for whatever is named."""
    store = MemoryStore(held("hub-h", "coder", "t"))
    asked = by()
    store.publish(Release(ids=["hub-h"], **{**asked, "tokens": {"*": "t"}}))
    assert store.bead("hub-h").status == "open"


# --- close ------------------------------------------------------------------------------------


def test_a_close() -> None:
    store = MemoryStore(
        held("hub-h", "coder", "t"),
        make_bead("hub-b", depends_on=["hub-h"]),
        make_bead("hub-c", depends_on=["hub-h", "hub-b"]),
        records=agents(coder={}),
    )
    change = store.publish(Close(ids=["hub-h"], reason="Shipped", **by("coder", hub_h="t")))
    bead = store.bead("hub-h")
    assert (bead.status, bead.get("closed_by"), bead.get("close_reason"), bead.claim) == (
        "closed",
        "agent:coder",
        "Shipped",
        None,
    )
    assert change.notes == ("now ready: hub-b",)
    assert change.result == {"unblocked": ["hub-b"]}
    assert capacity(store)["current_tasks"] == 0


CLOSE_REFUSED: list[tuple[list[Bead], type[BdError]]] = [
    ([held("hub-a", "other")], StaleToken),
    ([make_bead(depends_on=["hub-b"]), make_bead("hub-b")], StillBlocked),
    ([make_bead(depends_on=["hub-none"])], StillBlocked),
    ([make_bead(), make_bead("hub-kid", parent="hub-a")], StillBlocked),
    ([make_bead(status="pinned")], WrongState),
    ([make_bead(status="cancelled")], WrongState),
]


@pytest.mark.parametrize(("beads", "error"), CLOSE_REFUSED)
def test_a_close_is_refused(beads: list[Bead], error: type[BdError]) -> None:
    store = MemoryStore(*beads)
    with pytest.raises(error) as refusal:
        store.publish(Close(ids=["hub-a"], **by()))
    assert type(refusal.value) is error
    assert store.tip.commit == "c0"


@pytest.mark.parametrize("beads", [beads for beads, _ in CLOSE_REFUSED[:-1]])
def test_force_closes_all_but_what_was_cancelled(beads: list[Bead]) -> None:
    store = MemoryStore(*beads)
    store.publish(Close(ids=["hub-a"], force=True, reason="I say so", **by()))
    assert store.bead("hub-a").status == "closed"


def test_a_parent_may_be_closed_together_with_its_children() -> None:
    store = MemoryStore(
        make_bead(), make_bead("hub-kid", parent="hub-a"), make_bead("hub-old", parent="hub-a", status="cancelled")
    )
    assert store.publish(Close(ids=["hub-a", "hub-kid"], **by())).touched == ("hub-a", "hub-kid")


def test_a_second_close_is_told_who_was_first_and_changes_nothing() -> None:
    store = MemoryStore(make_bead())
    change = store.publish(
        Close(ids=["hub-a"], reason="Mine", **by("coder")),
        overtaken_by=lambda: store.publish(Close(ids=["hub-a"], reason="First", **by("other"))),
    )
    assert change.is_empty
    assert "already closed by agent:other: First" in change.notes[0]
    assert store.bead("hub-a").get("close_reason") == "First"


def test_a_late_worker_can_not_close_over_the_new_owner() -> None:
    """The zombie of a stall: its bead was taken back and claimed again while it worked."""
    store = MemoryStore(held("hub-a", "coder", "old"))

    def reassign() -> None:
        store.publish(Release(ids=["hub-a"], force=True, reason="stalled", **by("chief")))
        store.publish(claim("other", "hub-a"))

    with pytest.raises(StaleToken, match="newer token"):
        store.publish(Close(ids=["hub-a"], **by("coder", hub_a="old")), overtaken_by=reassign)
    bead = store.bead("hub-a")
    assert bead.claim is not None
    assert (bead.status, bead.claim.agent) == ("in_progress", "other")


def test_a_late_worker_whose_bead_somebody_else_closed_is_told_so() -> None:
    store = MemoryStore(make_bead(status="closed", closed_by="agent:other", close_reason="Done"))
    with pytest.raises(StaleToken, match="already closed by agent:other"):
        store.publish(Close(ids=["hub-a"], **by("coder", hub_a="old")))


# --- close and claim the next in one commit ---------------------------------------------------


def test_close_and_next_is_one_change() -> None:
    store = MemoryStore(
        held("hub-h", "coder", "t"),
        make_bead("hub-b", depends_on=["hub-h"], priority=0),
        make_bead("hub-c"),
        records=agents(coder={}),
    )
    operation = Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t"))
    change = store.publish(operation)
    assert store.bead("hub-h").status == "closed"
    assert store.bead("hub-b").owner == "coder@hub", "what the close made ready counts at once"
    assert change.touched == ("hub-h", "hub-b")
    assert change.tokens == ((operation.args["next"]["new_tokens"][0], "hub-b"),)
    assert capacity(store)["beads"] == ["hub-b"]
    assert len(store.subjects) == 1
    again = store.decide(operation)
    assert again.touched == change.touched
    assert again.tokens == change.tokens
    assert not again.beads


def test_close_and_next_with_nothing_left_closes() -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), records=agents(coder={}))
    change = store.publish(Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t")))
    assert change.touched == ("hub-h",)
    assert any("nothing is ready" in note for note in change.notes)
    assert not change.tokens


def test_close_and_next_after_a_lost_race_takes_the_next_best() -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), make_bead("hub-a"), make_bead("hub-b"), records=agents(coder={}))
    change = store.publish(
        Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t")),
        overtaken_by=lambda: store.publish(claim("other")),
    )
    assert change.touched == ("hub-h", "hub-b")


def test_a_refused_close_claims_nothing() -> None:
    store = MemoryStore(held("hub-h", "coder", "new"), make_bead("hub-a"))
    with pytest.raises(StaleToken):
        store.publish(Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="old")))
    assert store.tip.commit == "c0"


# --- reopen, cancel ---------------------------------------------------------------------------


def test_a_reopen_forgets_the_end_and_keeps_the_reason_as_a_comment() -> None:
    store = MemoryStore(make_bead(status="closed", closed_by="agent:x", close_reason="Done", closed_at=STAMP))
    operation = Reopen(ids=["hub-a"], reason="It is back", **by())
    store.publish(operation)
    bead = store.bead("hub-a")
    assert bead.status == "open"
    assert [comment["text"] for comment in bead.comments] == ["It is back"]
    assert bead.comments[0]["id"] == operation.args["comment_id"]


def test_what_is_held_is_not_reopened() -> None:
    with pytest.raises(WrongState):
        MemoryStore(held("hub-a")).publish(Reopen(ids=["hub-a"], **by()))


def test_a_cancel_leaves_its_dependents_waiting_and_says_so() -> None:
    store = MemoryStore(make_bead(), make_bead("hub-b", depends_on=["hub-a"]), make_bead("hub-kid", parent="hub-a"))
    change = store.publish(Cancel(ids=["hub-a"], reason="no", **by()))
    assert store.bead("hub-a").status == "cancelled"
    assert store.bead("hub-b").depends_on == ["hub-a"]
    assert any("still waiting" in note and "hub-b" in note for note in change.notes)


def test_a_cancel_can_free_its_dependents() -> None:
    store = MemoryStore(make_bead(), make_bead("hub-b", depends_on=["hub-a", "hub-c"]), make_bead("hub-c"))
    store.publish(Cancel(ids=["hub-a"], unblock=True, **by()))
    assert store.bead("hub-b").depends_on == ["hub-c"]


def test_a_cancel_can_take_everything_behind_and_below_along() -> None:
    beads = [
        make_bead("hub-a"),
        make_bead("hub-b", depends_on=["hub-a"]),
        make_bead("hub-c", depends_on=["hub-b"]),
        make_bead("hub-kid", parent="hub-c"),
        make_bead("hub-done", depends_on=["hub-a"], status="closed"),
        make_bead("hub-else"),
    ]
    store = MemoryStore(*beads)
    store.publish(Cancel(ids=["hub-a"], cascade=True, **by()))
    assert sorted(bead.id for bead in store.tip.every() if bead.status == "cancelled") == ["hub-a", "hub-b", "hub-c", "hub-kid"]
    assert store.bead("hub-done").status == "closed"


def test_a_cancel_of_what_is_held_needs_the_token_or_force() -> None:
    store = MemoryStore(held("hub-a", "coder", "t"), records=agents(coder={}))
    with pytest.raises(StaleToken):
        store.publish(Cancel(ids=["hub-a"], **by("chief")))
    store.publish(Cancel(ids=["hub-a"], force=True, reason="stop", **by("chief")))
    assert store.bead("hub-a").claim is None
    assert capacity(store)["current_tasks"] == 0


def test_a_cascade_over_a_held_bead_says_what_it_left() -> None:
    store = MemoryStore(make_bead(), held("hub-b", "coder", "t", depends_on=["hub-a"]))
    change = store.publish(Cancel(ids=["hub-a"], cascade=True, **by("chief")))
    assert change.touched == ("hub-a",)
    assert [failure["id"] for failure in change.failures] == ["hub-b"]
    assert store.bead("hub-b").status == "in_progress"


# --- what a dead process had won --------------------------------------------------------------


def dead(token: str, **data: Any) -> dict[str, Any]:
    """What the clone's journal keeps of a claim whose process died before it could say so."""
    return {"verb": "claim", "agent": "coder", "ids": None, "tokens": [token], **data}


def test_the_next_claim_of_the_same_agent_is_handed_what_a_dead_process_won() -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    ((token, _),) = store.publish(claim("coder")).tokens
    following = claim("coder").inheriting(dead(token))
    assert following is not None
    change = store.publish(following)
    assert change.is_empty
    assert change.tokens == ((token, "hub-a"),)
    assert store.bead("hub-b").claim is None


@pytest.mark.parametrize(
    ("operation", "data", "inherits"),
    [
        (claim("coder"), {}, True),
        (claim("coder"), {"verb": "close"}, True),
        (claim("other"), {}, False),
        (Claim(agent="coder", resume=True, **by()), {}, False),
        (claim("coder", "hub-a"), {"ids": ["hub-a"]}, True),
        (claim("coder", "hub-a"), {"ids": ["hub-b"]}, False),
        (claim("coder", "hub-a"), {}, False),
        (claim("coder", "hub-a"), {"verb": "close", "ids": ["hub-a"]}, False),
        (claim("coder", "hub-a"), {"verb": "take", "ids": ["hub-a"]}, True),
        (Take(agent="coder", ids=["hub-a"], reason="mine", **by()), {"verb": "take", "ids": ["hub-a"]}, True),
        (Take(agent="coder", ids=["hub-a"], reason="mine", **by()), {"verb": "claim", "ids": ["hub-a"]}, True),
        (Take(agent="coder", ids=["hub-a"], reason="mine", **by()), {"verb": "claim", "ids": ["hub-b"]}, False),
        (Close(ids=["hub-x"], next={"agent": "coder"}, **by()), {}, True),
        (Close(ids=["hub-x"], next={"agent": "other"}, **by()), {}, False),
        (Close(ids=["hub-x"], **by()), {}, False),
    ],
)
def test_who_inherits(operation: Claim | Close, data: dict[str, Any], inherits: bool) -> None:
    assert (operation.inheriting(dead("t", **data)) is not None) is inherits


def test_a_close_and_next_inherits_too() -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), make_bead("hub-a"), make_bead("hub-b"))
    ((token, _),) = store.publish(claim("coder")).tokens
    operation = Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t"))
    heir = operation.inheriting(dead(token))
    assert heir is not None
    change = store.publish(heir)
    assert change.tokens == ((token, "hub-a"),)
    assert store.bead("hub-h").status == "closed"
    assert store.bead("hub-b").claim is None


@pytest.mark.parametrize(
    ("operation", "needs"),
    [
        (claim("coder"), True),
        (Close(ids=["hub-a"], next={"agent": "coder"}, **by()), True),
        (Close(ids=["hub-a"], **by()), False),
        (Release(ids=["hub-a"], **by()), False),
    ],
)
def test_what_would_be_a_lie_without_the_remote(operation: Claim | Close | Release, needs: bool) -> None:
    assert operation.needs_remote is needs


# --- a remote without side refs ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "promised"),
    [
        ({"interval_s": 30, "by": "ref"}, {"interval_s": 900, "by": "branch"}),
        ({"interval_s": 3600, "by": "ref"}, {"interval_s": 3600, "by": "branch"}),
        ({"interval_s": 1200, "by": "branch"}, {"interval_s": 1200, "by": "branch"}),
    ],
)
def test_without_side_refs_heartbeats_are_commits_and_rarer(asked: dict[str, Any], promised: dict[str, Any]) -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), make_bead("hub-a"))
    context = store.context.replace(takes_side_refs=False)
    operations = [
        (claim("coder", "hub-a", heartbeat=asked), lambda args: args),
        (Close(ids=["hub-h"], next={"agent": "coder", "heartbeat": asked}, **by("coder", hub_h="t")), lambda args: args["next"]),
    ]
    for operation, args_of in operations:
        for there, heartbeat in ((context, promised), (store.context, asked)):
            change = operation.decide(store.tip, there)
            taken = change.beads["hub-a"]
            assert taken is not None
            made = taken.get("claim")
            assert (made["heartbeat_interval_s"], made["heartbeat_by"]) == (heartbeat["interval_s"], heartbeat["by"])
            assert args_of(operation.pinned(change, store.tip)["args"])["heartbeat"] == heartbeat, "the commit says what holds"
            assert args_of(operation.form()["args"])["heartbeat"] == asked


# --- what holds beside a claim of the same exclusive name ----------------------------------------


def test_a_held_bead_gets_no_exclusive_name_that_is_in_work() -> None:
    store = MemoryStore(held(), held("hub-b", "other", "01OTHER", exclusive="site"))
    with pytest.raises(DoesNotFit, match="shares site with hub-b"):
        store.publish(Update(ids=["hub-a"], set={"exclusive": "site"}, **by()))
    store.publish(Update(ids=["hub-a"], set={"exclusive": "docs"}, **by()))
    assert store.bead("hub-a").get("exclusive") == "docs"


def test_work_without_a_claim_is_resumed_where_there_is_room_and_no_rival() -> None:
    by_hand = make_bead(status="in_progress", assignee="coder", exclusive="site")
    store = MemoryStore(by_hand, held("hub-b", "other", "01OTHER", exclusive="site"))
    with pytest.raises(DoesNotFit, match="shares site with hub-b"):
        store.publish(claim("coder", "hub-a", resume=True))
    busy = MemoryStore(by_hand, held("hub-c"), records=agents(coder={"max_concurrent": 1}))
    with pytest.raises(OverCapacity):
        busy.publish(claim("coder", "hub-a", resume=True))
    free = MemoryStore(by_hand, records=agents(coder={"max_concurrent": 1}))
    free.publish(claim("coder", "hub-a", resume=True))
    assert free.bead("hub-a").claim.agent == "coder"


def test_what_the_asker_holds_counts_as_claimed_also_when_it_has_no_room() -> None:
    store = MemoryStore(held(), make_bead("hub-b"), records=agents(coder={"max_concurrent": 1}))
    before = store.tip
    change = store.publish(claim("coder", "hub-a", "hub-b", held_tokens={"hub-a": "01TOKEN"}))
    assert change.tokens == (("01TOKEN", "hub-a"),)
    assert [failure["id"] for failure in change.failures] == ["hub-b"]
    assert store.bead("hub-a") == before.bead("hub-a")
    assert store.bead("hub-b").claim is None


# --- how attempts end -------------------------------------------------------------------------


def test_a_close_by_the_holder_is_a_done_attempt() -> None:
    store = MemoryStore(make_bead(), records=agents(coder={}))
    ((token, _),) = store.publish(claim()).tokens
    store.publish(Close(ids=["hub-a"], **by("coder", hub_a=token)))
    assert (capacity(store)["recent"], capacity(store)["failed_tasks"]) == (["done"], 0)


def test_a_status_of_closed_by_the_holder_is_a_done_attempt_too() -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), records=agents(coder={}))
    store.publish(Update(ids=["hub-h"], status="closed", **by("coder", hub_h="t")))
    assert capacity(store)["recent"] == ["done"]


def test_each_bead_is_an_attempt() -> None:
    store = MemoryStore(*(held(f"hub-{name}", "coder", f"t-{name}") for name in "abc"), records=agents(coder={}))
    store.publish(Close(ids=["hub-a", "hub-b"], **by("coder", hub_a="t-a", hub_b="t-b")))
    assert capacity(store)["recent"] == ["done", "done"]
    assert capacity(store)["beads"] == ["hub-c"]


@pytest.mark.parametrize(
    "operation",
    [
        Close(ids=["hub-h"], force=True, reason="enough", **by("Ada")),
        Release(ids=["hub-h"], reason="no time", **by("coder", hub_h="t")),
        Cancel(ids=["hub-h"], **by("coder", hub_h="t")),
    ],
)
def test_what_is_no_end_of_an_attempt_records_nothing(operation: Any) -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), records=agents(coder={}))
    store.publish(operation)
    assert "recent" not in capacity(store)
    assert capacity(store)["current_tasks"] == 0


def test_a_repeated_close_is_no_second_attempt() -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), records=agents(coder={}))
    close = Close(ids=["hub-h"], **by("coder", hub_h="t"))
    store.publish(close)
    store.publish(close)
    assert capacity(store)["recent"] == ["done"]


def overloaded(**record: Any) -> dict[str, Any]:
    return {capacity_path("coder"): {"agent": "coder", "recent": ["failed", "failed"], "failed_tasks": 2, **record}}


def test_an_overloaded_agent_gets_nothing_until_its_probe_is_due() -> None:
    store = MemoryStore(
        make_bead("hub-a"),
        make_bead("hub-b"),
        records={**agents(coder={"interval": "30m", "max_concurrent": 3}), **overloaded(overloaded_at="2026-02-21T14:30:00Z")},
    )
    for operation in (claim(), claim("coder", "hub-a")):
        with pytest.raises(AgentBusy, match="overloaded") as refusal:
            store.publish(operation)
        assert refusal.value.data["retry_after_s"] == 1800
        assert refusal.value.hint == "`bd agent clear coder` forgets its failures"
    store.now = store.now.replace(minute=30)
    assert store.publish(claim("coder", count=2)).touched == ("hub-a",), "one bead to try with"
    assert capacity(store)["status"] == "overloaded"
    with pytest.raises(AgentBusy, match="overloaded"):
        store.publish(claim("coder", "hub-b"))


def test_a_probe_that_is_done_ends_it_and_the_next_claim_comes_with_it() -> None:
    store = MemoryStore(
        held("hub-h", "coder", "t"),
        make_bead("hub-a"),
        records={**agents(coder={}), **overloaded(overloaded_at="2026-02-21T13:00:00Z")},
    )
    change = store.publish(Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t")))
    assert change.touched == ("hub-h", "hub-a")
    assert "recent" not in capacity(store)
    assert "overloaded_at" not in capacity(store)
    assert (capacity(store)["status"], capacity(store)["failed_tasks"], capacity(store)["beads"]) == ("busy", 0, ["hub-a"])


@pytest.mark.parametrize("outcome", ["failed", "stalled"])
def test_outcomes_of_others_make_an_agent_overloaded(outcome: str) -> None:
    store = MemoryStore(records=agents(coder={}))
    for number in (1, 2):
        change = with_capacity(
            Change({}, "x"), store.tip, ["coder"], store.now, endings=[Ending("coder", outcome, f"hub-{number}")]
        )
        store.tip = store.tip.after(change)
        assert capacity(store)["failed_tasks"] == number
    assert (capacity(store)["status"], capacity(store)["overloaded_at"]) == ("overloaded", STAMP)
    assert "last_heartbeat" not in capacity(store), "who ended it for the agent is no sign of its life"


def test_a_paused_fleet_claims_nothing_and_finishes_what_it_does() -> None:
    store = MemoryStore(held("hub-h", "coder", "t"), make_bead("hub-a"), records=agents(coder={"max_concurrent": 9}))
    store.put(**{CONFIG_PATH: {**store.tip.config(), "paused": {"by": "human:Ada", "reason": "moving"}}})
    for operation in (claim(), claim("coder", "hub-a")):
        with pytest.raises(AgentBusy, match="paused by Ada: moving") as refusal:
            store.publish(operation)
        assert refusal.value.data["reason"] == "paused"
    change = store.publish(Close(ids=["hub-h"], next={"agent": "coder"}, **by("coder", hub_h="t")))
    assert change.touched == ("hub-h",)
    assert "the fleet is paused by Ada: moving" in change.notes


# --- who is away ------------------------------------------------------------------------------

SILENT = {capacity_path("reader"): {"agent": "reader", "last_heartbeat": "2026-02-21T03:00:00Z"}}
TOLD = {capacity_path("reader"): {"agent": "reader", "status": "offline"}}


@pytest.mark.parametrize("record", [SILENT, TOLD])
def test_nothing_is_assigned_to_who_is_away_but_by_force(record: dict[str, Any]) -> None:
    store = MemoryStore(make_bead(), records={**agents(reader={}), **record})
    for force in (False, True):
        given = {"force": True} if force else {}
        assign = Update(ids=["hub-a"], set={"assignee": "reader"}, **given, **by("Ada"))
        create = Create(beads=[{"title": "New", "id": "hub-n", "assignee": "reader"}], **given, **by("Ada"))
        for operation in (assign, create):
            if force:
                store.publish(operation)
            else:
                with pytest.raises(AgentOffline) as refusal:
                    store.publish(operation)
                assert refusal.value.exit_code == 5
                assert "--force" in (refusal.value.hint or "")
    assert (store.bead("hub-a").assignee, store.bead("hub-n").assignee) == ("reader", "reader")
    assert store.publish(Update(ids=["hub-a"], set={"assignee": "Ada"}, **by("Ada"))).touched


@pytest.mark.parametrize("record", [SILENT, TOLD])
def test_what_was_assigned_to_who_is_away_is_anybodys_and_comes_back_to_it(record: dict[str, Any]) -> None:
    store = MemoryStore(make_bead(assignee="reader"), records={**agents(reader={}, coder={}), **record})
    ((token, _),) = store.publish(claim()).tokens
    store.publish(Release(ids=["hub-a"], reason="not mine", **by("coder", hub_a=token)))
    assert store.bead("hub-a").assignee == "reader"


def test_a_claim_that_takes_what_has_waited_longest_says_so() -> None:
    """Also one that comes with a close: the uid decides."""
    due = next(uid for uid in map("op-{}".format, range(1000)) if longest_waiting_is_due(uid))
    old = make_bead("hub-old", priority=4, priority_boost_per_minute=0, created_at="2026-02-01T00:00:00Z")
    for operation in (
        Claim(agent="coder", next=True, new_tokens=["t9"], **{**by("coder"), "uid": due}),
        Close(ids=["hub-h"], next={"agent": "coder", "new_tokens": ["t9"]}, **{**by("coder", hub_h="t"), "uid": due}),
    ):
        store = MemoryStore(
            held("hub-h", "coder", "t"), make_bead("hub-a", priority=1), old, records=agents(coder={"max_concurrent": 2})
        )
        change = store.publish(operation)
        assert change.touched[-1] == "hub-old"
        assert "hub-old has waited longest; one claim in ten takes such a bead" in change.notes
