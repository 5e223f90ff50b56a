"""One operation of this clone on its way to the hub."""

from __future__ import annotations

from bd.core.model import Change
from bd.store.empty_snapshot import EMPTY
from bd.store.transaction.batch import won
from tests.memory import MemorySnapshot, held, make_bead


def test_only_new_claims_and_inherited_ones_are_for_whoever_comes_after_a_death() -> None:
    before = MemorySnapshot([held("hub-a", "coder", "01OLD"), make_bead("hub-b")])
    change = Change({}, "claim", tokens=(("01OLD", "hub-a"), ("01NEW", "hub-b")))
    assert won(change, before, set()) == ["01NEW"]
    assert won(change, before, {"01OLD"}) == ["01OLD", "01NEW"]
    assert won(change, EMPTY, set()) == ["01OLD", "01NEW"]
    assert won(None, before, {"01OLD"}) == []
