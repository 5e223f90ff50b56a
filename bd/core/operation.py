"""What the store may know of an operation, and what an operation may know when it decides.

An operation is a frozen value. Whatever makes it another one returns another one.
"""

from __future__ import annotations

from bd.core.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from bd.core.settings import Settings


class DecisionContext(NamedTuple):
    """What a decision may know besides the snapshot.

    `heartbeats` are the refs of the claims that send heartbeats, by token, listed before the branch was fetched; None
    where the operation does not ask for them (`needs_heartbeats`) or the remote has no such refs. `is_request`: decided
    for another clone, whose process may be gone by now. `takes_side_refs`: what is decided may rely on side refs.
    """

    now: datetime
    settings: Settings
    heartbeats: Mapping[str, str] | None = None
    is_request: bool = False
    takes_side_refs: bool = True
