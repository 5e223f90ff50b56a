"""Incidents in a hub's history and how they ended: the first of each kind, read from the commits. Pure.

The five kinds that the factory demo ends with. metrics.py counts failures, audit.py checks rules.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.policy.dag_progress import is_spawned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from bd.core.model import Bead
    from bd.report.bead_events import Transition

KINDS = {
    "retry": "A retry that succeeded",
    "validation": "An output that did not pass",
    "spawn": "A subtask that was waited for",
    "poison_pill": "A poison pill",
    "ceiling": "A claim that the ceiling refused",
}


class Mishap(NamedTuple):
    """One incident: its kind, the bead, a description of how it went on, and the commits that show it, oldest first."""

    kind: str
    bead: str
    title: str
    words: str
    commits: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"bead": self.bead, "title": self.title, "words": self.words, "commits": list(self.commits)}


def mishaps(history: Iterable[Transition]) -> dict[str, Mishap]:
    """Return the first incident of each kind in a history, by kind. One that has not ended is left out."""
    found: dict[str, Mishap] = {}
    seen = list(history)
    for place, one in enumerate(seen):
        for mishap in _begun(one, seen[:place], seen[place + 1 :]):
            found.setdefault(mishap.kind, mishap)
    return {kind: found[kind] for kind in KINDS if kind in found}


def _begun(one: Transition, earlier: list[Transition], later: list[Transition]) -> Iterable[Mishap]:
    if one.after is None or one.before is None:
        return
    if one.after.get("poison_pill") and not one.before.get("poison_pill"):
        yield _poisoned(one, one.after, later)
    elif one.what == "failed":
        closed = _next(later, one.bead, "closed")
        if closed is not None:
            kind = "validation" if one.text.startswith("invalid_output: not valid: ") else "retry"
            words = (
                f"attempt {one.attempt} of {one.agent} failed, {one.text}; attempt {closed.attempt} of {closed.agent} closed it"
            )
            yield _made(kind, one, words, one, closed)
    elif one.what == "released" and one.after.get("prefer_agent"):
        yield from _waited(one, one.after, earlier, later)
    elif _has_more(one.before, one.after):
        yield from _refused(one, one.before, earlier, later)


def _made(kind: str, of: Transition, words: str, *steps: Transition) -> Mishap:
    return Mishap(kind, of.bead, of.title, words, tuple(dict.fromkeys(step.commit for step in steps)))


def _next(later: Iterable[Transition], bead: str, *whats: str) -> Transition | None:
    return next((one for one in later if one.bead == bead and one.what in whats), None)


def _poisoned(one: Transition, after: Bead, later: list[Transition]) -> Mishap:
    failures = after.get("failures") or []
    agents = list(dict.fromkeys(str(failure.get("agent")) for failure in failures))
    told, ended = _next(later, one.bead, "people told"), _next(later, one.bead, "cancelled", "reopened")
    steps = [step for step in (one, told, ended) if step is not None]
    words = f"{len(failures)} attempts of {' and '.join(agents)} failed, {one.text}; given up at once"
    words += "; people were notified" if told else ""
    words += f"; {ended.what} by {ended.by}" if ended else ""
    return _made("poison_pill", one, words, *steps)


def _waited(one: Transition, after: Bead, earlier: list[Transition], later: list[Transition]) -> Iterable[Mishap]:
    """Return a bead that was given back until a subtask, created in the same commit, was closed, and then went on."""
    made = (step for step in (*earlier, *later) if step.commit == one.commit and step.what == "created")
    subtask = next((step for step in made if step.after and is_spawned(step.after, after)), None)
    done = _next(later, subtask.bead, "closed") if subtask else None
    if done is None or done.bead not in after.depends_on:
        return
    back = _next(later[later.index(done) :], one.bead, "claimed")
    if back is not None:
        kept = "its own agent" if back.agent == one.agent else "another agent"
        words = f"{one.agent} waited for {done.bead}, which {done.agent} closed; then {kept}, {back.agent}, went on"
        yield _made("spawn", one, words, one, done, back)


def _has_more(before: Bead, after: Bead) -> bool:
    old, new = before.get("budget_ceiling_usd"), after.get("budget_ceiling_usd")
    return old is not None and (new is None or new > old)


def _refused(one: Transition, root: Bead, earlier: list[Transition], later: list[Transition]) -> Iterable[Mishap]:
    """Return a bead that was held up by its root's ceiling, as the beads were then, until the ceiling was raised."""
    beads = {step.bead: step.after for step in earlier if step.after is not None}
    below = [bead for bead in beads.values() if _is_under(bead, root.id, beads)]
    spent = round(sum((bead.get("cost") or {}).get("usd") or 0.0 for bead in below), 6)
    ceiling = root.get("budget_ceiling_usd")
    for bead in below:
        asked = (bead.get("spec") or {}).get("max_cost_usd") or 0.0
        waits = [target for target in bead.depends_on if target in beads and not beads[target].is_done]
        claimed = _next(later, bead.id, "claimed")
        if bead.status == "open" and not waits and spent + asked > ceiling and claimed is not None:
            words = f"it may cost ${asked:g}, and ${spent:g} of ${ceiling:g} were spent; {one.by} raised the ceiling"
            words += f", and {claimed.agent} claimed it"
            yield _made("ceiling", claimed, words, one, claimed)


def _is_under(bead: Bead, root_id: str, beads: Mapping[str, Bead]) -> bool:
    seen: set[str] = set()
    above: Bead | None = bead
    while above is not None and above.id not in seen:
        if above.id == root_id:
            return True
        seen.add(above.id)
        above = beads.get(above.parent or "")
    return False
