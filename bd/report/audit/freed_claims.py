"""The evidence that a freed claim had stalled, as far as commits can show it. Pure.

Heartbeats leave no commits: whoever frees a claim names its last sign, and the audit compares that with the claim and the dates.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.times import SKEW_S, duration_text, instant_of
from bd.policy import liveness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from bd.core.settings import Settings
    from bd.report.audit.bead_versions import Version
    from bd.report.commits import Commit


class Fleet(NamedTuple):
    """What the hub's files said where a commit was put: the settings, and whether an agent is a member of a pool."""

    settings: Settings
    is_member: Callable[[str], bool]


def unproved(before: Version, commit: Commit, fleet: Fleet) -> Iterator[str]:
    """Yield what a commit that frees stalled claims of a bead fails to show, in words."""
    stalls = commit.args.get("stalls")
    named = {str(one.get("token")): one for one in stalls if isinstance(one, dict)} if isinstance(stalls, list) else {}
    for claim in before.claims:
        stall = named.get(str(claim["token"]))
        words = _missing(before, claim, stall, commit, fleet) if stall else "the commit does not say how it had stalled"
        if words:
            yield f"the claim of {claim.get('agent')} was freed, and {words}"


def _missing(before: Version, claim: Mapping[str, Any], stall: Mapping[str, Any], commit: Commit, fleet: Fleet) -> str:
    since = liveness.last_commit_of(claim)
    if stall.get("attempt") != claim.get("attempt", 1):
        return f"the commit names attempt {stall.get('attempt')}, not {claim.get('attempt', 1)}"
    if stall.get("since") != since:
        return f"its last sign was at {since or 'no known time'}, and the commit names {stall.get('since')}"
    if stall.get("why") == "lost":
        return "" if fleet.is_member(str(claim.get("agent"))) else "only a member of a pool can be seen to be lost"
    expected_s = fleet.settings.expected_s(before.type, before.expected or None)
    limit_s = liveness.limit_for(str(stall.get("why")), claim, expected_s, fleet.settings)
    if limit_s is None or (stall.get("why") == "validating" and before.status != "validating"):
        return f"it can't have been {stall.get('why')}"
    silent_s = (instant_of(commit.committed_at) - instant_of(since)).total_seconds() if since else 0.0
    if silent_s < limit_s - min(SKEW_S, limit_s / 2):
        return f"by the dates it was silent for {duration_text(silent_s)}, where {duration_text(limit_s)} are allowed"
    return ""
