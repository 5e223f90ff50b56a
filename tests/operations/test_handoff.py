"""Handing over: what the finished bead keeps, what the next one gets, and that it happens once."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core.errors import AlreadyClosed, BadInput, BdError, StaleToken, StillBlocked, WrongState
from bd.core.schema import capacity_path
from bd.operations.handoff import Handoff, name_of, parse_artifact
from tests.memory import MemoryStore, held, make_bead
from tests.operations.asking import STAMP, by, revived

REPORT = {"name": "report", "ref": "artifacts/hub-a/report.md"}
PAGE = {"name": "page.html", "ref": "https://x.org/page.html?v=2"}


def handoff(*bead_ids: str, artifacts: list[dict[str, str]] | None = None, **given: Any) -> Handoff:
    return Handoff(ids=list(bead_ids), artifacts=[REPORT, PAGE] if artifacts is None else artifacts, **{**by(), **given})


@pytest.mark.parametrize(
    ("typed", "name", "ref"),
    [
        ("report.md", "report.md", "report.md"),
        ("out/report.md", "report.md", "out/report.md"),
        ("out/", "out", "out/"),
        ("the report=out/r.md", "the report", "out/r.md"),
        ("https://x.org/a/b.pdf?x=1#p", "b.pdf", "https://x.org/a/b.pdf?x=1#p"),
        ("doc=https://x.org/?x=1", "doc", "https://x.org/?x=1"),
        ("https://x.org", "x.org", "https://x.org"),
        ("site@3f2a91c:src/app.py", "app.py", "site@3f2a91c:src/app.py"),
        ("./a=b", "a=b", "./a=b"),
    ],
)
def test_an_artifact_has_a_name(typed: str, name: str, ref: str) -> None:
    assert parse_artifact(typed) == (name, ref)
    assert name_of(ref)


@pytest.mark.parametrize("typed", ["", " ", "name= "])
def test_an_empty_artifact_is_refused(typed: str) -> None:
    if typed.strip():
        assert parse_artifact(typed)[1] == typed.strip()
    else:
        with pytest.raises(BadInput):
            parse_artifact(typed)


def test_one_is_closed_and_the_next_is_fed() -> None:
    store = MemoryStore(held(), make_bead("hub-b", spec={"prompt": "Do", "context_refs": ["old"]}))
    change = store.publish(handoff("hub-a", "hub-b", note="Mind the gap.", **by(hub_a="01TOKEN")))
    assert change.subject == "handoff: hub-a to hub-b by coder"
    first, second = store.bead("hub-a"), store.bead("hub-b")
    assert (first.status, first.get("close_reason"), first.claim) == ("closed", "Mind the gap.", None)
    assert first.get("output") == {"artifacts": [REPORT, PAGE]}
    assert second.get("spec") == {"prompt": "Do", "context_refs": ["old", "report=artifacts/hub-a/report.md", PAGE["ref"]]}
    assert [(one["author"], one["at"], one["text"]) for one in second.comments] == [("coder", STAMP, "From hub-a: Mind the gap.")]
    assert [(link.type, link.id) for link in second.links] == [("discovered-from", "hub-a")]
    capacity = store.tip.record(capacity_path("coder"))
    assert capacity is not None
    assert capacity["current_tasks"] == 0


def test_what_waited_for_it_becomes_ready_and_needs_no_further_link() -> None:
    store = MemoryStore(make_bead(), make_bead("hub-b", depends_on=["hub-a"]))
    change = store.publish(handoff("hub-a", "hub-b"))
    assert change.notes == ("now ready: hub-b",)
    assert store.bead("hub-b").links == []
    assert store.bead("hub-a").get("close_reason") == "Handed over to hub-b"


def test_a_new_bead_is_made_beside_the_finished_one() -> None:
    store = MemoryStore(make_bead("hub-p", type="epic"), make_bead("hub-p.1x", parent="hub-p", priority=1, labels=["web"]))
    change = store.publish(handoff("hub-p.1x", new={"title": "Write it up", "assignee": "writer"}))
    made = store.bead(change.touched[1])
    assert made.id.startswith("hub-p.")
    assert (made.title, made.assignee, made.parent, made.priority, made.status) == ("Write it up", "writer", "hub-p", 1, "open")
    assert made.get("spec")["context_refs"][0] == "report=artifacts/hub-a/report.md"
    assert [(link.type, link.id) for link in made.links] == [("discovered-from", "hub-p.1x")]


def test_output_that_was_there_stays_and_a_name_means_its_latest_reference() -> None:
    old = [{"name": "report", "ref": "old"}, {"name": "log", "ref": "l"}]
    store = MemoryStore(make_bead(output={"type": "text", "artifacts": old}), make_bead("hub-b"))
    store.publish(handoff("hub-a", "hub-b", artifacts=[REPORT]))
    assert store.bead("hub-a").get("output") == {"type": "text", "artifacts": [{"name": "log", "ref": "l"}, REPORT]}


def test_the_next_one_may_be_in_work() -> None:
    store = MemoryStore(make_bead(), held("hub-b", "other", "t"))
    store.publish(handoff("hub-a", "hub-b"))
    assert store.bead("hub-b").claim is not None


@pytest.mark.parametrize(
    ("beads", "given", "refusal"),
    [
        ([held(), make_bead("hub-b")], {}, StaleToken),
        ([held(), make_bead("hub-b")], by(hub_a="other"), StaleToken),
        ([held(), make_bead("hub-b")], {"force": True}, BadInput),
        ([make_bead(depends_on=["hub-b"]), make_bead("hub-b")], {}, StillBlocked),
        ([make_bead(status="closed"), make_bead("hub-b")], {}, AlreadyClosed),
        ([make_bead(status="cancelled"), make_bead("hub-b")], {}, WrongState),
        ([make_bead(), make_bead("hub-b", status="closed")], {}, WrongState),
        ([make_bead(), make_bead("hub-b", status="cancelled")], {}, WrongState),
    ],
)
def test_what_is_refused_changes_nothing(beads: list[Any], given: dict[str, Any], refusal: type[BdError]) -> None:
    store = MemoryStore(*beads)
    with pytest.raises(refusal):
        store.publish(handoff("hub-a", "hub-b", **given))
    assert not store.subjects


def test_by_force_with_words() -> None:
    store = MemoryStore(held(), make_bead("hub-b"))
    store.publish(handoff("hub-a", "hub-b", force=True, note="coder is gone", **by("overseer")))
    assert store.bead("hub-a").status == "closed"


@pytest.mark.parametrize("new", [None, {"title": "More"}])
def test_decided_again_it_is_done_also_when_the_next_one_has_gone_on(new: dict[str, Any] | None) -> None:
    store = MemoryStore(make_bead(), make_bead("hub-b"))
    operation = handoff("hub-a", **({"new": new} if new else {})) if new else handoff("hub-a", "hub-b")
    change = store.publish(operation)
    store.put(store.bead(change.touched[1]).evolve(status="closed"), store.bead("hub-a").evolve(status="open"))
    again = store.decide(operation)
    assert again.is_empty
    assert again.touched == change.touched


def test_replayed_where_the_new_ones_id_was_taken_it_gets_another_and_says_so() -> None:
    store = MemoryStore(make_bead())
    operation = handoff("hub-a", new={"title": "More"})
    change = store.decide(operation)
    form = operation.pinned(change, store.tip)
    taken = change.touched[1]
    store.put(make_bead(taken, title="Somebody else's"))
    again = revived(form)
    second = store.publish(again)
    assert second.touched[1] != taken
    assert again.new_ids(second) == {taken: second.touched[1]}
    assert store.bead(taken).title == "Somebody else's"


def test_the_new_one_follows_a_parent_whose_id_was_minted_anew() -> None:
    store = MemoryStore(make_bead("hub-p"), make_bead("hub-p.1x", parent="hub-p"))
    operation = handoff("hub-p.1x", new={"title": "More"})
    form = operation.pinned(store.decide(operation), store.tip)
    moved = MemoryStore(make_bead("hub-q9"), make_bead("hub-q9.1x", parent="hub-q9"))
    again = revived(form).renamed({"hub-p": "hub-q9", "hub-p.1x": "hub-q9.1x"})
    change = moved.publish(again)
    assert change.touched[0] == "hub-q9.1x"
    assert change.touched[1].startswith("hub-q9.")


NOTES = [{"at": STAMP, "agent": "coder", "text": "half way"}]


def test_the_notes_made_while_working_ride_along() -> None:
    store = MemoryStore(held(), make_bead("hub-b"))
    store.publish(handoff("hub-a", "hub-b", progress={"hub-a": NOTES}, **by(hub_a="01TOKEN")))
    assert store.bead("hub-a").get("progress") == NOTES
