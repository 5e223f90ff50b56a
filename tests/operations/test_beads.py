"""What beads say: create, update, comment, delete, settings."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import BadInput, IdTaken, NoSuchBead, StaleToken, WouldCycle
from bd.core.schema import CONFIG_PATH, agent_path
from bd.operations.beads import Comment, Delete, Update, Write
from bd.operations.create import Create
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import AT, STAMP, by

UID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def create(*specs: dict[str, Any], **asked: Any) -> Create:
    return Create(beads=[dict(spec) for spec in specs], **{**by(), **asked})


def update(*names: str, **args: Any) -> Update:
    asked = args.pop("asked", by())
    return Update(ids=list(names), **args, **asked)


# --- create -----------------------------------------------------------------------------------


def test_a_new_bead() -> None:
    store = MemoryStore()
    change = store.publish(create({"title": " Fix  the\nlogin ", "uid": UID}))
    assert change.touched == ("hub-tsv4",)
    assert change.subject == "create: hub-tsv4 by coder"
    assert dict(store.bead("hub-tsv4").fields) == {
        "id": "hub-tsv4",
        "uid": UID,
        "title": "Fix the login",
        "type": "task",
        "status": "open",
        "priority": 2,
        "created_at": AT,
        "created_by": "agent:coder",
        "updated_at": AT,
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"type": "feat"}, {"type": "feature"}),
        ({"type": "BUG"}, {"type": "bug"}),
        ({"type": "adr"}, {"type": "decision"}),
        ({"priority": 0}, {"priority": 0}),
        ({"base_priority": 7}, {"base_priority": 7, "priority": 0}),
        ({"base_priority": 65}, {"priority": 3}),
        ({"base_priority": 65, "priority": 1}, {"priority": 1}),
        ({"deadline": "2h"}, {"deadline": "2026-02-21T17:00:00Z"}),
        ({"deadline": "2026-03-01T08:00-07:00"}, {"deadline": "2026-03-01T15:00:00Z"}),
        ({"defer_until": "tomorrow"}, {"defer_until": "2026-02-22T00:00:00Z", "status": "deferred"}),
        ({"expected": "45m"}, {"expected": "45m"}),
        ({"labels": [], "metadata": {}, "notes": ""}, {"labels": None, "metadata": None, "notes": None}),
        ({"status": "ready"}, {"status": "open"}),
        ({"status": "in-progress"}, {"status": "in_progress"}),
        (
            {"created_at": "2020-01-01", "created_by": "human:Eve"},
            {"created_at": "2020-01-01T00:00:00Z", "created_by": "human:Eve"},
        ),
    ],
)
def test_what_was_typed_is_stored_in_its_one_form(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    store = MemoryStore()
    (bead_id,) = store.publish(create({"title": "x", **spec})).touched
    assert {key: store.bead(bead_id).get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"title": ""}, "needs a title"),
        ({"title": " \n "}, "needs a title"),
        ({"title": "x" * 501}, "501 characters"),
        ({"type": "poem"}, "not a bead type"),
        ({"status": "sleeping"}, "not a status"),
        ({"deadline": "soon"}, "not a time"),
        ({"expected": "soon"}, "not a duration"),
        ({"base_priority": 101}, "between 0 and 100"),
        ({"base_priority": -1}, "between 0 and 100"),
        ({"id": "../etc"}, "can't be a bead's id"),
        ({"id": "nul"}, "can't be a bead's id"),
        ({"deps": ["nonsense:hub-a"]}, "not a kind of dependency"),
    ],
)
def test_bad_input(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        MemoryStore(make_bead()).publish(create({"title": "x", **spec}))


def test_types_and_statuses_that_the_hub_adds() -> None:
    store = MemoryStore(records={CONFIG_PATH: {"prefix": "hub", "types": ["poem"], "statuses": ["on_ice"]}})
    (bead_id,) = store.publish(create({"title": "x", "type": "poem", "status": "on-ice"})).touched
    assert (store.bead(bead_id).type, store.bead(bead_id).status) == ("poem", "on_ice")


def test_edges_of_every_kind_in_one_call() -> None:
    store = MemoryStore(make_bead("hub-a", labels=["team"]), make_bead("hub-b"), make_bead("hub-c"))
    change = store.publish(
        create(
            {"name": "one", "title": "One", "deps": ["two", "blocks:hub-c", "discovered-from:hub-a"]},
            {"name": "two", "title": "Two", "parent": "hub-a", "depends_on": ["b"]},
            {"name": "three", "title": "Three", "parent": "two", "inherit_labels": False},
        )
    )
    one, two, three = (store.bead(change.result[name]) for name in ("one", "two", "three"))
    assert change.touched == (one.id, two.id, three.id)
    assert (one.depends_on, [(link.type, link.id) for link in one.links]) == ([two.id], [("discovered-from", "hub-a")])
    assert store.bead("hub-c").depends_on == [one.id]
    assert (two.parent, two.depends_on, two.labels) == ("hub-a", ["hub-b"], ["team"])
    assert two.id.startswith("hub-a.")
    assert (three.parent, three.labels) == (two.id, [])
    assert three.id.startswith(f"{two.id}.")


@pytest.mark.parametrize(
    "specs",
    [
        [{"name": "a", "title": "A", "deps": ["b"]}, {"name": "b", "title": "B", "deps": ["a"]}],
        [{"name": "a", "title": "A", "deps": ["a"]}],
        [{"name": "a", "title": "A", "deps": ["hub-x"]}, {"title": "B", "deps": ["blocks:hub-x", "a"]}],
    ],
)
def test_a_plan_that_could_never_be_done_is_refused(specs: list[dict[str, Any]]) -> None:
    store = MemoryStore(make_bead("hub-x"))
    with pytest.raises(WouldCycle):
        store.publish(create(*specs))
    assert store.tip.commit == "c0"


def test_an_edge_to_nowhere_is_refused_and_nothing_is_made() -> None:
    store = MemoryStore()
    with pytest.raises(NoSuchBead):
        store.publish(create({"title": "Fine"}, {"title": "Not", "deps": ["hub-none"]}))
    assert store.tip.commit == "c0"


def test_an_id_that_is_taken_meanwhile_is_minted_anew_and_said() -> None:
    store = MemoryStore()
    operation = create({"title": "Mine", "uid": UID})
    first = store.decide(operation)
    change = store.publish(operation, overtaken_by=lambda: store.put(make_bead("hub-tsv4", title="Theirs")))
    assert first.touched == ("hub-tsv4",)
    assert change.touched == ("hub-tsv4r",)
    assert store.bead("hub-tsv4").title == "Theirs"


def test_a_replayed_id_that_was_taken_is_minted_anew_and_said() -> None:
    from tests.operations.asking import revived

    store = MemoryStore()
    operation = create({"title": "Mine", "uid": UID})
    form = operation.pinned(store.decide(operation), store.tip)
    store.put(make_bead("hub-tsv4", title="Theirs"))
    replayed = revived(form)
    change = store.publish(replayed)
    assert change.touched == ("hub-tsv4r",)
    assert replayed.new_ids(change) == {"hub-tsv4": "hub-tsv4r"}


def test_an_id_that_was_asked_for_is_refused_when_it_is_taken() -> None:
    store = MemoryStore()
    with pytest.raises(IdTaken):
        store.publish(create({"title": "Mine", "id": "hub-1"}), overtaken_by=lambda: store.put(make_bead("hub-1")))


def test_one_key_makes_one_bead() -> None:
    store = MemoryStore()
    one = store.publish(create({"title": "First", "idempotency_key": "k"}))
    two = store.publish(create({"title": "Second", "idempotency_key": "k"}))
    assert two.touched == one.touched
    assert two.is_empty
    assert store.bead(one.touched[0]).title == "First"


def test_one_key_used_by_two_at_once_makes_one_bead() -> None:
    store = MemoryStore()
    change = store.publish(
        create({"title": "Mine", "idempotency_key": "k"}),
        overtaken_by=lambda: store.publish(create({"title": "Theirs", "idempotency_key": "k"})),
    )
    assert change.is_empty
    assert [bead.title for bead in store.tip.every()] == ["Theirs"]


def test_the_same_title_twice_is_two_beads() -> None:
    store = MemoryStore()
    for _ in range(2):
        store.publish(create({"title": "Build parser"}))
    assert len(list(store.tip.every())) == 2


def test_many_at_once_are_as_many_however_their_ids_clash() -> None:
    store = MemoryStore()
    operations = [create({"title": str(number), "uid": f"01ARZ3NDEKTSV4{number:012d}"}) for number in range(1000, 1013)]
    for operation in operations:  # all of them want hub-tsv4
        store.decide(operation)
    for operation in operations:
        store.publish(operation)
    assert sorted(bead.title for bead in store.tip.every()) == [str(number) for number in range(1000, 1013)]


def test_parents_in_a_circle_are_refused_in_a_plan() -> None:
    store = MemoryStore()
    with pytest.raises(WouldCycle):
        store.publish(
            create({"name": "a", "title": "A", "deps": ["parent:b"]}, {"name": "b", "title": "B", "deps": ["parent:a"]})
        )


# --- update -----------------------------------------------------------------------------------


def test_fields_are_set_and_unset() -> None:
    store = MemoryStore(make_bead(notes="n", base_priority=33))
    store.publish(update("a", set={"title": "New", "notes": None, "deadline": "2h", "assignee": "", "priority": 1}))
    bead = store.bead("hub-a")
    assert (bead.title, bead.get("notes"), bead.get("deadline")) == ("New", None, "2026-02-21T17:00:00Z")
    assert (bead.priority, bead.get("base_priority")) == (1, None), "the finer scale would overrule the coarser"


def test_lists_texts_and_metadata() -> None:
    store = MemoryStore(make_bead(labels=["b", "a"], notes="one", metadata={"x": 1, "y": 2}))
    store.publish(
        update(
            "a",
            add={"labels": ["c", "a"], "needs": ["git"]},
            remove={"labels": ["b", "none"]},
            append={"notes": "two", "design": "first"},
            metadata={"x": None, "z": [1]},
        )
    )
    bead = store.bead("hub-a")
    assert (bead.labels, bead.get("needs")) == (["a", "c"], ["git"])
    assert (bead.get("notes"), bead.get("design"), bead.get("metadata")) == ("one\ntwo", "first", {"y": 2, "z": [1]})


def test_nothing_to_change_changes_nothing() -> None:
    store = MemoryStore(make_bead(labels=["a"]))
    change = store.publish(update("a", set={"title": "Do hub-a"}, add={"labels": ["a"]}, status="open"))
    assert not change.beads
    assert change.touched == ("hub-a",)


def test_two_edits_of_one_bead_both_survive() -> None:
    store = MemoryStore(make_bead(labels=["a"]))
    store.publish(
        update("a", set={"priority": 0}, add={"labels": ["mine"]}),
        overtaken_by=lambda: store.publish(
            update("a", set={"title": "Theirs"}, add={"labels": ["theirs"]}, remove={"labels": ["a"]})
        ),
    )
    bead = store.bead("hub-a")
    assert (bead.title, bead.priority, bead.labels) == ("Theirs", 0, ["mine", "theirs"])


@pytest.mark.parametrize(
    ("args", "passes"),
    [
        ({"set": {"title": "x", "priority": 0, "notes": "n"}}, True),
        ({"add": {"labels": ["x"]}}, True),
        ({"append": {"notes": "x"}}, True),
        ({"metadata": {"a": 1}}, True),
        ({"set": {"assignee": "other"}}, False),
        ({"set": {"assignee": None}}, False),
        ({"set": {"assignee": "coder"}}, True),
        ({"status": "blocked"}, False),
        ({"status": "open"}, False),
        ({"status": "closed"}, False),
        ({"status": "in_progress"}, True),
    ],
)
def test_what_a_claim_guards(args: dict[str, Any], passes: bool) -> None:
    """Comments, labels, priority and links are free; status and assignee are the holder's."""
    for asked, allowed in ((by("other"), passes), (by("coder", hub_a="t"), True), (by("other", hub_a="old"), passes)):
        store = MemoryStore(held("hub-a", "coder", "t"))
        if allowed:
            store.publish(update("a", asked=asked, **args))
        else:
            with pytest.raises(StaleToken):
                store.publish(update("a", asked=asked, **args))
            assert store.tip.commit == "c0"


def test_force_overrides_a_claim() -> None:
    store = MemoryStore(held("hub-a", "coder", "t"), records={agent_path("coder"): {"name": "coder"}})
    store.publish(update("a", status="blocked", reason="stop", force=True, asked=by("chief")))
    bead = store.bead("hub-a")
    assert (bead.status, bead.claim, bead.get("status_reason")) == ("blocked", None, "stop")
    assert store.tip.capacity("coder")["current_tasks"] == 0


@pytest.mark.parametrize(
    "args",
    [
        {"status": "sleeping"},
        {"status": "stalled"},
        {"set": {"title": " "}},
        {"set": {"type": "poem"}},
        {"set": {"deadline": "x"}},
    ],
)
def test_bad_updates(args: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        MemoryStore(make_bead()).publish(update("a", **args))


def test_deferring_by_update() -> None:
    store = MemoryStore(make_bead())
    store.publish(update("a", set={"defer_until": "2h"}, status="deferred"))
    assert (store.bead("hub-a").status, store.bead("hub-a").get("defer_until")) == ("deferred", "2026-02-21T17:00:00Z")


@pytest.mark.parametrize("parent", ["hub-a", "hub-kid", "hub-grandkid"])
def test_a_parent_among_ones_own_is_refused(parent: str) -> None:
    store = MemoryStore(make_bead(), make_bead("hub-kid", parent="hub-a"), make_bead("hub-grandkid", parent="hub-kid"))
    with pytest.raises(WouldCycle):
        store.publish(update("hub-a", set={"parent": parent}))


def test_a_parent_that_came_between_is_judged_on_the_tip() -> None:
    store = MemoryStore(make_bead("hub-a"), make_bead("hub-b"))
    with pytest.raises(WouldCycle):
        store.publish(
            update("hub-a", set={"parent": "hub-b"}), overtaken_by=lambda: store.publish(update("hub-b", set={"parent": "hub-a"}))
        )


# --- comment, delete, write -------------------------------------------------------------------


def test_a_comment() -> None:
    store = MemoryStore(make_bead())
    operation = Comment(ids=["a"], text=" Hello.\n", **by())
    change = store.publish(operation)
    entry = {"id": operation.args["comment_id"], "author": "coder", "at": STAMP, "text": "Hello."}
    assert store.bead("hub-a").comments == [entry]
    assert change.result == entry
    assert store.publish(operation).is_empty


def test_two_comments_at_once_are_both_kept() -> None:
    store = MemoryStore(make_bead())
    store.publish(
        Comment(ids=["a"], text="Mine", **by()),
        overtaken_by=lambda: store.publish(Comment(ids=["a"], text="Theirs", author="Eve", **by())),
    )
    assert [(entry["author"], entry["text"]) for entry in store.bead("hub-a").comments] == [("Eve", "Theirs"), ("coder", "Mine")]


def test_an_empty_comment_is_bad_input() -> None:
    with pytest.raises(BadInput):
        MemoryStore(make_bead()).publish(Comment(ids=["a"], text=" \n", **by()))


def test_a_delete_takes_its_edges_along() -> None:
    store = MemoryStore(
        make_bead(),
        make_bead("hub-b", depends_on=["hub-a", "hub-c"], links=[{"type": "related", "id": "hub-a"}]),
        make_bead("hub-c", parent="hub-a"),
        make_bead("hub-d"),
    )
    change = store.publish(Delete(ids=["a"], **by()))
    assert store.tip.bead("hub-a") is None
    assert (store.bead("hub-b").depends_on, store.bead("hub-b").links, store.bead("hub-c").parent) == (["hub-c"], [], None)
    assert "hub-d" not in change.beads
    assert change.result == {"dependencies_removed": 2, "references_updated": 2}


def test_several_that_name_each_other_are_deleted_together() -> None:
    store = MemoryStore(make_bead("hub-a", depends_on=["hub-b"]), make_bead("hub-b", parent="hub-a"))
    store.publish(Delete(ids=["hub-a", "hub-b"], **by()))
    assert not list(store.tip.every())


def test_what_is_held_is_deleted_only_with_its_token() -> None:
    store = MemoryStore(held("hub-a", "coder", "t"), records={agent_path("coder"): {"name": "coder"}})
    with pytest.raises(StaleToken):
        store.publish(Delete(ids=["a"], **by("other")))
    store.publish(Delete(ids=["a"], **by("coder", hub_a="t")))
    assert store.tip.bead("hub-a") is None
    assert store.tip.capacity("coder")["current_tasks"] == 0


def test_a_claim_that_came_first_saves_a_bead_from_deletion() -> None:
    store = MemoryStore(make_bead())
    with pytest.raises(StaleToken):
        store.publish(Delete(ids=["a"], **by()), overtaken_by=lambda: store.put(held("hub-a", "other")))


def test_settings_are_merged_key_by_key() -> None:
    store = MemoryStore(records={agent_path("coder"): {"name": "coder", "role": "coding", "interval": "30m"}})
    operation = Write(records={agent_path("coder"): {"interval": "1h", "role": None}}, **by())
    store.publish(
        operation, overtaken_by=lambda: store.publish(Write(records={agent_path("coder"): {"max_concurrent": 2}}, **by("Ada")))
    )
    assert store.tip.agent("coder") == {"name": "coder", "interval": "1h", "max_concurrent": 2}
    assert not store.decide(operation).records


def test_a_record_is_removed() -> None:
    store = MemoryStore(records={agent_path("coder"): {"name": "coder"}})
    store.publish(Write(records={agent_path("coder"): None}, **by()))
    assert store.tip.agent("coder") is None
