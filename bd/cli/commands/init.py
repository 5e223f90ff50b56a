"""bd init."""

from __future__ import annotations

import os
import re

from bd import TYPE_CHECKING
from bd.cli.spec import Argument, Command, Option
from bd.core import ids
from bd.core.errors import BadInput
from bd.setup.hub import make_hub

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "init",
    Argument("folder", required=False),
    Option("--prefix", "-p", help="The prefix of ids; default: made from the folder's name."),
    Option("--remote", help="The git URL that the fleet shares; becomes origin."),
    Option("--branch", help="Keep the hub on its own branch."),
    Option("--domain", help="The part after @ in owners; default: the prefix."),
    help="Create a hub here, or join the existing one. Repeating it changes nothing.",
    examples=[
        "bd init                      a hub in this repository, on its branch",
        "bd init hub --prefix hub --remote git@host:team/hub.git",
        "bd init --branch beads       the hub on a branch of its own; the code stays untouched",
    ],
)


def run(app: App, folder: str | None, prefix: str | None, remote: str | None, branch: str | None, domain: str | None) -> None:
    """Create a hub here, or join the existing one. Repeating it changes nothing."""
    where = os.path.abspath(os.path.join(app.flags.directory or "", folder or ""))
    if folder and folder.startswith("-"):
        raise BadInput(f"{folder!r} is not a folder")
    chosen = ids.check_prefix(prefix) if prefix else _prefix_of(where)
    made, hub = make_hub(where, chosen, app.open_clone, remote=remote, branch=branch, domain=domain, own=folder is not None)
    app.use(hub)
    commit = hub.view()
    if app.out.is_json:
        app.out.object(
            {
                "path": where,
                "branch": hub.branch,
                "remote": hub.remote_name or "",
                "prefix": hub.snapshot(commit).config().get("prefix", chosen),
                "created": made,
                "commit": commit,
            }
        )
        return
    name = hub.branch.removeprefix("refs/heads/")
    app.out.said(
        f"✓ {'Made a hub' if made else 'The hub exists'}: {where}, branch {name}"
        + (f", shared through {hub.remote_name}" if hub.remote_name else "")
    )
    app.out.said('  Next: bd create "The first thing to do"')


def _prefix_of(folder: str) -> str:
    name = re.sub(r"[^a-z0-9-]+", "-", os.path.basename(folder).lower()).strip("-")[:20].strip("-")
    return name or "bd"
