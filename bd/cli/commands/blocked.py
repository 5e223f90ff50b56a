"""bd blocked."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import id_to_filter_by
from bd.cli.spec import Command, Option
from bd.compat import bead_json
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness
from bd.report.selection import below

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead


SPEC = Command(
    "blocked",
    Option("--parent", narrows=True, help="Only beads below this one."),
    help="List blocked beads, and what they wait for.",
    examples=["bd blocked --parent hub-7k3q"],
)


def run(app: App, parent: str | None) -> None:
    """List blocked beads, and what they wait for."""
    waiting = blocked_beads(app)
    if parent:
        snapshot = app.snapshot()
        above = id_to_filter_by(app, snapshot, parent)
        waiting = [*filter(below(above, snapshot), waiting)]
    if app.out.is_json:
        app.out.json(blocked_objects(app, waiting))
        return
    show_blocked(app, waiting)
    if not waiting:
        app.out.line("Nothing is blocked.")


def blocked_beads(app: App) -> list[Bead]:
    """Return every bead that waits for others, in list order."""
    snapshot, ranking = app.snapshot(), Ranking(app.snapshot(), app.now)
    waiting = [bead for bead in snapshot.live() if bead.status != "pinned" and ranking.readiness.blockers(bead)]
    return sorted(waiting, key=ranking.listed)


def blocked_objects(app: App, waiting: list[Bead]) -> list[dict[str, Any]]:
    """Return the JSON of waiting beads."""
    snapshot, ranking = app.snapshot(), Ranking(app.snapshot(), app.now)
    return [bead_json.blocked(snapshot.bead(bead.id) or bead, ranking) for bead in waiting]


def show_blocked(app: App, waiting: list[Bead]) -> None:
    """Print waiting beads, each with the reasons."""
    readiness = Readiness(app.snapshot(), app.now)
    for bead in waiting:
        app.out.line(app.out.bead_line(bead, readiness))
        for reason in readiness.standing(bead).reasons:
            app.out.line(f"    {reason.text}")
