"""bd undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.cli.spec import Command
from bd.operations.last_write import undo_of_last

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "undo",
    help="""Undo this clone's last write.

    Typed again, it takes back the one before it. By a new commit, and only where nobody has built on it since.
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
