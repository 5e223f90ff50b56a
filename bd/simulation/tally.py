"""What a run counts: the pushes and reads of its clones, and what became of its beads."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.simulation.jobs import KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Happened(NamedTuple):
    """One thing that happened to a bead, as the hub shows it."""

    at_s: float
    what: str
    agent: str = ""


class Sample(NamedTuple):
    """How it stands at one time; the pushes are those since the sample before."""

    at_s: float
    waiting: int
    working: int
    pushes_per_minute: float


class Tally:
    """`pushes` move the branch, or try to; `asks` move requests, and `signs` the refs of heartbeats and records.

    `own_pushes` are those that claims and closes needed, asks among them; the others made beads. `reads` are fetches and listings.
    `by_minute` has every push. Waits are from when the hub had a bead ready until it had the claim.
    """

    def __init__(self, minutes: int) -> None:
        self.arrived = self.claims = self.closes = self.failures = self.freed = self.given_up = 0
        self.pushes = self.lost = self.asks = self.signs = self.own_pushes = 0
        self.looks = self.empty_looks = self.reads = 0
        self.last_close_s = 0.0
        self.spent_usd = self._worked_s = 0.0
        self._working: dict[str, float] = {}
        self.waits_s: list[float] = []
        self.stalls_s: list[float] = []
        self.idles_s: list[float] = []  # from when an agent found nothing until it had work again
        self.samples: list[Sample] = []
        self._pushed = 0
        self._members: dict[str, list[tuple[float, int]]] = {}
        self.by_minute = [0] * minutes
        self.histories: dict[str, list[Happened]] = {}
        self.waits_by: dict[str, list[float]] = {}
        self._made_by: dict[str, int] = {}
        self.ready_at_s: dict[str, float] = {}
        self.died_at_s: dict[str, float] = {}  # the claims whose holders have died, and that nobody has freed yet
        self._waiting_s = 0.0

    # --- pushes ---

    def count_push(self, at_s: float, *, to_branch: bool, makes_beads: bool) -> None:
        """Count a push: for the branch, or for a request next to it."""
        self.pushes += to_branch
        self.asks += not to_branch
        self.own_pushes += not makes_beads
        self._count_at(at_s)

    def count_sign(self, at_s: float) -> None:
        """Count a heartbeat."""
        self.signs += 1
        self._count_at(at_s)

    def _count_at(self, at_s: float) -> None:
        minute = int(at_s // 60)
        if minute < len(self.by_minute):
            self.by_minute[minute] += 1

    def sample(self, at_s: float, since_s: float) -> None:
        """Note how it stands."""
        pushed = self.pushes + self.asks + self.signs
        waiting = sum(ready_s <= at_s for ready_s in self.ready_at_s.values())
        self.samples.append(Sample(at_s, waiting, len(self._working), 60 * (pushed - self._pushed) / since_s))
        self._pushed = pushed

    # --- work ---

    def begin_work(self, token: str, at_s: float) -> None:
        """An agent begins to work under a claim."""
        self._working[token] = at_s

    def end_work(self, token: str, at_s: float) -> None:
        """It has worked, and will close or fail, or is dead."""
        self._worked_s += at_s - self._working.pop(token, at_s)

    def work_seconds(self, now_s: float) -> float:
        """Return for how long agents have worked in all, on what they still work on, too."""
        return self._worked_s + sum(now_s - began_s for began_s in self._working.values())

    def count_members(self, pool: str, number: int, at_s: float) -> None:
        """A pool has so many members from now on."""
        self._members.setdefault(pool, []).append((at_s, number))

    def members(self, pool: str, now_s: float) -> float:
        """Return how many members a pool had on average."""
        sizes = [*self._members.get(pool, []), (now_s, 0)]
        return sum(number * (after_s - at_s) for (at_s, number), (after_s, _) in pairwise(sizes)) / max(now_s, 1.0)

    # --- beads ---

    @property
    def waiting(self) -> int:
        """How many beads are ready and nobody's, or will be after their pause."""
        return len(self.ready_at_s)

    def made_of(self, kinds: Iterable[str]) -> int:
        """Return how many beads of these kinds of work were made."""
        return sum(self._made_by.get(kind, 0) for kind in kinds)

    def bead_seconds(self, now_s: float) -> float:
        """Return for how long beads have waited in all, including those that still wait."""
        return self._waiting_s + sum(max(0.0, now_s - ready_s) for ready_s in self.ready_at_s.values())

    def seen(self, at_s: float, bead_id: str, old: Mapping[str, Any] | None, new: Mapping[str, Any], retry_s: float) -> None:
        """Count what a push changed of one bead. `retry_s`: when it may be tried again, on this clock."""
        told = self.histories.setdefault(bead_id, [])
        was, claim = (old or {}).get("claim"), new.get("claim")
        status = new.get("status", "open")
        if old is None:
            self.arrived += 1
            kind = str((new.get("metadata") or {}).get(KIND, ""))
            self._made_by[kind] = self._made_by.get(kind, 0) + 1
            told.append(Happened(at_s, "made", str(new.get("created_by", "")).split(":", 1)[-1]))
        if was and (not claim or claim.get("token") != was.get("token")):
            told.append(Happened(at_s, self._ended(at_s, was, new), str(was.get("agent", ""))))
        if status == "closed" and (old or {}).get("status") != "closed":
            self.closes += 1
            self.last_close_s = at_s
        if status == "dead_letter" and (old or {}).get("status") != "dead_letter":
            self.given_up += 1
            told.append(Happened(at_s, "given up"))
        if claim and (not was or claim.get("token") != was.get("token")):
            self._claimed(at_s, bead_id, new)
            told.append(Happened(at_s, f"claimed, attempt {claim.get('attempt', 1)}", str(claim.get("agent", ""))))
        elif not claim and status in ("open", "deferred"):
            if bead_id not in self.ready_at_s:
                self.ready_at_s[bead_id] = max(at_s, retry_s)
            if old is not None and new.get("assignee") and new.get("assignee") != old.get("assignee"):
                told.append(Happened(at_s, "assigned", str(new["assignee"])))
        else:
            self.ready_at_s.pop(bead_id, None)

    def _claimed(self, at_s: float, bead_id: str, new: Mapping[str, Any]) -> None:
        self.claims += 1
        wait_s = max(0.0, at_s - self.ready_at_s.pop(bead_id, at_s))
        self._waiting_s += wait_s
        self.waits_s.append(wait_s)
        kind = str((new.get("metadata") or {}).get(KIND, ""))
        self.waits_by.setdefault(kind, []).append(wait_s)

    def _ended(self, at_s: float, claim: Mapping[str, Any], new: Mapping[str, Any]) -> str:
        if new.get("status") == "closed":
            return "closed"
        died_s = self.died_at_s.pop(str(claim.get("token", "")), None)
        if died_s is not None:
            self.freed += 1
            self.stalls_s.append(at_s - died_s)
            return "freed: it had stalled"
        self.failures += 1
        return "failed"
