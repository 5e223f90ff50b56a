"""bd defer, bd undefer."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Option
from bd.operations.beads import Update

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "defer",
    Argument("beads", many=True, required=True),
    Option("--until", "-u", help="A date, a time, or 2h; without it, until undeferred."),
    help="Hide a bead until a time.",
    examples=["bd defer hub-7k3q --until tomorrow", "bd defer hub-7k3q --until 2026-02-21"],
)


def run(app: App, beads: tuple[str, ...], until: str | None) -> None:
    """Hide a bead until a time."""
    fields = {"defer_until": until} if until else {}
    outcome = app.publish(Update(**app.asked(beads, ids=list(beads), set=fields, status="deferred", verb_words="defer")))
    app.show_written(outcome, "Deferred")


UNDEFER = Command(
    "undefer",
    Argument("beads", many=True, required=True),
    help="Bring a deferred bead back.",
    examples=["bd undefer hub-7k3q"],
)


def undefer(app: App, beads: tuple[str, ...]) -> None:
    """Bring a deferred bead back."""
    outcome = app.publish(
        Update(**app.asked(beads, ids=list(beads), set={"defer_until": None}, status="open", verb_words="undefer"))
    )
    app.show_written(outcome, "Back:")
