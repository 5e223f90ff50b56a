"""Kinds of failures: whose each one is, whether it uses an attempt of the bead, and who rests after it, until when.

One table for everybody who asks: retries, capacity, rests, the friction report, results of commands.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from typing import Literal

    Whose = Literal["bead", "worker", "agent", "provider"]
    Rests = Literal["nobody", "account", "login", "installation"]
    Until = Literal["", "the provider is back", "a person has looked"]

_BACK: Until = "the provider is back"
_LOOKED: Until = "a person has looked"


class FailureKind(Value):
    """One kind. `whose` fault it is; `uses_attempt` of the bead; what `rests` after it (account_rest.py), and until what.

    `is_final`: no retry fixes it, unless the bead's `retry_on` names it. `counts_for_agent`: it makes an agent overloaded.
    """

    whose: Whose = "bead"
    uses_attempt: bool = True
    rests: Rests = "nobody"
    until: Until = ""
    is_final: bool = False
    counts_for_agent: bool = True

    @property
    def needs_person(self) -> bool:
        """True if it usually takes a person to end the cause."""
        return self.until == _LOOKED


TABLE: dict[str, FailureKind] = {
    "timeout": FailureKind(),
    "crash": FailureKind(),
    "rate_limit": FailureKind("provider", False, "account", _BACK, counts_for_agent=False),
    "invalid_output": FailureKind(),
    "stalled": FailureKind(),
    # The worker was taken away: that says nothing about the bead.
    "lost": FailureKind("worker", counts_for_agent=False),
    "auth_failure": FailureKind("agent", False, "login", _LOOKED, counts_for_agent=False),
    "budget_exceeded": FailureKind(is_final=True),
    "cancelled": FailureKind(is_final=True, counts_for_agent=False),
    "other": FailureKind(),
    "overloaded": FailureKind("provider", False, "account", _BACK, counts_for_agent=False),
    "provider_error": FailureKind("provider", False, "account", _BACK, counts_for_agent=False),
    "quota": FailureKind("provider", False, "account", _LOOKED, counts_for_agent=False),
    # It broke before its first output.
    "agent_crash": FailureKind("agent", False, "installation", _BACK, counts_for_agent=False),
    "bad_output": FailureKind(),
    "denied": FailureKind(),
    "no_change": FailureKind(),
    "conflict": FailureKind(),
    "turn_limit": FailureKind(),
}
KINDS = tuple(TABLE)
LOST = "lost"
# What ends the attempts at once, unless a bead or the hub says otherwise.
NO_RETRY_ON = frozenset(kind for kind, row in TABLE.items() if row.is_final)
# Failures that say nothing about the bead: they never reach the rules of retries.
NOT_OF_THE_BEAD = frozenset(kind for kind, row in TABLE.items() if not row.uses_attempt)


def of(kind: str) -> FailureKind:
    """Return the row of a kind; of one that only another version of bd knows, the row of a bead's own failure."""
    return TABLE.get(kind, TABLE["other"])
