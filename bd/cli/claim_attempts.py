"""Claims that may take a second attempt: of the first of several beads that is still free, and of the best one once stalls are freed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import AlreadyClaimed, NoSuchBead, NothingReady, WrongState
from bd.operations.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.store import Outcome


def claim_first(app: App, ids: Sequence[str]) -> Outcome | None:
    """Claim the first of these beads that nobody takes meanwhile; None where all were taken."""
    who = app.claimant(compatible=True)
    for bead_id in ids:
        try:
            return app.publish(Claim(**{**app.asked(ids=[bead_id], agent=who.agent), "by": who.by}))
        except (AlreadyClaimed, WrongState, NoSuchBead):
            continue
    return None


def claim_best(app: App, asked: dict[str, Any]) -> Outcome:
    """Claim the best bead. Where there is none, or no place, a holder who is gone may have left one: what stalled is freed first."""
    try:
        return app.publish(Claim(**asked))
    except NothingReady as nothing:
        may_help = nothing.data.get("reason") in (None, "busy", "pool_full")
        if not may_help or not app.settings().recover or app.flags.fetch is False:
            raise
        from bd.worker.stall_recovery import is_due, recover  # noqa: PLC0415  only who found nothing

        if not is_due(app.hub, app.snapshot()):
            raise
        outcome = recover(app.hub, asked["by"])
        freed = outcome.change.touched if outcome and outcome.change else ()
        if not freed:
            raise
        app.out.note(f"freed {', '.join(freed)}, which had stalled")
    return app.publish(Claim(**asked))
