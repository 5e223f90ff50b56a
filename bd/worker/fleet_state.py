"""Looking at the fleet: one listing of the signs beside the branch, then the branch, so that it is never the older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import RemoteUnreachable
from bd.policy import liveness
from bd.policy.liveness import Sight
from bd.store.heartbeat.objects import beat_age_s

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.settings import Settings
    from bd.policy.liveness import Stall
    from bd.store import CachedSnapshot, Clone

# A look costs the remote a listing; this clone does not look more often than this on its own account.
LOOK_EVERY_S = 10.0


class View(NamedTuple):
    """What one look showed: the hub, the settings that hold, and the signs of each claim by token.

    `at` is when it was taken. At a look at the past nobody's signs beside the branch can be seen any more.
    """

    snapshot: CachedSnapshot
    settings: Settings
    sights: dict[str, Sight]
    at: datetime

    @property
    def stalls(self) -> list[Stall]:
        return liveness.stalls(self.snapshot, self.sights, self.at, self.settings)

    @property
    def abandoned(self) -> list[Stall]:
        """The stalled claims. What is in work under nobody's claim is not among them: that is left to people."""
        return [stall for stall in self.stalls if stall.token]

    def rest_s(self) -> float | None:
        """How long until a claim that is overdue by its stamp would be stalled by looks too; None when there is none."""
        rests = []
        for bead in self.snapshot.claimed():
            claim = bead.get("claim")
            if claim:
                silence = liveness.silence_of(bead, claim, self.sights.get(claim["token"], Sight()), self.at, self.settings)
                if silence.stamp_age_s > silence.limit_s >= silence.age_s:
                    rests.append(silence.limit_s - silence.age_s)
        return min(rests, default=None)


def look_if_possible(hub: Clone, *, fetch: bool = True) -> tuple[View, str]:
    """The same; where the remote is away: what this clone last knew, and why it is only that."""
    try:
        return look(hub, fetch=fetch), ""
    except RemoteUnreachable as error:
        return look(hub, fetch=False), error.message


def look(hub: Clone, *, fetch: bool = True) -> View:
    """Look at the hub and at the signs of life. Without `fetch`: at what this clone last knew.

    Raises RemoteUnreachable; then nothing was seen, and nothing is held against anybody.
    """
    beats = hub.listen() if fetch else {}
    if fetch:
        hub.fetch()
    snapshot = hub.snapshot()
    now = hub.runtime.now()
    claims = {bead.get("claim")["token"]: bead.get("claim") for bead in snapshot.claimed() if bead.get("claim")}
    signs = {token: liveness.sign_of(claim, beats.get(token)) for token, claim in claims.items()}
    same_s = hub.observe(signs) if fetch else {}
    sights: dict[str, Sight] = {}
    for token, claim in claims.items():
        beat = beats.get(token)
        age_s = beat_age_s(beat, now, float(claim.get("heartbeat_interval_s") or 30)) if beat else None
        sights[token] = Sight(beat, age_s, same_s.get(token, 0.0))
    return View(snapshot, hub.settings(snapshot), sights, now)
