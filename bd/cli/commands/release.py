"""bd release."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Flag, Option
from bd.core.errors import BadInput
from bd.operations.claims import Release

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "release",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", help="The reason; kept on the bead."),
    Flag("--force", help="Take it from its holder (needs --reason)."),
    help="""Give a bead back; it costs no attempt.

    From the second time in a row on, it is hidden for a while: 10s, then twice as long, at most 5m.
    """,
    examples=['bd release hub-7k3q --reason "no access to the cluster"'],
)


def run(app: App, beads: tuple[str, ...], reason: str | None, force: bool) -> None:
    """Give a bead back; it costs no attempt."""
    if not (reason or "").strip():
        raise BadInput("a release needs a reason", hint=f'bd release {beads[0]} --reason "why"')
    outcome = app.publish(Release(**app.asked_to_end(beads, ids=list(beads), reason=reason, force=force)))
    app.show_written(outcome, "Released")
