"""bd brief."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.brief.brief import brief_of
from bd.cli.lookup import bead_of
from bd.cli.spec import Argument, Command

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "brief",
    Argument("bead"),
    help="""Print all that is known about a bead, for whoever works on it.

    Texts, place in the plan, outputs of what it waited for, comments, questions with their answers, earlier attempts. Each part
    names its origin and stands in a fence of its own. `bd work` gives this text to the agents that it runs.
    """,
    examples=["bd brief hub-7k3q", "bd brief hub-7k3q --json"],
)


def run(app: App, bead: str) -> None:
    """Print all that is known about a bead."""
    snapshot = app.snapshot()
    made = brief_of(bead_of(bead, snapshot), snapshot, app.hub, app.identity.agent)
    if app.out.is_json:
        app.out.object(made.as_json())
    else:
        app.out.lines(made.text.splitlines())
