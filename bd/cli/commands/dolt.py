"""bd dolt: what the Go tool's scripts ask of its database, said in terms of the hub."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.commands.sync import synchronise
from bd.cli.options import pass_app
from bd.core.errors import BadInput

_MOOT = frozenset({"start", "stop", "status", "test", "show", "commit", "killall", "clean-databases"})


@click.command("dolt", epilog="\b\nExample:\n  bd dolt pull")
@click.argument("words", nargs=-1, required=True, metavar="pull|push|status ...")
@pass_app
def command(app: App, words: tuple[str, ...]) -> None:
    """Pull and push for the Go tool's scripts: `bd sync` does it.

    What is about a database server (start, stop, status, test, show, commit) is answered with one line.
    """
    if words[0] in ("pull", "push"):
        synchronise(app)
    elif words[0] in _MOOT:
        if app.out.is_json:
            app.out.object({"backend": "git-yaml", "status": "no server"})
        else:
            app.out.said("There is no database server: the hub is a git repository, and every write is published at once.")
    else:
        raise BadInput(f"no database, so no `bd dolt {words[0]}`", hint="the hub is a git repository: use git for this")
