"""bd purge, bd repair-deps: upkeep commands of the Go tool that have little or nothing to do here."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command, Flag, Option
from bd.report.doctor import examine

if TYPE_CHECKING:
    from bd.cli.app import App


_LOST = frozenset({"unknown_dependency", "unknown_parent", "unknown_link"})


SPEC = Command(
    "purge",
    Flag("--dry-run", help="Only show what would be removed."),
    Flag("--force", "-f", help="Do not ask; there is nothing to ask."),
    Option("--older-than", help="Only what is older; there is nothing."),
    help="""Does nothing: hubs have no temporary beads.

    Every bead stays; `bd archive` moves old ones out of the way, `bd delete` removes one.
    """,
    examples=["bd purge --dry-run --json"],
)


def run(app: App, dry_run: bool, force: bool, older_than: str | None) -> None:
    """Report that there is nothing to purge."""
    app.snapshot()
    if app.out.is_json:
        app.out.object({"purged_count": 0, **({"dry_run": True} if dry_run else {})})
    else:
        app.out.said("Nothing to purge: hubs have no temporary beads. `bd archive` moves old ones out of the way.")


REPAIR_DEPS = Command(
    "repair-deps",
    help="""List edges to missing beads.

    Whether to remove one with `bd dep remove` is for a person to decide: the bead may still arrive.
    """,
    examples=["bd repair-deps --json"],
)


def repair_deps(app: App) -> None:
    """List edges to missing beads."""
    findings = examine(app.hub, app.snapshot(), app.now, remote=False)
    found = [finding for finding in findings if finding.code in _LOST]
    if app.out.is_json:
        app.out.object({"orphans_found": len(found), "orphans": [finding._asdict() for finding in found], "fixed": 0})
        return
    for finding in found:
        app.out.line(f"{finding.where} {finding.text}")
    if not found:
        app.out.line("Every edge leads to a bead.")
