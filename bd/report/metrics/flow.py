"""The flow of work in a hub's history, as short rows that are kept next to the cache: only new commits are read."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.json_shapes import fits
from bd.core.times import instant_of
from bd.report import log
from bd.report.bead_events import CLAIMING, ENDING, failure_of
from bd.store.git.commit_message import LATEST_S

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bd.core.model import Bead
    from bd.report.bead_events import Transition
    from bd.report.commits import Progress
    from bd.store import Clone

_NOTE = "flow.json"
_FORMAT = 1
_SHAPE = {"format": int, "tip": str, "rows": [list], "begun": {...: list}, "opened": {...: int}, "ended": {...: int}}
_ROW = (int, str, str, str, str, int, int, int, str, bool)
# Transitions that neither begin nor end an attempt, but are counted.
_COUNTED = frozenset({"created", "dead letter", "reopened"})


class Row(NamedTuple):
    """A counted transition: when (Unix seconds), what, which bead of which type, whose claim.

    `tries` is how often its commit was pushed, in the first row of a commit that began or ended claims, else 0. `wait_s` is how
    long a claimed bead had been ready, `work_s` how long an ended attempt took; -1 if unknown.
    """

    at_s: int
    what: str
    bead: str
    type: str
    agent: str = ""
    tries: int = 0
    wait_s: int = -1
    work_s: int = -1
    reason: str = ""
    done: bool = False


class Flow:
    """Follows transitions in order. `begun` maps the tokens of open claims to agent and second."""

    def __init__(self, kept: Any = None) -> None:
        self.rows: list[Row] = [Row(*row) for row in kept["rows"]] if kept else []
        self.begun: dict[str, list[Any]] = kept["begun"] if kept else {}
        self._opened: dict[str, int] = kept["opened"] if kept else {}
        self._ended: dict[str, int] = kept["ended"] if kept else {}
        self._counted = ""

    def as_json(self) -> dict[str, Any]:
        return {"rows": list(map(list, self.rows)), "begun": self.begun, "opened": self._opened, "ended": self._ended}

    def take(self, found: Iterable[Transition]) -> None:
        """Add these transitions, which come after all earlier ones."""
        for one in found:
            if one.bead:
                self._take(one, int(instant_of(one.at).timestamp()))

    def _take(self, one: Transition, at_s: int) -> None:
        shown = one.after or one.before
        row = Row(at_s, one.what, one.bead, shown.type if shown else "", one.agent)
        if one.what in CLAIMING:
            self.begun[one.token] = [one.agent, at_s]
            self.rows.append(row._replace(tries=self._tries(one), wait_s=self._wait_s(one, at_s)))
        elif one.what == "resumed":
            self._resume(one)
        elif one.token and one.what in ENDING:
            _, since_s = self.begun.pop(one.token, ("", at_s + 1))
            work_s = max(-1, at_s - since_s)
            done = one.what == "closed"
            self.rows.append(row._replace(tries=self._tries(one), work_s=work_s, reason=failure_of(one), done=done))
        elif one.what in _COUNTED or one.what in ("closed", "cancelled"):
            self.rows.append(row._replace(done=one.what == "closed"))
        self._follow(one, at_s)

    def _tries(self, one: Transition) -> int:
        if self._counted == one.commit:
            return 0
        self._counted = one.commit
        return one.tries

    def _resume(self, one: Transition) -> None:
        """Carry on the claim under its new token."""
        was = [claim["token"] for claim in (one.before.claims if one.before else []) if claim["agent"] == one.agent]
        found = [self.begun.pop(token) for token in was if token in self.begun]
        if found:
            self.begun[one.token] = found[0]

    def _follow(self, one: Transition, at_s: int) -> None:
        """Record since when the bead is open, or done: beads that wait for it need that."""
        if one.after is None:
            self._opened.pop(one.bead, None)
        elif one.after.is_done:
            self._ended.setdefault(one.bead, at_s)
            self._opened.pop(one.bead, None)
        else:
            self._ended.pop(one.bead, None)
            if one.after.status == "open" and (one.before is None or one.before.status != "open"):
                self._opened[one.bead] = at_s

    def _wait_s(self, one: Transition, at_s: int) -> int:
        """Return how long the bead had been ready: since it was opened, its last dependency ended, or its pause was over."""
        bead, since_s = one.before, self._opened.get(one.bead)
        if bead is None or since_s is None:
            return -1
        instants = [since_s, *(self._ended.get(other, since_s) for other in bead.depends_on), *_pauses(bead)]
        return max(0, at_s - max(instants))


def _pauses(bead: Bead) -> list[int]:
    return [int(instant_of(text).timestamp()) for key in ("retry_at", "defer_until") if (text := bead.get(key))]


def _is_row(values: list[Any]) -> bool:
    """Return whether a kept row has values of the right types, and a valid time."""
    is_whole = len(values) == len(_ROW) and all(fits(value, kind) for value, kind in zip(values, _ROW, strict=True))
    return is_whole and 0 <= values[0] <= LATEST_S


def flow_of(hub: Clone, tip: str, on_progress: Progress | None = None, *, keeps: bool = True) -> Flow:
    """Return the flow up to a commit, and keep it in this clone, unless it is only about the past (`keeps`) or cut off."""
    noted = hub.noted_json(_NOTE, _SHAPE)
    kept = noted if noted and noted["format"] == _FORMAT and all(_is_row(row) for row in noted["rows"]) else {}
    start = kept.get("tip") or ""
    if start and (hub.repo.commit_of(start) is None or not hub.repo.is_ancestor(start, tip)):
        start = ""  # another history, or a view of the past
    flow = Flow(kept if start else None)
    if start != tip:
        ranges = (f"^{start}",) if start else ()
        flow.take(log.read(hub.repo, tip, *ranges, on_progress=on_progress))
        if keeps and not hub.repo.is_shallow:  # else it would lack the past also when that has been fetched
            with suppress(OSError):  # a clone that can't be written reads it all again
                hub.note_json(_NOTE, {"format": _FORMAT, "tip": tip, **flow.as_json()})
    return flow
