"""bd archive."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command, Flag, Option, whole_number
from bd.core.times import duration_s
from bd.operations.archive import LIMIT, Archive

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "archive",
    Option(
        "--older-than",
        metavar="DURATION",
        needs_text=True,
        help="Only beads that ended longer ago than this (default: the setting archive_after, 30d).",
    ),
    Flag("--dry-run", help="Only show what would be moved."),
    Option("--limit", "-n", kind=whole_number(1), default=LIMIT, help=f"At most this many in the commit ({LIMIT})."),
    help="""Archive beads that were done long ago.

    They go to beads/archive/, the oldest first, in one commit: up to 250 beads in a file for the month they
    ended in. They count as before: found by show, search and list --all. Reopening one brings it back. Idle
    agents do this once a day. If beads/ has more than 3,000 files, and no age is given, the oldest go
    earlier, but none within a day of its end. Archived beads that still have their own files are gathered, too.
    """,
    examples=["bd archive --dry-run", "bd archive --older-than 90d"],
)


def run(app: App, older_than: str | None, dry_run: bool, limit: int) -> None:
    """Archive beads that were done long ago."""
    older_than_s = duration_s(older_than) if older_than else None
    operation = Archive(**app.asked(older_than_s=older_than_s, limit=limit))
    if dry_run:
        change = app.preview(operation)
        _show(app, change.result, "Would archive", {"dry_run": True})
        return
    outcome = app.publish(operation)
    result = outcome.change.result if outcome.change else {"archived": [], "gathered": [], "left": 0}
    _show(app, result, "✓ Archived", {"published": outcome.published})


def _show(app: App, result: dict[str, object], verb: str, more: dict[str, bool]) -> None:
    ids, gathered = result["archived"], result["gathered"]
    assert isinstance(ids, list)
    assert isinstance(gathered, list)
    if app.out.is_json:
        app.out.object({**result, **more})
        return
    if app.out.quiet or "dry_run" in more:
        for bead_id in ids:
            app.out.line(bead_id)
    left = f"; {result['left']} more for another run" if result["left"] else ""
    app.out.said(f"{verb} {_beads(ids)}{left}" if ids else "Nothing is old enough to archive.")
    if gathered:
        app.out.said(f"  and gathered {_beads(gathered)} that had their own files in the archive")


def _beads(ids: list[str]) -> str:
    return f"{len(ids)} {'bead' if len(ids) == 1 else 'beads'}"
