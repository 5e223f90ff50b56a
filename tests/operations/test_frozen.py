"""Operations are frozen: whatever is asked of one leaves it as it was made, byte for byte."""

from __future__ import annotations

import contextlib
import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from bd.core import versions
from bd.core.errors import BdError
from bd.core.schema import CONFIG_PATH
from bd.operations.base import REGISTRY, Operation
from bd.operations.claims import Claim
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.import_beads import Import
from bd.operations.switches import Resume
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by, revived
from tests.operations.test_every_operation import BY_DIFFERENCE, CASES, a_hub

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.model import Change

HEARTBEAT = {"interval_s": 30, "by": "ref"}
MADE: dict[str, Callable[[], Operation]] = {
    **{name: case.make for name, case in {**CASES, **BY_DIFFERENCE}.items()},
    "import": lambda: Import(beads=[{"title": "New", "metadata": {"k": [1]}}], **by()),
    "resume the fleet": lambda: Resume(**by()),
    "claim with heartbeats": lambda: Claim(agent="coder", ids=["hub-a"], heartbeat=HEARTBEAT, **by()),
    "close and next with heartbeats": lambda: Close(
        ids=["hub-h"], next={"agent": "coder", "heartbeat": HEARTBEAT}, **by(hub_h="t-h")
    ),
    "create below one": lambda: Create(beads=[{"title": "New", "parent": "hub-a", "id": "hub-a.1x", "minted": True}], **by()),
}
RENAMED = {"hub-a": "hub-a9", "hub-b": "hub-b9", "hub-h": "hub-h9"}
# What a dead process of coder's has left in the journal.
DEAD = {"verb": "claim", "agent": "coder", "ids": ["a"], "tokens": ["t-h"], "state": "pushing"}


def all_of(operation: Operation) -> str:
    """Everything an operation holds, as text, in its order."""
    return json.dumps(vars(operation), default=repr)


def decided(operation: Operation, store: MemoryStore) -> Change | None:
    """What it decides on every kind of context, if it is not refused."""
    change = None
    context = store.context
    for one in (
        context,
        context,
        context.replace(heartbeats={"t-h": "0" * 40}),
        context.replace(is_request=True),
        context.replace(takes_side_refs=False),
    ):
        with contextlib.suppress(BdError):
            change = operation.decide(store.tip, one)
    return change


def test_every_registered_operation_is_tried() -> None:
    assert {make().verb for make in MADE.values()} >= REGISTRY.keys()


@pytest.mark.parametrize("name", MADE)
def test_whatever_is_asked_of_an_operation_leaves_it_as_it_was(name: str) -> None:
    store, operation = a_hub(), MADE[name]()
    before = all_of(operation)
    change = decided(operation, store)
    assert change is not None
    written = [operation.form(), operation.pinned(change, store.tip), operation.journal_fields(), operation.new_ids(change)]
    assert {type(one) for one in (operation.needs_remote, operation.needs_heartbeats, operation.is_portable)} == {bool}
    assert operation.token_for("hub-none") is None
    others = [operation.renamed(RENAMED), operation.inheriting(DEAD)]
    assert all_of(operation) == before
    assert all(one is not operation for one in others)
    for other in filter(None, others):
        assert (type(other), other.uid, other.by, other.at, other.tokens) == (
            type(operation),
            operation.uid,
            operation.by,
            operation.at,
            operation.tokens,
        )
        held_by_other = all_of(other)
        decided(other, store)
        other.renamed(RENAMED)
        assert all_of(other) == held_by_other
    assert all_of(operation) == before
    if name not in BY_DIFFERENCE:  # and so it is with one that a replay reads back
        again = revived(written[1])
        read_back = all_of(again)
        decided(again, store)
        decided(again.renamed(RENAMED), store)
        assert all_of(again) == read_back


@pytest.mark.parametrize("name", MADE)
def test_another_operation_shares_nothing_that_could_be_changed(name: str) -> None:
    operation = MADE[name]()
    before = all_of(operation)
    for other in filter(None, (operation.renamed({}), operation.inheriting(DEAD))):
        scribble(other.args)
        scribble(other.tokens)
    assert all_of(operation) == before


def scribble(value: Any) -> None:
    """Change every map and list in a value."""
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            scribble(inner)
        value.clear()


@pytest.mark.parametrize("name", MADE)
def test_nothing_is_assigned_to_an_operation(name: str) -> None:
    operation = MADE[name]()
    before = all_of(operation)
    for field in ("by", "at", "uid", "tokens", "args", "verb", "anything"):
        with pytest.raises(AttributeError, match=f"frozen: {field}"):
            setattr(operation, field, "other")
        with pytest.raises(AttributeError, match=f"frozen: {field}"):
            delattr(operation, field)
    assert all_of(operation) == before


def test_what_an_operation_is_made_of_stays_its_makers() -> None:
    """Names are minted into the operation's own arguments."""
    beads: list[dict[str, Any]] = [{"title": "New", "labels": ["x"]}]
    following: dict[str, Any] = {"agent": "coder"}
    tokens = {"hub-a": "t"}
    given = deepcopy((beads, following, tokens))
    create = Create(beads=beads, **by())
    close = Close(ids=["hub-a"], next=following, **{**by(), "tokens": tokens})
    assert (beads, following, tokens) == given
    assert create.args["beads"][0]["uid"]
    assert close.args["next"]["new_tokens"]
    scribble(beads)
    tokens.clear()
    assert create.args["beads"][0]["title"] == "New"
    assert close.token_for("hub-a") == "t"


def test_names_are_minted_once() -> None:
    create = Create(beads=[{"title": "New"}], **by())
    claim = Claim(agent="coder", ids=["hub-a"], **by())
    assert create.renamed(RENAMED).args["beads"][0]["uid"] == create.args["beads"][0]["uid"]
    assert claim.renamed(RENAMED).args["new_tokens"] == claim.args["new_tokens"]
    heir = claim.inheriting({**DEAD, "ids": ["hub-a"]})
    assert heir is not None
    assert heir.args["new_tokens"] == claim.args["new_tokens"]


def test_an_operation_is_renamed_from_what_it_names_however_often() -> None:
    """Another tip may give other ids: the last ones hold, and none of those before."""
    store = MemoryStore(
        make_bead("hub-a"),
        make_bead("hub-a9"),
        held("hub-h", "coder", "t-h"),
        records={CONFIG_PATH: {"format": versions.FORMAT, "prefix": "hub"}},
    )
    operation = Create(beads=[{"title": "New", "depends_on": ["hub-h"]}], **by())
    for new in ("hub-a", "hub-a9"):
        (made,) = store.decide(operation.renamed({"hub-h": new})).beads.values()
        assert made is not None
        assert made.depends_on == [new]
