"""Beads in the order of work, as far as a store can tell it without reading them.

A store answers for the beads that nothing but a change moves (`is_calm`): how many pass a
`Sought`, and which they are, in order. The others are looked at one by one. Belongs here: what
can be asked that way, and putting both together. Does not belong here: what makes a bead ready,
or what its place is when the clock has a say (policy).
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
    # A bead's key in an order: its number there (in the order of lists the base priority), when it was made, its id.
    Place = tuple[float, str, str]


# How far the chains of beads that wait for a bead are looked at.
LONGEST_CHAIN = 5


class Sought(NamedTuple):
    """What beads can be found by without reading them; unset parts let everything through.

    Without `done` only live beads are meant. `phases` are those that were kept for live beads.
    An `assignee` that is empty means those that nobody is assigned to. `by_work` asks for the order of work instead
    of the order of lists: only ready beads have a place in it, and it was kept with their phase.
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


class Derivation(NamedTuple):
    """A column that a store fills by itself and keeps: `begin(snapshot, now)` gives a function of ids to texts by id.

    Both are pure; what is worked out once for many beads stands in the function. It gives a text only where nothing
    but a change of some bead makes that wrong. `code` names all code of bd that it may import, as packages and modules
    by their paths: what other code has derived does not count.
    """

    name: str
    code: Sequence[str]
    begin: Callable[[Any, datetime], Derive]


class Settled:
    """The beads that a store answers for, in the order of work. None of them, unless a store has a faster way."""

    def __len__(self) -> int:
        return 0

    def beads(self) -> Iterator[tuple[Place, Any]]:
        """Each bead (it may be a head) behind its place."""
        return iter(())

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        """What is kept for each of what was derived by this name; None where nothing is."""
        return iter(())


class Resorted(Settled):
    """Beads that a store answers for in another order than its own, which takes a look at each."""

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
    """What a store answers for in several parts, all in one order."""

    def __init__(self, parts: Iterable[Settled]) -> None:
        self._parts = [part for part in parts if len(part)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def beads(self) -> Iterator[tuple[Place, Any]]:
        return _merged([part.beads() for part in self._parts])

    def derived(self, name: str) -> Iterator[tuple[Place, str | None]]:
        return _merged([part.derived(name) for part in self._parts])


def _merged(parts: list[Iterator[tuple[Place, Any]]]) -> Iterator[tuple[Place, Any]]:
    """Several lists in order as one, without looking at what stands beside the places."""
    return heapq.merge(*parts, key=itemgetter(0))


class Recall:
    """What a store may know of beads beside what their files say: by default nothing. The base of every snapshot."""

    def every(self) -> Iterator[Any]:
        raise NotImplementedError

    def live(self) -> Iterator[Any]:
        raise NotImplementedError

    def settled(self, sought: Sought) -> tuple[Settled | None, list[Any]]:
        """Those of the beads sought that the store can answer for, and all those that have to be looked at."""
        return None, list(self.every() if sought.done else self.live())

    def derived(self, name: str, ids: Sequence[str]) -> Mapping[str, str]:
        """What the derivation of this name gives for these beads; those for which it gives nothing are left out.

        By default a store derives nothing: whoever asks works it out.
        """
        return {}

    def waiting_counts(self, ids: list[str]) -> dict[str, int]:
        """How many live beads wait for each of these; those for which none do may be left out."""
        return {bead_id: len(others) for bead_id, others in self.waiters(ids).items()}

    def waiters(self, ids: list[str]) -> dict[str, list[str]]:
        """The live beads that wait for each of these; those for which none do may be left out."""
        found: dict[str, list[str]] = {bead_id: [] for bead_id in ids}
        for bead in self.live() if found else ():
            for target in found.keys() & awaits(bead):
                found[target].append(bead.id)
        return found


def rank_of(fields: Mapping[str, Any]) -> float:
    """The base priority, 0-100, lower is more urgent: the bead's own, else what its P0..P4 stands for."""
    base = fields.get("base_priority")
    return float(BASE_OF_PRIORITY[min(4, max(0, fields.get("priority", 2)))] if base is None else base)


def made_of(fields: Mapping[str, Any]) -> str:
    """When it was made, as it is compared: without its Z an instant with a fraction sorts behind the same one without."""
    made: str = fields.get("created_at", "")
    return made.rstrip("Z")


def awaits(bead: Any) -> set[str]:
    """The ids that a bead itself waits for."""
    return {*bead.depends_on, *(link.id for link in bead.links if link.type in WAITING_LINKS)}


def mentions(bead: Any) -> set[str]:
    """The ids that a bead names: its dependencies, its parent, its links."""
    return {*bead.depends_on, *([bead.parent] if bead.parent else ()), *(link.id for link in bead.links)}


def is_calm(fields: Mapping[str, Any]) -> bool:
    """Whether by what its own file says the clock moves a bead neither in its status nor in the order."""
    if fields.get("status") in DONE_STATUSES:
        return not fields.get("temperature")
    return not any(fields.get(key) for key in CLOCK_FIELDS) and fields.get("priority_boost_per_minute") is None


class Lineup:
    """Beads in order, read as they are asked for; how many they are is known before.

    `others` are those that were looked at, in their order by `key`; `settled` is in the same order.
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
        """The id of each bead."""
        return (bead_id for bead_id, _ in self.derived(""))

    def derived(self, name: str) -> Iterator[tuple[str, str | None]]:
        """The id of each bead, and what is kept for it of what was derived by this name."""
        if self._settled is None:
            return ((bead.id, None) for bead in self._others)
        return ((place[2], text) for place, text in self._merged(self._settled.derived(name), lambda _: None))

    def _merged(self, settled: Iterator[tuple[Place, Any]], told: Callable[[Any], Any]) -> Iterator[tuple[Place, Any]]:
        if not self._others or self._key is None:
            return settled
        key = self._key
        return _merged([settled, ((key(bead), told(bead)) for bead in self._others)])
