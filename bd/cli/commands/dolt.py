"""bd dolt: what the Go tool's scripts ask of its database, translated to the hub."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.commands.sync import synchronise
from bd.cli.spec import Argument, Command
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from bd.cli.app import App


_MOOT = frozenset({"start", "stop", "status", "test", "show", "commit", "killall", "clean-databases"})


SPEC = Command(
    "dolt",
    Argument("words", many=True, required=True, metavar="pull|push|status ..."),
    help="""Pull and push for the Go tool's scripts: `bd sync` does it.

    The subcommands for a database server (start, stop, status, test, show, commit) only print a line.
    """,
    examples=["bd dolt pull"],
)


def run(app: App, words: tuple[str, ...]) -> None:
    """Pull and push for the Go tool's scripts, by a sync."""
    if words[0] in ("pull", "push"):
        synchronise(app)
    elif words[0] in _MOOT:
        if app.out.is_json:
            app.out.object({"backend": "git-yaml", "status": "no server"})
        else:
            app.out.said("There is no database server: the hub is a git repository, and every write is published at once.")
    else:
        raise BadInput(f"no database, so no `bd dolt {words[0]}`", hint="the hub is a git repository: use git for this")
