"""The reasons why a bead is not ready, or why an agent may not take it."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.queries import rank_of
from bd.policy.eligibility import Eligibility
from bd.policy.priority import tier_of
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.policy.readiness import Reason, Standing


class Why(NamedTuple):
    """A bead's standing, and all reasons: its own, and for a ready bead those that keep `agent` from it.

    `busy` is the reason why the agent gets nothing at all now.
    """

    bead: Bead
    agent: str | None
    ranking: Ranking
    standing: Standing
    reasons: tuple[Reason, ...]
    busy: Reason | None

    def as_json(self) -> dict[str, Any]:
        """Return the object that `bd why --json` prints."""
        is_ready = self.standing.phase == "ready"
        return {
            "id": self.bead.id,
            "bucket": self.standing.phase,
            "ready": is_ready,
            **({"fits": is_ready and not self.reasons} if self.agent else {}),
            "effective_priority": round(self.ranking.effective(self.bead), 3),
            "tier": tier_of(rank_of(self.bead.fields)),
            "priority_parts": {name: round(points, 3) for name, points in self.ranking.parts(self.bead).items()},
            "reasons": [{key: value for key, value in reason.as_dict().items() if value} for reason in self.reasons],
        }


def why(bead: Bead, snapshot: Snapshot, now: datetime, agent: str | None) -> Why:
    """Find the reasons for a bead, and for an agent if one is named."""
    ranking = Ranking(snapshot, now)
    standing = ranking.readiness.standing(bead)
    reasons = list(standing.reasons)
    busy = None
    if agent and standing.phase == "ready":
        answer = Eligibility(snapshot, agent, now)
        reasons += answer.reasons(bead)
        busy = answer.idle()
        reasons += [busy] if busy else []
    return Why(bead, agent, ranking, standing, tuple(reasons), busy)
