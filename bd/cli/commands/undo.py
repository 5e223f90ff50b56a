"""bd undo."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.operations.last_write import undo_of_last


@click.command("undo", epilog="\b\nExample:\n  bd undo")
@pass_app
def command(app: App) -> None:
    """Take back this clone's last write.

    By a new commit, and only where nobody has built on it since.
    """
    operation = undo_of_last(app.hub, app.asked)
    outcome = app.publish(operation)
    if app.out.is_json or app.out.quiet:
        app.show_written(outcome, "Undone")
        return
    app.out.line(f"✓ Taken back: {operation.args['words']}")
