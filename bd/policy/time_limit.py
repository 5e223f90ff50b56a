"""How long an attempt may take: what its bead says, what was typed, else the default of its type. Pure."""

from __future__ import annotations

from typing import Any

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.times import duration_s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.core.model import Bead

# A coding agent that runs in circles does not end by itself.
OF_AGENTS_S = 7200.0


def limit_s(bead: Bead, typed_s: float | None, defaults: Mapping[str, Any], *, is_known_agent: bool) -> float | None:
    """Return the limit in seconds; None for no limit. Of the bead's own limit and the typed one, the shorter counts."""
    own = _seconds((bead.get("spec") or {}).get("max_duration"))
    given = [seconds for seconds in (own, typed_s) if seconds]
    if given:
        return min(given)
    return _seconds(defaults.get(bead.type)) or (OF_AGENTS_S if is_known_agent else None)


def _seconds(text: Any) -> float | None:
    if text in (None, ""):
        return None
    try:
        return duration_s(str(text)) or None
    except BadInput:
        return None
