"""Observing the fleet: heartbeats are listed first, then the branch is fetched, so that the branch is never the older one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import RemoteUnreachable, ServerRefused
from bd.policy import liveness
from bd.policy.liveness import Sight
from bd.store.heartbeat.objects import beat_age_s

if TYPE_CHECKING:
    from datetime import datetime

    from bd.core.settings import Settings
    from bd.policy.liveness import Stall
    from bd.store import CachedSnapshot, Clone

# A listing costs the remote something: this clone makes none more often than this by itself.
LOOK_EVERY_S = 10.0


class View(NamedTuple):
    """The result of one observation: the hub, the settings in force, and what was seen of each claim, by token.

    `at` is when it was made. An observation of the past has no heartbeats from side refs.
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
        """The stalled claims. Beads in progress without a claim are left to people."""
        return [stall for stall in self.stalls if stall.token]

    def rest_s(self) -> float | None:
        """Return after how many seconds the next claim, overdue by its stamp, would count as stalled; None if there is none."""
        rests = []
        for bead in self.snapshot.claimed():
            claim = bead.get("claim")
            if claim:
                silence = liveness.silence_of(bead, claim, self.sights.get(claim["token"], Sight()), self.at, self.settings)
                if silence.stamp_age_s > silence.limit_s >= silence.age_s:
                    rests.append(silence.limit_s - silence.age_s)
        return min(rests, default=None)


def look_if_possible(hub: Clone, *, fetch: bool = True) -> tuple[View, str]:
    """Observe the hub; if the remote is unreachable, use what this clone last knew, and return the reason."""
    try:
        return look(hub, fetch=fetch), ""
    except (RemoteUnreachable, ServerRefused) as error:
        return look(hub, fetch=False), error.message


def look(hub: Clone, *, fetch: bool = True) -> View:
    """Fetch heartbeats and the hub. Without `fetch`: use what this clone last knew.

    Raises RemoteUnreachable and ServerRefused; then nothing was observed, and no silence is counted.
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
