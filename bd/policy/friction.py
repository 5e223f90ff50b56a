"""Friction: labels and types whose attempts fail too often, counted from the beads.

An attempt counts if it ended in the window: it failed, or closed its bead. Attempts counted before a bead about the same cause
was closed don't count again. operations/friction_beads.py makes such beads.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.core.schema import AGENTS_DIR
from bd.core.times import duration_s, instant_of
from bd.policy.failure_kinds import NOT_OF_THE_BEAD
from bd.policy.roles import SKILL_RULES, skills_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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


class Failed(NamedTuple):
    """One failed attempt: when, on which bead, and the entry in its `failures`."""

    at: str
    bead_id: str
    entry: Mapping[str, Any]


class Cause(NamedTuple):
    """A label or type and its attempts: `failures` are those that failed, the latest first; `about` is the open bead about it."""

    kind: str
    name: str
    done: int
    failures: tuple[Failed, ...]
    about: str | None = None

    @property
    def failed(self) -> int:
        return len(self.failures)

    @property
    def beads(self) -> tuple[str, ...]:
        """The beads that failed, each once."""
        return tuple(dict.fromkeys(one.bead_id for one in self.failures))

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
    failed: dict[tuple[str, str], list[Failed]] = {}
    done: dict[tuple[str, str], int] = {}
    for bead in _whole(snapshot):
        for kind, name in _names(bead):
            since = max(begin, ended.get(f"{LABEL}/{kind}/{name}", begin))
            own = [one for one in bead.get("failures", []) if one.get("at") and one.get("reason") not in NOT_OF_THE_BEAD]
            stamped = [Failed(str(one["at"]), bead.id, one) for one in own]
            counted = [one for one in stamped if since < instant_of(one.at) <= now]
            if counted:
                failed.setdefault((kind, name), []).extend(counted)
            if bead.status == "closed" and bead.attempts and bead.get("closed_at"):
                is_in = since < instant_of(bead.get("closed_at")) <= now
                done[kind, name] = done.get((kind, name), 0) + is_in
    found = [Cause(*key, done.get(key, 0), tuple(sorted(entries, key=_latest_first))) for key, entries in failed.items()]
    found = [
        one._replace(about=about.get(one.label))
        for one in found
        if one.failed + one.done >= rules.least and one.rate >= rules.rate
    ]
    return sorted(found, key=lambda one: (-one.rate, -one.failed, one.kind, one.name))


def _latest_first(failed: Failed) -> tuple[float, str]:
    return -instant_of(failed.at).timestamp(), failed.bead_id


def role_of(snapshot: Snapshot) -> str | None:
    """Return the role that the hub names for beads about friction (`friction.role`)."""
    given = snapshot.config().get("friction")
    role = given.get("role") if isinstance(given, dict) else None
    return str(role) if role else None


def for_role(spec: Mapping[str, Any], role: str, snapshot: Snapshot) -> dict[str, Any]:
    """Return the fields of a new bead with what makes it fit the agents of a role: a label, a type, or words of its title.

    The skills are those of the first agent with that role, else those that the role brings. Without rules everything fits.
    """
    agents = snapshot.records(AGENTS_DIR)
    able = [agents[name] for name in sorted(agents) if agents[name].get("role") == role]
    skills = skills_of(able[0] if able else {"role": role}) or {}
    first = {rule: str(next(iter(skills.get(rule) or ()), "")) for rule in SKILL_RULES}
    if first["labels"]:
        return {**spec, "labels": [*spec["labels"], first["labels"].replace("*", LABEL)]}
    if first["types"]:
        return {**spec, "type": first["types"]}
    prefix = first["title_prefix"] or (f"{first['title_words']}:" if first["title_words"] else "")
    return {**spec, "title": f"{prefix.rstrip()} {spec['title']}"} if prefix else dict(spec)


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
