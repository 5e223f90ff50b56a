"""bd delete."""

from __future__ import annotations

import sys

from bd import TYPE_CHECKING
from bd.cli.questions import is_confirmed
from bd.cli.spec import Argument, Command, Flag
from bd.operations.beads import Delete

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "delete",
    Argument("beads", many=True, required=True),
    Flag("--force", "-f", help="Delete; without this flag, only show what would be deleted."),
    Flag("--dry-run", help="Only show what would be deleted."),
    help="Remove beads for good. Beads that waited for them no longer do. To keep a record, use cancel.",
    examples=["bd delete hub-7k3q --force"],
)


def run(app: App, beads: tuple[str, ...], force: bool, dry_run: bool) -> None:
    """Remove beads for good. Beads that waited for them no longer do. To keep a record, use cancel."""
    if not force and not dry_run and sys.stdin.isatty():
        force = is_confirmed(f"Delete {', '.join(beads)} for good?")
    if dry_run or not force:
        _preview(app, beads)
        return
    outcome = app.publish(Delete(**app.asked(beads, ids=list(beads))))
    change = outcome.change
    gone = list(change.touched) if change else []
    numbers = dict(change.result or {}) if change else {}
    if app.out.is_json:
        one = {"deleted": gone[0]} if len(gone) == 1 else {"deleted": gone, "deleted_count": len(gone)}
        app.out.object({**one, **numbers, "published": outcome.published})
    else:
        for bead_id in gone:
            app.out.line(bead_id if app.out.quiet else f"✓ Deleted {bead_id}")
    app.out.failures(change.failures if change else ())


def _preview(app: App, beads: tuple[str, ...]) -> None:
    change = app.preview(Delete(**app.asked(beads, ids=list(beads))))
    snapshot, found = app.snapshot(), list(change.touched)
    if app.out.is_json:
        app.out.object({"would_delete": found, "dry_run": True})
        app.out.failures(change.failures)
        return
    for bead_id in found:
        waiting = len(snapshot.mentioning(bead_id))
        app.out.line(f"Would delete {bead_id}; {waiting} {'bead names' if waiting == 1 else 'beads name'} it.")
    app.out.failures(change.failures)
    app.out.note("--force deletes")
