"""bd children."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.commands.bead_list import show_list
from bd.cli.spec import Argument, Command
from bd.core import ids
from bd.core.queries import Lineup, made_of

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "children",
    Argument("bead"),
    help="""List the beads below a bead.

    Done ones too, in the order they were made.
    """,
    examples=["bd children hub-7k3q"],
)


def run(app: App, bead: str) -> None:
    """List the beads below a bead."""
    snapshot = app.snapshot()
    bead_id = ids.resolve(bead, snapshot.starting, snapshot.exists)
    children = sorted(snapshot.children_of(bead_id), key=lambda child: (made_of(child.fields), child.id))
    show_list(app, snapshot, Lineup(children), limit=None, default_limit=0, empty=f"{bead_id} has no children.")
