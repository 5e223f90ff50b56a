"""The fields of a bead that only trusted signers may change, in a hub that requires signatures. Pure.

All fields except the bead's text and its urgency: a field added to the format is guarded until it is listed here. authority.py
says who is trusted.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.schema import BEAD_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The text, and the order of work: anybody may change these at any time.
UNSIGNED_FIELDS = frozenset(
    """
    id title type priority base_priority priority_boost_per_minute deadline temperature heated_at labels description design
    acceptance_criteria notes comments progress metadata external_ref estimated_minutes updated_at
    """.split()
)
# The terms: anybody may set these when creating a bead, but only trusted signers may change them later.
TERMS = frozenset(
    """
    uid created_at created_by needs expected prefer_agent prefer_until exclusive repo spec depends_on parent links claim_mode
    max_attempts retry budget_ceiling_usd defer_until idempotency_key
    """.split()
)
SIGNED_FIELDS = tuple(key for key in BEAD_FIELDS if key not in UNSIGNED_FIELDS)


def state_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarded fields of a bead."""
    return {key: fields[key] for key in SIGNED_FIELDS if fields.get(key) is not None}


def newborn(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what counts of a bead that an untrusted author created: its terms and its assignee, open and unclaimed."""
    routed = {"assignee": state["assignee"]} if state.get("assignee") and not state.get("claim") else {}
    return {"status": "open", **routed, **{key: value for key, value in state.items() if key in TERMS}}


def claims_of(state: Any) -> list[Mapping[str, Any]]:
    """Return the claims of a bead, exclusive or not; empty if the state is not a bead's."""
    claims = (state.get("claim"), *(state.get("claims") or ())) if isinstance(state, dict) else ()
    return [claim for claim in claims if isinstance(claim, dict)]


def is_for_another(before: Any, after: Any, signer: str) -> bool:
    """Return whether a claim begins here that is not its signer's."""
    old = {claim.get("token") for claim in claims_of(before)}
    return any(claim.get("token") not in old and claim.get("agent") != signer for claim in claims_of(after))
