"""bd list."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.commands.bead_list import at_it, show_list, wanted_of
from bd.cli.options import filter_options, list_option, pass_app
from bd.cli.output import escaped
from bd.policy.derivations import is_lasting
from bd.report.selection import Wanted, lineup

EXAMPLE = """
\b
Examples:
  bd list                                  everything that is not done
  bd list --status ready --label merge --json | jq length
  bd list --status in_progress --sort updated
  bd list --waiting human                  what only a person can decide, with the question
"""


@click.command("list", epilog=EXAMPLE)
@list_option("--status", "-s", "--state", "statuses", help="Stored or derived: open, in_progress, ready, stalled, all ...")
@click.option("--all", "everything", is_flag=True, help="Done beads too, where no --status is given.")
@filter_options
@click.option("--limit", "-n", type=click.IntRange(min=0), help="At most this many; 0 is no limit.")
@click.option(
    "--sort", default="priority", help="priority, effective, created, updated, closed, status, id, title, type, assignee."
)
@click.option("--reverse", "-r", is_flag=True, help="The other way round.")
@click.option("--ready", is_flag=True, help="Only what is ready, as --status ready.")
@pass_app
def command(app: App, limit: int | None, sort: str, reverse: bool, ready: bool, **flags: Any) -> None:
    """List beads by status, label, type and more.

    Without --status: whatever is not done. Text is cut at 50 lines (and says so), JSON never.
    """
    snapshot = app.snapshot()
    if ready:
        flags["statuses"] = (*flags["statuses"], ["ready"])
    wanted = wanted_of(app, snapshot, **flags)
    beads = lineup(snapshot, wanted, app.now, app.settings, sort, reverse=reverse)

    def tail(bead: Any) -> str:
        if wanted.waiting:
            age = app.out.age(bead.get("waiting_since") or bead.updated_at, app.now)
            return f"waits for {escaped(wanted.waiting)}, {age}: {escaped(bead.get('status_reason') or 'no question noted')}"
        shared = at_it(bead, app.now)
        who = f", {escaped(shared or bead.assignee)}" if shared or bead.assignee else ""
        return f"{app.out.state(bead, snapshot, app.now)}{who}"

    def keeps(bead: Any) -> bool:
        return not bead.get("claims") and is_lasting(bead, snapshot)

    empty = "No beads match." if wanted != Wanted() else "No beads that are not done. `bd create TITLE` makes one."
    show_list(
        app, snapshot, beads, limit=limit, default_limit=50, empty=empty, tail=tail, keeps=None if wanted.waiting else keeps
    )
