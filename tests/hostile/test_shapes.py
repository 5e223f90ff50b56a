"""Notes of the clone that are JSON of another shape: as if they were not there, and written anew."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.json_shapes import fits
from bd.store.group_commit import verdict_trailers
from bd.store.group_commit.answer import is_answer
from tests.hostile.planting import harmless

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

ODD: list[Any] = [None, True, -1, 10**30, [], {}, "x", [1], {"a": {"b": [None]}}, [[[]]]]
# A note, and a whole one of its kind: each of its values is put into the place of another.
NOTES: dict[str, Any] = {
    "last.json": {"commit": "0" * 40, "subject": "s", "touched": ["hub-good"]},
    "renamed.json": {"hub-old": "hub-good"},
    "kept.json": {"U": "why"},
    "trust.json": {"config.x": "pin"},
    "housekeeping.json": {"archive": "2026-01-01T00:00:00Z"},
    "packed.json": {"left": 3},
    "looks.json": {"last": {"boot": "b", "up_s": 1.0, "at_s": 2.0}, "claims": {}},
    "heard.json": {"at": "2026-01-01T00:00:00Z", "agents": {"ada": {"oid": "x", "record": {}}}},
    "siderefs.json": {"x": {"works": True, "at_s": 1}},
    "pacing/ada.json": {"tip": "x", "empty_cycles": 1, "next_poll_at": None, "idle_since": None},
    "progress/hub-good.json": [{"at": "2026-01-01T00:00:00Z", "agent": "ada", "text": "t"}],
    "flow.json": {
        "format": 1,
        "tip": "",
        "rows": [[1, "created", "hub-good", "task", "", 0, -1, -1, "", False]],
        "begun": {},
        "opened": {},
        "ended": {},
    },
}
ACTS = (
    ("undo",),
    ("update", "--priority", "1"),
    ("show", "hub-old"),
    ("sync", "--kept"),
    ("trust",),
    ("poll", "--agent", "ada"),
    ("metrics",),
    ("agent", "list"),
    ("stalled",),
    ("progress", "hub-good", "note", "--agent", "ada"),
)


def spoiled(value: Any, odd: Any) -> list[Any]:
    """The value with another in the place of each of its parts."""
    found = [odd]
    if isinstance(value, dict):
        found += [{**value, key: one} for key in value for one in spoiled(value[key], odd)]
    if isinstance(value, list):
        found += [[*value[:place], one, *value[place + 1 :]] for place in range(len(value)) for one in spoiled(value[place], odd)]
    return found


@pytest.mark.one_in(12)
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_notes_of_another_shape_end_no_command_as_a_bug(odd: Any, alice: Clone) -> None:
    folder = alice.path / ".git" / "bd"
    remote = str(alice.path.parent / "hub.git")
    versions = {name: spoiled(note, odd) for name, note in NOTES.items()}
    for turn in range(max(map(len, versions.values()))):
        for name, found in versions.items():
            text = json.dumps(found[turn % len(found)]).replace('{"x": ', f'{{"{remote}": ')
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        act = ACTS[turn % len(ACTS)]
        harmless(alice.here(*act, check=False), 0, 2, 3, 4, 5)
    harmless(alice.here("create", "Goes on"), 0)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_verdict_that_is_none_says_nothing(odd: Any) -> None:
    told = {"subject": "s", "touched": ["a"], "tokens": [["T", "a"]], "failures": [{"id": "a"}], "moves": {"a": "b"}, "data": {}}
    assert is_answer(told)
    for one in spoiled(told, odd):
        line = f"s\n\n{verdict_trailers.KEY}: U ok {json.dumps(one)}\n"
        ((uid, answer),) = verdict_trailers._told(line)
        assert uid == "U"
        assert answer == (one if is_answer(one) else {})
        args = {"new_tokens": odd, "ids": odd}
        form = json.dumps({"verb": "claim", "uid": "U", "args": args})
        assert dict(verdict_trailers._told(f"s\n\nBd-Op: {form}\nBd-Uid: U\n"))["U"]["tokens"] == []


def test_shapes() -> None:
    assert fits({"a": 1, "b": "x"}, {"a": int, ...: str})
    assert not fits({"a": True, "b": "x"}, {"a": int, ...: str})
    assert not fits({"b": "x"}, {"a": int})
    assert fits({}, {"a": (int, type(None))})
    for number in (1e300, -(10**30), float("nan"), float("inf")):
        assert not fits(number, (int, float))


@pytest.mark.parametrize("change", ["x'00'", "x''", "'text'", "NULL", "17", "substr(head, 1, 9)", "head || x'00'"])
def test_a_packed_bead_that_is_not_as_it_was_written_is_read_again(change: str, alice: Clone) -> None:
    before = alice.here("list", "--json").json
    (path,) = (alice.path / ".git" / "bd").glob("cache-*.db")
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE heads SET head = {change}")
        db.execute("DELETE FROM texts")
    db.close()
    assert alice.here("list", "--json").json == before
    assert alice.here("show", "hub-good", "--json").json
    assert alice.here("list", "--json").json == before
