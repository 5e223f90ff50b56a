"""The same questions to every snapshot of one hub: in memory, and from a cache that is empty, full, or can't be written.

What a cache has derived before changes no answer, and neither does that it may keep nothing.
"""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli import bead_lines
from bd.compat import bead_json
from bd.core.schema import CONFIG_PATH, agent_path, capacity_path
from bd.core.settings import merge
from bd.policy.readiness import Readiness
from bd.report.selection import SORTS, Wanted, lineup
from bd.store.cache import database
from bd.store.hub_location import locate
from tests.clocks import START
from tests.contract.test_snapshots import files_of, write_hub
from tests.memory import MemorySnapshot, make_bead
from tests.operations.test_every_operation import a_hub
from tests.policy.questions import answers, told
from tests.runtime import open_clone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.core.model import Bead, Snapshot
    from bd.store.snapshot import CachedSnapshot
    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

EPIC = [
    make_bead("hub-p", type="epic", depends_on=["hub-p.1", "hub-p.2", "hub-a"], budget_ceiling_usd=5),
    make_bead("hub-p.1", parent="hub-p", labels=["x"], deadline="2026-03-01T00:00:00Z"),
    make_bead("hub-p.2", parent="hub-p", depends_on=["hub-p.1"], prefer_agent="coder"),
    make_bead("hub-r", retry_at="2026-03-01T00:00:00Z", attempts=1, temperature=40, heated_at="2026-02-20T09:00:00Z"),
]
ARCHIVED = [make_bead("hub-old", status="closed", closed_at="2026-02-01T09:00:00Z", parent="hub-p")]
RECORD_PATHS = (
    CONFIG_PATH,
    *(agent_path(name) for name in ("swarm", "coder")),
    *(capacity_path(name) for name in ("coder", "failing", "resting")),
)


def said(snapshot: Snapshot) -> dict[str, Any]:
    """What policy answers, and what lists show in every order."""
    found = {name: _in_an_order(answer) for name, answer in answers(snapshot).items()}

    def settings() -> Any:
        return merge([("hub", snapshot.config())])

    for sort in SORTS:
        for wanted in (Wanted(), Wanted(everything=True), Wanted(statuses=("ready",)), Wanted(statuses=("pending", "parked"))):
            beads = lineup(snapshot, wanted, START, settings, sort)
            found[f"ids {wanted} by {sort}"] = list(beads.ids())
            found[f"json {wanted} by {sort}"] = json.loads("".join(bead_json.listed(beads, snapshot, START)))
            known = dict(snapshot.derived(bead_lines.LINE, list(beads.ids())))
            lines = bead_lines.plain_lines(list(beads), Readiness(snapshot, START))
            assert known.items() <= lines.items(), "what the store derives is what would be made here"
            found[f"lines {wanted} by {sort}"] = list(lines.values())
    return found


def _in_an_order(answer: Any) -> Any:
    """An answer whose lists are compared by what is in them: a store gives beads in no particular order."""
    if isinstance(answer, dict):
        return {key: _in_an_order(value) for key, value in answer.items()}
    return sorted((_in_an_order(value) for value in answer), key=repr) if isinstance(answer, list) else answer


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return said(MemorySnapshot([*_beads(), *ARCHIVED], _records(), archived=[bead.id for bead in ARCHIVED]))


def _beads() -> list[Bead]:
    """The beads of the hub that every operation is tried on, as a file can have them, and an epic."""
    tip = a_hub().tip
    beads = tip.wholes([bead.id for bead in tip.every()])
    claims = {bead.id: {key: value for key, value in (bead.get("claim") or {}).items() if value} for bead in beads}
    return [*(bead.evolve(claim=claims[bead.id]) for bead in beads), *EPIC]


def _records() -> dict[str, Any]:
    tip = a_hub().tip
    return {path: tip.record(path) for path in RECORD_PATHS}


@pytest.fixture
def hub(local_hub: Clone) -> Clone:
    write_hub(local_hub.path, files_of(_beads(), ARCHIVED, _records()))
    return local_hub


def ask(hub: Clone, question: Callable[[CachedSnapshot], Any]) -> Any:
    opened = open_clone(locate(str(hub.path)))
    try:
        return question(opened.snapshot())
    finally:
        opened.close()


def cache_file(hub: Clone) -> Path:
    (path,) = (hub.path / ".git" / "bd").glob("cache-*.db")
    return path


def rows_of(hub: Clone) -> tuple[int, int]:
    """How many phases and how many texts the cache file holds."""
    db = database.opened(str(cache_file(hub)))
    assert db is not None
    try:
        phases, texts = "SELECT count(*) FROM beads WHERE phase IS NOT NULL", "SELECT count(*) FROM texts"
        return db.execute(phases).fetchone()[0], db.execute(texts).fetchone()[0]
    finally:
        db.close()


def test_an_empty_cache_and_a_full_one(hub: Clone, expected: dict[str, Any]) -> None:
    assert ask(hub, said) == expected
    phases, texts = rows_of(hub)
    assert phases
    assert texts
    for _ in range(2):
        assert ask(hub, said) == expected
    assert rows_of(hub) == (phases, texts), "a full one gets no fuller"


def test_who_asks_writes_nothing_while_it_asks(hub: Clone, expected: dict[str, Any]) -> None:
    """What was derived is written once the answers are there."""

    def question(snapshot: Snapshot) -> Any:
        before = rows_of(hub), set(vars(snapshot))
        found = said(snapshot)
        assert (rows_of(hub), set(vars(snapshot)) - {"_live"}) == before, "the store itself remembers which are live"
        return found

    assert ask(hub, question) == expected
    assert rows_of(hub) != (0, 0)


def test_a_cache_that_can_not_be_made(hub: Clone, expected: dict[str, Any]) -> None:
    ask(hub, told)
    path = cache_file(hub)
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    for _ in range(2):
        assert ask(hub, said) == expected
    assert os.listdir(path) == ["in the way"]


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From when it is called on every database is opened as on a disk that takes nothing."""

    def connected(path: str) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True, isolation_level=None)

    def beside(self: Any, path: str) -> None:
        self._db = connected(path)

    def begin() -> None:
        monkeypatch.setattr(database, "_connected", connected)
        monkeypatch.setattr(database.beside, "__init__", beside)

    return begin


@pytest.mark.parametrize("is_full", [False, True], ids=["nothing derived", "full"])
def test_a_cache_that_can_only_be_read(
    is_full: bool, hub: Clone, expected: dict[str, Any], read_only: Callable[[], None]
) -> None:
    ask(hub, said if is_full else told)
    rows_of(hub)  # the last connection that may write moves all into the one file
    held = rows_of(hub)
    assert (held != (0, 0)) == is_full
    before = cache_file(hub).read_bytes()
    read_only()
    assert ask(hub, lambda snapshot: snapshot.cache._path) == str(cache_file(hub)), "it is read, not replaced by memory"
    for _ in range(2):
        assert ask(hub, said) == expected
    assert cache_file(hub).read_bytes() == before
    assert rows_of(hub) == held
