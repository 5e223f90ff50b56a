"""Derived columns: the phases of beads, and texts rendered from them.

This module finds beads by them, and drops them in time: `outdated` (core/queries.py) says which ones.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Bead
from bd.core.queries import Settled, outdated
from bd.store.cache.rows import WAITS, head_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.queries import Place, Sought
    from bd.store.cache.cache import Cache
    from bd.store.cache.database import Connection

# The derivation that beads are found by: a phase, followed for a ready bead by its place in the order of work and since when it
# has been ready.
PHASE = "phase"
_LISTED, _BY_WORK, _BY_AGE = "rank, made, id, path", "place, made, id, path", "since, made, id, path"
_FIRST_PAGE, _LAST_PAGE = 64, 1024
# If two files have the same id, nothing is kept for either.
_ALONE = "calm = 1 AND (SELECT count(*) FROM beads other WHERE other.id = beads.id) = 1"


class CachedSettled(Settled):
    """The calm beads of a cache that match, valid while the cache stays at its commit."""

    def __init__(self, cache: Cache, sought: Sought) -> None:
        self._cache = cache
        self._commit = cache.commit
        self._where, self._arguments = _conditions(sought)
        self._place = _BY_WORK if sought.by_work else _BY_AGE if sought.by_age else _LISTED
        self._index = f"INDEXED BY {_index_for(sought)}" if len(sought.phases) <= 1 else ""
        self._number: int = cache.ask(f"SELECT count(*) FROM beads {self._index} WHERE {self._where}", self._arguments)[0][0]

    def __len__(self) -> int:
        return self._number

    def beads(self) -> Iterator[tuple[Place, Any]]:
        return ((place, Bead(head_of(blob))) for place, blob in self._rows("head", "JOIN heads USING (n)"))

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        return self._rows("text", f"LEFT JOIN texts ON texts.n = beads.n AND texts.kind = '{name}'")

    def among(self, ids: Collection[str]) -> set[str]:
        query = f"SELECT id FROM beads WHERE {self._where} AND id IN"
        found = (self._cache.ask(f"{query} ({marks(part)})", (*self._arguments, *part)) for part in chunks(list(ids)))
        return {row[0] for rows in found for row in rows}

    def _rows(self, column: str, join: str) -> Iterator[tuple[Place, Any]]:
        """Yield rows page by page. Each query starts after the last page's end, so any page can be retried on its own."""
        query = f"SELECT {self._place}, {column} FROM beads {self._index} {join} WHERE {self._where}"
        order = f"ORDER BY {self._place} LIMIT"
        beyond, last, size = "", (), _FIRST_PAGE
        while True:
            if self._cache.commit != self._commit:
                raise RuntimeError("the cache has moved on, and these beads with it")
            rows = self._cache.ask(
                f"{query} {beyond} {order} {size}", (*self._arguments, *last), packed=(4,) if column == "head" else ()
            )
            for row in rows:
                yield row[:3], row[4]
            if len(rows) < size:
                return
            beyond, last, size = f"AND ({self._place}) > (?, ?, ?, ?)", rows[-1][:4], min(2 * size, _LAST_PAGE)


def _index_for(sought: Sought) -> str:
    if sought.by_work:
        return "beads_work"
    if sought.by_age:
        return "beads_age"
    if sought.phases:
        return "beads_phase"
    return "beads_order" if sought.done else "beads_live"


def _conditions(sought: Sought) -> tuple[str, list[Any]]:
    words = ["calm = 1"]
    arguments: list[Any] = []
    if sought.by_work:  # which implies that it is ready
        words.append("place IS NOT NULL")
    if sought.by_age:
        words.append("since IS NOT NULL")
    if not sought.done:
        words.append("live = 1")
    for column, wanted, values in (
        ("phase", "IN", () if sought.by_work or sought.by_age else sought.phases),
        ("status", "IN", sought.statuses),
        ("status", "NOT IN", sought.statuses_not),
        ("type", "IN", sought.types),
        ("type", "NOT IN", sought.types_not),
        ("priority", "IN", sought.priorities),
    ):
        if values:
            words.append(f"{column} {wanted} ({marks(values)})")
            arguments += sorted(values)
    if sought.assignee is not None:
        words.append("assignee = ?")
        arguments.append(sought.assignee)
    return " AND ".join(words), arguments


def unsettled_query(sought: Sought) -> str:
    """Return the query for the heads of beads that policy has to examine to know whether they match, and where they belong."""
    joined = "JOIN heads USING (n) WHERE"
    if sought.done:
        return f"SELECT head FROM beads {joined} calm = 0"
    moving = f"SELECT head FROM beads {joined} calm = 0 AND live = 1"
    # left to itself, SQLite reads all live beads to find those few
    unknown = f"SELECT head FROM beads INDEXED BY beads_unknown {joined} live = 1 AND phase IS NULL AND calm = 1"
    return f"{moving} UNION ALL {unknown}" if sought.phases else moving


def keep(db: Connection, name: str, texts: Mapping[str, str]) -> None:
    """Keep derived texts, by bead id."""
    if name == PHASE:
        parts = (([*text.split(" "), "", ""], bead_id) for bead_id, text in texts.items())
        phases = ((words[0], float(words[1]) if words[1] else None, words[2] or None, bead_id) for words, bead_id in parts)
        db.executemany(f"UPDATE beads SET phase = ?, place = ?, since = ? WHERE id = ? AND live = 1 AND {_ALONE}", phases)
    else:
        values = ((text, bead_id) for bead_id, text in texts.items())
        query = f"INSERT OR REPLACE INTO texts SELECT '{name}', n, ? FROM beads WHERE id = ? AND {_ALONE}"
        db.executemany(query, values)


def forget(db: Connection, changed: Collection[str], recounted: Iterable[str]) -> None:
    """Drop what the changed beads may have invalidated. `recounted` are beads for which different beads wait now."""

    def awaited_by(ids: Collection[str]) -> set[str]:
        query = f"SELECT DISTINCT target FROM edges JOIN beads USING (n) WHERE weight >= {WAITS} AND id IN"
        return {row[0] for chunk in chunks(list(ids)) for row in db.execute(f"{query} ({marks(chunk)})", chunk)}

    reached = outdated(changed, recounted, lambda ids: naming(db.execute, ids), awaited_by)
    for chunk in chunks(list(reached)):
        db.execute(
            f"UPDATE beads SET phase = NULL, place = NULL, since = NULL WHERE id IN ({marks(chunk)}) AND phase IS NOT NULL", chunk
        )
        db.execute(f"DELETE FROM texts WHERE n IN (SELECT n FROM beads WHERE id IN ({marks(chunk)}))", chunk)


def naming(ask: Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]], ids: Collection[str]) -> set[str]:
    """Return the ids of the beads that name any of these."""
    query = "SELECT DISTINCT id FROM edges JOIN beads USING (n) WHERE target IN"
    return {row[0] for chunk in chunks(list(ids)) for row in ask(f"{query} ({marks(chunk)})", chunk)}


def forget_all(db: Connection) -> None:
    """Drop everything derived."""
    db.execute("UPDATE beads SET phase = NULL, place = NULL, since = NULL WHERE phase IS NOT NULL")
    db.execute("DELETE FROM texts")


def marks(values: Collection[Any]) -> str:
    """Return as many SQL placeholders as there are values."""
    return ",".join("?" * len(values))


def chunks(ids: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Split ids into chunks that fit into one query."""
    return (ids[start : start + size] for start in range(0, len(ids), size))
