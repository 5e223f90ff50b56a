"""Beads in the order of work, as far as a store knows it without reading them.

A store answers for the calm beads, which only a change can move (`is_calm`): how many match a `Sought`, and which, in order. All
others are examined one by one. This module defines the questions, and merges both groups; policy decides what makes a bead ready,
and its place when the clock matters.
"""

from __future__ import annotations

import heapq
from functools import cached_property
from operator import itemgetter

from bd import TYPE_CHECKING
from bd.core.schema import ARCHIVE_DIR, BASE_OF_PRIORITY, CLOCK_FIELDS, CONFIG_PATH, DONE_STATUSES, WAITING_LINKS
from bd.core.value import Value

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


class Sought(Value):
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


class Derivation(Value):
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

    def among(self, ids: Collection[str]) -> set[str]:
        """Return which of these ids are those of its beads."""
        return {place[2] for place, _ in self.beads()}.intersection(ids)


class Without(Settled):
    """The same beads in the same order, but without those of some ids."""

    def __init__(self, settled: Settled, ids: Collection[str]) -> None:
        self._settled = settled
        self._gone = settled.among(ids)

    def __len__(self) -> int:
        return len(self._settled) - len(self._gone)

    def beads(self) -> Iterator[tuple[Place, Any]]:
        return (entry for entry in self._settled.beads() if entry[0][2] not in self._gone)

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        return (entry for entry in self._settled.derived(name) if entry[0][2] not in self._gone)

    def among(self, ids: Collection[str]) -> set[str]:
        return self._settled.among(ids) - self._gone


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

    def heads(self, ids: Iterable[str]) -> list[Any]:
        raise NotImplementedError

    def mentioning(self, bead_id: str) -> list[Any]:
        raise NotImplementedError

    def path_of(self, bead_id: str) -> str:
        raise NotImplementedError

    def naming(self, ids: Collection[str]) -> set[str]:
        """Return the ids of the beads that name any of these."""
        return {bead.id for bead_id in ids for bead in self.mentioning(bead_id)}

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


class RecallOverlay(Recall):
    """The recall of a snapshot over another one: what is kept below it, but for the beads that the change may have moved."""

    _below: Any
    _beads: Mapping[str, Any]
    _records: Mapping[str, Any]

    def settled(self, sought: Sought) -> tuple[Settled | None, list[Any]]:
        if sought.done or CONFIG_PATH in self._records:  # settings affect how beads age
            return super().settled(sought)
        settled, others = self._below.settled(sought)
        moved = set(self._beads) if settled is None else self._moved
        again = [bead for bead in self.heads(moved) if bead.status not in DONE_STATUSES and not self._is_archived(bead.id)]
        examined = [*(bead for bead in others if bead.id not in moved), *again]
        return None if settled is None else Without(settled, moved), examined

    def _is_archived(self, bead_id: str) -> bool:
        """Return whether a bead lies in the archive, where somebody may have put one that is not done."""
        return self.path_of(bead_id).startswith(ARCHIVE_DIR)

    @cached_property
    def _moved(self) -> set[str]:
        """The beads of which something kept below may be wrong now."""
        targets: set[str] = set()
        for bead_id, new in self._beads.items():
            old = self._below.head(bead_id)
            targets |= recounted(_edges(old), _edges(new), was_live=_is_live(old), is_live=_is_live(new))
        return outdated(self._beads, targets, self.naming, lambda ids: {one for bead in self.heads(ids) for one in awaits(bead)})

    def naming(self, ids: Collection[str]) -> set[str]:
        below = {bead_id for bead_id in self._below.naming(ids) if bead_id not in self._beads}
        return below | {bead.id for bead in self._beads.values() if bead is not None and not mentions(bead).isdisjoint(ids)}


def _is_live(bead: Any | None) -> bool:
    return bead is not None and bead.status not in DONE_STATUSES


def _edges(bead: Any | None) -> set[tuple[str, str]]:
    """Return what a bead names, with each way in which it does."""
    kinds = {} if bead is None else {"names": mentions(bead), "waits": awaits(bead), "depends": bead.depends_on}
    return {(target, kind) for kind, targets in kinds.items() for target in targets}


def recounted(old: set[tuple[str, Any]], new: set[tuple[str, Any]], *, was_live: bool, is_live: bool) -> set[str]:
    """Return the ids that other beads name, or wait for, than before, after a bead's edges (target and kind) have changed.

    A bead that starts or stops waiting changes the counts of all that it names; any other, only of those that it newly names or
    no longer names.
    """
    changed = old ^ new if was_live == is_live else old | new
    return {target for target, _ in changed}


def outdated(
    changed: Iterable[str],
    recounted: Iterable[str],
    naming: Callable[[Collection[str]], set[str]],
    awaited_by: Callable[[Collection[str]], set[str]],
) -> set[str]:
    """Return the beads whose derived values a change may have made wrong.

    A derived value may depend on the bead itself, on the beads it names, and on those that these name; also on which beads name
    it, and on the length of the chain that waits for it. `recounted` are the beads that others name, or wait for, than before.
    `naming` returns what names any of these beads, `awaited_by` what any of them waits for, both after the change.
    """
    found = set(changed)
    fresh = found
    while fresh:
        fresh = naming(fresh) - found
        found = found | fresh
    level = set(recounted)
    waited_for = level
    for _ in range(LONGEST_CHAIN - 1):
        level = awaited_by(level) - waited_for if level else level
        waited_for = waited_for | level
    return found | waited_for


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
