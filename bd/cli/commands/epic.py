"""bd epic."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command, Flag, Group
from bd.compat import bead_json
from bd.operations.close import Close

if TYPE_CHECKING:
    from bd.cli.app import App


STATUS = Command(
    "status",
    Flag("--eligible-only", help="Only epics with all children done."),
    help="List the open epics with their children done and in all.",
    examples=["bd epic status"],
)


def status(app: App, *, eligible_only: bool) -> None:
    """List the open epics with the numbers of closed and of all children."""
    snapshot = app.snapshot()
    found = [entry for entry in bead_json.epics(snapshot, app.now) if entry["eligible_for_close"] or not eligible_only]
    if app.out.is_json:
        app.out.json(found)
        return
    rows = [
        [entry["epic"]["id"], f"{entry['closed_children']}/{entry['total_children']}", entry["epic"]["title"]] for entry in found
    ]
    if rows:
        app.out.table(["epic", "done", "title"], rows)
    else:
        app.out.line("No open epics.")


CLOSE_ELIGIBLE = Command(
    "close-eligible",
    Flag("--dry-run", help="Only list them."),
    help="Close the epics whose children are all done.",
    examples=["bd epic close-eligible --dry-run"],
)


def close_eligible(app: App, *, dry_run: bool) -> None:
    """Close the epics whose children are all done."""
    snapshot = app.snapshot()
    found = [entry["epic"]["id"] for entry in bead_json.epics(snapshot, app.now) if entry["eligible_for_close"]]
    if found:
        operation = Close(**app.asked(found, ids=found, reason="All children completed"))
        _ = app.preview(operation) if dry_run else app.publish(operation)
    if app.out.is_json:
        app.out.object({"closed": [] if dry_run else found, "eligible": found, "count": len(found)})
        return
    for bead_id in found:
        app.out.line(f"Would close {bead_id}" if dry_run else f"✓ Closed {bead_id}")
    if not found:
        app.out.line("No epic has all its children done.")


SPEC = Group(
    "epic",
    {
        "status": (STATUS, status),
        "close-eligible": (CLOSE_ELIGIBLE, close_eligible),
    },
    help="Show the progress of epics.",
)
