"""bd defer, bd undefer."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.operations.beads import Update


@click.command("defer", epilog="\b\nExamples:\n  bd defer hub-7k3q --until tomorrow\n  bd defer hub-7k3q --until 2026-02-21")
@click.argument("beads", nargs=-1, required=True)
@click.option("--until", "-u", help="A date, a time, or 2h; without it, until undeferred.")
@pass_app
def command(app: App, beads: tuple[str, ...], until: str | None) -> None:
    """Hide a bead until a time."""
    fields = {"defer_until": until} if until else {}
    outcome = app.publish(Update(**app.asked(beads, ids=list(beads), set=fields, status="deferred", verb_words="defer")))
    app.show_written(outcome, "Deferred")


@click.command("undefer", epilog="\b\nExample:\n  bd undefer hub-7k3q")
@click.argument("beads", nargs=-1, required=True)
@pass_app
def undefer(app: App, beads: tuple[str, ...]) -> None:
    """Bring a deferred bead back."""
    outcome = app.publish(
        Update(**app.asked(beads, ids=list(beads), set={"defer_until": None}, status="open", verb_words="undefer"))
    )
    app.show_written(outcome, "Back:")
