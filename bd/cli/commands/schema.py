"""bd schema."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, one_of
from bd.compat import json_schemas

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "schema",
    Argument("file", kind=one_of(*json_schemas.FILES), default="bead"),
    help="""Print the JSON Schema of a hub's files, for editors.

    Default: bead. A file points to it in its first line: `# yaml-language-server: $schema=PATH`.
    """,
    examples=["bd schema bead > .beads/bead.schema.json", "bd schema config"],
)


def run(app: App, file: str) -> None:
    """Print the JSON Schema of a hub's files, for editors."""
    made = json_schemas.schema(file)
    if app.flags.json:
        app.out.object(made)
    else:
        app.out.json(made)
