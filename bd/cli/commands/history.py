"""bd history."""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Option, whole_number
from bd.core import ids
from bd.core.errors import NoSuchBead
from bd.report.audit.audit import start_of
from bd.report.history import events

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.report.history import Event


_WIDTH = 78


SPEC = Command(
    "history",
    Argument("bead"),
    Option("--limit", "-n", kind=whole_number(0), default=0, help="Only the last N changes."),
    Option("--since", metavar="WHEN", narrows=True, help="Only changes after this: a commit, a time, or an age (`2h`)."),
    help="""Show who changed a bead, when, and what.

    Each commit that changed it: when, who (an agent, a human, or a hand with plain git), and a line for each field.
    """,
    examples=["bd history hub-7k3q", "bd history hub-7k3q --since 1d --json"],
)


def run(app: App, bead: str, limit: int, since: str | None) -> None:
    """Show who changed a bead, when, and what."""
    snapshot = app.snapshot()
    bead_id = _known(bead, snapshot)
    start = start_of(app.hub, since, snapshot.commit) if since else None
    found = events(app.hub.repo, bead_id, snapshot.commit, start, path=snapshot.path_of(bead_id))[-limit or None :]
    if not found and not since and not snapshot.exists(bead_id):
        raise NoSuchBead(bead)
    if start is None or not found:
        app.tell_gaps()
    else:
        app.tell_gaps(reads_history=False)
    if app.out.is_json:
        app.out.json([event.as_json() for event in found])
        return
    for event in found:
        _tell(app, event)
    if not found:
        app.out.line(f"{bead_id} has no history here{' since then' if since else ''}.")


def _tell(app: App, event: Event) -> None:
    by = app.out.styled(escaped(event.by), "bold")
    app.out.line(f"{event.at}  {event.commit[:7]}  {by} ({escaped(event.kind)})  {escaped(event.verb)}")
    for words in event.claims:
        app.out.line(f"    {escaped(words)}")
    for key, (old, new) in event.changes.items():
        if key not in ("claim", "claims") or not event.claims:
            app.out.line(f"    {_change(escaped(key), old, new)}")


def _known(typed: str, snapshot: Any) -> str:
    """Return the bead's id; a deleted bead has a history, too, under its exact id."""
    text = typed.strip()
    return ids.resolve(text, snapshot.starting, snapshot.exists) if snapshot.starting(text) else ids.check_bead_id(text)


def _change(key: str, old: Any, new: Any) -> str:
    """Format `key: old -> new` on one line, with both cut to share the space."""
    room = _WIDTH - 4 - len(key) - len(":  -> ")
    texts = [_text(old), _text(new)]
    if sum(map(len, texts)) > room:
        short = min(len(texts[0]), room // 2), min(len(texts[1]), room // 2)
        rooms = (max(short[0], room - short[1]), max(short[1], room - short[0]))
        texts = [text if len(text) <= most else f"{text[: max(1, most - 1)]}…" for text, most in zip(texts, rooms, strict=True)]
    return f"{key}: {texts[0]} -> {texts[1]}"


def _text(value: Any) -> str:
    if value is None:
        return "(unset)"
    return escaped(value.replace("\n", " ") if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
