"""Who tells people of what happened to a bead: once, whoever does it, and again only where somebody died doing so.

Each occasion has a key that everybody works out alike: a bead was given up (it carries that key itself, `notified.key`), waits
for a person, has stalled and is not freed, or is the root of a DAG that is done. Who wants to tell takes the right to do so by
a commit (`key`, `by`, `at`, `right`), tells, and says `done`. A right without a `done` lapses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.times import instant_of, time_text, timedelta
from bd.policy.dag_progress import Dags
from bd.policy.lifecycle import waits_for_human

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot

LAPSES = timedelta(minutes=10)
# A hook that fails is tried again whenever the right to it has lapsed, so often.
TRIES = 5
RECENT = timedelta(days=1)


def noted(bead: Bead) -> Mapping[str, Any]:
    """The bead's `notified` map."""
    found = bead.get("notified")
    return found if isinstance(found, dict) else {}


def announced(bead: Bead, uid: str) -> Bead:
    """The dead letter with the name under which people are told of it: the operation's, and the bead's own."""
    return bead.evolve(notified={"key": f"{uid}/{bead.id}"} if uid else None, reviewed=None, resolution=None)


class Occasion(NamedTuple):
    """What people are to be told of a bead: `event` is dead_letter, waiting, stalled or dag_done, `key` the same wherever it is seen."""

    id: str
    event: str
    key: str


def given_up(bead: Bead) -> Occasion | None:
    """A dead letter that nobody has looked at; what was imported as one has no key."""
    key = noted(bead).get("key")
    if bead.status != "dead_letter" or not key or bead.get("reviewed"):
        return None
    return Occasion(bead.id, "dead_letter", str(key))


def asked(bead: Bead) -> Occasion | None:
    """A bead that waits for a person."""
    return Occasion(bead.id, "waiting", f"waiting/{bead.id}/{bead.get('waiting_since')}") if waits_for_human(bead) else None


def stalled(bead: Bead, stall: str) -> Occasion | None:
    """A bead that has stalled: `stall` is its claim's token, or since when it is in work under nobody's claim."""
    is_still = any(claim.get("token") == stall for claim in bead.claims) or (bead.status == "in_progress" and not bead.claims)
    return Occasion(bead.id, "stalled", f"stalled/{bead.id}/{stall}") if stall and is_still else None


def done(root: Bead, dags: Dags) -> Occasion | None:
    """A DAG whose work was done not long ago; older ones were done before anybody wanted to hear of it."""
    dag, now = dags.of(root), dags.readiness.now
    ended = max((bead.get("closed_at") or "" for bead in dag.tasks), default="")
    if root.parent or not dag.members or dag.status != "completed" or not ended or instant_of(ended) < now - RECENT:
        return None
    return Occasion(root.id, "dag_done", f"dag_done/{root.id}/{ended}")


def occasion_of(bead: Bead, key: str, snapshot: Snapshot, now: datetime) -> Occasion | None:
    """The occasion with this key, if it still is one. Without a key: that the bead was given up."""
    event = key.partition("/")[0]
    found = {
        "waiting": lambda: asked(bead),
        "stalled": lambda: stalled(bead, key.removeprefix(f"stalled/{bead.id}/")),
        "dag_done": lambda: done(bead, Dags(snapshot, now)),
    }.get(event, lambda: given_up(bead))()
    return found if found is not None and key in ("", found.key) else None


def is_due(bead: Bead, occasion: Occasion | None, now: datetime) -> bool:
    """Whether people have to be told of an occasion, and nobody is at it."""
    known = noted(bead)
    if occasion is None:
        return False
    if known.get("key") != occasion.key or not known.get("at"):
        return not known.get("done") or known.get("key") != occasion.key
    return not known.get("done") and _tries(known) < TRIES and instant_of(known["at"]) + LAPSES <= now


def taken(bead: Bead, key: str, by: str, right: str, at: datetime) -> Bead:
    """The bead with the right to tell of it taken."""
    known = noted(bead)
    tries = _tries(known) if known.get("key") == key else 0
    return bead.evolve(notified={"key": key, "by": by, "at": time_text(at), "right": right, "tries": tries + 1})


def told(bead: Bead) -> Bead:
    """The bead of which people have been told."""
    return bead.evolve(notified={**noted(bead), "done": True})


def _tries(known: Mapping[str, Any]) -> int:
    tries = known.get("tries", 0)
    return tries if isinstance(tries, int) else 0
