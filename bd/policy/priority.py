"""The order of work: one number a bead, lower first, then age, then id.

The same order serves ready, list, claim and `why`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.model import Bead

# The finer scale behind P0..P4 (docs/format.md): what each stands for, and the last value of its range.
BASE_OF_PRIORITY = (5, 20, 50, 70, 90)
_LAST_OF_PRIORITY = (9, 29, 59, 79, 100)


def base_priority(bead: Bead) -> float:
    """0-100, lower is more urgent: the bead's own, else what its P0..P4 stands for."""
    base = bead.get("base_priority")
    if base is not None:
        return float(base)
    return float(BASE_OF_PRIORITY[min(4, max(0, bead.priority))])


def priority_of_base(base: float) -> int:
    """The P0..P4 whose range holds this base priority."""
    return next((level for level, last in enumerate(_LAST_OF_PRIORITY) if base <= last), 4)


def effective_priority(bead: Bead) -> float:
    """The number the order compares."""
    return base_priority(bead)


def order_key(bead: Bead) -> tuple[float, str, str]:
    """Sorts beads into the order of work: effective priority, then the oldest, then the id."""
    # Without its Z an instant with a fraction sorts behind the same one without, as it should.
    return (effective_priority(bead), bead.created_at.rstrip("Z"), bead.id)
