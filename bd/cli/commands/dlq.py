"""bd dlq."""

from __future__ import annotations

from typing import Any

import click

from bd import ids
from bd.cli.context import App
from bd.cli.options import pass_app
from bd.errors import NoSuchBead
from bd.interop import views
from bd.model import Bead, Snapshot
from bd.operations.failing import DlqRetry
from bd.output import escaped
from bd.report.selection import dead_letters

ERROR_WIDTH = 40


@click.group("dlq", no_args_is_help=False)
def command() -> None:
    """List, show and retry what was given up (dead letters)."""


@command.command("list", epilog="\b\nExamples:\n  bd dlq list\n  bd dlq list --json | jq -r '.[].id'")
@pass_app
def list_letters(app: App) -> None:
    """List the beads that were given up, the longest dead first."""
    snapshot = app.snapshot()
    found = dead_letters(snapshot)
    if app.out.is_json:
        app.out.json([_with_failures(bead, snapshot, app) for bead in found])
    elif app.out.quiet:
        for bead in found:
            app.out.line(bead.id)
    elif found:
        app.out.table(["id", "age", "attempts", "last error", "title"], [_row(app, bead) for bead in found])
    else:
        app.out.line("No dead letters.")


def _row(app: App, bead: Bead) -> list[str]:
    last = (bead.get("failures") or [{}])[-1]
    words = f"{last.get('reason', '')}: {last.get('error', '')}".strip(": ")
    age = app.out.age(bead.get("dead_lettered_at"), app.now)
    return [bead.id, age, str(bead.attempts_counted), _cut(words, ERROR_WIDTH), _cut(bead.title, 60)]


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _with_failures(bead: Bead, snapshot: Snapshot, app: App) -> dict[str, Any]:
    shown = views.issue(bead, snapshot, app.now)
    return {**shown, "failures": bead.get("failures", []), "poison_pill": bool(bead.get("poison_pill"))}


@command.command("show", epilog="\b\nExample:\n  bd dlq show hub-7k3q")
@click.argument("beads", nargs=-1, required=True)
@pass_app
def show(app: App, beads: tuple[str, ...]) -> None:
    """Show every failed attempt of a bead."""
    snapshot = app.snapshot()
    found = [_whole(typed, snapshot) for typed in beads]
    if app.out.is_json:
        app.out.json([_with_failures(bead, snapshot, app) for bead in found])
        return
    for place, bead in enumerate(found):
        if place:
            app.out.line()
        _show(app, bead, snapshot)


def _whole(typed: str, snapshot: Snapshot) -> Bead:
    bead = snapshot.bead(ids.resolve(typed, snapshot.starting, snapshot.exists))
    if bead is None:
        raise NoSuchBead(typed)
    return bead


def _show(app: App, bead: Bead, snapshot: Snapshot) -> None:
    out = app.out
    out.line(out.bead_line(bead, snapshot, app.now, tail=out.state(bead, snapshot, app.now)))
    if bead.status == "dead_letter":
        why = ", because it fails whoever tries it" if bead.get("poison_pill") else ""
        since = out.age(bead.get("dead_lettered_at"), app.now)
        out.line(f"  given up{f' {since} ago' if since else ''}{why}; `bd dlq retry {bead.id}` opens it again")
    failures = bead.get("failures", [])
    if not failures:
        out.line("  It has not failed yet.")
    for failure in failures:
        facts = [str(failure[key]) for key in ("agent", "at") if failure.get(key)]
        facts += [f"{failure['duration_s']:g}s"] if failure.get("duration_s") is not None else []
        facts += [f"${failure['cost_usd']:g}"] if failure.get("cost_usd") is not None else []
        head = f"attempt {failure.get('attempt', '?')}: {failure.get('reason', 'other')}"
        out.line(f"\n{out.styled(escaped(head), 'bold')} ({escaped(', '.join(facts))})")
        out.line(f"  {escaped(failure.get('error', ''), one_line=False)}".rstrip())


@command.command("retry", epilog='\b\nExample:\n  bd dlq retry hub-7k3q --reason "the key is renewed"')
@click.argument("beads", nargs=-1, required=True)
@click.option("--reason", "-r", help="What is different now; kept as a comment.")
@pass_app
def retry(app: App, beads: tuple[str, ...], reason: str | None) -> None:
    """Open dead letters again; their attempts count anew, their failures stay."""
    outcome = app.publish(DlqRetry(**app.asked(beads, ids=list(beads), reason=reason)))
    app.show_written(outcome, "Open again:")
