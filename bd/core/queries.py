"""Beads in the order of work, as far as a store knows it without reading them.

A store answers for the calm beads, which only a change can move (`is_calm`): how many match a `Sought`, and which, in order. All
others are examined one by one. This module defines the questions, and merges both groups; policy decides what makes a bead ready,
and its place when the clock matters.
"""

from __future__ import annotations

import heapq
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from bd.core.schema import BASE_OF_PRIORITY, CLOCK_FIELDS, DONE_STATUSES, WAITING_LINKS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    Derive = Callable[[Sequence[str]], Mapping[str, str]]
    # A bead's sort key: its rank (in lists the base priority, in the order of waiting since when it has been ready), its creation
    # time, its id.
    Place = tuple[float | str, str, str]


# The length up to which chains of waiting beads are followed.
LONGEST_CHAIN = 5


class Sought(NamedTuple):
    """A query for beads that can be found without reading them; unset parts match everything.

    Without `done`, only live beads match. `phases` are the kept phases of live beads. An empty `assignee` matches unassigned
    beads. `by_work` asks for the order of work instead of the order of lists, `by_age` for the order of waiting: only ready beads
    have a place in them, which is kept with their phase.
    """

    done: bool = False
    phases: Collection[str] = ()
    statuses: Collection[str] = ()
    statuses_not: Collection[str] = ()
    types: Collection[str] = ()
    types_not: Collection[str] = ()
    priorities: Collection[int] = ()
    assignee: str | None = None
    by_work: bool = False
    by_age: bool = False


class Derivation(NamedTuple):
    """A column that a store fills and keeps: `begin(snapshot, now)` returns a function from ids to texts by id.

    Both are pure; what is computed once for many beads belongs to the function. It returns a text only if nothing but a change of
    some bead can invalidate it. `code` names all code of bd that it may import, as paths of packages and modules: what other code
    has derived does not count.
    """

    name: str
    code: Sequence[str]
    begin: Callable[[Any, datetime], Derive]


class Settled:
    """The matching beads that a store answers for, in the order of work. Empty unless a store has a faster way."""

    def __len__(self) -> int:
        return 0

    def beads(self) -> Iterator[tuple[Place, Any]]:
        """Yield each bead (possibly a head) with its place."""
        return iter(())

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        """Yield what is kept for each bead under the name of a derivation; None if nothing is."""
        return iter(())


class Resorted(Settled):
    """The same beads in another order than the store's, which requires reading each."""

    def __init__(self, settled: Settled, in_order: Callable[[Iterable[Any]], list[tuple[Place, Any]]]) -> None:
        self._settled = settled
        self._beads = in_order(bead for _, bead in settled.beads())

    def __len__(self) -> int:
        return len(self._beads)

    def beads(self) -> Iterator[tuple[Place, Any]]:
        return iter(self._beads)

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        known = {place[2]: text for place, text in self._settled.derived(name)} if self._beads else {}
        return ((place, known.get(bead.id)) for place, bead in self._beads)


class Together(Settled):
    """Several such groups, merged into one order."""

    def __init__(self, parts: Iterable[Settled]) -> None:
        self._parts = [part for part in parts if len(part)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def beads(self) -> Iterator[tuple[Place, Any]]:
        return _merged([part.beads() for part in self._parts])

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        return _merged([part.derived(name) for part in self._parts])


def _merged(parts: list[Iterator[tuple[Place, Any]]]) -> Iterator[tuple[Place, Any]]:
    """Merge sorted lists, comparing places only."""
    return heapq.merge(*parts, key=itemgetter(0))


class Recall:
    """The facts about beads that a store may keep besides their files; none by default. The base of every snapshot."""

    def every(self) -> Iterator[Any]:
        raise NotImplementedError

    def live(self) -> Iterator[Any]:
        raise NotImplementedError

    def settled(self, sought: Sought) -> tuple[Settled | None, list[Any]]:
        """Return the matching beads that the store answers for, and all beads that have to be examined."""
        return None, list(self.every() if sought.done else self.live())

    def derived(self, name: str, ids: Sequence[str]) -> Mapping[str, str]:
        """Return what the named derivation gives for these beads; beads without a result are left out.

        By default a store derives nothing, and the caller computes it.
        """
        return {}

    def waiting_counts(self, ids: list[str]) -> dict[str, int]:
        """Return how many live beads wait for each of these; beads with none may be left out."""
        return {bead_id: len(others) for bead_id, others in self.waiters(ids).items()}

    def waiters(self, ids: list[str]) -> dict[str, list[str]]:
        """Return the live beads that wait for each of these; beads with none may be left out."""
        found: dict[str, list[str]] = {bead_id: [] for bead_id in ids}
        for bead in self.live() if found else ():
            for target in found.keys() & awaits(bead):
                found[target].append(bead.id)
        return found


def rank_of(fields: Mapping[str, Any]) -> float:
    """Return the base priority, 0-100, lower is more urgent: the bead's own, else the value for its P0..P4."""
    base = fields.get("base_priority")
    return float(BASE_OF_PRIORITY[min(4, max(0, fields.get("priority", 2)))] if base is None else base)


def made_of(fields: Mapping[str, Any]) -> str:
    """Return the creation time in a sortable form: with its Z, a time with a fraction would sort before the same second."""
    made: str = fields.get("created_at", "")
    return made.rstrip("Z")


def awaits(bead: Any) -> set[str]:
    """Return the ids that a bead waits for directly."""
    return {*bead.depends_on, *(link.id for link in bead.links if link.type in WAITING_LINKS)}


def mentions(bead: Any) -> set[str]:
    """Return the ids that a bead names: its dependencies, its parent, its links."""
    return {*bead.depends_on, *([bead.parent] if bead.parent else ()), *(link.id for link in bead.links)}


def is_calm(fields: Mapping[str, Any]) -> bool:
    """Return whether time alone changes neither a bead's status nor its place in the order, judging by its own file."""
    if fields.get("status") in DONE_STATUSES:
        return not fields.get("temperature")
    return not any(fields.get(key) for key in CLOCK_FIELDS) and fields.get("priority_boost_per_minute") is None


class Lineup:
    """Beads in order, read lazily, but with a known length.

    `others` are the examined beads, sorted by `key`; `settled` has the same order.
    """

    def __init__(self, others: Iterable[Any], key: Callable[[Any], Place] | None = None, settled: Settled | None = None) -> None:
        self._others = sorted(others, key=key) if key else list(others)
        self._key = key
        self._settled = settled if settled is not None and len(settled) else None
        self._number = len(self._others) + (len(settled) if settled is not None else 0)

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Any]:
        if self._settled is None:
            return iter(self._others)
        return (bead for _, bead in self._merged(self._settled.beads(), lambda bead: bead))

    def ids(self) -> Iterator[str]:
        """Yield the id of each bead."""
        return (bead_id for bead_id, _ in self.derived(""))

    def derived(self, name: str) -> Iterator[tuple[str, str | None]]:
        """Yield the id of each bead, and what is kept for it under the name of a derivation."""
        if self._settled is None:
            return ((bead.id, None) for bead in self._others)
        return ((place[2], text) for place, text in self._merged(self._settled.derived(name), lambda _: None))

    def _merged(self, settled: Iterator[tuple[Place, Any]], told: Callable[[Any], Any]) -> Iterator[tuple[Place, Any]]:
        if not self._others or self._key is None:
            return settled
        key = self._key
        return _merged([settled, ((key(bead), told(bead)) for bead in self._others)])
