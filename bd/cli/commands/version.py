"""bd version."""

from __future__ import annotations

import click

from bd import __version__
from bd.cli.app import App
from bd.cli.options import pass_app


@click.command("version", epilog="\b\nExample:\n  bd version --json")
@pass_app
def command(app: App) -> None:
    """Print the version."""
    if app.out.is_json:
        app.out.object({"version": __version__, "build": "python"})
    else:
        app.out.line(f"bd version {__version__}")
