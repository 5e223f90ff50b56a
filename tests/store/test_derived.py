"""What a cache keeps of beads beside their files: whatever changes in whichever order, answers are those of a fresh look."""

from __future__ import annotations

import json
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.cli.derivations import DERIVATIONS
from bd.compat import bead_json
from bd.core.model import Bead, Change, Overlay
from bd.core.queries import Sought
from bd.core.schema import BEAD_FIELDS, CONFIG_PATH, archive_path, bead_path
from bd.core.settings import merge
from bd.core.times import time_text
from bd.policy.work_queue import phases, ready_beads
from bd.report.selection import Wanted, lineup
from bd.store.cache.cache import Cache
from bd.store.cache.derived import unsettled_query
from bd.store.hub_files import Row, parse_file
from bd.store.snapshot import CachedSnapshot
from bd.store.yaml import editor
from tests.clocks import START
from tests.memory import MemorySnapshot, held, make_bead
from tests.runtime import RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from bd.core.model import Snapshot
    from bd.core.settings import Settings
    from bd.store.git.repository import GitRepo

pytestmark = pytest.mark.one_in(6)

NAMES = [f"hub-{number}" for number in range(6)]
ids = st.sampled_from([*NAMES, "hub-none"])
# Before and behind the instants at which answers are compared.
instants = st.sampled_from([time_text(START + timedelta(hours=hours)) for hours in (-30, -1, 1, 30)])
made = st.sampled_from(["2026-02-20T09:00:00Z", "2026-02-20T09:00:00.5Z", "2026-02-19T09:00:00Z"])
common = {
    "status": st.sampled_from(["open"] * 4 + ["closed", "cancelled", "blocked", "deferred", "pinned", "dead_letter", "odd"]),
    "priority": st.integers(0, 4),
    "created_at": made,
    "depends_on": st.lists(ids, max_size=2, unique=True),
}
rare: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["task", "epic", "gate"]),
    "assignee": st.sampled_from(["coder", "reader"]),
    "parent": ids,
    "base_priority": st.sampled_from([0, 12.5, 50]),
    "temperature": st.sampled_from([0.01, 40]),
    "heated_at": instants,
    "deadline": instants,
    "priority_boost_per_minute": st.sampled_from([0, 0.5]),
    "closed_at": instants,
    "defer_until": instants,
    "retry_at": instants,
    "reopened_at": instants,
    "labels": st.just(["b", "a"]),
    "links": st.lists(
        st.fixed_dictionaries({"type": st.sampled_from(["related", "waits-for"]), "id": ids}), min_size=1, max_size=2
    ),
    "claim": st.just({"agent": "coder", "token": "t", "attempt": 1}),
    "comments": st.just([{"id": "c", "author": "Ada", "at": "2026-02-20T09:00:00Z", "text": 'Said "so"\n'}]),
    "metadata": st.just({"a": {"b": [1, None, "x\ny"]}}),
}
beads = st.fixed_dictionaries(common, optional=rare)
# What one commit changes: beads by id (None removes one), and which of them lie in the archive.
commits = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.none() | st.tuples(beads, st.sampled_from([False] * 5 + [True])), min_size=1),
    min_size=1,
    max_size=4,
)
QUESTIONS = [
    Wanted(),
    Wanted(everything=True),
    Wanted(statuses=("ready",)),
    Wanted(statuses=("pending", "parked")),
    Wanted(statuses=("retrying",)),
    Wanted(statuses=("open",)),
    Wanted(statuses=("closed", "Deferred")),
    Wanted(types=("epic",), priorities=(0, 1, 2)),
    Wanted(types_not=("task",), assignee="coder"),
    Wanted(unassigned=True, statuses=("ready",)),
    Wanted(labels=("a",)),
]


def no_settings() -> Settings:
    return merge([])


def answers(snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    """What commands would say."""
    found: dict[str, Any] = {"ready": [bead.id for bead in ready_beads(snapshot, now)], "number": len(ready_beads(snapshot, now))}
    for question, sort in [*((one, "priority") for one in QUESTIONS), *((one, "effective") for one in QUESTIONS)]:
        beads = lineup(snapshot, question, now, no_settings, sort)
        name = f"{question} by {sort}"
        found[name] = [bead.id for bead in beads]
        assert len(beads) == len(found[name])
        assert list(beads.ids()) == found[name]
    assert [one for one in found[f"{Wanted()} by effective"] if one in found["ready"]] == found["ready"], "one order of work"
    for size, question, sort in (
        (0, Wanted(everything=True), "priority"),
        (2, Wanted(everything=True), "priority"),
        (0, Wanted(), "effective"),
    ):
        text = "".join(bead_json.listed(lineup(snapshot, question, now, no_settings, sort), snapshot, now, size))
        name = f"json {size} by {sort}"
        found[name] = json.loads(text)
        assert text == json.dumps(found[name], indent=2, ensure_ascii=False) + "\n"
    found["phases"] = {phase: [bead.id for bead in beads] for phase, beads in phases(snapshot, now).items()}
    found["waiting"] = {name: number for name, number in snapshot.waiting_counts(NAMES).items() if number}
    return found


class Both:
    """The same beads in a cache that is brought forward, and as a fresh look finds them."""

    def __init__(self, folder: str) -> None:
        self.path = str(Path(folder) / "cache.db")
        self.cache = Cache(self.path, cast("GitRepo", None), RUNTIME, DERIVATIONS)
        self._files: dict[str, tuple[str, Bead]] = {}
        self._number = 0

    def commit(self, changes: Mapping[str, tuple[dict[str, Any], bool] | None]) -> None:
        rows: list[Row | str] = []
        for name, change in changes.items():
            if name in self._files:
                rows.append(self._files.pop(name)[0])
            if change is not None:
                bead = make_bead(name, **change[0])
                path = archive_path(name, bead.created_at) if change[1] else bead_path(name)
                row = parse_file(path, "0" * 40, editor.document(bead.fields, BEAD_FIELDS).encode())
                assert isinstance(row, Row)
                assert row.fields is not None, row.reason
                self._files[name] = (path, Bead(row.fields))
                rows = [*(one for one in rows if one != path), row]
        self._number += 1
        self.cache.advance(rows, f"c{self._number}")

    def cached(self) -> Snapshot:
        assert self.cache.hold(f"c{self._number}")
        return CachedSnapshot(self.cache, f"c{self._number}")

    def fresh(self) -> Snapshot:
        archived = {name: path for name, (path, _) in self._files.items() if "archive" in path}
        return MemorySnapshot([bead for _, bead in self._files.values()], archived=archived)


@pytest.fixture
def both() -> Iterator[Callable[[], Both]]:
    """A new pair each time it is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        made: list[Both] = []

        def make() -> Both:
            made.append(Both(tempfile.mkdtemp(dir=folder)))
            return made[-1]

        yield make
        for one in made:
            one.cache.close()


@given(commits=commits, hours=st.lists(st.sampled_from([-2, 0, 2, 48]), min_size=1, max_size=2))
@settings(deadline=None, max_examples=60)
def test_kept_answers_are_those_of_a_fresh_look(commits: list[Any], hours: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        both = Both(folder)
        for changes in commits:
            both.commit(changes)
            for hour in (*hours, hours[0]):  # the first look keeps what it found, a later one goes by that
                now = START + timedelta(hours=hour)
                assert answers(both.cached(), now) == answers(both.fresh(), now)
        both.cache.close()


changes = st.dictionaries(st.sampled_from(NAMES), st.none() | beads, min_size=1, max_size=3)


@given(commits=commits, chain=st.lists(changes, min_size=1, max_size=3), hour=st.sampled_from([-2, 0, 2, 48]))
@settings(deadline=None, max_examples=40)
def test_answers_after_a_change_that_is_no_commit_yet_are_those_of_a_fresh_look(
    commits: list[Any], chain: list[Any], hour: int
) -> None:
    """Each operation of a batch is decided on what those before it leave of what is kept."""
    now = START + timedelta(hours=hour)
    with tempfile.TemporaryDirectory() as folder:
        both = Both(folder)
        for commit in commits:
            both.commit(commit)
        fresh = cast("MemorySnapshot", both.fresh())
        answers(both.cached(), now)  # keeps what it finds
        base, total = both.cached(), dict[str, Bead | None]()
        for changed in chain:
            total |= {name: fields and make_bead(name, **fields) for name, fields in changed.items()}
            assert answers(Overlay(base, Change(total, "")), now) == answers(fresh.after(Change(total, "")), now)
        both.cache.close()


def test_a_decision_examines_only_what_a_change_may_have_moved(both: Callable[[], Both]) -> None:
    """Were everything examined, everything above would hold too."""
    pair = both()
    pair.commit({name: ({"depends_on": ["hub-0"]} if name == "hub-1" else {}, False) for name in NAMES})
    answers(pair.cached(), START)
    after = Overlay(pair.cached(), Change({"hub-0": make_bead("hub-0", status="closed")}, ""))
    settled, examined = after.settled(Sought(phases=("ready",), by_work=True))
    assert settled is not None
    assert [place[2] for place, _ in settled.beads()] == ["hub-2", "hub-3", "hub-4", "hub-5"]
    assert [bead.id for bead in examined] == ["hub-1"]
    paced = Overlay(pair.cached(), Change({}, "", records={CONFIG_PATH: {"priority_boost_per_minute": 2}}))
    assert paced.settled(Sought(phases=("ready",), by_work=True))[0] is None, "the pace moves every place"


def test_what_was_found_is_kept(both: Callable[[], Both]) -> None:
    """Were nothing kept, everything above would hold too."""
    pair = both()
    pair.commit(
        {
            "hub-0": ({}, False),
            "hub-1": ({"depends_on": ["hub-0"]}, False),
            "hub-2": ({"retry_at": "2026-02-21T09:00:00Z"}, False),
        }
    )
    answers(pair.cached(), START)
    pair.cached()  # what was kept beside it is seen from now on
    kept = sorted(pair.cache.ask("SELECT id, phase, place IS NOT NULL FROM beads"))
    assert kept == [("hub-0", "ready", 1), ("hub-1", "pending", 0), ("hub-2", None, 0)], "the clock has a say in the last one"
    assert [row[0] for row in pair.cache.ask("SELECT id FROM texts JOIN beads USING (n) ORDER BY id")] == ["hub-0", "hub-1"]
    pair.commit({"hub-0": ({"title": "Another"}, False)})
    pair.cached()
    assert pair.cache.ask("SELECT id FROM beads WHERE phase IS NOT NULL") == [], "hub-1 was found to wait by hub-0"
    assert pair.cache.ask("SELECT * FROM texts") == []


def test_no_question_about_what_is_ready_reads_every_bead(both: Callable[[], Both]) -> None:
    """SQLite chose an index of all live beads for those few of which nothing is kept."""
    pair = both()
    pair.commit({"hub-0": ({}, False)})
    plan = pair.cache.ask(f"EXPLAIN QUERY PLAN {unsettled_query(Sought(phases=('ready',), by_work=True))}")
    assert [row[3] for row in plan if row[3].startswith("SCAN")] == ["SCAN beads USING INDEX beads_unknown"]


def test_what_was_found_last_is_kept_at_the_end(both: Callable[[], Both]) -> None:
    pair, other = both(), both()
    pair.commit({"hub-0": ({}, False)})
    answers(pair.cached(), START)
    pair.cache.close()
    other.cache = Cache(pair.path, cast("GitRepo", None), RUNTIME, DERIVATIONS)
    assert other.cache.ask("SELECT id, phase FROM beads") == [("hub-0", "ready")]


@given(names=st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), min_size=1, max_size=4))
@settings(deadline=None)
def test_who_asks_for_the_claims_that_say_something_misses_none(names: list[str]) -> None:
    """By a name that any text may be: an agent's and a token are of few letters."""
    with tempfile.TemporaryDirectory() as folder:
        both = Both(folder)
        beads = [held(f"hub-{at}", "coder", f"01T{at}", exclusive=name) for at, name in enumerate(names)]
        both.commit({bead.id: (dict(bead.fields), False) for bead in beads})
        for at, name in enumerate(names):
            for said in (name, f"01T{at}", "coder"):
                assert f"hub-{at}" in {bead.id for bead in both.cached().claimed(said)}
        assert list(both.cached().claimed("nobody-at-all")) == []
        both.cache.close()


def test_a_changed_pace_moves_every_place(both: Callable[[], Both]) -> None:
    pair = both()
    pair.commit({"hub-0": ({}, False)})
    answers(pair.cached(), START)
    pair.cached()
    assert pair.cache.ask("SELECT count(*) FROM beads WHERE place IS NOT NULL") == [(1,)]
    row = parse_file(CONFIG_PATH, "0" * 40, b"format: 1\nprefix: hub\npriority_boost_per_minute: 2\n")
    for step in ("COMMIT", "BEGIN IMMEDIATE"):  # as a reader does who finds a newer commit
        pair.cache._db.execute(step)
    pair.cache.store([row], "c2")
    assert pair.cache.hold("c2")
    assert pair.cache.ask("SELECT count(*) FROM beads WHERE place IS NOT NULL") == [(0,)]
    assert pair.cache.ask("SELECT * FROM texts") == []


def test_how_long_a_chain_waits_is_told_anew_when_its_end_changes(both: Callable[[], Both]) -> None:
    """The bead that changes is named by none of those whose place moves."""
    pair = both()
    chain = {name: ({"depends_on": [before]} if before else {}, False) for before, name in zip(["", *NAMES], NAMES, strict=False)}
    pair.commit(chain)
    assert answers(pair.cached(), START) == answers(pair.fresh(), START)
    for name in ("hub-5", "hub-4"):
        pair.commit({name: ({"status": "closed"}, False)})
        for _ in range(2):
            assert answers(pair.cached(), START) == answers(pair.fresh(), START)
    pair.commit({"hub-4": ({"depends_on": ["hub-3"]}, False)})
    assert answers(pair.cached(), START) == answers(pair.fresh(), START)


def test_how_many_wait_is_told_anew_when_others_change(both: Callable[[], Both]) -> None:
    pair = both()
    pair.commit({name: ({}, False) for name in NAMES})
    answers(pair.cached(), START)
    pair.commit({"hub-1": ({"depends_on": ["hub-0"]}, False)})
    assert answers(pair.cached(), START) == answers(pair.fresh(), START)
    assert [bead["dependent_count"] for bead in answers(pair.cached(), START)["json 0 by priority"]] == [1, 0, 0, 0, 0, 0]


def test_nothing_is_kept_of_an_id_that_two_files_claim(both: Callable[[], Both]) -> None:
    pair = both()
    pair.commit({"hub-0": ({}, False)})
    answers(pair.cached(), START)
    twin = parse_file(archive_path("hub-0", "2026-01-01"), "1" * 40, b"id: hub-0\ntitle: Twin\nstatus: closed\n")
    pair.cache.advance([twin], "c2")
    pair.cache.hold("c2")
    for _ in range(2):
        answers(CachedSnapshot(pair.cache, "c2"), START)
        pair.cache.hold("c2")
        assert pair.cache.ask("SELECT phase FROM beads") == [(None,), (None,)]
        assert pair.cache.ask("SELECT * FROM texts") == []


def test_a_finding_of_an_older_commit_is_not_kept(both: Callable[[], Both]) -> None:
    """Another command has brought the cache forward while this one was looking."""
    pair = both()
    pair.commit({"hub-0": ({}, False)})
    reader = Cache(pair.cache._path, cast("GitRepo", None), RUNTIME)
    reader.hold("c1")
    old = CachedSnapshot(reader, "c1")
    pair.commit({"hub-0": ({"status": "blocked"}, False)})
    assert [bead.id for bead in ready_beads(old, START)] == ["hub-0"]
    reader.close()
    assert [bead.id for bead in ready_beads(pair.cached(), START)] == []


def test_a_lineup_of_a_cache_that_moved_on_is_refused(both: Callable[[], Both]) -> None:
    pair = both()
    pair.commit({"hub-0": ({}, False)})
    ready_beads(pair.cached(), START)
    ready = ready_beads(pair.cached(), START)
    pair.commit({"hub-0": ({"status": "blocked"}, False)})
    with pytest.raises(RuntimeError, match="moved on"):
        list(ready)


def test_held_beads_are_in_no_list_of_what_is_ready(both: Callable[[], Both]) -> None:
    pair = both()
    pair.commit({"hub-0": (dict(held("hub-0").fields) | {"title": "Held"}, False), "hub-1": ({}, False)})
    for _ in range(2):
        assert [bead.id for bead in ready_beads(pair.cached(), START)] == ["hub-1"]
        assert [bead.id for bead in lineup(pair.cached(), Wanted(statuses=("running",)), START, no_settings)] == ["hub-0"]
