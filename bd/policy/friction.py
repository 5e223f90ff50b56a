"""Friction: labels and types whose attempts fail too often, counted from the beads.

An attempt counts if it ended in the window: it failed, or closed its bead. Attempts counted before a bead about the same cause
was closed don't count again. operations/friction_beads.py makes such beads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import BdError
from bd.core.times import duration_s, instant_of, timedelta

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot

# The label of beads about friction, next to a label for the cause.
LABEL = "friction"


class Rules(NamedTuple):
    """The thresholds: the failure rate, the minimum number of attempts, and the time window."""

    window_s: float = 7 * 86400.0
    rate: float = 0.4
    least: int = 5


def rules_of(snapshot: Snapshot) -> Rules:
    """Return the hub's thresholds; unreadable values keep the default."""
    given = snapshot.config().get("friction")
    given = given if isinstance(given, dict) else {}
    figures: dict[str, Any] = {}
    for field, key, read in (
        ("window_s", "window", lambda text: duration_s(str(text))),
        ("rate", "rate", float),
        ("least", "least", int),
    ):
        try:
            value = read(given[key])
        except (BdError, KeyError, TypeError, ValueError, OverflowError):
            continue
        if value > 0:
            figures[field] = value
    return Rules(**figures)


def is_told_by_itself(snapshot: Snapshot) -> bool:
    """Return whether the hub's configuration asks for friction beads to be made automatically."""
    return snapshot.config().get("friction") not in (None, False, "", "false", "no")


class Cause(NamedTuple):
    """A label or type and its attempts: `beads` are some that failed, `about` is the open bead about it."""

    kind: str
    name: str
    failed: int
    done: int
    beads: tuple[str, ...]
    about: str | None = None

    @property
    def rate(self) -> float:
        return self.failed / max(1, self.failed + self.done)

    @property
    def label(self) -> str:
        """The label that marks beads about this cause."""
        return f"{LABEL}/{self.kind}/{self.name}"


def causes(snapshot: Snapshot, now: datetime, rules: Rules) -> list[Cause]:
    """Return the causes above the thresholds, the worst first."""
    begin = now - timedelta(seconds=rules.window_s)
    about, ended = _beads_about(snapshot)
    failed: dict[tuple[str, str], list[str]] = {}
    done: dict[tuple[str, str], int] = {}
    for bead in _whole(snapshot):
        for kind, name in _names(bead):
            since = max(begin, ended.get(f"{LABEL}/{kind}/{name}", begin))
            times = sum(since < instant_of(str(one["at"])) <= now for one in bead.get("failures", []) if one.get("at"))
            if times:
                failed.setdefault((kind, name), []).extend([bead.id] * times)
            if bead.status == "closed" and bead.attempts and bead.get("closed_at"):
                is_in = since < instant_of(bead.get("closed_at")) <= now
                done[kind, name] = done.get((kind, name), 0) + is_in
    found = [Cause(*key, len(ids), done.get(key, 0), tuple(dict.fromkeys(ids))) for key, ids in failed.items()]
    found = [
        one._replace(about=about.get(one.label))
        for one in found
        if one.failed + one.done >= rules.least and one.rate >= rules.rate
    ]
    return sorted(found, key=lambda one: (-one.rate, -one.failed, one.kind, one.name))


def _whole(snapshot: Snapshot) -> Iterator[Bead]:
    """Yield the whole beads that were ever attempted and are not about friction themselves."""
    tried = [bead.id for bead in snapshot.every() if bead.attempts and LABEL not in bead.labels]
    return iter(snapshot.wholes(tried))


def _names(bead: Bead) -> list[tuple[str, str]]:
    return [("type", bead.type), *(("label", label) for label in bead.labels)]


def _beads_about(snapshot: Snapshot) -> tuple[dict[str, str], dict[str, datetime]]:
    """Return, by the label of the cause, the open bead about it, and when the last one ended."""
    about: dict[str, str] = {}
    ended: dict[str, datetime] = {}
    for bead in snapshot.every():
        if LABEL not in bead.labels:
            continue
        for label in bead.labels:
            if not bead.is_done:
                about.setdefault(label, bead.id)
            elif bead.get("closed_at"):
                at = instant_of(bead.get("closed_at"))
                ended[label] = max(at, ended.get(label, at))
    return about, ended
