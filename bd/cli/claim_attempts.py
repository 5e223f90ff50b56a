"""Claims that may try more than once: the first of several beads that is still free, or the best one after freeing stalls."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import AlreadyClaimed, NoSuchBead, NothingReady, WrongState
from bd.operations.claims import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.store import Outcome


def claim_first(app: App, ids: Sequence[str]) -> Outcome | None:
    """Claim the first of these beads that is still free; None if all were taken."""
    who = app.claimant(compatible=True)
    for bead_id in ids:
        try:
            return app.publish(Claim(**{**app.asked(ids=[bead_id], agent=who.agent), "by": who.by}))
        except (AlreadyClaimed, WrongState, NoSuchBead):
            continue
    return None


def claim_best(app: App, asked: dict[str, Any]) -> Outcome:
    """Claim the best bead. If there is none, or no room, free stalled claims first, which may help."""
    try:
        return app.publish(Claim(**asked))
    except NothingReady as nothing:
        if app.flags.fetch is False:
            raise
        from bd.worker.stall_recovery import freed_for  # noqa: PLC0415  only who found nothing

        freed = freed_for(app.hub, nothing, asked["by"])
        if not freed:
            raise
        app.out.note(f"freed {', '.join(freed)}, which had stalled")
    return app.publish(Claim(**asked))
