"""How long who has failed so often waits: a time that grows by a factor with every failure, up to a longest one."""

from __future__ import annotations

# By then every wait has reached its longest; and no number of failures makes a number that is too large.
_MOST = 64


def grown_s(first_s: float, failures: int, longest_s: float, *, factor: float = 2.0) -> float:
    """The wait in seconds: `first_s` after no failures, `factor` times as much after each, `longest_s` at most."""
    return min(longest_s, first_s * factor ** min(max(failures, 0), _MOST))
