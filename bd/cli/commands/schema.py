"""bd schema."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.compat import json_schemas

EXAMPLE = """
\b
Examples:
  bd schema bead > .beads/bead.schema.json
  bd schema config
"""


@click.command("schema", epilog=EXAMPLE)
@click.argument("file", type=click.Choice([*json_schemas.FILES]), default="bead")
@pass_app
def command(app: App, file: str) -> None:
    """Print the JSON Schema of a hub's files, for editors.

    Of a bead, when left out. A file points to it in its first line: `# yaml-language-server: $schema=PATH`.
    """
    made = json_schemas.schema(file)
    if app.flags.json:
        app.out.object(made)
    else:
        app.out.json(made)
