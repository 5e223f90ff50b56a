"""The content of a bead's page. Pure functions; all text from the bead is escaped."""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.policy.dag import awaited
from bd.policy.live_notes import notes_of
from bd.policy.readiness import Readiness
from bd.report import dag_drawing, html_page
from bd.report.board.board_page import status
from bd.report.html_page import Cell
from bd.web.layout import agent_link, bead_link, bead_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.report.history import Event

_TEXTS = ("description", "design", "acceptance_criteria", "notes")
_MAPS = ("spec", "output", "metadata", "needs", "retry")
# Facts that take one line each: label and key.
_FACTS = (
    *(("due", "deadline"), ("deferred until", "defer_until"), ("retry at", "retry_at"), ("expected", "expected")),
    *(("exclusive", "exclusive"), ("external", "external_ref"), ("created", "created_at"), ("created by", "created_by")),
    *(("updated", "updated_at"), ("closed", "closed_at"), ("closed by", "closed_by"), ("close reason", "close_reason")),
    *(("reason", "status_reason"), ("waiting since", "waiting_since"), ("dead letter since", "dead_lettered_at")),
)
_HEADS = [("bead", "id"), ("", "title"), ("kind", "time"), ("status", "")]
# The most changes shown, newest first, and the most characters of a value.
_EVENTS = 60
_VALUE_LIMIT = 600


def body(bead: Bead, snapshot: Snapshot, now: datetime) -> str:
    """Return everything about a bead except its history."""
    return "".join(
        [
            f'<p class="title">{html_page.text(bead.title)}</p>\n',
            _facts(bead, snapshot, now),
            *(html_page.section(key.replace("_", " ").capitalize(), _words(bead.get(key))) for key in _TEXTS if bead.get(key)),
            _relations(bead, snapshot, now),
            *_failures(bead),
            *_progress(bead, snapshot),
            *_said(bead),
            *(html_page.section(key.capitalize(), _words(_in_json(bead.get(key)))) for key in _MAPS if bead.get(key)),
        ]
    )


def _facts(bead: Bead, snapshot: Snapshot, now: datetime) -> str:
    return (
        f'<dl class="facts">{"".join(f"<dt>{html_page.text(a)}</dt><dd>{b}</dd>" for a, b in _told(bead, snapshot, now))}</dl>\n'
    )


def _told(bead: Bead, snapshot: Snapshot, now: datetime) -> Iterator[tuple[str, Cell]]:
    readiness = Readiness(snapshot, now)
    phase = readiness.phase(bead)
    yield "status", status(phase)
    yield "kind", html_page.text(f"P{bead.priority} {bead.type}")
    for claim in bead.claims:
        since = claim.get("started_at") or claim.get("claimed_at") or ""
        words = html_page.text(f", attempt {claim.get('attempt', 1)}, since {since}")
        yield "agent", Cell(f"{agent_link(str(claim.get('agent', '')))}{words}")
    if bead.assignee and not bead.claims:
        yield "for", agent_link(bead.assignee)
    if bead.labels:
        yield "labels", html_page.text(", ".join(bead.labels))
    if bead.parent:
        yield "part of", bead_link(bead.parent)
    if not bead.is_done and bead.status != "in_progress":
        yield from (("waits", html_page.text(reason.text)) for reason in readiness.standing(bead).reasons)
    yield from ((words, html_page.text(str(bead.get(key)))) for words, key in _FACTS if bead.get(key))


def _relations(bead: Bead, snapshot: Snapshot, now: datetime) -> str:
    """Show the dependencies in both directions as a drawing, then the children and other links."""
    made = []
    found = dag_drawing.around(bead, snapshot)
    if len(found.beads) > 1:
        drawn = f'<div class="wide">{dag_drawing.svg(found, bead.id, snapshot, now, bead_path)}</div>'
        more = f'<p class="none">and {found.more} more</p>' if found.more else ""
        made.append(html_page.section("What waits for what", drawn + more))
    missing = [target for target in awaited(bead) if snapshot.head(target) is None]
    if missing:
        made.append(html_page.section("Waits for missing beads", _words(", ".join(missing))))
    children = snapshot.children_of(bead.id)
    if children:
        made.append(html_page.section("Consists of", _table(children, snapshot, now)))
    linked = snapshot.heads(dict.fromkeys(link.id for link in bead.links))
    if linked:
        made.append(html_page.section("See also", _table(linked, snapshot, now)))
    return "".join(made)


def _table(beads: Iterable[Bead], snapshot: Snapshot, now: datetime) -> str:
    readiness = Readiness(snapshot, now)
    rows = [(bead_link(bead.id), bead.title, f"P{bead.priority} {bead.type}", status(readiness.phase(bead))) for bead in beads]
    return html_page.table(_HEADS, rows, "")


def _failures(bead: Bead) -> Iterator[str]:
    found: Sequence[Mapping[str, Any]] = bead.get("failures") or []
    if found:
        notes = [
            _note(
                f"attempt {one.get('attempt', '?')}, {one.get('agent', 'somebody')}: {one.get('reason', 'other')}",
                one.get("at"),
                one.get("error"),
            )
            for one in reversed(found)
        ]
        yield html_page.section("Failures", "".join(notes))


def _progress(bead: Bead, snapshot: Snapshot) -> Iterator[str]:
    """Show the notes of the attempt in hand, as they come, or of the last one."""
    notes = [_note(str(one.get("agent", "")), one.get("at"), one.get("text")) for one in notes_of(bead, snapshot)]
    if notes:
        yield html_page.section("Progress", "".join(notes))


def _said(bead: Bead) -> Iterator[str]:
    notes = [_note(str(one.get("author", "")), one.get("at"), one.get("text")) for one in bead.comments]
    if notes:
        yield html_page.section("Comments", "".join(notes))


def _note(who: str, at: Any, words: Any) -> str:
    head = f"{who}, {at}" if at else who
    return f'<div class="note"><p class="past">{html_page.text(head)}</p>{_words(words)}</div>\n'


def _words(value: Any) -> str:
    return f'<p class="words">{html_page.lines(str(value or ""))}</p>\n'


def _in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def history(events: Sequence[Event]) -> str:
    """Return the bead's history, newest first, field by field."""
    made = [_event(event) for event in reversed(events[-_EVENTS:])]
    more = len(events) - _EVENTS
    made += [f'<p class="none">and {more} older changes: `bd history`</p>'] if more > 0 else []
    return html_page.section("History", "".join(made) or '<p class="none">Not in this clone.</p>')


def _event(event: Event) -> str:
    told = [html_page.text(words) for words in event.claims]
    told += [_change(key, old, new) for key, (old, new) in event.changes.items() if key not in ("claim", "claims")]
    lines = "".join(f"<li>{line}</li>" for line in told)
    head = f"<b>{html_page.text(event.by)}</b> {html_page.text(event.verb)}"
    when = f'<span class="past">{html_page.text(event.at)} <code>{html_page.text(event.commit[:8])}</code></span>'
    return f'<div class="event"><p>{head} {when}</p><ul>{lines}</ul></div>\n'


def _change(key: str, old: Any, new: Any) -> Cell:
    if isinstance(new, list) and new[: len(old or [])] == (old or []):  # a list that was appended to: show only the new entries
        return Cell(f"{html_page.text(key)}: <ins>+ {Cell('; ').join(_value(one) for one in new[len(old or []) :])}</ins>")
    before = "" if old is None else f"<del>{_value(old)}</del> &rarr; "
    after = "<em>unset</em>" if new is None else f"<ins>{_value(new)}</ins>"
    return Cell(f"{html_page.text(key)}: {before}{after}")


def _value(value: Any) -> Cell:
    if isinstance(value, dict):
        text = ", ".join(f"{key} {one if isinstance(one, str) else _in_json(one)}" for key, one in value.items() if key != "id")
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return html_page.text(text if len(text) <= _VALUE_LIMIT else f"{text[:_VALUE_LIMIT]}…")
