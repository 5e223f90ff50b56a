"""bd reopen."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Option
from bd.operations.close import Reopen

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "reopen",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", help="Why; kept as a comment."),
    help="Reopen beads.",
    examples=['bd reopen hub-7k3q --reason "it came back"'],
)


def run(app: App, beads: tuple[str, ...], reason: str | None) -> None:
    """Reopen beads."""
    outcome = app.publish(Reopen(**app.asked(beads, ids=list(beads), reason=reason)))
    app.show_written(outcome, "Reopened")
