"""Refs beside the branch, where anybody who may push can put anything: what is no agent's record is as if it were not there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.store.git import fetch
from bd.store.heartbeat import side_refs
from bd.store.heartbeat.agent_records import record_of, refs_of
from tests.hostile.planting import GOOD, GOOD_PATH, everything_goes_on, harmless, plant
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(32)

EVIL = "\x1b[2J\u202e\u200b"
RECORDS = {
    "kinds": {
        "last_heartbeat": 5,
        "status": [1],
        "beads": 3,
        "progress": "x",
        "interval_s": "x",
        "empty_cycles": {},
        "recent": [1, {}],
        "host": {"a": 1},
    },
    "numbers": '{"current_tasks": 1e400, "interval_s": NaN, "max_concurrent": -Infinity, "empty_cycles": ' + "9" * 300 + "}",
    "times": {"last_heartbeat": "9999-12-31T23:59:59Z", "next_poll_at": "0001-01-01T00:00:00Z", "idle_since": "x"},
    "texts": {
        "last_heartbeat": "2026-01-01T00:00:00Z",
        "status": EVIL,
        "host": EVIL,
        "progress": [{"at": EVIL, "text": EVIL}, {"text": EVIL, "bead": EVIL}],
    },
    "list": [1],
    "number": 7,
    "nothing": "",
    "no json": "not json",
    "digits": '{"interval_s": ' + "9" * 5000 + "}",
}
ACTS = (
    ("agent", "list", "--fetch"),
    ("agent", "show", "codemonkey", "--fetch"),
    ("agent", "show", "mallory", "--fetch"),
    ("stalled", "--fetch"),
    ("claim", "hub-good", "--agent", "codemonkey"),
    ("show", "hub-good", "--fetch"),
    ("heartbeat", "--agent", "codemonkey"),
    ("progress", "hub-good", "note", "--agent", "codemonkey"),
    ("poll", "--agent", "mallory"),
    ("overseer", "--once"),
)


def put(hub: Path, text: str) -> None:
    """A record of several agents, and of names that are none's."""
    tree = git(hub, "hash-object", "-w", "-t", "tree", "--stdin", data=b"")
    body = f"tree {tree}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n\n{text}\n".encode()
    oid = git(hub, "hash-object", "-w", "-t", "commit", "--literally", "--stdin", data=body)
    for name in ("codemonkey", "mallory", "-x", "UPPER", "x.y", "é"):
        git(hub, "update-ref", f"refs/bd/agents/{name}", oid)
    for token in ("T1", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "a/b"):
        git(hub, "update-ref", f"refs/bd/claims/{token}", oid)
    with open(bytes(hub) + b"/refs/bd/agents/\xff", "w") as file:
        file.write(f"{oid}\n")


def go_on(hub: Path, clone: Callable[[str], Clone], text: str) -> None:
    plant(hub, {GOOD_PATH: GOOD, ".beads/agents/codemonkey.yaml": "role: coding\n"})
    alice = clone("alice")
    put(hub, text)
    for args in ACTS:
        harmless(alice.here(*args, check=False), 0, 3, 4, 5)
    everything_goes_on(alice)
    listed = alice.here("agent", "list", "--json").json
    assert not {entry["agent"] for entry in listed} & {"-x", "UPPER", "x.y", "é"}


@pytest.mark.one_in(16)
@pytest.mark.parametrize("what", RECORDS)
def test_a_record(what: str, hub: Path, clone: Callable[[str], Clone]) -> None:
    made = RECORDS[what]
    go_on(hub, clone, made if isinstance(made, str) else json.dumps(made))


def test_a_record_that_is_nested_without_end(hub: Path, clone: Callable[[str], Clone]) -> None:
    go_on(hub, clone, "[" * 200_000)


def test_only_what_a_capacity_file_may_say_comes_through() -> None:
    said = {
        "agent": "bob",
        "beads": ["hub-x"],
        "idle": True,
        "interval_s": 30,
        "current_tasks": "1",
        "other": 1,
        "host": {"a": 1},
        "recent": [[1]],
    }
    assert record_of(said) == {"agent": "bob", "beads": ["hub-x"], "idle": True, "interval_s": 30, "current_tasks": 1}
    assert record_of(None) == record_of([1]) == record_of("x") == {}


def test_refs_that_are_no_agents_are_left_out() -> None:
    refs = dict.fromkeys(
        ["refs/bd/agents/bob", "refs/bd/agents/x:refs/heads/main", "refs/bd/agents/../x", "refs/bd/claims/T"], "0" * 40
    )
    assert list(refs_of(refs)) == ["refs/bd/agents/bob", "refs/bd/claims/T"]


def flood(hub: Path, folder: str, names: list[str]) -> None:
    """Refs beside the branch, each naming a record of its own."""
    tree = git(hub, "mktree", data=b"")
    for name in names:
        oid = git(hub, "commit-tree", tree, "-m", json.dumps({"agent": name, "status": "available"}))
        git(hub, "update-ref", f"refs/bd/{folder}/{name}", oid)


def test_a_flood_of_records_hides_no_agent_that_is_known(
    hub: Path, clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_refs, "MOST_AGENTS", 4)
    monkeypatch.setattr(side_refs, "FETCHED_AT_ONCE", 2)
    alice = clone("alice")

    def heard() -> list[str]:
        alice.here("stalled", "--fetch")
        return sorted(json.loads((alice.path / ".git" / "bd" / "heard.json").read_text())["agents"])

    flood(hub, "agents", ["zed"])
    assert heard() == ["zed"]
    flood(hub, "agents", [f"a{number}" for number in range(9)])
    assert heard() == ["a0", "a1", "zed"]
    assert heard() == ["a0", "a1", "a2", "zed"]
    flood(hub, "agents", ["zed", "a0", "a1"])
    assert heard() == ["a0", "a1", "a2", "zed"]


def test_a_flood_of_requests_is_left_out_for_an_hour(
    hub: Path, clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    monkeypatch.setattr(fetch, "_CROWD", 3)
    alice = clone("alice")
    flood(hub, "intents", [f"01KB6ZZZZZZZZZZZZZZZZZZZA{number}" for number in range(5)])
    seen: list[int] = []
    take = fetch.Fetching._take_beside

    def watched(self: fetch.Fetching) -> None:
        seen.append(len(fetch.loose_refs(self._repo, fetch._SEEN)))
        take(self)

    monkeypatch.setattr(fetch.Fetching, "_take_beside", watched)
    for minutes in (0, 30, 31):
        clock.move(minutes=minutes)
        alice.here("sync")
    assert [number > 3 for number in seen] == [True, False, True]
