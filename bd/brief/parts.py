"""Which texts a bead has for whoever works on it, with their origins, in the order of a brief.

Belongs here: finding them. Does not belong here: cleaning, cutting and fencing them.
"""

from __future__ import annotations

import json
from itertools import accumulate

from bd import TYPE_CHECKING
from bd.brief.part import Part
from bd.compat.context_refs import context_of, printed
from bd.core.times import duration_text, instant_of
from bd.policy import budget, capacity
from bd.policy.dag import ancestors, awaited
from bd.policy.dag_progress import dag_of
from bd.policy.live_notes import reported_on
from bd.policy.memories import memories_of
from bd.policy.retry import limit_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.core.settings import Settings
    from bd.store import CachedSnapshot, Clone

_TEXTS = {"description": "description", "design": "design", "acceptance_criteria": "acceptance", "notes": "notes"}
_MOST_NAMED = 20
# The characters of a brief that memories may take.
_MEMORIES_LIMIT = 2000


def parts_of(bead: Bead, snapshot: CachedSnapshot, hub: Clone, agent: str | None, now: datetime) -> list[Part]:
    """Return the parts of a bead, as the hub has them. `agent` is who works on it, where that is known.

    Their texts are as they were written: not cleaned, not cut.
    """
    settings = hub.settings(snapshot)
    is_proven = bool(settings.require_signed)
    found = [
        _facts(bead, snapshot, settings, agent, now),
        *_texts(bead),
        *_place(bead, snapshot, now),
        *_dependencies(bead, snapshot),
        *_context(bead, snapshot, hub),
        *_memories(snapshot),
        *_comments(bead, snapshot),
        *_attempts(bead),
        *_progress(bead, snapshot),
    ]
    return [part._replace(is_verified=is_proven and not part.is_trusted) for part in found]


def _facts(bead: Bead, snapshot: Snapshot, settings: Settings, agent: str | None, now: datetime) -> Part:
    """What bd reckons, and the title: that is a text of the bead's author, so the whole part counts as theirs."""
    lines = {"id": bead.id, "title": bead.title, "type": bead.type, "priority": f"P{bead.priority}"}
    if bead.get("deadline"):
        rest_s = (instant_of(bead.get("deadline")) - now).total_seconds()
        lines["deadline"] = f"{bead.get('deadline')} ({_away(rest_s)})"
    claim = bead.claim
    if claim is not None:
        forgiven = bead.attempts - bead.attempts_counted
        lines["attempt"] = f"{bead.attempts} of at most {limit_of(bead, settings) + forgiven}"
    lines |= {word: f"${left:.2f}" for word, left in _money(bead, snapshot, agent, now)}
    for key in ("repo", "labels", "external_ref"):
        if value := bead.get(key):
            lines[key.replace("_", " ")] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = "\n".join(f"{word}: {' '.join(str(value).split())}" for word, value in lines.items())
    return Part("bead", text, who=_person(bead.get("created_by")), source="the bead", at=bead.created_at or "")


def _away(rest_s: float) -> str:
    return f"in {duration_text(rest_s)}" if rest_s > 0 else f"{duration_text(-rest_s)} ago"


def _person(name: Any) -> str:
    """Return an author as the hub has it, by a name that is never bd's own: no text of others counts as that."""
    said = str(name or "")
    return said if ":" in said else f"human:{said}"


def _money(bead: Bead, snapshot: Snapshot, agent: str | None, now: datetime) -> Iterator[tuple[str, float]]:
    own = budget.reserve_of(bead, snapshot)
    if own:
        yield "this attempt may cost", own
    left = budget.remaining(agent, snapshot, now) if agent else None
    if left is not None:
        yield "left of your budget", left
    for root in (bead, *ancestors(bead, snapshot)):
        under = budget.left_under(root, snapshot, now)
        if under is not None:
            yield f"left of the budget of {root.id}", under


def _texts(bead: Bead) -> Iterator[Part]:
    who, at = _person(bead.get("created_by")), bead.created_at or ""
    prompt = (bead.get("spec") or {}).get("prompt")
    if prompt:
        yield Part("prompt", str(prompt), who=who, source="the bead", at=at)
    for key, kind in _TEXTS.items():
        if bead.get(key):
            yield Part(kind, str(bead.get(key)), who=who, source="the bead", at=at)


def _place(bead: Bead, snapshot: Snapshot, now: datetime) -> Iterator[Part]:
    """Its place among other beads: above, below, and what waits for it."""
    above = ancestors(bead, snapshot)
    lines = []
    if above:
        root = above[-1]
        dag = dag_of(root, snapshot, now)
        lines.append(f"part of {_named(root)}: {dag.done} of {len(dag.tasks)} beads are done")
        lines += [f"below {_named(one)}" for one in above[:-1]]
    groups = {
        "has the child": snapshot.children_of(bead.id),
        "is waited for by": snapshot.dependents_of(bead.id),
    }
    for word, others in groups.items():
        lines += [f"{word} {_named(other)}, {other.status}" for other in list(others)[:_MOST_NAMED]]
        if len(others) > _MOST_NAMED:
            lines.append(f"{word} {len(others) - _MOST_NAMED} more")
    for link in bead.links:
        other = snapshot.head(link.id)
        lines.append(f"{link.type} {_named(other) if other else link.id}")
    if lines:
        yield Part("place", "\n".join(lines), who=_person(bead.get("created_by")), source="the plan")


def _named(bead: Bead) -> str:
    return f"{bead.id} ({bead.title})"


def _dependencies(bead: Bead, snapshot: Snapshot) -> Iterator[Part]:
    """What the beads that it waited for have brought."""
    for named in awaited(bead):
        other = snapshot.bead(named)
        if other is None:
            continue
        output = other.get("output") or {}
        lines = [f"{other.title}: {other.get('close_reason') or other.status}"]
        if output.get("data") is not None:
            lines.append(_json(output["data"]))
        lines += [f"artifact: {_json(one)}" for one in _list(output.get("artifacts"))]
        yield Part(
            "dependency",
            "\n".join(lines),
            name=other.id,
            who=_person(other.get("closed_by") or other.get("created_by")),
            source="its output",
            at=other.get("closed_at") or "",
        )


def _context(bead: Bead, snapshot: Snapshot, hub: Clone) -> Iterator[Part]:
    for entry in context_of(bead, snapshot, hub):
        yield Part("context", printed(entry), name=str(entry["name"]), who="hub:", source=str(entry["ref"]))


def _memories(snapshot: Snapshot) -> Iterator[Part]:
    """The newest of what everybody should know, as much as has room."""
    there = memories_of(snapshot)
    sizes = accumulate(len(memory.text) for memory in reversed(there))
    number = sum(size <= _MEMORIES_LIMIT for size in sizes)
    if number < len(there):
        yield Part("memory", f"Older ones that are not shown: {len(there) - number}. `bd recall` prints all.")
    for memory in there[len(there) - number :]:
        yield Part("memory", memory.text, name=memory.key, who=_person(memory.by), source="bd remember", at=memory.at)


def _comments(bead: Bead, snapshot: Snapshot) -> Iterator[Part]:
    for comment in sorted(bead.comments, key=lambda entry: str(entry.get("at", ""))):
        author = str(comment.get("author") or "somebody")
        is_agent = capacity.is_known(author, snapshot)
        is_machine = is_agent or author.partition(":")[0] in ("event", "cron")
        kind = str(comment.get("kind") or ("machine" if is_machine else "comment"))
        kind = kind if kind in ("question", "answer", "machine", "comment", "review", "check") else "comment"
        who = author if ":" in author else f"{'agent' if is_agent else 'human'}:{author}"
        yield Part(kind, str(comment.get("text", "")), who=who, source="a comment", at=str(comment.get("at", "")))


def _attempts(bead: Bead) -> Iterator[Part]:
    """What went wrong before, and where what was made then can be found."""
    for failure in bead.get("failures") or []:
        number = failure.get("attempt", "")
        lines = [f"attempt {number} failed: {failure.get('reason', 'other')}", str(failure.get("error", ""))]
        if failure.get("branch"):
            lines.append(f"its commits are on the branch {failure['branch']}")
        who = f"agent:{failure.get('agent') or 'somebody'}"
        yield Part("attempt", "\n".join(lines).strip(), name=str(number), who=who, source="its end", at=failure.get("at", ""))


def _progress(bead: Bead, snapshot: Snapshot) -> Iterator[Part]:
    """The notes of the attempt before, and what is heard of the current one."""
    for note in [*(bead.get("progress") or []), *(note.as_json() for note in reported_on(bead, snapshot))]:
        who = f"agent:{note.get('agent') or 'somebody'}"
        yield Part("progress", str(note.get("text", "")), who=who, source="a note of progress", at=str(note.get("at", "")))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
