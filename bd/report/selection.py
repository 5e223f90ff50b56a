"""Filters and orders of lists of beads. Pure; the command line fills in a `Wanted`.

Few lists need the hub's settings, so they are passed as a function.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.nearest import nearest
from bd.core.queries import Lineup, Sought, made_of
from bd.core.schema import TYPES, status_word
from bd.core.times import instant_of
from bd.core.value import Value
from bd.policy.dag import Lineage
from bd.policy.liveness import stall_on
from bd.policy.ranking import Ranking
from bd.policy.readiness import NOT_WORK, Readiness, status_now
from bd.policy.work_queue import in_phases, in_work_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.core.settings import Settings

# Derived names, in addition to the stored statuses.
DERIVED = ("ready", "pending", "retrying", "claimed", "running", "parked", "stalled", "hooked", "completed", "dead_lettered")
# Statuses that include beads that are done.
_DONE = frozenset({"closed", "cancelled", "completed", "all"})
# The derived statuses that are phases of live beads.
_KEPT_PHASES = frozenset({"ready", "pending", "retrying", "claimed", "running", "parked", "dead_lettered"})
# The orders that a store supports: that of lists, and for ready beads that of work.
_BY_PRIORITY, _BY_WORK = ("priority",), ("effective", "hybrid")
SORTS = ("priority", "effective", "created", "updated", "closed", "status", "id", "title", "type", "assignee", "oldest", "hybrid")


class Wanted(Value):
    """The filters of a list; unset ones match everything."""

    statuses: tuple[str, ...] = ()
    everything: bool = False
    types: tuple[str, ...] = ()
    types_not: tuple[str, ...] = ()
    priorities: tuple[int, ...] = ()
    assignee: str | None = None
    unassigned: bool = False
    labels: tuple[str, ...] = ()
    labels_any: tuple[str, ...] = ()
    labels_not: tuple[str, ...] = ()
    unlabelled: bool = False
    waiting: str | None = None
    parent: str | None = None
    no_parent: bool = False
    title: str | None = None
    ids: tuple[str, ...] = ()
    metadata: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
    times: Mapping[str, datetime] = {}


def selected(snapshot: Snapshot, wanted: Wanted, now: datetime, settings: Callable[[], Settings]) -> list[Bead]:
    """Return the beads that match every filter, unordered. They may be heads, except with `metadata` and `texts`."""
    passes = passing(snapshot, wanted, now, settings)
    everything = wanted.everything or wanted.ids or _names(wanted) & _DONE
    return [bead for bead in (snapshot.every() if everything else snapshot.live()) if passes(bead)]


def lineup(
    snapshot: Snapshot,
    wanted: Wanted,
    now: datetime,
    settings: Callable[[], Settings],
    sort: str = "priority",
    *,
    reverse: bool = False,
) -> Lineup:
    """Return the beads that match every filter, in a named order. Raises BadInput for invalid filters or orders.

    With a store's own orders and queries, beads are read only when they are shown.
    """
    ranking = Ranking(snapshot, now)
    sought = _sought(wanted) if sort in (*_BY_PRIORITY, *_BY_WORK) and not reverse else None
    if sought is not None and sort in _BY_WORK and sought.done:
        sought = None
    if sought is None:
        return Lineup(ordered(selected(snapshot, wanted, now, settings), sort, ranking, reverse=reverse))
    passes = passing(snapshot, wanted.replace(statuses=("all",)) if sought.phases else wanted, now, settings)
    if sort in _BY_WORK:
        return in_work_order(sought, snapshot, ranking, passes)
    if sought.phases:
        return in_phases(sought, snapshot, ranking, ranking.listed, passes)
    settled, others = snapshot.settled(sought)
    return Lineup(filter(passes, others), ranking.listed, settled)


def _sought(wanted: Wanted) -> Sought | None:
    """Translate the filters into a store's query; None if beads have to be examined."""
    others = wanted.replace(statuses=(), everything=False, types=(), types_not=(), priorities=(), assignee=None, unassigned=False)
    if others != Wanted() or (wanted.assignee and wanted.unassigned):
        return None
    names = _names(wanted)
    found = Sought(
        types=wanted.types,
        types_not=wanted.types_not,
        priorities=wanted.priorities,
        assignee="" if wanted.unassigned else wanted.assignee or None,
    )
    if "all" in names or (wanted.everything and not names):
        return found.replace(done=True)
    if not names:
        return found.replace(statuses_not=("pinned",), types_not=tuple(NOT_WORK.union(wanted.types_not)))
    if names <= _KEPT_PHASES:
        return found.replace(phases=tuple(names))
    return None if names & set(DERIVED) else found.replace(statuses=tuple(names), done=bool(names & _DONE))


def _names(wanted: Wanted) -> set[str]:
    return {status_word(name) for name in wanted.statuses}


def passing(snapshot: Snapshot, wanted: Wanted, now: datetime, settings: Callable[[], Settings]) -> Callable[[Bead], bool]:
    """Return a function that tells whether a bead matches every filter. Raises BadInput for invalid filters."""
    _refuse_unknown_types(wanted, snapshot, settings)
    tests = [_status_test(wanted, snapshot, now, settings), *_tests(wanted, snapshot, now)]
    if wanted.metadata:
        tests.append(lambda bead: _has_metadata(snapshot.bead(bead.id), wanted.metadata))
    if wanted.texts:
        tests.append(lambda bead: _has_texts(snapshot.bead(bead.id), wanted.texts))
    return lambda bead: all(test(bead) for test in tests)


# Types that existing clients ask for, even in hubs that have no such beads.
_FOREIGN_TYPES = frozenset({"publish", "event", "convoy", "session", "spec", "convergence", "slot", "wisp"})


def _refuse_unknown_types(wanted: Wanted, snapshot: Snapshot, settings: Callable[[], Settings]) -> None:
    """Raise BadInput for a type that is neither known here nor used by any bead: most likely a typo."""
    known = {*TYPES, *NOT_WORK, *_FOREIGN_TYPES}
    unknown = [name for name in wanted.types if name not in known]
    if unknown:
        own = settings().types
        unknown = [name for name in unknown if name not in own]
    if unknown:
        there = {bead.type for bead in snapshot.every()}
        unknown = [name for name in unknown if name not in there]
    if unknown:
        names = [*TYPES, *own]
        close = nearest(unknown[0], names, likeness=0.5)
        hint = f"{f'did you mean {close}? ' if close else ''}The types here: {', '.join(names)}"
        raise BadInput(f"no type {', '.join(unknown)}", hint=hint)


def _status_test(wanted: Wanted, snapshot: Snapshot, now: datetime, settings: Callable[[], Settings]) -> Callable[[Bead], bool]:
    names = _names(wanted)
    if "all" in names or ((wanted.everything or wanted.ids) and not names):
        return bool
    if not names:
        return lambda bead: not bead.is_done and bead.status != "pinned" and bead.type not in NOT_WORK
    known = {
        *DERIVED,
        *settings().statuses,
        "open",
        "in_progress",
        "blocked",
        "deferred",
        "validating",
        "closed",
        "cancelled",
        "dead_letter",
        "pinned",
    }
    unknown = names - known
    if unknown:
        raise BadInput(f"no status {', '.join(sorted(unknown))}", hint=f"one of {', '.join(sorted(known))}")
    has_stalled = _stall_test(now, settings()) if "stalled" in names else None
    readiness = Readiness(snapshot, now)
    stored, derived = names - set(DERIVED) | (names & {"hooked"}), names & set(DERIVED)

    def passes(bead: Bead) -> bool:
        if status_now(bead, now) in stored:
            return True
        if not derived:
            return False
        if "hooked" in derived and bead.claims:
            return True
        if has_stalled and has_stalled(bead):
            return True
        return readiness.phase(bead) in derived

    return passes


def dead_letters(snapshot: Snapshot) -> list[Bead]:
    """Return the beads that were given up, whole, oldest first."""
    found = snapshot.wholes([bead.id for bead in snapshot.live() if bead.status == "dead_letter"])
    return sorted(found, key=lambda bead: (bead.get("dead_lettered_at") or bead.updated_at, bead.id))


def _stall_test(now: datetime, settings: Settings) -> Callable[[Bead], bool]:
    return lambda bead: stall_on(bead, {}, now, settings) is not None


def _tests(wanted: Wanted, snapshot: Snapshot, now: datetime) -> Iterable[Callable[[Bead], bool]]:
    if wanted.ids:
        yield lambda bead: bead.id in wanted.ids
    if wanted.types:
        yield lambda bead: bead.type in wanted.types
    if wanted.types_not:
        yield lambda bead: bead.type not in wanted.types_not
    if wanted.priorities:
        yield lambda bead: bead.priority in wanted.priorities
    if wanted.assignee:
        yield lambda bead: bead.assignee == wanted.assignee
    if wanted.unassigned:
        yield lambda bead: not bead.assignee
    if wanted.labels:
        yield lambda bead: set(wanted.labels) <= set(bead.labels)
    if wanted.labels_any:
        yield lambda bead: bool(set(wanted.labels_any) & set(bead.labels))
    if wanted.labels_not:
        yield lambda bead: not set(wanted.labels_not) & set(bead.labels)
    if wanted.unlabelled:
        yield lambda bead: not bead.labels
    if wanted.waiting:
        word = wanted.waiting.casefold()
        yield lambda bead: (bead.get("waiting_on") or "").casefold() == word
    if wanted.parent:
        yield below(wanted.parent, snapshot)
    if wanted.no_parent:
        yield lambda bead: not bead.parent
    if wanted.title:
        text = wanted.title.casefold()
        yield lambda bead: text in bead.title.casefold()
    for name, limit in wanted.times.items():
        yield _time_test(name, limit)


def below(root_id: str, snapshot: Snapshot) -> Callable[[Bead], bool]:
    """Return whether a bead is below another, at any depth, to ask about many. The other one may be missing here."""
    found = Lineage(snapshot, lambda parent: (True,) if root_id in (parent.id, parent.parent) else ())
    return lambda bead: bead.parent == root_id or bool(found.above(bead))


def _time_test(name: str, limit: datetime) -> Callable[[Bead], bool]:
    key, _, side = name.partition("_")

    def passes(bead: Bead) -> bool:
        stamp = bead.get(f"{key}_at")
        if not stamp:
            return False
        return instant_of(stamp) > limit if side == "after" else instant_of(stamp) < limit

    return passes


def _has_metadata(bead: Bead | None, wanted: Mapping[str, str]) -> bool:
    metadata: Mapping[str, Any] = bead.get("metadata", {}) if bead else {}
    return all(key in metadata and _as_text(metadata[key]) == value for key, value in wanted.items())


def _has_texts(bead: Bead | None, wanted: Mapping[str, str]) -> bool:
    return bead is not None and all(words.casefold() in (bead.get(key) or "").casefold() for key, words in wanted.items())


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_SEARCHED = ("id", "title", "description", "design", "acceptance_criteria", "notes", "external_ref", "close_reason")


def has_words(bead: Bead, words: Iterable[str]) -> bool:
    """Return whether every word, in lower case, occurs in a whole bead: id, title, texts, comments, labels."""
    texts = [str(bead.get(key, "")) for key in _SEARCHED]
    texts += [*bead.labels, *(comment.get("text", "") for comment in bead.comments)]
    text = "\n".join(texts).casefold()
    return all(word in text for word in words)


def ordered(beads: list[Bead], sort: str, ranking: Ranking, *, reverse: bool = False) -> list[Bead]:
    """Sort the beads into a named order. Raises BadInput for an unknown one."""
    keys: dict[str, Callable[[Bead], Any]] = {
        "priority": ranking.listed,
        "hybrid": ranking.key,
        "effective": ranking.key,
        "created": lambda bead: (made_of(bead.fields), bead.id),
        "oldest": lambda bead: (made_of(bead.fields), bead.id),
        "updated": lambda bead: (bead.updated_at, bead.id),
        "closed": lambda bead: (bead.get("closed_at") or "", bead.id),
        "status": lambda bead: (status_now(bead, ranking.now), *ranking.listed(bead)),
        "id": lambda bead: bead.id,
        "title": lambda bead: (bead.title.casefold(), bead.id),
        "type": lambda bead: (bead.type, *ranking.listed(bead)),
        "assignee": lambda bead: (bead.assignee or "~", *ranking.listed(bead)),
    }
    if sort not in keys:
        raise BadInput(f"no order {sort!r}", hint=f"one of {', '.join(SORTS)}")
    if sort in _BY_WORK:
        ranking.weigh(bead.id for bead in beads)
    return sorted(beads, key=keys[sort], reverse=reverse)
