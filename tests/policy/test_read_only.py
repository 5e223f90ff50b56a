"""Policy and decisions only read a snapshot: whatever is asked, all that it holds is as before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BdError
from bd.core.model import Bead, Overlay
from bd.policy import dag
from tests.operations.test_every_operation import BY_DIFFERENCE, CASES, a_hub
from tests.policy.questions import answers

if TYPE_CHECKING:
    from bd.core.model import Snapshot


def state_of(thing: Any) -> Any:
    """All that an object holds, down to texts and numbers."""
    if isinstance(thing, Bead):
        return state_of(thing.fields)
    if isinstance(thing, dict):
        return {str(key): state_of(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [state_of(value) for value in thing]
    return {"": type(thing).__name__, **state_of(vars(thing))} if hasattr(thing, "__dict__") else repr(thing)


def all_of(snapshot: Snapshot) -> str:
    return json.dumps(state_of(snapshot))


def overlay_of(snapshot: Snapshot) -> Overlay:
    """The snapshot as it would be after a change, on which chains of operations are decided."""
    return Overlay(snapshot, CASES["close"].make().decide(snapshot, a_hub().context))


@pytest.mark.parametrize("make", [lambda: a_hub().tip, lambda: overlay_of(a_hub().tip)], ids=["snapshot", "overlay"])
def test_no_question_of_policy_leaves_anything_on_the_snapshot(make: Any) -> None:
    snapshot = make()
    before = all_of(snapshot)
    first = answers(snapshot)
    assert len(first) > 70, "the questions are found by themselves"
    assert all_of(snapshot) == before
    assert answers(snapshot) == first


@pytest.mark.parametrize("name", [*CASES, *BY_DIFFERENCE])
def test_no_decision_leaves_anything_on_the_snapshot(name: str) -> None:
    store, operation = a_hub(), {**CASES, **BY_DIFFERENCE}[name].make()
    for snapshot in (store.tip, overlay_of(store.tip)):
        before = all_of(snapshot)
        try:
            operation.decide(snapshot, store.context)
        except BdError:
            assert snapshot is not store.tip, "what closes first may be in the way"
        assert all_of(snapshot) == before


def test_what_is_left_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the tests above would hold whatever policy does."""

    def remembers(bead_id: str, root_id: str, snapshot: Snapshot) -> bool:
        vars(snapshot).setdefault("_memo", {})[bead_id] = True
        return False

    snapshot = a_hub().tip
    before = all_of(snapshot)
    monkeypatch.setattr(dag, "is_under", remembers)
    answers(snapshot)
    assert all_of(snapshot) != before
