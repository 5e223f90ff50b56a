"""The cache that many clones of a process share, against the one in SQLite: whatever is asked, both answer the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.core.model import Bead
from bd.core.schema import BEAD_FIELDS, archive_path, bead_path
from bd.store.cache.cache import Cache
from bd.store.cache.shared import Commits, SharedCache
from bd.store.contract import Draft
from bd.store.memory.repository import MemoryRepository
from bd.store.snapshot import CachedSnapshot
from bd.store.yaml import editor
from tests.clocks import START
from tests.memory import make_bead
from tests.runtime import RUNTIME
from tests.store.test_derived import NAMES, answers, beads, ids, instants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

pytestmark = pytest.mark.one_in(6)

costs = st.lists(
    st.fixed_dictionaries({"agent": st.sampled_from(["coder", "reader"]), "at": instants, "usd": st.sampled_from([0.5, 2.0])}),
    min_size=1,
    max_size=2,
)
spenders = st.tuples(beads, st.none() | costs, st.sampled_from([False] * 5 + [True])).map(
    lambda drawn: ({**drawn[0], **({"cost": drawn[1]} if drawn[1] else {})}, drawn[2])
)
commits = st.lists(st.dictionaries(st.sampled_from(NAMES), st.none() | spenders, min_size=1), min_size=1, max_size=4)


def seen(beads: Iterable[Bead]) -> list[str]:
    return sorted(repr(sorted(bead.fields.items(), key=str)) for bead in beads)


NOW = "2026-02-21T15:00:00Z"
OF_ONE: dict[str, Callable[[CachedSnapshot, str], Any]] = {
    "bead": lambda snapshot, name: snapshot.bead(name),
    "head": lambda snapshot, name: snapshot.head(name),
    "path_of": lambda snapshot, name: snapshot.path_of(name),
    "mentioning": lambda snapshot, name: seen(snapshot.mentioning(name)),
    "children_of": lambda snapshot, name: seen(snapshot.children_of(name)),
    "has_children": lambda snapshot, name: snapshot.has_children(name),
    "claimed": lambda snapshot, name: seen(snapshot.claimed(name)),
    "starting": lambda snapshot, name: sorted(snapshot.starting(name)),
    "spent_under": lambda snapshot, name: snapshot.spent_under(name, NOW),
    "spent_by": lambda snapshot, name: snapshot.spent_by("coder", NOW, NOW),
}
OF_ALL: dict[str, Callable[[CachedSnapshot], Any]] = {
    "every": lambda snapshot: seen(snapshot.every()),
    "live": lambda snapshot: seen(snapshot.live()),
    "ended": lambda snapshot: seen(snapshot.ended()),
    "claimed": lambda snapshot: seen(snapshot.claimed()),
    "heads": lambda snapshot: snapshot.heads(NAMES),
    "wholes": lambda snapshot: snapshot.wholes(NAMES),
    "waiters": lambda snapshot: {name: sorted(found) for name, found in snapshot.waiters(NAMES).items()},
    "waiting_counts": lambda snapshot: {name: number for name, number in snapshot.waiting_counts(NAMES).items() if number},
    "dependent_counts": lambda snapshot: {name: number for name, number in snapshot.dependent_counts(NAMES).items() if number},
    "costly": lambda snapshot: snapshot.costly(),
    "bead_paths": lambda snapshot: sorted(snapshot.bead_paths("beads/")),
    "damages": lambda snapshot: snapshot.damages,
    "answers": lambda snapshot: answers(snapshot, START),
}


def draft(changes: Mapping[str, tuple[dict[str, Any], bool] | None], where: dict[str, str]) -> Draft:
    """One commit: beads by id, and whether they lie in the archive. `where` has the paths so far."""
    files: dict[str, bytes | None] = {}
    for name, change in changes.items():
        if name in where:
            files[where.pop(name)] = None
        if change is not None:
            bead = make_bead(name, **change[0])
            where[name] = archive_path(name, bead.created_at) if change[1] else bead_path(name)
            files[where[name]] = editor.document(bead.fields, BEAD_FIELDS).encode()
    return Draft("by hand", "Ada <ada@example.org>", 0, files)


@settings(max_examples=12)
@given(commits, ids)
def test_both_caches_answer_the_same(changes: list[dict[str, Any]], name: str) -> None:
    repo: Any = MemoryRepository()
    plain, shared = Cache(None, repo, RUNTIME), SharedCache(Commits(), repo)
    tip, where = None, dict[str, str]()
    for change in changes:
        [tip] = repo.write_commits(tip, [draft(change, where)])
        caches: tuple[Any, ...] = (plain, shared)
        for cache in caches:
            cache.move_to(tip)
        one, other = (CachedSnapshot(cache, tip) for cache in caches)
        for question, ask in OF_ALL.items():
            assert ask(one) == ask(other), question
        for question, look in OF_ONE.items():
            assert look(one, name) == look(other, name), question
