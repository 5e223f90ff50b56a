"""Rests of accounts: nobody works on an account while its provider is away or refuses it, and then one agent tries one bead.

A rest is the key `rest` of the capacity file of an agent that was refused, and concerns every agent of the same account. An
agent may rest under three names: its account, its installation (the kind of agent, on a host, of a user), and itself.
failure_kinds.py says after which failures what rests; operations/account_rests.py begins and ends rests.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property

from bd import TYPE_CHECKING
from bd.core.pools import template_of
from bd.core.schema import CAPACITY_DIR, capacity_path
from bd.core.times import age_text, instant_of, time_text
from bd.core.value import Value
from bd.policy import failure_kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot

# The shortest rest, and the longest: each is about twice as long as the one before, as it grows by how long the outage lasts.
SHORTEST_S, LONGEST_S = 60.0, 1800.0
# The same where somebody has to do something first: a trial costs little, and nobody may have told bd that it was done.
SHORTEST_BY_HAND_S, LONGEST_BY_HAND_S = 3600.0, 86400.0
# A time that a provider states is believed up to this.
LONGEST_STATED_S = 7 * 86400.0
# A rest that ended so long ago, with nobody trying since, is over.
FORGOTTEN_S = 7200.0
# A claim may be made a little before the rest ends by its maker's clock.
_EARLY_S = 30.0
CODE = "resting"


class Rest(Value):
    """A rest: of which account, after which kind of failure, since when without a success, and until when (texts of times)."""

    account: str
    reason: str
    since: str
    until: str

    @property
    def needs_person(self) -> bool:
        """True if it usually takes a person to end the cause."""
        return failure_kinds.of(self.reason).needs_person

    def as_json(self) -> dict[str, str]:
        return {"until": self.until, "reason": self.reason, "account": self.account, "since": self.since}


class Hold(Value):
    """Why an agent takes no work: the rest, when to ask again, and the bead with which its account is being tried, if any."""

    rest: Rest
    wait_s: float
    trial: str = ""

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        rest = self.rest
        if self.trial:
            return f"the account {rest.account} is tried with {self.trial} first, after {rest.reason}"
        return f"the account {rest.account} rests for {age_text(self.wait_s)} after {rest.reason}"


# --- names ------------------------------------------------------------------------------------


def own_name(agent: str, snapshot: Snapshot) -> str:
    """Return the name under which an agent rests alone; members of a pool rest together."""
    return f"agent:{template_of(agent, snapshot) or agent}"


def _installation(agent: str, snapshot: Snapshot, given: str = "") -> str:
    """Return where the agent was started last (or is about to: `given`); "" if no worker has said so."""
    return given or str((snapshot.record(capacity_path(agent)) or {}).get("account") or "")


def _account(agent: str, snapshot: Snapshot) -> str:
    return str((snapshot.agent(agent) or {}).get("account") or "")


def names_of(agent: str, snapshot: Snapshot, given: str = "") -> tuple[str, ...]:
    """Return the names under which an agent rests: account, installation, itself. `given` is the installation if it is known."""
    names = (_account(agent, snapshot), _installation(agent, snapshot, given), own_name(agent, snapshot))
    return tuple(name for name in names if name)


def name_for(kind: str, agent: str, snapshot: Snapshot) -> str:
    """Return which of its names rests after a failure of this kind of an agent.

    Without an account in the agent's file, its installation stands for it. That is a guess: a refused key may be this agent's
    alone, so after `auth_failure` only a stated account rests as a whole. What is broken on this host is not broken on others.
    """
    stated, installation, alone = _account(agent, snapshot), _installation(agent, snapshot), own_name(agent, snapshot)
    by_scope = {"login": (stated,), "installation": (installation,)}
    names = by_scope.get(failure_kinds.of(kind).rests, (stated, installation))
    return next((name for name in names if name), alone)


# --- reading ----------------------------------------------------------------------------------


def recorded(records: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Rest]]:
    """Return the rests in these capacity files, each with its agent; what can't be read is no rest."""
    found = []
    for agent, record in records.items():
        said = record.get("rest")
        if isinstance(said, dict) and said.get("account") and said.get("until"):
            since = str(said.get("since") or said["until"])
            found.append((agent, Rest(str(said["account"]), str(said.get("reason") or "other"), since, str(said["until"]))))
    return found


class Rests:
    """The rests at one commit and one instant: made for a decision, then asked about many agents.

    `given` is the installation that an agent is about to work with, if it is known.
    """

    def __init__(self, snapshot: Snapshot, now: datetime) -> None:
        self._snapshot, self._now = snapshot, now
        self._holds: dict[str, Hold | None] = {}

    @cached_property
    def by_account(self) -> dict[str, Rest]:
        """The rests that count now: those that last, and those whose account still has to be tried."""
        found: dict[str, Rest] = {}
        for _, rest in recorded(self._snapshot.records(CAPACITY_DIR)):
            if not _is_forgotten(rest, self._now):
                before = found.get(rest.account)
                found[rest.account] = rest if before is None else _joined(before, rest)
        return found

    def hold_of(self, agent: str, given: str = "") -> Hold | None:
        """Return why the agent's account gives it no work now; None if it may claim."""
        holds = [hold for rest in self._of(agent, given) if (hold := self._hold(rest)) is not None]
        return max(holds, key=lambda hold: hold.wait_s, default=None)

    def is_on_trial(self, agent: str, given: str = "") -> bool:
        """Return whether a rest of the agent's is over but no success has followed yet: then one bead is enough."""
        return bool(self._of(agent, given))

    def _of(self, agent: str, given: str) -> list[Rest]:
        names = names_of(agent, self._snapshot, given) if self.by_account else ()
        return [self.by_account[name] for name in dict.fromkeys(names) if name in self.by_account]

    def _hold(self, rest: Rest) -> Hold | None:
        if rest.account not in self._holds:
            self._holds[rest.account] = _hold(rest, self._snapshot, self._now)
        return self._holds[rest.account]


def _joined(one: Rest, other: Rest) -> Rest:
    later = max(one, other, key=lambda rest: rest.until)
    return later.replace(since=min(one.since, other.since))


def _is_forgotten(rest: Rest, now: datetime) -> bool:
    return not rest.needs_person and (now - instant_of(rest.until)).total_seconds() > FORGOTTEN_S


def _hold(rest: Rest, snapshot: Snapshot, now: datetime) -> Hold | None:
    wait_s = (instant_of(rest.until) - now).total_seconds()
    if wait_s > 0:
        return Hold(rest, wait_s)
    trials = ((instant_of(at), bead_id) for at, bead_id in _claims_on(rest.account, snapshot))
    begun = instant_of(rest.until) - timedelta(seconds=_EARLY_S)
    # Work that has gone on for so long shows nothing, but it is no reason either to let everybody else wait for its end.
    trying = [(at, bead_id) for at, bead_id in trials if at >= begun and (now - at).total_seconds() < LONGEST_S]
    if not trying:
        return None
    at, bead_id = max(trying)
    return Hold(rest, max(SHORTEST_S, LONGEST_S - (now - at).total_seconds()), bead_id)


def _claims_on(account: str, snapshot: Snapshot) -> Iterable[tuple[str, str]]:
    """Yield when each live claim of an agent of the account was made, and on which bead."""
    for bead in snapshot.claimed():
        for claim in bead.claims:
            at = claim.get("claimed_at") or bead.get("claimed_at")
            if at and account in names_of(str(claim.get("agent") or ""), snapshot):
                yield at, bead.id


# --- beginning and ending ---------------------------------------------------------------------


def next_rest(account: str, kind: str, before: Rest | None, at: datetime, resets_at: datetime | None = None) -> Rest:
    """Return the rest after one more failure of this kind; `before` is the account's current one, `resets_at` a stated end.

    The end of a rest that lasts longer stays: a failure of an attempt that began before it says nothing new.
    """
    since = at if before is None else min(at, instant_of(before.since))
    if resets_at is not None:
        rest_s = min(max(SHORTEST_S, (resets_at - at).total_seconds()), LONGEST_STATED_S)
    else:
        by_hand = failure_kinds.of(kind).needs_person
        least, most = (SHORTEST_BY_HAND_S, LONGEST_BY_HAND_S) if by_hand else (SHORTEST_S, LONGEST_S)
        rest_s = min(least + (at - since).total_seconds(), most)
    found = Rest(account, kind, time_text(since), time_text(at + timedelta(seconds=rest_s)))
    return found if before is None or before.until < found.until else before.replace(since=found.since)
