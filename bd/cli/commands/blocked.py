"""bd blocked."""

from __future__ import annotations

import click

from bd import ids
from bd.cli.context import App
from bd.cli.options import pass_app
from bd.interop import views
from bd.policy.dag import ancestors
from bd.policy.ranking import Ranking
from bd.policy.ready import is_blocked, standing


@click.command("blocked", epilog="\b\nExample:\n  bd blocked --parent hub-7k3q")
@click.option("--parent", help="Only beads below this one.")
@pass_app
def command(app: App, parent: str | None) -> None:
    """List what waits, and on what."""
    snapshot, now = app.snapshot(), app.now
    waiting = [bead for bead in snapshot.live() if bead.status != "pinned" and is_blocked(bead, snapshot, now)]
    if parent:
        above = ids.resolve(parent, snapshot.starting, snapshot.exists)
        waiting = [bead for bead in waiting if any(one.id == above for one in ancestors(bead, snapshot))]
    ranking = Ranking(snapshot, now)
    waiting.sort(key=ranking.listed)
    if app.out.is_json:
        app.out.json([views.blocked(snapshot.bead(bead.id) or bead, snapshot, now, ranking) for bead in waiting])
        return
    for bead in waiting:
        app.out.line(app.out.bead_line(bead, snapshot, now))
        for reason in standing(bead, snapshot, now).reasons:
            app.out.line(f"    {reason.text}")
    if not waiting:
        app.out.line("Nothing is blocked.")
