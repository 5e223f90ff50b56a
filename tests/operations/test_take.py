"""A bead is taken over from its holder whole, or not at all."""

from __future__ import annotations

import pytest

from bd.core.errors import AgentBusy, BdError, StillBlocked
from bd.core.schema import CONFIG_PATH, capacity_path
from bd.operations.take import Take
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by


def take(agent: str = "ada", bead: str = "hub-a") -> Take:
    return Take(agent=agent, ids=[bead], reason=f"taken over by {agent}", **by(agent))


def test_one_claim_ends_and_the_other_begins() -> None:
    store = MemoryStore(held("hub-a", "coder", "t-1"))
    change = store.publish(take())
    after = store.bead("hub-a")
    assert (after.status, [*after.holders], after.attempts, after.attempts_counted) == ("in_progress", ["ada"], 2, 1)
    assert [(token in after.tokens, bead_id) for token, bead_id in change.tokens] == [(True, "hub-a")]
    capacity = {name: (store.tip.capacity(name) or {}).get("current_tasks") for name in ("coder", "ada")}
    assert capacity == {"coder": 0, "ada": 1}


@pytest.mark.parametrize(
    ("fields", "records", "error"),
    [({"depends_on": ["hub-b"]}, {}, StillBlocked), ({}, {capacity_path("ada"): {"status": "draining"}}, AgentBusy)],
)
def test_a_claim_that_is_refused_leaves_the_holders(fields: dict, records: dict, error: type[BdError]) -> None:  # type: ignore[type-arg]
    store = MemoryStore(held("hub-a", "coder", "t-1", **fields), make_bead("hub-b"), records=records)
    with pytest.raises(error):
        store.publish(take())
    assert [*store.bead("hub-a").tokens] == ["t-1"]


def test_a_pause_stops_new_work_and_nobody_who_takes_over_what_is_in_progress() -> None:
    store = MemoryStore(
        held("hub-a", "coder", "t-1"), make_bead("hub-b"), records={CONFIG_PATH: {"paused": {"reason": "no", "by": "ada"}}}
    )
    with pytest.raises(AgentBusy, match="paused"):
        store.publish(take(bead="hub-b"))
    store.publish(take())
    assert [*store.bead("hub-a").holders] == ["ada"]


def test_what_a_dead_process_took_is_handed_to_the_next() -> None:
    """It holds the bead already, and has no token to prove it."""
    store = MemoryStore(held("hub-a", "coder", "t-1"))
    ((token, _),) = store.publish(take()).tokens
    heir = take().inheriting({"verb": "take", "agent": "ada", "ids": ["hub-a"], "tokens": [token]})
    assert heir is not None
    change = store.publish(heir)
    assert (change.is_empty, change.tokens) == (True, ((token, "hub-a"),))


def test_what_nobody_holds_is_claimed() -> None:
    store = MemoryStore(make_bead("hub-a"))
    store.publish(take())
    assert [*store.bead("hub-a").holders] == ["ada"]
