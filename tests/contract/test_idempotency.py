"""A request with an idempotency key has one effect, whoever sends it, to whichever clone, however often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import KeyReused, Refused, RemoteUnreachable
from bd.core.operation import Once
from bd.operations.beads import Comment
from bd.operations.claims import Claim, Release, Start
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.fail import Fail
from bd.operations.human_wait import WaitHuman
from bd.operations.spawn import Spawn
from bd.store.group_commit import idempotency
from tests.contract.test_clone import asked

if TYPE_CHECKING:
    from bd.operations.base import Operation
    from bd.store import Clone
    from tests.contract.conftest import Hub

WORK, FREE = "hub-work", "hub-free"


def once(clone: Clone, key: str = "k1", body: str = "b1") -> Once:
    return Once(key, body, clone.published() or "")


def claim(clone: Clone, agent: str = "coder", **more: Any) -> Claim:
    return Claim(**asked(f"agent:{agent}"), agent=agent, next=True, **more)


def token_of(clone: Clone) -> str:
    bead = clone.snapshot().bead(WORK)
    assert bead
    assert bead.claim
    return bead.claim.token


def begun(hub: Hub) -> tuple[Clone, Clone]:
    """Two clones of a hub in which an agent works on one of three beads."""
    first, second = hub.clone("first"), hub.clone("second")
    beads = [{"title": name, "id": name} for name in (WORK, FREE, "hub-other")]
    first.publish(Create(**asked("human:Ada"), beads=beads))
    first.publish(Claim(**asked("agent:coder"), agent="coder", ids=[WORK], reserve=True))
    second.fetch()
    return first, second


def on_work(kind: type[Operation], **args: Any) -> Any:
    def make(clone: Clone, token: str, key: Once) -> Operation:
        return kind(**asked("agent:coder"), ids=[WORK], tokens={WORK: token}, once=key, **args)

    return make


# Every kind of write that a server takes: what it makes is one, however often it is asked for.
WRITES = {
    "claim": lambda clone, token, key: Claim(**asked("agent:other"), agent="other", next=True, once=key),
    "create": lambda clone, token, key: Create(**asked("human:Ada"), beads=[{"title": "new"}], once=key),
    "start": on_work(Start),
    "comment": on_work(Comment, text="the same words"),
    "close": on_work(Close, reason="done"),
    "close and claim": on_work(Close, reason="done", next={"agent": "coder"}),
    "release": on_work(Release, reason="no key"),
    "fail": on_work(Fail, reason="crash", error="out of memory"),
    "wait": on_work(WaitHuman, reason="which logo?"),
    "spawn": on_work(Spawn, new={"title": "a part"}),
    "spawn and wait": on_work(Spawn, new={"title": "a part"}, wait=True),
}


def undone(clone: Clone) -> None:
    """Others go on: whatever is claimed is ended, so that a request that was carried out again would find new work."""
    clone.fetch()
    for bead in list(clone.snapshot().claimed()):
        assert bead.claim
        clone.publish(Release(**asked("human:Ada"), ids=[bead.id], reason="a person took it", force=True))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", WRITES)
def test_the_same_request_has_one_effect_in_any_clone(shared: Hub, name: str) -> None:
    first, second = begun(shared)
    token, start = token_of(first), second.published() or ""
    done = first.publish(WRITES[name](first, token, once(first)))
    assert done.change
    assert done.change.touched
    undone(first)
    second.fetch()
    tip = second.published()
    for clone in (second, first):
        again = clone.publish(WRITES[name](clone, token, Once("k1", "b1", start)))
        assert again.change
        assert (again.change.touched, again.change.tokens) == (done.change.touched, done.change.tokens)
        assert clone.published() == tip, "nothing was written"


def test_two_clones_at_the_same_moment(shared: Hub) -> None:
    _, second = begun(shared)
    raced: list[Any] = []

    def step(name: str) -> None:
        if name == "push" and not raced:
            raced.append(second.publish(claim(second, "other", once=once(second))))
            undone(second)

    slow = shared.clone("slow", on_step=step)
    slow.fetch()
    outcome = slow.publish(claim(slow, "other", once=once(slow)))
    assert outcome.change
    assert outcome.change.tokens == raced[0].change.tokens
    slow.fetch()
    assert [bead.id for bead in slow.snapshot().claimed()] == []


def test_the_same_key_with_another_body_is_refused(shared: Hub) -> None:
    first, second = begun(shared)
    start = second.published() or ""
    first.publish(Comment(**asked("human:Ada"), ids=[FREE], text="one", once=once(first)))
    for clone in (second, first):
        with pytest.raises(KeyReused):
            clone.publish(Comment(**asked("human:Ada"), ids=[FREE], text="two", once=Once("k1", "b2", start)))


def test_what_was_refused_may_be_sent_again_with_its_key(shared: Hub) -> None:
    first, _ = begun(shared)
    refused = Close(**asked("agent:coder"), ids=[WORK], reason="done", once=once(first))
    with pytest.raises(Refused):
        first.publish(refused)
    token = token_of(first)
    done = first.publish(Close(**asked("agent:coder"), ids=[WORK], tokens={WORK: token}, reason="done", once=once(first)))
    assert done.published


def test_a_request_with_a_key_is_never_kept_for_later(shared: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = begun(shared)
    made, at = Comment(**asked("human:Ada"), ids=[FREE], text="one", once=once(first)), first.view()

    def away(*_: Any) -> Any:
        raise RemoteUnreachable("no route to host", written="no")

    for name in ("fetch", "push"):
        monkeypatch.setattr(first.remote, name, away)
    with pytest.raises(RemoteUnreachable):
        first.publish(made)
    assert (first.view(), list(first.journal.of_the_dead())) == (at, [])


def test_the_index_knows_what_others_carried_out_for_a_day(shared: Hub) -> None:
    first, second = begun(shared)
    start = second.published() or ""
    first.publish(Comment(**asked("human:Ada"), ids=[FREE], text="one", once=once(first)))
    second.fetch()
    found = idempotency.between(second.repo, start, second.published() or "")
    assert found["k1"].answer["touched"] == [FREE]
    assert idempotency.between(second.repo, second.published(), second.published() or "") == {}
