"""bd cancel."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Flag, Option
from bd.operations.close import Cancel

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "cancel",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", help="The reason; kept on the bead."),
    Flag("--cascade", help="Also cancel its children and the beads that wait for it."),
    Flag("--unblock", help="Unblock the beads that wait for it."),
    Flag("--force", help="Even if somebody else holds it (needs --reason)."),
    help="Cancel beads. Beads that wait for them keep waiting, except with --cascade or --unblock.",
    examples=['bd cancel hub-7k3q --reason "no longer wanted" --cascade'],
)


def run(app: App, beads: tuple[str, ...], reason: str | None, cascade: bool, unblock: bool, force: bool) -> None:
    """Cancel beads. What waits for them keeps waiting, unless --cascade or --unblock decides."""
    asked = app.asked(beads, ids=list(beads), reason=reason, cascade=cascade, unblock=unblock, force=force)
    app.show_written(app.publish(Cancel(**asked)), "Cancelled")
