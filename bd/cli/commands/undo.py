"""bd undo."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command
from bd.operations.last_write import undo_of_last

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "undo",
    help="""Undo this clone's last write.

    Repeating it undoes the write before. It adds a new commit, and only if nobody has built on the write since.
    """,
    examples=["bd undo"],
)


def run(app: App) -> None:
    """Take back this clone's last write; again, the one before it."""
    operation = undo_of_last(app.hub, app.asked)
    outcome = app.publish(operation)
    if app.out.is_json or app.out.quiet:
        app.show_written(outcome, "Undone")
        return
    app.out.line(f"✓ Undone: {operation.args['words']}")
