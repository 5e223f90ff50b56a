"""bd sync."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command, Flag, Option
from bd.core import times
from bd.core.errors import NotFound, Refused
from bd.store.rewritten import accept_rewrite

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "sync",
    Flag("--kept", name="list_kept", help="Only list the refused commits that are kept."),
    Option("--dismiss", name="dismissed", multiple=True, metavar="UID", needs_text=True, help="Dismiss a refused commit."),
    Flag("--accept-rewrite", help="Accept a hub whose history was rewritten."),
    Flag("--force", help="Also publish hand edits that end claims, or change owners and attempts."),
    Option("--reason", "-r", help="With --force: why. Needed to change what somebody holds."),
    help="""Publish local changes, and fetch new ones.

    Edited bead files are checked, committed and published; what the hub refuses is kept and listed.
    """,
    examples=[
        "bd sync                      publish, receive, commit hand edits",
        'bd sync --force --reason "ann is gone"      take hand edits of what she holds',
        "bd sync --kept               what was refused, and why",
        "bd sync --dismiss UID        let go of a refused commit",
    ],
)


def run(app: App, list_kept: bool, dismissed: tuple[str, ...], accept_rewrite: bool, force: bool, reason: str | None) -> None:
    """Publish what is local, and fetch."""
    if list_kept or dismissed:
        _kept(app, dismissed)
    elif accept_rewrite:
        _accept(app)
    else:
        synchronise(app, force=force, reason=reason)


def synchronise(app: App, *, force: bool = False, reason: str | None = None) -> None:
    """Publish what is local, fetch, and report the result."""
    outcome, edits = app.hub.sync(app.identity.by, force=force, reason=reason)
    unknown = app.hub.snapshot().cache.unknown_keys(reported=True)
    refused = [{"uid": item.uid, "error": item.error.message, "code": item.error.code} for item in outcome.refused]
    if edits.damages:
        app.out.exit_code = 7
    elif refused:
        app.out.exit_code = 5
    if app.out.is_json:
        app.out.object(
            {
                "published": outcome.published,
                "received": outcome.received,
                "replayed": outcome.replayed,
                "refused": refused,
                "unreadable": [damage.as_dict() for damage in edits.damages],
                "unknown_keys": [found.as_dict() for found in unknown],
                "tip": outcome.commit,
            }
        )
    else:
        mark = "" if refused or edits.damages else "✓ "
        app.out.said(
            f"{mark}Up to date with the hub at {outcome.commit[:7]}: {outcome.replayed} published, {outcome.received} received"
        )
    for note in outcome.notes:
        app.out.note(note)
    for item in refused:
        app.out.note(
            f"refused: {item['error']} (kept; `bd sync --kept` lists it, `bd sync --dismiss {item['uid']}` dismisses it)"
        )
    for damage in edits.damages:
        app.out.note(f"left alone: {damage.path} {damage.reason}")
    app.warn_of_keys(unknown)


def _kept(app: App, dismissed: tuple[str, ...]) -> None:
    waiting = {one.uid for one in app.hub.queued()}
    for uid in dismissed:
        if app.hub.dismiss(uid):
            continue
        if uid in waiting:
            words = f"{uid} waits to be published, and later writes build on it: it can't be dismissed"
            raise Refused(words, hint="`bd sync` publishes it once the hub takes writes of this clone again")
        raise NotFound(f"nothing is kept under {uid}", hint="`bd sync --kept` lists what is")
    found = app.hub.kept()
    if app.out.is_json:
        app.out.json([item.as_dict() for item in found])
        return
    for item in found:
        state = "waits; `bd sync` publishes it" if item.uid in waiting else f"git show {item.commit[:10]}"
        app.out.line(f"{item.uid}  {item.error or 'no reason noted'}  ({state})")
    if not found:
        app.out.line("Nothing is kept.")


def _accept(app: App) -> None:
    tip, lost = accept_rewrite(app.hub)
    if app.out.is_json:
        app.out.object({"published": True, "received": 0, "replayed": 0, "refused": [], "kept": lost, "tip": tip})
        return
    app.out.said(f"✓ Continuing from {tip[:7]} ({times.time_text(app.now)})")
    if lost:
        app.out.said(f"  {len(lost)} unpublished writes of this clone are kept: bd sync --kept")
