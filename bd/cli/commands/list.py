"""bd list."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.commands.bead_list import FILTERS, show_list, wanted_of
from bd.cli.output import escaped
from bd.cli.spec import Command, Flag, Option, list_option, whole_number
from bd.report.selection import Wanted, lineup

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "list",
    list_option(
        "--status",
        "-s",
        "--state",
        name="statuses",
        narrows=True,
        help="Stored or derived: open, in_progress, ready, stalled, all ...",
    ),
    Flag("--all", name="everything", help="Also done beads, if no --status is given."),
    *FILTERS,
    Option("--limit", "-n", kind=whole_number(0), help="At most this many; 0 is no limit."),
    Option(
        "--sort", default="priority", help="priority, effective, created, updated, closed, status, id, title, type, assignee."
    ),
    Flag("--reverse", "-r", help="Reverse the order."),
    Flag("--ready", help="Only what is ready, as --status ready."),
    help="""List beads by status, label, type and more.

    Without --status: everything that is not done. Text is limited to 50 lines (with a note), JSON is not.
    """,
    examples=[
        "bd list                                  everything that is not done",
        "bd list --status ready --label merge --json | jq length",
        "bd list --status in_progress --sort updated",
        "bd list --waiting human                  what only a person can decide, with the question",
    ],
)


def run(app: App, limit: int | None, sort: str, reverse: bool, ready: bool, **flags: Any) -> None:
    """List beads by status, label, type and more."""
    snapshot = app.snapshot()
    if ready:
        flags["statuses"] = (*flags["statuses"], ["ready"])
    wanted = wanted_of(app, snapshot, **flags)
    beads = lineup(snapshot, wanted, app.now, app.settings, sort, reverse=reverse)

    def question(bead: Any) -> str:
        age = app.out.age(bead.get("waiting_since") or bead.updated_at, app.now)
        return f"waits for {escaped(wanted.waiting or '')}, {age}: {escaped(bead.get('status_reason') or 'no question noted')}"

    empty = "No beads match." if wanted != Wanted() else "No unfinished beads. `bd create TITLE` makes one."
    how: dict[str, Any] = {"tail": question} if wanted.waiting else {"with_state": True}
    show_list(app, snapshot, beads, limit=limit, default_limit=50, empty=empty, **how)
