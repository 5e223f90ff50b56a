"""The Import operation on a hub in memory: what it decides, also when the hub moved in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ulid import ULID

from bd.core.errors import BadInput, DoesNotFit, IdTaken
from bd.core.model import Link
from bd.operations.import_beads import Import, derived_uid
from bd.operations.registry import from_json
from bd.policy.circles import circles
from tests.memory import MemoryStore, held, make_bead
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    import random

OLD, NEW, NEWEST = "2026-02-20T09:00:00Z", "2026-02-20T10:00:00Z", "2026-02-20T11:00:00Z"


def record(bead_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": bead_id,
        "title": f"Do {bead_id}",
        "type": "task",
        "status": "open",
        "priority": 2,
        "created_at": OLD,
        "updated_at": OLD,
        **fields,
    }


def importing(*records: dict[str, Any], **args: Any) -> Import:
    return Import(by="human:Ada", at="2026-02-21T12:00:00Z", runtime=RUNTIME, beads=list(records), **args)


def test_new_beads_keep_id_and_times_and_get_the_same_uid_everywhere() -> None:
    one, other = MemoryStore(), MemoryStore()
    for store in (one, other):
        store.publish(importing(record("web-1", owner="person@example.org")))
    bead = one.bead("web-1")
    assert (bead.created_at, bead.updated_at, bead.owner) == (OLD, OLD, "person@example.org")
    assert bead.uid == other.bead("web-1").uid == derived_uid("web-1", OLD)
    assert str(ULID.from_str(str(bead.uid))) == bead.uid
    assert derived_uid("web-2", OLD) != bead.uid


def test_the_same_import_again_is_empty() -> None:
    store = MemoryStore()
    first = importing(record("web-1", depends_on=["web-2"], labels=["b", "a"]), record("web-2"))
    assert store.publish(first).result["created"] == ["web-1", "web-2"]
    again = store.decide(first)
    assert again.is_empty
    assert again.result["unchanged"] == ["web-1", "web-2"]


def test_an_overtaken_import_yields_to_what_was_written_meanwhile() -> None:
    store = MemoryStore(make_bead("web-1", updated_at=OLD))
    change = store.publish(
        importing(record("web-1", title="Theirs", updated_at=NEW), record("web-2")),
        overtaken_by=lambda: store.put(make_bead("web-1", title="Ours", updated_at=NEWEST)),
    )
    assert store.bead("web-1").title == "Ours"
    assert change.result["created"] == ["web-2"]
    assert change.result["skipped"][0]["kind"] == "stale"


def test_a_bead_claimed_meanwhile_is_left_alone() -> None:
    store = MemoryStore(make_bead("web-1", updated_at=OLD))
    store.publish(importing(record("web-1", title="Theirs", updated_at=NEW)), overtaken_by=lambda: store.put(held("web-1")))
    assert store.bead("web-1") == held("web-1")


@pytest.mark.parametrize(
    ("here", "there", "taken"),
    [
        (OLD, NEW, True),
        (NEW, OLD, False),
        (OLD, OLD, False),
        ("2026-02-20T09:00:00.123456001Z", "2026-02-20T09:00:00.123456002Z", True),
        ("2026-02-20T09:00:00.1Z", "2026-02-20T09:00:00.10Z", False),
        ("2026-02-20T09:00:00.5Z", OLD, False),
    ],
)
def test_only_a_newer_record_replaces(here: str, there: str, taken: bool) -> None:
    store = MemoryStore(make_bead("web-1", title="Ours", updated_at=here))
    store.publish(importing(record("web-1", title="Theirs", updated_at=there)))
    assert store.bead("web-1").title == ("Theirs" if taken else "Ours")


def test_at_the_same_moment_labels_edges_and_comments_are_joined() -> None:
    ours = make_bead("web-1", labels=["a"], depends_on=["web-2"], comments=[{"id": "1", "at": OLD, "text": "ours"}])
    store = MemoryStore(ours, make_bead("web-2"), make_bead("web-3"), make_bead("web-4"))
    theirs = record(
        "web-1",
        title="Theirs",
        labels=["b"],
        depends_on=["web-3"],
        parent="web-4",
        comments=[{"id": "2", "at": NEW, "text": "theirs"}],
        edge_details={"web-3": {"created_by": "ada"}},
    )
    store.publish(importing(theirs))
    bead = store.bead("web-1")
    assert (bead.title, bead.labels, bead.depends_on, bead.parent) == ("Do web-1", ["a", "b"], ["web-2", "web-3"], "web-4")
    assert [comment["text"] for comment in bead.comments] == ["ours", "theirs"]
    assert bead.get("edge_details") == {"web-3": {"created_by": "ada"}}
    assert store.decide(importing(theirs)).is_empty


def test_an_update_keeps_what_only_bd_knows_and_unsets_what_the_record_leaves_out() -> None:
    ours = make_bead(
        "web-1", uid=derived_uid("web-1", OLD), description="old", needs=["gpu"], attempts=2, base_priority=55, custom="x"
    )
    store = MemoryStore(ours.evolve(comments=[{"id": "9", "at": OLD, "text": "ours"}]))
    store.publish(importing(record("web-1", updated_at=NEW, priority=1, comments=[{"id": "1", "at": NEW, "text": "theirs"}])))
    bead = store.bead("web-1")
    assert bead.get("description") is None
    assert (bead.get("needs"), bead.attempts, bead.get("custom"), bead.uid) == (["gpu"], 2, "x", ours.uid)
    assert (bead.priority, bead.get("base_priority")) == (1, None)
    assert [comment["id"] for comment in bead.comments] == ["9", "1"]


def test_attempts_only_grow_whatever_a_newer_record_says() -> None:
    store = MemoryStore(make_bead("web-1", uid=derived_uid("web-1", OLD), attempts=2))
    store.publish(importing(record("web-1", updated_at=NEW, attempts=1, priority=1)))
    assert (store.bead("web-1").attempts, store.bead("web-1").priority) == (2, 1)
    store.publish(importing(record("web-1", updated_at="2026-02-23T00:00:00Z", attempts=5)))
    assert store.bead("web-1").attempts == 5


def test_a_record_of_another_hub_says_everything_and_another_bead_is_not_it() -> None:
    mine, theirs = derived_uid("a", OLD), derived_uid("b", OLD)
    store = MemoryStore(make_bead("web-1", uid=mine, needs=["gpu"]), make_bead("web-2", uid=mine[:-1] + "Z", title="Mine"))
    change = store.publish(importing(record("web-1", uid=mine, updated_at=NEW), record("web-2", uid=theirs, updated_at=NEW)))
    assert store.bead("web-1").get("needs") is None
    assert store.bead("web-2").title == "Mine"
    assert change.result["skipped"][0]["reason"] == "another bead has this id here"


def test_a_record_that_does_not_say_when_it_changed_never_replaces() -> None:
    store = MemoryStore(make_bead("web-1", title="Ours"))
    undated = {"id": "web-1", "title": "Theirs", "type": "task", "status": "open", "priority": 2}
    assert store.publish(importing(undated)).result["skipped"][0]["reason"].endswith("does not say when it was changed")
    assert store.bead("web-1").title == "Ours"


def test_fail_stops_everything_only_for_what_differs() -> None:
    store = MemoryStore()
    store.publish(importing(record("web-1")))
    assert store.decide(importing(record("web-1"), on_conflict="fail")).is_empty
    with pytest.raises(IdTaken, match="web-1"):
        store.decide(importing(record("web-1", title="Other", updated_at=NEW), record("web-2"), on_conflict="fail"))
    with pytest.raises(BadInput):
        importing(on_conflict="whatever")


def test_ids_that_differ_only_in_case_do_not_both_come_in() -> None:
    change = MemoryStore(make_bead("WEB-1")).decide(importing(record("web-1"), record("web-2"), record("Web-2")))
    assert change.result["created"] == ["web-2"]
    assert {entry["id"] for entry in change.result["skipped"]} == {"web-1", "Web-2"}


def test_claims_travel_only_with_records_that_have_one() -> None:
    store = MemoryStore()
    claimed = dict(held("web-1").fields)
    operation = importing(claimed, record("web-2", status="in_progress"))
    assert operation.needs_remote
    store.publish(operation)
    claim = store.bead("web-1").claim
    assert claim is not None
    assert (claim.agent, claim.token) == ("coder", "01TOKEN")
    assert store.bead("web-2").claim is None
    capacity = store.tip.capacity("coder")
    assert capacity is not None
    assert capacity["beads"] == ["web-1"]
    assert not importing(record("web-2", status="in_progress")).needs_remote


def test_an_imported_claim_does_not_overlap_one_here() -> None:
    store = MemoryStore(held("hub-1", exclusive="site"))
    with pytest.raises(DoesNotFit, match="shares site with hub-1"):
        store.publish(importing(dict(held("web-1", "other", "01OTHER", exclusive="site").fields)))


def test_a_circle_with_beads_of_the_hub_gives_way_on_the_side_of_the_import() -> None:
    store = MemoryStore(make_bead("hub-1", depends_on=["web-1"]), make_bead("web-1", updated_at=OLD))
    change = store.publish(importing(record("web-1", depends_on=["hub-1"], updated_at=NEW)))
    assert store.bead("hub-1").depends_on == ["web-1"]
    bead = store.bead("web-1")
    assert (bead.depends_on, bead.links[0]) == ([], Link("blocks", "hub-1"))
    assert change.result["kept_as_links"] == [
        "web-1 -> hub-1 (blocks): would be a cycle, kept as a link: web-1 -> hub-1 -> web-1"
    ]


def test_a_circle_through_a_parent_is_opened_at_the_edge_that_closes_it() -> None:
    store = MemoryStore()
    store.publish(
        importing(
            record("e-1", type="epic", depends_on=["t-2"]),
            record("t-1", parent="e-1"),
            record("t-2", depends_on=["t-1"], created_at=NEW),
        )
    )
    assert store.bead("e-1").depends_on == ["t-2"]
    assert store.bead("t-2").links == [Link("blocks", "t-1")]


def test_a_fraction_of_a_second_is_younger_than_its_second() -> None:
    store = MemoryStore()
    early, late = "2026-02-20T09:00:00Z", "2026-02-20T09:00:00.5Z"
    store.publish(importing(record("a", depends_on=["b"], created_at=late), record("b", depends_on=["a"], created_at=early)))
    assert (store.bead("a").depends_on, store.bead("b").depends_on) == ([], ["a"])


def test_a_circle_that_the_hub_has_already_is_only_told() -> None:
    store = MemoryStore(make_bead("hub-1", depends_on=["hub-2"]), make_bead("hub-2", depends_on=["hub-1"]))
    change = store.publish(importing(record("web-1", depends_on=["hub-1"])))
    assert change.result["created"] == ["web-1"]
    assert change.result["kept_as_links"] == ["these wait for each other in the hub already: hub-1 -> hub-2 -> hub-1"]


def test_both_edges_to_one_bead_keep_what_is_known_of_them_when_one_gives_way() -> None:
    store = MemoryStore()
    details = {"a": {"created_by": "ada"}, "parent-child:a": {"created_by": "bob"}}
    store.publish(
        importing(
            record("a", depends_on=["b"]),
            record("b", depends_on=["a"], parent="a", edge_details=details, created_at=NEW),
        )
    )
    bead = store.bead("b")
    assert (bead.depends_on, bead.parent) == ([], "a")
    assert bead.get("links") == [{"type": "blocks", "id": "a", "created_by": "ada"}]
    assert bead.get("edge_details") == {"a": {"created_by": "bob"}}


def test_an_edge_that_had_to_become_a_link_is_the_same_edge_the_next_time() -> None:
    store = MemoryStore()
    records = [
        record("a", depends_on=["b"]),
        record("b", depends_on=["a"], links=[{"type": "waits-for", "id": "b"}], created_at=NEW),
    ]
    store.publish(importing(*records))
    for rule in ("newer", "skip", "fail"):
        assert store.decide(importing(*records, on_conflict=rule)).result["unchanged"] == ["a", "b"]
    later = [{**one, "updated_at": NEWEST} for one in records]
    store.publish(importing(*later))
    assert store.bead("b").get("links") == [{"type": "related", "id": "b"}, {"type": "blocks", "id": "a"}]
    assert store.decide(importing(*later)).is_empty


def test_which_edge_gives_way_does_not_depend_on_the_order_of_the_file(rng: random.Random) -> None:
    """Graphs full of circles, each written down in several orders."""
    names = "abcdefg"
    for _ in range(30):
        waits = {name: [other for other in names if other != name and rng.random() < 0.4] for name in names}
        found: set[tuple[tuple[str, ...], ...]] = set()
        for _ in range(4):
            store = MemoryStore()
            order = rng.sample(names, len(names))
            store.publish(importing(*(record(name, depends_on=rng.sample(waits[name], len(waits[name]))) for name in order)))
            assert circles(store.tip) == []
            found.add(tuple(tuple(sorted(store.bead(name).depends_on)) for name in names))
            kept = {name: {*store.bead(name).depends_on, *(link.id for link in store.bead(name).links)} for name in names}
            assert kept == {name: set(targets) for name, targets in waits.items()}
        assert len(found) == 1


def test_the_operation_survives_its_json_form() -> None:
    store = MemoryStore()
    operation = importing(record("web-1"), {"title": "No id", "type": "task", "status": "open", "priority": 2})
    change = store.decide(operation)
    again = from_json(operation.pinned(change, store.tip), RUNTIME)
    assert isinstance(again, Import)
    assert store.decide(again).beads == change.beads
    store.publish(operation)
    assert store.decide(again).is_empty
