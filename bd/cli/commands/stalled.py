"""bd stalled."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.app import SIGNS
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag
from bd.core import ids
from bd.core.errors import NoSuchBead, WrongState
from bd.core.times import duration_text
from bd.notify.hooks import tell as tell_people
from bd.policy.live_notes import notes_of
from bd.worker.stall_recovery import reassign

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Snapshot
    from bd.policy.liveness import Stall


# From here on a time to wait is told in minutes.
_MANY_S = 300.0

SPEC = Command(
    "stalled",
    Argument("beads", many=True),
    Flag("--reassign", name="free", help="Free them: open again for others, or given up after the last attempt."),
    help="""List the beads whose holders are gone, and free them.

    A stalled claim was reserved and never started, is silent, or takes over twice the expected time. One with recent
    heartbeats is never stalled. Freeing compares token, attempt and the last heartbeat: a holder who is back in time keeps the bead.
    """,
    examples=[
        "bd stalled",
        "bd stalled --reassign              free all of them",
        "bd stalled --reassign hub-7k3q     free this one",
    ],
)


def run(app: App, beads: tuple[str, ...], free: bool) -> None:
    """List the beads whose holders are gone, and free them."""
    if free:
        app.refuse_past()
    view = app.look(required=True)
    app.leave_out(SIGNS)
    wanted = {ids.resolve(text, view.snapshot.starting, view.snapshot.exists) for text in beads}
    found = [stall for stall in view.stalls if not wanted or stall.id in wanted]
    shown = [_shown(stall, view.snapshot) for stall in found]
    for bead, silence in view.watched():
        if silence.seems_over and (not wanted or bead.id in wanted):
            app.out.note(f"{bead.id} may have stalled: look again in {_seconds(silence.rest_s or 0)} to be sure")
    if free:
        _refuse_living(wanted, found)
        outcome = reassign(app.hub, found, app.identity.by)
        for line in tell_people(app.hub, app.identity.by, view._replace(snapshot=app.hub.snapshot()).stalls):
            app.out.note(escaped(line))
        change = outcome.change if outcome else None
        for note in change.notes if change else ():
            app.out.note(note)
        freed = set(change.touched) if change else set()
        shown = [entry for entry in shown if entry["id"] in freed]
    if app.out.is_json:
        app.out.json(shown)
        return
    if free:
        for entry in shown:
            app.out.line(entry["id"] if app.out.quiet else f"✓ Freed {entry['id']} — {entry['title']}")
        app.out.said(f"{len(shown)} freed." if shown else "Nothing to free.")
    else:
        _list(app, shown)


def _list(app: App, shown: list[dict[str, Any]]) -> None:
    if app.out.quiet:
        for entry in shown:
            app.out.line(entry["id"])
    elif not shown:
        app.out.line("Nothing has stalled.")
    else:
        rows = [
            (one["id"], one["owner"], one["why"], app.out.age(one["since"], app.now), str(one["attempt"]), _words(one))
            for one in shown
        ]
        app.out.table(["bead", "owner", "why", "silent", "attempt", "title, last note"], rows)


def _words(entry: dict[str, Any]) -> str:
    return f"{entry['title']}: {entry['last_progress']}" if entry.get("last_progress") else str(entry["title"])


def _seconds(rest_s: float) -> str:
    """How long a claim has still to be watched, in whole seconds, or minutes where these are many."""
    return duration_text(int(rest_s) + 1 if rest_s < _MANY_S else (int(rest_s / 60) + 1) * 60)


def _refuse_living(wanted: set[str], found: list[Stall]) -> None:
    """Refuse to free a named bead that has not stalled. Raises WrongState."""
    living = sorted(wanted - {stall.id for stall in found})
    if living:
        hint = f'`bd release {living[0]} --force --reason "why"` takes it from a live holder'
        raise WrongState(f"{', '.join(living)} has not stalled", hint=hint, id=living[0])


def _shown(stall: Stall, snapshot: Snapshot) -> dict[str, Any]:
    bead = snapshot.head(stall.id)
    if bead is None:
        raise NoSuchBead(stall.id)
    claim = bead.claim
    notes = [note["text"] for note in notes_of(bead, snapshot)] if claim else []
    return {
        "id": bead.id,
        "title": bead.title,
        "owner": stall.owner,
        "why": stall.why,
        "since": stall.since,
        "attempt": stall.attempt,
        **({"last_progress": notes[-1]} if notes else {}),
    }
