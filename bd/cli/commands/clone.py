"""bd clone."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.output import progress_bar
from bd.cli.spec import Argument, Command, Option
from bd.core.redaction import shown_url
from bd.setup.hub import join_hub

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "clone",
    Argument("url"),
    Argument("folder", required=False),
    Option("--branch", help="The hub's branch, if it is not the repository's default branch."),
    help="Clone a hub. A large archive is not checked out; every command reads it from git anyway.",
    examples=["bd clone git@host:team/hub.git", "bd clone /srv/git/hub.git work/hub"],
)


def run(app: App, url: str, folder: str | None, branch: str | None) -> None:
    """Clone a hub. A large archive is not checked out; every command reads it from git anyway."""
    name = folder or url.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1].removesuffix(".git")
    where = os.path.abspath(os.path.join(app.flags.directory or "", name))
    hub, left_out = join_hub(url, where, branch, app.open_clone, progress_bar("cloning"))
    app.use(hub)
    snapshot = hub.snapshot()
    beads, _ = snapshot.cache.counts()
    if app.out.is_json:
        app.out.object({"path": where, "branch": hub.branch, "beads": beads, "commit": snapshot.commit})
        return
    app.out.said(f"✓ Cloned {shown_url(url)} to {where}: {beads} beads")
    if left_out:
        app.out.said(f"  {left_out} archived files are not checked out: `git sparse-checkout disable` writes their files too")
    app.out.said(f"  Next: cd {where} && bd ready")
