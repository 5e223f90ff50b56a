"""bd history."""

from __future__ import annotations

import json
from typing import Any

import click

from bd import ids
from bd.cli.context import App
from bd.cli.options import pass_app
from bd.errors import NoSuchBead
from bd.output import escaped
from bd.report.history import events

_WIDTH = 60


@click.command("history", epilog="\b\nExample:\n  bd history hub-7k3q")
@click.argument("bead")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=0, help="Only the last N changes.")
@pass_app
def command(app: App, bead: str, limit: int) -> None:
    """Show who changed a bead, when, and what."""
    snapshot = app.snapshot()
    bead_id = _known(bead, snapshot)
    found = events(app.hub, bead_id, snapshot.commit)[-limit or None :]
    if not found and not snapshot.exists(bead_id):
        raise NoSuchBead(bead)
    if app.out.is_json:
        app.out.json(
            [
                {
                    "commit": event.commit,
                    "at": event.at,
                    "by": event.by,
                    "verb": event.verb,
                    "subject": event.subject,
                    "changes": {key: _pair(pair) for key, pair in event.changes.items()},
                }
                for event in found
            ]
        )
        return
    for event in found:
        app.out.line(f"{event.at}  {event.commit[:7]}  {app.out.styled(escaped(event.by), 'bold')}  {event.verb}")
        for key, (old, new) in event.changes.items():
            app.out.line(f"    {key}: {_short(old)} -> {_short(new)}")
    if not found:
        app.out.line(f"{bead_id} has no history here.")


def _known(typed: str, snapshot: Any) -> str:
    """The bead's id; a deleted one has a history too, under its exact id."""
    text = typed.strip()
    return ids.resolve(text, snapshot.starting, snapshot.exists) if snapshot.starting(text) else ids.check_bead_id(text)


def _pair(pair: tuple[Any, Any]) -> dict[str, Any]:
    old, new = pair
    return {key: value for key, value in (("old", old), ("new", new)) if value is not None}


def _short(value: Any) -> str:
    if value is None:
        return "(unset)"
    text = escaped(value.replace("\n", " ") if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
