"""Observing the fleet: heartbeats are listed first, then the branch is fetched, so that the branch is never the older one.

An observer has a name, `by`: its own commits do not confirm its clock.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import RemoteUnreachable, ServerRefused
from bd.core.times import instant_of
from bd.policy import clocks, liveness
from bd.policy.clocks import Clocks, Stamp
from bd.policy.liveness import Sight
from bd.report.stamps import commit_stamps
from bd.store.heartbeat.objects import beat_age_s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead
    from bd.core.settings import Settings
    from bd.policy.liveness import Silence, Stall
    from bd.store import CachedSnapshot, Clone

# A listing costs the remote something: this clone makes none more often than this by itself.
LOOK_EVERY_S = 10.0


# The consequence if this machine's clock is not confirmed.
ALONE = "claims are judged only by what this clone has seen itself"


class View(NamedTuple):
    """The result of one observation: the hub, the settings in force, and what was seen of each claim, by token.

    `at` is when it was made. An observation of the past has no heartbeats from side refs. `clock_words` says why this machine's
    clock is not trusted, if that makes a difference; the hub's `on_note` has been told.
    """

    snapshot: CachedSnapshot
    settings: Settings
    sights: dict[str, Sight]
    at: datetime
    clock_words: str = ""

    @property
    def stalls(self) -> list[Stall]:
        return liveness.stalls(self.snapshot, self.sights, self.at, self.settings)

    @property
    def abandoned(self) -> list[Stall]:
        """The stalled claims. Beads in progress without a claim are left to people."""
        return [stall for stall in self.stalls if stall.token]

    def silences(self) -> Iterator[tuple[Bead, Silence]]:
        """Yield each bead with an exclusive claim, and for how long that has been silent."""
        for bead in self.snapshot.claimed():
            claim = bead.get("claim")
            if claim:
                sight = self.sights.get(claim["token"], liveness.STAMPS_ALONE)
                yield bead, liveness.silence_of(bead, claim, sight, self.at, self.settings)

    def watched(self) -> list[tuple[Bead, Silence]]:
        """Return the claims that are overdue by their stamps, but not yet by this clone's own observations."""
        return [(bead, silence) for bead, silence in self.silences() if silence.rest_s is not None]

    def rest_s(self) -> float | None:
        """Return after how many seconds the next claim, overdue by its stamp, would count as stalled; None if there is none."""
        return min((silence.rest_s for _, silence in self.watched() if silence.rest_s is not None), default=None)


def look_if_possible(hub: Clone, by: str, *, fetch: bool = True) -> tuple[View, str]:
    """Observe the hub; if the remote is unreachable, use what this clone last knew, and return the reason."""
    try:
        return look(hub, by, fetch=fetch), ""
    except (RemoteUnreachable, ServerRefused) as error:
        return look(hub, by, fetch=False), error.message


def look(hub: Clone, by: str, *, fetch: bool = True) -> View:
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
    same_s = hub.observe(signs) if fetch and not hub.lags else {}  # what a copy shows that is behind was not seen now
    sights: dict[str, Sight] = {}
    for token, claim in claims.items():
        beat = beats.get(token)
        age_s = beat_age_s(beat, now, float(claim.get("heartbeat_interval_s") or 30)) if beat else None
        sights[token] = Sight(beat, age_s, same_s.get(token, 0.0))
    seen = View(snapshot, hub.settings(snapshot), sights, now)
    if not seen.watched() and not any(liveness.is_ahead(liveness.last_commit_of(claim), now) for claim in claims.values()):
        return seen  # the stamps add nothing to the observations
    found = _clocks(hub, by.split(":", 1)[-1], seen, claims)
    words = found.words()
    if words and hub.on_note:
        hub.on_note(f"warning: {words}; {ALONE}")
    trusted = {token: sight.replace(trusts_stamps=_may_trust(claims[token], found)) for token, sight in sights.items()}
    return seen._replace(sights=trusted, clock_words=words)


def _may_trust(claim: Mapping[str, Any], found: Clocks) -> bool:
    """Return whether a claim's stamps count: a holder that sends heartbeats on the branch is judged by observing these alone."""
    return claim.get("heartbeat_by") != "branch" and found.trusts(str(claim.get("agent", "")))


def _clocks(hub: Clone, me: str, seen: View, claims: Mapping[str, Mapping[str, Any]]) -> Clocks:
    """Judge the clocks by the stamps of others."""
    if not hub.remote_name:  # all of them are this machine's own
        return Clocks(seen.at, is_confirmed=True)
    stamps = list(commit_stamps(hub.repo, seen.snapshot.commit))
    for token, sight in seen.sights.items():
        if sight.beat_age_s is not None:
            stamps.append(Stamp(str(claims[token].get("agent", "")), seen.at - timedelta(seconds=sight.beat_age_s)))
    for name, record in seen.snapshot.heard.items():
        if record.get("last_heartbeat"):
            stamps.append(Stamp(name, instant_of(record["last_heartbeat"])))
    return clocks.judged(stamps, me, seen.at)
