"""contract.LocalState: notes, the lock and the journal, between two processes of one clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.core.errors import LockTimeout

if TYPE_CHECKING:
    from tests.contract.conftest import Hub

UID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_notes(shared: Hub) -> None:
    one, other = shared.clone().local, shared.clone().local
    assert one.read("a.json") is None
    assert not one.has_any("beats")
    one.write("a.json", "1")
    one.write("beats/x", "2\n")
    assert (other.read("a.json"), other.read("beats/x"), other.has_any("beats")) == ("1", "2\n", True)
    other.drop("a.json")
    other.drop("a.json")
    assert one.read("a.json") is None


def test_one_writer_at_a_time(shared: Hub) -> None:
    one, other = shared.clone().local, shared.clone().local
    held = one.lock(1)
    assert held.try_enter()
    assert not other.lock(0).try_enter()
    with pytest.raises(LockTimeout):
        other.lock(0).__enter__()
    held.__exit__()
    with other.lock(0):
        assert not one.lock(0).try_enter()
    assert one.lock(0).try_enter()


def test_an_entry_is_there_from_its_first_step_on(shared: Hub) -> None:
    mine, theirs = shared.clone().journal, shared.clone().journal
    entry = mine.begin(UID, verb="claim")
    assert theirs.is_empty()
    entry.write(state="pushing", commits=["c"])
    entry.write(durably=False, tokens=["t"])
    entry.sync()
    assert not theirs.is_empty()
    assert theirs.unreadable() == []
    assert list(theirs.of_the_dead()) == [], "its process lives"
    entry.close()
    for found in theirs.of_the_dead():
        assert found.uid == UID
        assert found.data == {"v": 1, "uid": UID, "state": "pushing", "verb": "claim", "commits": ["c"], "tokens": ["t"]}
        assert list(mine.of_the_dead()) == [], "it is looked at by one process at a time"
        found.remove()
    assert mine.is_empty()


def test_what_waits_is_taken_once_and_answered(shared: Hub) -> None:
    mine, theirs = shared.clone().journal, shared.clone().journal
    entry = mine.begin(UID)
    entry.write(state="waiting", kin="k")
    assert theirs.take(lambda data: data["kin"] == "other", 9) == []
    assert theirs.take(lambda data: True, 0) == []
    [(key, data)] = theirs.take(lambda data: data["kin"] == "k", 9)
    assert data["uid"] == UID
    assert theirs.take(lambda data: True, 9) == []
    assert not mine.withdraw(entry)
    assert mine.answered(entry) is None
    theirs.answer(key, {"answer": {"subject": "done"}})
    assert mine.answered(entry) == {"answer": {"subject": "done"}}
    entry.remove()
    assert theirs.is_empty()


def test_what_is_withdrawn_is_not_taken(shared: Hub) -> None:
    mine, theirs = shared.clone().journal, shared.clone().journal
    entry = mine.begin(UID)
    entry.write(state="waiting")
    assert mine.withdraw(entry)
    assert theirs.take(lambda data: True, 9) == []
    entry.remove()


def test_what_a_dead_holder_had_taken_is_put_back_and_may_be_answered_for_it(shared: Hub) -> None:
    mine, theirs = shared.clone().journal, shared.clone().journal
    entry = mine.begin(UID)
    entry.write(state="waiting")
    assert theirs.take(lambda data: True, 9)
    theirs.put_back()
    [(key, _)] = theirs.take(lambda data: True, 9)
    theirs.answer_for_the_dead("01NOBODY", {"answer": {}})
    theirs.answer_for_the_dead(UID, {"answer": {"code": "x"}})
    theirs.put_back()
    assert theirs.take(lambda data: True, 9) == [], "it has its answer"
    assert mine.answered(entry) == {"answer": {"code": "x"}}
    assert key
    entry.remove()


def test_who_gets_the_lock_carries_its_own_out(shared: Hub) -> None:
    mine, theirs = shared.clone().journal, shared.clone().journal
    entry = mine.begin(UID)
    entry.write(state="waiting")
    assert theirs.take(lambda data: True, 9)
    mine.reclaim(entry)
    entry.write(state="begun")
    entry.close()
    assert [found.data["state"] for found in theirs.of_the_dead()] == ["begun"]
