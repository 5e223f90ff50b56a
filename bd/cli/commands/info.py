"""bd info, bd where, bd context, bd ping: where the hub is."""

from __future__ import annotations

from bd import TYPE_CHECKING, __version__
from bd.cli.lookup import bead_of
from bd.cli.spec import Argument, Command, Flag
from bd.compat.context_refs import context_of, printed
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


# The tables that a client of the database would ask for, named after what replaces them here.
_TABLES = ["issues", "dependencies", "labels", "comments", "config"]
_SAMPLES = 3


SPEC = Command(
    "info",
    Flag("--schema", help="Also the tables that a database client expects."),
    help="Show where the hub is, and what is in it.",
    examples=["bd info --schema --json"],
)


def run(app: App, schema: bool) -> None:
    """Show where the hub is, and what is in it."""
    snapshot = app.snapshot()
    number = sum(1 for _ in snapshot.every())
    shown: dict[str, Any] = {"database_path": app.hub.client_folder(), "mode": "direct", "issue_count": number}
    shown["config"] = {"issue_prefix": app.settings().prefix}
    if schema:
        ids = sorted(bead.id for bead in snapshot.every())[:_SAMPLES]
        shown["schema"] = {
            "tables": _TABLES,
            "schema_version": str(snapshot.config().get("format", 1)),
            "config": shown["config"],
            "sample_issue_ids": ids,
            "detected_prefix": app.settings().prefix,
        }
    if app.out.is_json:
        app.out.object(shown)
        return
    app.out.line(f"Hub: {app.hub.branch_name}" + (f" on {app.hub.remote_name}" if app.hub.remote_name else ", no remote"))
    app.out.line(f"Folder: {shown['database_path']}")
    app.out.line(f"{number} beads, prefix {app.settings().prefix}, bd {__version__}")


WHERE = Command(
    "where",
    help="Show the folder that clients work in.",
    examples=["bd where --json"],
)


def where(app: App) -> None:
    """Show the folder that clients work in."""
    folder = app.hub.client_folder()
    if app.out.is_json:
        app.out.object({"path": folder, "prefix": app.settings().prefix, "database_path": folder})
    else:
        app.out.line(folder)


CONTEXT = Command(
    "context",
    Argument("bead", required=False),
    help="""Print a bead's context; without a bead: repository, branch and remote.

    The context is what its context_refs refer to: outputs of other beads (task:ID:output) and files of the hub.
    References to anything else are only listed.
    """,
    examples=["bd context hub-7k3q", "bd context --json"],
)


def context(app: App, bead: str | None) -> None:
    """Print a bead's starting context; without a bead, repository, branch and remote."""
    if bead is not None:
        _context_of(app, bead)
        return
    if app.flags.at:
        raise BadInput("--at reads the past, but the hub's location concerns the present", hint="name a bead, or leave --at out")
    hub = app.hub
    shown = {
        "beads_dir": hub.client_folder(),
        "repo_root": hub.repo.work_tree or hub.repo.git_dir,
        "backend": "git-yaml",
        "branch": hub.branch_name,
        "remote": hub.remote_name or "",
        "bd_version": __version__,
    }
    if app.out.is_json:
        app.out.object(shown)
        return
    for name, value in shown.items():
        app.out.line(f"{name.replace('_', ' ')}: {value or '(none)'}")


def _context_of(app: App, typed: str) -> None:
    snapshot = app.snapshot()
    bead = bead_of(typed, snapshot)
    found = context_of(bead, snapshot, app.hub)
    if app.out.is_json:
        app.out.object({"id": bead.id, "context": found})
        return
    for place, entry in enumerate(found):
        app.out.line(("\n" if place else "") + printed(entry))
    if not found:
        app.out.said(f"{bead.id} has no context_refs.")


PING = Command(
    "ping",
    help="Check that the hub can be read, and how fast.",
    examples=["bd ping --json"],
)


def ping(app: App) -> None:
    """Report that the hub can be read, and how fast."""
    began = app.runtime.monotonic()
    commit = app.snapshot().commit
    took = round((app.runtime.monotonic() - began) * 1000, 1)
    if app.out.is_json:
        app.out.object({"status": "ok", "total_ms": took, "commit": commit})
    else:
        app.out.line(f"ok: hub at {commit[:7]}, read in {took} ms")
