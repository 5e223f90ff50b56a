"""bd purge, bd repair-deps: upkeep of the Go tool's that has nothing, or little, to do here."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.report.doctor import examine

_LOST = frozenset({"unknown_dependency", "unknown_parent", "unknown_link"})


@click.command("purge", epilog="\b\nExample:\n  bd purge --dry-run --json")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--force", "-f", is_flag=True, help="Do not ask; there is nothing to ask.")
@click.option("--older-than", help="Only what is older; there is nothing.")
@pass_app
def command(app: App, dry_run: bool, force: bool, older_than: str | None) -> None:
    """Remove what was made to be thrown away: there is nothing.

    Every bead stays; `bd archive` moves old ones out of the way, `bd delete` removes one.
    """
    app.snapshot()
    if app.out.is_json:
        app.out.object({"purged_count": 0, **({"dry_run": True} if dry_run else {})})
    else:
        app.out.said("Nothing to purge: no bead here is made to be thrown away. `bd archive` moves old ones out of the way.")


@click.command("repair-deps", epilog="\b\nExample:\n  bd repair-deps --json")
@pass_app
def repair_deps(app: App) -> None:
    """Name the edges that lead nowhere.

    `bd dep remove` takes one away, which needs a person's judgement: a bead may still come.
    """
    findings = examine(app.hub, app.snapshot(), app.now, remote=False)
    found = [finding for finding in findings if finding.code in _LOST]
    if app.out.is_json:
        app.out.object({"orphans_found": len(found), "orphans": [finding._asdict() for finding in found], "fixed": 0})
        return
    for finding in found:
        app.out.line(f"{finding.where} {finding.text}")
    if not found:
        app.out.line("Every edge leads to a bead.")
