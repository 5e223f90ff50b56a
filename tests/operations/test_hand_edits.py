"""Hand edits: merged field by field onto the tip, and judged as the operation they amount to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import BadInput, BdError, IdTaken, NoSuchBead, StaleToken, WouldCycle, WrongState
from bd.core.model import Bead
from bd.core.schema import agent_path
from bd.operations.hand_edits import Edit, HandCommit, merge_field
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import by


def edit(old: Bead | None, new: Bead | None, **args: Any) -> Edit:
    """A person's edit of a bead, from one version to another."""
    bead = old or new
    assert bead is not None
    asked = {**by("Ada"), "by": "human:Ada"}
    return Edit(ids=[bead.id], old=dict(old.fields) if old else None, new=dict(new.fields) if new else None, **args, **asked)


BASE = make_bead(labels=["a", "b"], notes="text", metadata={"x": 1, "y": 2}, depends_on=["hub-b"])


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        ({"title": "Mine"}, {}, {"title": "Mine"}),
        ({"title": "Mine"}, {"priority": 0}, {"title": "Mine", "priority": 0}),
        ({"title": "Same"}, {"title": "Same"}, {"title": "Same"}),
        ({"labels": ["a", "b", "c"]}, {"labels": ["b", "d"]}, {"labels": ["b", "d", "c"]}),
        ({"labels": ["a"]}, {"labels": ["a", "b", "c"]}, {"labels": ["a", "c"]}),
        ({"labels": None}, {"labels": ["a", "b", "c"]}, {"labels": ["c"]}),
        ({"metadata": {"x": 1, "y": 3}}, {"metadata": {"x": 5, "y": 2}}, {"metadata": {"x": 5, "y": 3}}),
        ({"metadata": {"x": 1}}, {"metadata": {"x": 1, "y": 2, "z": 3}}, {"metadata": {"x": 1, "z": 3}}),
        ({"notes": None}, {"title": "Theirs"}, {"notes": None, "title": "Theirs"}),
        ({"design": "New"}, {"notes": "Theirs"}, {"design": "New", "notes": "Theirs"}),
        ({"depends_on": ["hub-b", "hub-c"]}, {"depends_on": []}, {"depends_on": ["hub-c"]}),
    ],
)
def test_fields_merge_one_by_one(mine: dict[str, Any], theirs: dict[str, Any], merged: dict[str, Any]) -> None:
    store = MemoryStore(BASE, make_bead("hub-b"), make_bead("hub-c"))
    store.publish(edit(BASE, BASE.evolve(**mine)), overtaken_by=lambda: store.put(BASE.evolve(**theirs)) if theirs else None)
    bead = store.bead("hub-a")
    assert {key: bead.get(key) for key in merged} == merged


@pytest.mark.parametrize(
    ("mine", "theirs", "field"),
    [
        ({"title": "Mine"}, {"title": "Theirs"}, "title"),
        ({"notes": "mine"}, {"notes": "theirs"}, "notes"),
        ({"notes": None}, {"notes": "theirs"}, "notes"),
        ({"priority": 0}, {"priority": 4}, "priority"),
        ({"metadata": {"x": 2, "y": 2}}, {"metadata": {"x": 3, "y": 2}}, "metadata.x"),
        ({"design": "mine"}, {"design": "theirs"}, "design"),
    ],
)
def test_two_changes_of_one_text_are_refused(mine: dict[str, Any], theirs: dict[str, Any], field: str) -> None:
    store = MemoryStore(BASE, make_bead("hub-b"))
    with pytest.raises(WrongState, match=f"hub-a: {field} was changed here and on the hub"):
        store.publish(edit(BASE, BASE.evolve(**mine)), overtaken_by=lambda: store.put(BASE.evolve(**theirs)))


values = st.one_of(
    st.none(),
    st.integers(0, 3),
    st.lists(st.integers(0, 3), max_size=3, unique=True),
    st.dictionaries(st.sampled_from("xy"), st.integers(0, 2)),
)


@given(values, values)
def test_what_only_one_side_changed_is_taken(old: Any, new: Any) -> None:
    assert merge_field("hub-a", "k", old, new, old) == new
    assert merge_field("hub-a", "k", old, new, new) == new


@given(*[st.lists(st.integers(0, 5), max_size=4, unique=True)] * 3)
def test_lists_merge_per_element(old: list[int], mine: list[int], theirs: list[int]) -> None:
    merged = merge_field("hub-a", "k", old, mine, theirs)
    for item in {*old, *mine, *theirs}:
        wanted = item in mine if (item in mine) != (item in old) else item in theirs
        assert (item in merged) == wanted
    assert len(set(merged)) == len(merged)


# --- what a claim guards ------------------------------------------------------------------------


def test_a_new_status_is_the_operation_it_amounts_to() -> None:
    store = MemoryStore(make_bead())
    store.publish(edit(store.bead("hub-a"), store.bead("hub-a").evolve(status="closed", close_reason="By hand")))
    bead = store.bead("hub-a")
    assert (bead.status, bead.get("closed_by"), bead.get("close_reason")) == ("closed", "human:Ada", "By hand")
    assert bead.get("closed_at") == "2026-02-21T15:00:00Z"


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "open"},
        {"status": "closed"},
        {"owner": "ada@hub"},
        {"assignee": "ada"},
        {"claim": None},
        {"output": {"data": 1}},
    ],
)
def test_a_held_bead_is_not_taken_away_by_hand(changes: dict[str, Any]) -> None:
    store = MemoryStore(held("hub-a", "coder", "t"))
    bead = store.bead("hub-a")
    with pytest.raises(StaleToken):
        store.publish(edit(bead, bead.evolve(**changes)))
    assert store.bead("hub-a") == bead


@pytest.mark.parametrize(
    "changes",
    [
        {"attempts": 0},
        {"claim": {"agent": "ada", "token": "mine"}},
        {"claims": [{"agent": "ada", "token": "mine"}]},
    ],
)
def test_claims_are_not_made_by_hand(changes: dict[str, Any]) -> None:
    for bead in (held("hub-a", "coder", "t"), make_bead(attempts=2)):
        store = MemoryStore(bead)
        with pytest.raises(WrongState, match="can't be changed by hand"):
            store.publish(edit(bead, bead.evolve(**changes)))


@pytest.mark.parametrize("key", ["assignee", "owner"])
def test_two_changes_of_who_does_it_are_refused(key: str) -> None:
    bead = make_bead(**{key: "a"})
    store = MemoryStore(bead)
    with pytest.raises(WrongState, match=f"{key} was changed here and on the hub"):
        store.publish(edit(bead, bead.evolve(**{key: "c"})), overtaken_by=lambda: store.put(bead.evolve(**{key: "b"})))
    assert store.tip.bead("hub-a").get(key) == "b"


def test_who_does_it_is_kept_although_the_new_status_is_there_already() -> None:
    bead = make_bead()
    store = MemoryStore(bead)
    closed = bead.evolve(status="closed", closed_at="2026-02-21T14:00:00Z")
    store.publish(edit(bead, bead.evolve(status="closed", assignee="ada")), overtaken_by=lambda: store.put(closed))
    after = store.bead("hub-a")
    assert (after.status, after.assignee, after.get("closed_at")) == ("closed", "ada", "2026-02-21T14:00:00Z")


def test_other_fields_of_a_held_bead_are_free() -> None:
    store = MemoryStore(held("hub-a", "coder", "t"), records={agent_path("coder"): {"name": "coder"}})
    bead = store.bead("hub-a")
    store.publish(edit(bead, bead.evolve(notes="A hint.", priority=0)))
    after = store.bead("hub-a")
    assert (after.get("notes"), after.priority, after.claim) == ("A hint.", 0, bead.claim)


def test_force_counts_attempts_by_hand_but_never_fewer_and_makes_no_claim() -> None:
    bead = make_bead(attempts=2)
    store = MemoryStore(bead)
    forced = {"force": True, "reason": "it was tried elsewhere"}
    with pytest.raises(BadInput, match="--force needs --reason"):
        store.decide(edit(bead, bead.evolve(attempts=4), force=True))
    with pytest.raises(WrongState, match="attempts can't be lowered"):
        store.decide(edit(bead, bead.evolve(attempts=1), **forced))
    with pytest.raises(WrongState, match="can't be changed by hand"):
        store.decide(edit(bead, bead.evolve(claim={"agent": "ada", "token": "mine"}), **forced))
    with pytest.raises(WrongState, match="a claim is made with"):
        store.decide(edit(None, held("hub-n"), **forced))
    store.publish(edit(bead, bead.evolve(attempts=4), **forced))
    assert store.bead("hub-a").attempts == 4


def test_force_ends_a_claim_by_hand() -> None:
    store = MemoryStore(held("hub-a", "coder", "t"), records={agent_path("coder"): {"name": "coder"}})
    bead = store.bead("hub-a")
    after = bead.evolve(status="open", claim=None, owner=None, assignee=None, claimed_at=None)
    with pytest.raises(BadInput, match="--force needs --reason"):
        store.decide(edit(bead, after, force=True))
    ended = edit(bead, after, force=True, reason="coder is gone")
    assert ended.pinned(store.publish(ended), store.tip)["args"] == {"force": True, "reason": "coder is gone"}
    after = store.bead("hub-a")
    assert (after.status, after.claim, after.owner) == ("open", None, None)
    assert store.tip.capacity("coder")["current_tasks"] == 0


def test_a_hand_edit_and_a_claim_at_once_are_both_kept() -> None:
    """Somebody edits the notes of an open bead while an agent claims it."""
    store = MemoryStore(make_bead(notes="old"))
    bead = store.bead("hub-a")
    store.publish(edit(bead, bead.evolve(notes="new")), overtaken_by=lambda: store.put(held("hub-a", "coder", "t", notes="old")))
    after = store.bead("hub-a")
    assert (after.get("notes"), after.claim and after.claim.token) == ("new", "t")


# --- new, deleted, circles ----------------------------------------------------------------------


def test_a_new_bead_by_hand_gets_what_is_missing() -> None:
    store = MemoryStore()
    store.publish(
        edit(None, Bead({"id": "hub-n", "title": " By  hand", "type": "task", "status": "open", "priority": 2}), new_uid="01U")
    )
    bead = store.bead("hub-n")
    assert (bead.title, bead.uid, bead.created_at, bead.get("created_by")) == (
        "By hand",
        "01U",
        "2026-02-21T15:00:00Z",
        "human:Ada",
    )


def test_an_id_that_is_taken_is_refused() -> None:
    store = MemoryStore(make_bead(title="Theirs"))
    with pytest.raises(IdTaken):
        store.publish(edit(None, make_bead(title="Mine")))


def test_a_new_bead_is_not_born_claimed() -> None:
    with pytest.raises(WrongState, match="a claim is made with"):
        MemoryStore().publish(edit(None, held("hub-n")))


def test_a_deletion_by_hand() -> None:
    store = MemoryStore(make_bead())
    store.publish(edit(store.bead("hub-a"), None))
    assert store.tip.bead("hub-a") is None


@pytest.mark.parametrize(
    ("tip", "error"), [(make_bead(title="Changed meanwhile"), WrongState), (held("hub-a", "coder"), WrongState)]
)
def test_an_edit_beats_a_deletion(tip: Bead, error: type[BdError]) -> None:
    store = MemoryStore(make_bead())
    with pytest.raises(error):
        store.publish(edit(make_bead(), None), overtaken_by=lambda: store.put(tip))


def test_an_edit_of_what_was_deleted_is_refused() -> None:
    with pytest.raises(NoSuchBead):
        MemoryStore().publish(edit(make_bead(), make_bead(title="x")))


@pytest.mark.parametrize(
    "changes", [{"depends_on": ["hub-b"]}, {"parent": "hub-b"}, {"links": [{"type": "waits-for", "id": "hub-b"}]}]
)
def test_circles_by_hand_are_refused(changes: dict[str, Any]) -> None:
    store = MemoryStore(make_bead(), make_bead("hub-b", depends_on=["hub-a"], parent="hub-a" if "parent" in changes else None))
    bead = store.bead("hub-a")
    with pytest.raises(WouldCycle):
        store.publish(edit(bead, bead.evolve(**changes)))


def test_a_new_bead_by_hand_that_makes_a_circle_is_refused() -> None:
    store = MemoryStore(make_bead("hub-a", depends_on=["hub-n"]))
    with pytest.raises(WouldCycle):
        store.publish(edit(None, make_bead("hub-n", depends_on=["hub-a"])))
    with pytest.raises(WouldCycle):
        store.publish(edit(None, make_bead("hub-s", depends_on=["hub-s"])))


def test_an_edit_that_the_tip_has_already_is_none() -> None:
    store = MemoryStore(make_bead(title="Same"))
    assert store.decide(edit(make_bead(), make_bead(title="Same"))).is_empty


def test_an_edit_of_comments_alone_is_kept_as_it_was_typed() -> None:
    text = b"# seen on the staging host\nid: hub-a\ntitle: A\n"
    store = MemoryStore(BASE)
    change = store.decide(edit(BASE, BASE, text=text))
    assert dict(change.texts) == {"beads/hub-a.yaml": text}
    assert change.beads == {"hub-a": BASE}
    claimed = MemoryStore(held(notes="text"))
    assert claimed.decide(edit(BASE, BASE, text=text)).beads == {"hub-a": claimed.bead("hub-a")}


# --- a commit by hand ---------------------------------------------------------------------------


def test_what_is_refused_of_a_commit_is_collected_and_the_rest_goes_through() -> None:
    store = MemoryStore(make_bead("hub-a"), held("hub-b", "coder"))
    a, b = store.bead("hub-a"), store.bead("hub-b")
    edits = [
        {"id": "hub-a", "old": dict(a.fields), "new": {**a.fields, "title": "New"}},
        {"id": "hub-b", "old": dict(b.fields), "new": {**b.fields, "status": "closed"}},
    ]
    operation = HandCommit(edits=edits, files={"README": (None, b"x", None), "LICENSE": (b"a", b"b", b"c")}, **by())
    change = store.publish(operation)
    assert store.bead("hub-a").title == "New"
    assert store.bead("hub-b").status == "in_progress"
    assert change.files == {"README": b"x"}
    assert [type(error) for error in change.refusals] == [StaleToken, WrongState]
    assert len(store.decide(operation).refusals) == 2, "a second decision does not add to the first"


def test_edits_of_one_commit_see_each_other() -> None:
    """Two new beads that wait for each other are a circle, though neither is alone."""
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    a, b = store.bead("hub-a"), store.bead("hub-b")
    edits = [
        {"id": "hub-a", "old": dict(a.fields), "new": {**a.fields, "depends_on": ["hub-b"]}},
        {"id": "hub-b", "old": dict(b.fields), "new": {**b.fields, "depends_on": ["hub-a"]}},
    ]
    operation = HandCommit(edits=edits, files={}, **by())
    change = store.publish(operation)
    assert [type(error) for error in change.refusals] == [WouldCycle]
    assert (store.bead("hub-a").depends_on, store.bead("hub-b").depends_on) == (["hub-b"], [])


def test_records_of_a_commit_merge_key_by_key() -> None:
    path = agent_path("coder")
    old = {"name": "coder", "can": ["git"], "max_tasks": 1}
    store = MemoryStore(records={path: {**old, "max_tasks": 3}})
    new = {"name": "coder", "can": ["git", "go"], "max_tasks": 1}
    operation = HandCommit(edits=[], files={}, records={path: (old, new, b"name: coder")}, **by())
    change = store.publish(operation)
    assert store.tip.record(path) == {"name": "coder", "can": ["git", "go"], "max_tasks": 3}
    assert not change.texts, "the hub's version is not overwritten by the typed one"
    clash = HandCommit(edits=[], files={}, records={path: (old, {**old, "max_tasks": 5}, b"")}, **by())
    refused = store.decide(clash)
    assert refused.is_empty
    assert [str(error) for error in refused.refusals] == [f"{path}: max_tasks was changed here and on the hub"]
