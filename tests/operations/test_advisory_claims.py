"""Advisory claims by operations: several at one bead, on the store in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import AgentBusy, AlreadyClaimed, BadInput, DoesNotFit, StaleToken, WrongState
from bd.core.schema import CONFIG_PATH, agent_path
from bd.core.times import time_text
from bd.operations.beads import Update
from bd.operations.claims import Claim, Release, Start
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.fail import Fail
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.core.model import Change

ADVISORY = {CONFIG_PATH: {"format": 1, "prefix": "hub", "claim_mode": "advisory"}}


def store(*beads: Any, **agents: dict[str, Any]) -> MemoryStore:
    """A hub whose beads may be shared."""
    files = {agent_path(name): {"name": name, **fields} for name, fields in agents.items()}
    return MemoryStore(*(beads or [make_bead()]), records={**ADVISORY, **files})


def asked(hub: MemoryStore, agent: str, **tokens: str) -> dict[str, Any]:
    return by(agent, time_text(hub.now, exact=True), **tokens)


def claim(hub: MemoryStore, agent: str, bead_id: str = "hub-a", **args: Any) -> str:
    """Claim a bead; the token."""
    change = hub.publish(Claim(agent=agent, ids=[bead_id], **args, **asked(hub, agent)))
    return change.tokens[0][0]


def close(hub: MemoryStore, agent: str, token: str, **args: Any) -> Change:
    return hub.publish(Close(ids=["hub-a"], reason="done", **args, **asked(hub, agent, **({"hub_a": token} if token else {}))))


def capacity(hub: MemoryStore, agent: str) -> int:
    return int((hub.tip.capacity(agent) or {}).get("current_tasks", -1))


def test_two_claim_the_same_bead_and_see_each_other() -> None:
    hub = store()
    ann, ben = claim(hub, "ann"), claim(hub, "ben")
    bead = hub.bead("hub-a")
    assert ann != ben
    assert [(one["agent"], one["token"], one["attempt"]) for one in bead.claims] == [("ann", ann, 1), ("ben", ben, 2)]
    assert all(one["expires_at"] for one in bead.claims)
    assert (bead.get("claim_mode"), bead.status, bead.claim, bead.owner) == ("advisory", "open", None, None)
    assert (capacity(hub, "ann"), capacity(hub, "ben")) == (1, 1)


@pytest.mark.parametrize("mode", ["bead", "hub"])
def test_the_beads_mode_goes_before_the_hubs(mode: str) -> None:
    exclusive = MemoryStore(make_bead(claim_mode="advisory")) if mode == "bead" else store(make_bead(claim_mode="exclusive"))
    claim(exclusive, "ann")
    if mode == "bead":
        claim(exclusive, "ben")
    else:
        with pytest.raises(AlreadyClaimed):
            claim(exclusive, "ben")


def test_exclusive_is_the_default() -> None:
    hub = MemoryStore(make_bead())
    claim(hub, "ann")
    assert hub.bead("hub-a").claim is not None
    assert hub.bead("hub-a").get("claims") is None
    with pytest.raises(AlreadyClaimed):
        claim(hub, "ben")


def test_an_exclusive_claim_stays_so_when_the_hub_becomes_advisory() -> None:
    hub = store(held())
    with pytest.raises(AlreadyClaimed):
        claim(hub, "ben")


def test_an_operation_that_is_overtaken_joins() -> None:
    hub = store()
    hub.publish(Claim(agent="ann", ids=["hub-a"], **asked(hub, "ann")), overtaken_by=lambda: [claim(hub, "ben")][0] and None)
    assert sorted(hub.bead("hub-a").holders) == ["ann", "ben"]


def test_settled_again_it_is_the_same_claim() -> None:
    hub = store()
    operation = Claim(agent="ann", ids=["hub-a"], **asked(hub, "ann"))
    change = hub.publish(operation)
    again = hub.decide(operation)
    assert again.is_empty
    assert again.tokens == change.tokens


@pytest.mark.parametrize("presented", [True, False])
def test_the_same_agent_again_renews_its_own(presented: bool) -> None:
    hub = store(make_bead(), ann={"max_concurrent": 1})
    token = claim(hub, "ann")
    before = hub.bead("hub-a").claims[0]
    hub.now += timedelta(minutes=30)
    again = claim(hub, "ann", held_tokens={"hub-a": token} if presented else {})
    [entry] = hub.bead("hub-a").claims
    assert (again == token) == presented
    assert entry["token"] == again
    assert entry["expires_at"] > before["expires_at"]
    assert (entry["attempt"], hub.bead("hub-a").attempts) == (1, 1)


def test_resume_takes_ones_own_over_under_a_new_token() -> None:
    hub = store()
    token, other = claim(hub, "ann"), claim(hub, "ben")
    change = hub.publish(Claim(agent="ann", resume=True, **asked(hub, "ann")))
    (new, _), *_ = change.tokens
    assert new not in (token, other)
    assert {one["token"] for one in hub.bead("hub-a").claims} == {new, other}
    with pytest.raises(StaleToken):
        close(hub, "ann", token)


def test_what_expired_is_dropped_by_the_next_claim() -> None:
    hub = store(make_bead(expected="1h"))
    token = claim(hub, "ann")
    hub.now += timedelta(hours=2, seconds=1)
    with pytest.raises(StaleToken, match="has ended"):
        close(hub, "ann", token)
    claim(hub, "ben")
    assert hub.bead("hub-a").holders == ["ben"]
    assert hub.bead("hub-a").attempts_counted == 0


def test_what_expired_takes_no_room() -> None:
    hub = store(make_bead(), make_bead("hub-b"), ann={"max_concurrent": 1})
    claim(hub, "ann")
    with pytest.raises(AgentBusy):
        claim(hub, "ann", "hub-b")
    hub.now += timedelta(hours=3)
    claim(hub, "ann", "hub-b")
    assert capacity(hub, "ann") == 2, "the record repeats the files: the old claim is still in one"


def test_next_prefers_what_nobody_is_at() -> None:
    hub = store(make_bead(priority=0), make_bead("hub-b", priority=3))
    claim(hub, "ann")
    first = hub.publish(Claim(agent="ben", next=True, **asked(hub, "ben")))
    assert first.touched == ("hub-b",)
    second = hub.publish(Claim(agent="ben", next=True, **asked(hub, "ben")))
    assert second.touched == ("hub-a",)
    assert hub.bead("hub-a").holders == ["ann", "ben"]
    with pytest.raises(Exception, match="nothing is ready"):
        hub.publish(Claim(agent="ben", next=True, **asked(hub, "ben")))


def test_a_reservation_is_started_with_its_own_token() -> None:
    hub = store()
    token = claim(hub, "ann", reserve=True)
    other = claim(hub, "ben", reserve=True)
    hub.publish(Start(ids=["hub-a"], **asked(hub, "ann", hub_a=token)))
    begun = {one["agent"]: bool(one.get("started_at")) for one in hub.bead("hub-a").claims}
    assert begun == {"ann": True, "ben": False}
    with pytest.raises(StaleToken):
        hub.publish(Start(ids=["hub-a"], **asked(hub, "cleo")))
    assert other in {one["token"] for one in hub.bead("hub-a").claims}


def test_a_close_ends_every_claim_and_says_who_else_was_at_it() -> None:
    hub = store()
    claim(hub, "ann")
    token = claim(hub, "ben")
    change = close(hub, "ben", token)
    assert "ann had also claimed hub-a" in change.notes
    bead = hub.bead("hub-a")
    assert (bead.status, bead.claims, bead.get("closed_by")) == ("closed", [], "agent:ben")
    assert (capacity(hub, "ann"), capacity(hub, "ben")) == (0, 0)
    assert (hub.tip.capacity("ben") or {}).get("recent") == ["done"]
    assert (hub.tip.capacity("ann") or {}).get("recent") is None


@pytest.mark.parametrize("token", ["", "01OTHER"])
def test_who_is_not_at_it_may_not_end_it(token: str) -> None:
    hub = store()
    claim(hub, "ann")
    with pytest.raises(StaleToken):
        close(hub, "cleo", token)
    close(hub, "cleo", token, force=True)
    assert hub.bead("hub-a").status == "closed"


def test_force_needs_a_reason_here_too() -> None:
    hub = store()
    claim(hub, "ann")
    with pytest.raises(BadInput, match="held by ann"):
        hub.publish(Close(ids=["hub-a"], force=True, **asked(hub, "cleo")))


def test_a_token_for_anything_is_looked_for_among_the_claims() -> None:
    """BD_TOKEN may be of another bead's claim; it then says nothing of this one."""
    hub = store(make_bead(), make_bead("hub-b"))
    token = claim(hub, "ann")
    other = claim(hub, "ann", "hub-b")
    with pytest.raises(StaleToken, match="no token was given"):
        hub.publish(Close(ids=["hub-a"], **{**asked(hub, "ann"), "tokens": {"*": other}}))
    hub.publish(Close(ids=["hub-a"], **{**asked(hub, "ann"), "tokens": {"*": token}}))


def test_a_release_leaves_the_others() -> None:
    hub = store()
    token = claim(hub, "ann")
    claim(hub, "ben")
    hub.publish(Release(ids=["hub-a"], reason="no", **asked(hub, "ann", hub_a=token)))
    assert hub.bead("hub-a").holders == ["ben"]
    assert (capacity(hub, "ann"), capacity(hub, "ben")) == (0, 1)
    hub.publish(Release(ids=["hub-a"], reason="away", force=True, **asked(hub, "overseer")))
    assert hub.bead("hub-a").claims == []
    assert capacity(hub, "ben") == 0


def fail(hub: MemoryStore, agent: str, token: str | None, **args: Any) -> Change:
    tokens = {"hub_a": token} if token else {}
    return hub.publish(Fail(ids=["hub-a"], error="broke", **{"reason": "crash", **args}, **asked(hub, agent, **tokens)))


def test_a_failure_counts_and_the_others_go_on() -> None:
    hub = store(make_bead(assignee="team"))
    token = claim(hub, "ann", force=True)
    other = claim(hub, "ben", force=True)
    fail(hub, "ann", token)
    bead = hub.bead("hub-a")
    assert (bead.holders, bead.status, bead.assignee, bead.claim) == (["ben"], "open", "team", None)
    assert (bead.attempts, bead.attempts_counted) == (2, 1)
    assert bead.get("retry_at"), "hidden from who comes new"
    assert bead.get("failures")[0]["agent"] == "ann"
    assert (capacity(hub, "ann"), capacity(hub, "ben")) == (0, 1)
    close(hub, "ben", other)


def test_a_dead_letter_ends_every_claim() -> None:
    hub = store()
    token, other = claim(hub, "ann"), claim(hub, "ben")
    fail(hub, "ann", token, reason="budget_exceeded")
    bead = hub.bead("hub-a")
    assert (bead.status, bead.claims) == ("dead_letter", [])
    assert capacity(hub, "ben") == 0
    with pytest.raises(StaleToken):
        close(hub, "ben", other)


def test_three_failures_of_shared_work_give_it_up() -> None:
    hub = store(make_bead(retry={"strategy": "immediate"}))
    tokens = {agent: claim(hub, agent) for agent in ("ann", "ben", "cleo", "dan")}
    for number, agent in enumerate(("ann", "ben", "cleo"), start=1):
        assert hub.bead("hub-a").status == "open"
        fail(hub, agent, tokens[agent])
        assert hub.bead("hub-a").attempts_counted == number
    assert (hub.bead("hub-a").status, hub.bead("hub-a").get("poison_pill")) == ("dead_letter", True)


def test_a_failure_by_force_has_to_say_whose() -> None:
    hub = store()
    claim(hub, "ann")
    operation = Fail(ids=["hub-a"], reason="lost", error="gone", force=True, **asked(hub, "overseer"))
    hub.publish(operation)
    assert hub.bead("hub-a").get("failures")[0]["agent"] == "ann"
    hub.now += timedelta(minutes=5)
    claim(hub, "ben")
    assert hub.decide(operation).is_empty
    claim(hub, "cleo")
    with pytest.raises(WrongState, match="whose attempt failed"):
        fail(hub, "overseer", None, force=True)


def test_a_failure_that_landed_is_not_done_again_while_others_are_at_it() -> None:
    hub = store()
    token = claim(hub, "ann")
    claim(hub, "ben")
    operation = Fail(ids=["hub-a"], reason="crash", error="broke", **asked(hub, "ann", hub_a=token))
    hub.publish(operation)
    assert hub.decide(operation).is_empty


def test_the_mode_is_set_and_stays_while_somebody_is_at_it() -> None:
    hub = MemoryStore(make_bead())
    hub.publish(Update(ids=["hub-a"], set={"claim_mode": "advisory"}, **asked(hub, "ann")))
    token = claim(hub, "ann")
    with pytest.raises(WrongState, match="claim_mode stays"):
        hub.publish(Update(ids=["hub-a"], set={"claim_mode": "exclusive"}, **asked(hub, "ann")))
    hub.publish(Release(ids=["hub-a"], reason="no", **asked(hub, "ann", hub_a=token)))
    hub.publish(Update(ids=["hub-a"], set={"claim_mode": "exclusive"}, **asked(hub, "ann")))
    claim(hub, "ann")
    assert hub.bead("hub-a").claim is not None
    with pytest.raises(BadInput):
        hub.publish(Create(beads=[{"title": "New", "claim_mode": "open"}], **asked(hub, "ann")))


def test_routing_skips_nobody() -> None:
    hub = store(make_bead(assignee="ann"))
    claim(hub, "ann")
    with pytest.raises(DoesNotFit):
        claim(hub, "ben")
