"""Who tells people that a bead was given up: once, whoever does it, and again only where somebody died doing so.

A bead that becomes a dead letter carries the name of that transition (`notified.key`). Who wants to tell takes the
right to do so by a commit (`by`, `at`, `right`), tells, and says `done`. A right without a `done` lapses.
"""

from __future__ import annotations

from bd.clock import instant_of, time_text, timedelta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.model import Bead

LAPSES = timedelta(minutes=10)
# A hook that fails is tried again whenever the right to it has lapsed, so often.
TRIES = 5


def noted(bead: Bead) -> Mapping[str, Any]:
    """The bead's `notified` map."""
    found = bead.get("notified")
    return found if isinstance(found, dict) else {}


def announced(bead: Bead, uid: str) -> Bead:
    """The dead letter with the name under which people are told of it: the operation's, and the bead's own."""
    return bead.evolve(notified={"key": f"{uid}/{bead.id}"} if uid else None, reviewed=None, resolution=None)


def is_due(bead: Bead, now: datetime) -> bool:
    """Whether people have to be told of a dead letter, and nobody is at it."""
    known = noted(bead)
    if bead.status != "dead_letter" or not known.get("key") or known.get("done") or bead.get("reviewed"):
        return False
    if not known.get("at"):
        return True
    return _tries(known) < TRIES and instant_of(known["at"]) + LAPSES <= now


def due(beads: Iterable[Bead], now: datetime) -> Iterator[Bead]:
    return (bead for bead in beads if is_due(bead, now))


def taken(bead: Bead, by: str, right: str, at: datetime) -> Bead:
    """The bead with the right to tell of it taken."""
    known = noted(bead)
    return bead.evolve(notified={"key": known["key"], "by": by, "at": time_text(at), "right": right, "tries": _tries(known) + 1})


def told(bead: Bead) -> Bead:
    """The bead of which people have been told."""
    return bead.evolve(notified={**noted(bead), "done": True})


def _tries(known: Mapping[str, Any]) -> int:
    tries = known.get("tries", 0)
    return tries if isinstance(tries, int) else 0
