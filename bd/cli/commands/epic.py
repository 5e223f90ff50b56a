"""bd epic."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.compat import bead_json
from bd.operations.close import Close


@click.group("epic", no_args_is_help=False)
def command() -> None:
    """Show how far epics are."""


@command.command("status", epilog="\b\nExample:\n  bd epic status")
@click.option("--eligible-only", is_flag=True, help="Only epics whose children are all done.")
@pass_app
def status(app: App, *, eligible_only: bool) -> None:
    """List the open epics with their children done and in all."""
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


@command.command("close-eligible", epilog="\b\nExample:\n  bd epic close-eligible --dry-run")
@click.option("--dry-run", is_flag=True, help="Only list them.")
@pass_app
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
