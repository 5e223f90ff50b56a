"""Notifications about a bead: sent once, by any clone, and again only if the notifier died.

Each occasion has a key that every clone computes alike: a bead was given up (it carries the key itself, `notified.key`), waits
for a person, has stalled and is not freed, or is the root of a finished DAG. To notify, a process takes the right to do so in a
commit (`key`, `by`, `at`, `right`), notifies, and records `done`. A right without `done` lapses.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.times import instant_of, time_text
from bd.policy.dag_progress import Dags
from bd.policy.lifecycle import waits_for_human

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot

LAPSES = timedelta(minutes=10)
# A failing hook is tried again each time the right has lapsed, up to this often.
TRIES = 5
RECENT = timedelta(days=1)


def noted(bead: Bead) -> Mapping[str, Any]:
    """Return the bead's `notified` map."""
    found = bead.get("notified")
    return found if isinstance(found, dict) else {}


def announced(bead: Bead, uid: str) -> Bead:
    """Return the dead letter with the key of its notification: the operation's uid and the bead's id."""
    return bead.evolve(notified={"key": f"{uid}/{bead.id}"} if uid else None, reviewed=None, resolution=None)


class Occasion(NamedTuple):
    """A reason to notify people: `event` is dead_letter, waiting, stalled or dag_done; `key` is equal on every clone."""

    id: str
    event: str
    key: str


def given_up(bead: Bead) -> Occasion | None:
    """Return the occasion of a dead letter that nobody has reviewed; an imported one has no key."""
    key = noted(bead).get("key")
    if bead.status != "dead_letter" or not key or bead.get("reviewed"):
        return None
    return Occasion(bead.id, "dead_letter", str(key))


def asked(bead: Bead) -> Occasion | None:
    """Return the occasion of a bead that waits for a person."""
    return Occasion(bead.id, "waiting", f"waiting/{bead.id}/{bead.get('waiting_since')}") if waits_for_human(bead) else None


def stalled(bead: Bead, stall: str) -> Occasion | None:
    """Return the occasion of a stalled bead. `stall` is its claim's token, or since when it is in progress without a claim."""
    is_still = stall in bead.tokens or (bead.status == "in_progress" and not bead.claims)
    return Occasion(bead.id, "stalled", f"stalled/{bead.id}/{stall}") if stall and is_still else None


def done(root: Bead, dags: Dags) -> Occasion | None:
    """Return the occasion of a DAG that was completed recently; older ones may predate notifications."""
    dag, now = dags.of(root), dags.readiness.now
    ended = max((bead.get("closed_at") or "" for bead in dag.tasks), default="")
    if root.parent or not dag.members or dag.status != "completed" or not ended or instant_of(ended) < now - RECENT:
        return None
    return Occasion(root.id, "dag_done", f"dag_done/{root.id}/{ended}")


def occasion_of(bead: Bead, key: str, snapshot: Snapshot, now: datetime) -> Occasion | None:
    """Return the occasion with this key, if it still applies. Without a key: that the bead was given up."""
    event = key.partition("/")[0]
    found = {
        "waiting": lambda: asked(bead),
        "stalled": lambda: stalled(bead, key.removeprefix(f"stalled/{bead.id}/")),
        "dag_done": lambda: done(bead, Dags(snapshot, now)),
    }.get(event, lambda: given_up(bead))()
    return found if found is not None and key in ("", found.key) else None


def is_due(bead: Bead, occasion: Occasion | None, now: datetime) -> bool:
    """Return whether people still have to be notified of an occasion, and nobody is doing it."""
    known = noted(bead)
    if occasion is None:
        return False
    if known.get("key") != occasion.key or not known.get("at"):
        return not known.get("done") or known.get("key") != occasion.key
    return not known.get("done") and _tries(known) < TRIES and instant_of(known["at"]) + LAPSES <= now


def taken(bead: Bead, key: str, by: str, right: str, at: datetime) -> Bead:
    """Return the bead with the right to notify taken."""
    known = noted(bead)
    tries = _tries(known) if known.get("key") == key else 0
    return bead.evolve(notified={"key": key, "by": by, "at": time_text(at), "right": right, "tries": tries + 1})


def told(bead: Bead) -> Bead:
    """Return the bead marked as notified."""
    return bead.evolve(notified={**noted(bead), "done": True})


def _tries(known: Mapping[str, Any]) -> int:
    tries = known.get("tries", 0)
    return tries if isinstance(tries, int) else 0
