"""An agent's pacing, kept in this clone between cron runs, and the cheap peek at the hub that ends a wait early."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.core.json_shapes import MAYBE_NUMBER, MAYBE_TEXT
from bd.core.times import duration_s
from bd.policy.pacing import PEEK_FAR_S, PEEK_NEAR_S, Pace, after_none, pace_of, peek_pause_s
from bd.policy.roles import interval_of
from bd.worker.heartbeats import branch_tip, is_near

if TYPE_CHECKING:
    from typing import Any

    from bd.core.model import Snapshot
    from bd.policy.eligibility import Eligibility
    from bd.store import Clone


class Pacer:
    """One agent's pace in one clone. If its note is lost, the agent just looks immediately."""

    def __init__(self, hub: Clone, agent: str, snapshot: Snapshot, interval_s: float | None = None) -> None:
        self._name = f"pacing/{agent}.json"
        fields = snapshot.agent(agent) or {}
        self.base_s = interval_s if interval_s is not None else interval_of(fields)
        self.cool_down_s = duration_s(str(fields.get("cool_down") or "0s"))
        kept = hub.noted_json(
            self._name, {"tip": MAYBE_TEXT, "empty_cycles": MAYBE_NUMBER, "next_poll_at": MAYBE_TEXT, "idle_since": MAYBE_TEXT}
        )
        self.tip: str = (kept or {}).get("tip") or ""
        self.pace: Pace = pace_of(kept, self.base_s)

    def is_due(self, hub: Clone) -> bool:
        """Return whether it is time to look: by the clock, or because the hub has moved. Raises RemoteUnreachable."""
        return self.pace.is_due(hub.runtime.now()) or self.is_woken(hub)

    def is_woken(self, hub: Clone) -> bool:
        """Return whether the hub's branch has moved since the last poll: one cheap request, nothing fetched."""
        tip = branch_tip(hub)
        return bool(tip) and tip != self.tip

    def rest(self, hub: Clone) -> None:
        """Let the agent rest between two beads."""
        self.pace = self.pace.found_work(hub.runtime.now(), self.cool_down_s)

    def found_work(self, hub: Clone, *, tip: str) -> None:
        """Record that a poll of this tip found work."""
        self._note(hub, self.pace.found_work(hub.runtime.now()), tip)

    def found_none(self, hub: Clone, tip: str, answer: Eligibility) -> None:
        """Record that a poll of this tip found no work, or that the agent could not have taken any."""
        self._note(hub, after_none(self.pace, answer, hub.runtime.now(), hub.runtime.random()), tip)

    def _note(self, hub: Clone, pace: Pace, tip: str) -> None:
        self.pace, self.tip = pace, tip
        self.keep(hub)

    def keep(self, hub: Clone) -> None:
        hub.note_json(self._name, {**self.pace.as_json(), "tip": self.tip})

    def as_json(self) -> dict[str, Any]:
        """Return the pacing keys of an agent's record."""
        pace = self.pace
        return {
            "interval_s": pace.interval_s,
            "empty_cycles": pace.empty_cycles or None,
            "next_poll_at": pace.next_poll_at,
            "idle": pace.idle_since is not None,
            "idle_since": pace.idle_since,
        }


class Peeking:
    """Peeks at one ref until the hub moves: often if that costs nothing, else less and less often."""

    def __init__(self, hub: Clone, interval_s: float) -> None:
        self._first_s = PEEK_NEAR_S if is_near(hub) else PEEK_FAR_S
        self._longest_s = interval_s
        self._runtime = hub.runtime
        self._peeks = 0

    def next_s(self) -> float:
        """Return the seconds until the next peek."""
        self._peeks += 1
        return peek_pause_s(self._first_s, self._peeks - 1, self._longest_s, self._runtime.random())


def tip_or_none(hub: Clone) -> str | None:
    """Return the branch's tip; None if the remote can't be asked now."""
    try:
        return branch_tip(hub)
    except BdError:
        return None
