"""Exponential backoff: waits that grow by a factor with every failure, up to a limit."""

from __future__ import annotations

# By then every wait has reached its limit; larger exponents could overflow.
_MOST = 64


def grown_s(first_s: float, failures: int, longest_s: float, *, factor: float = 2.0) -> float:
    """Return the wait in seconds: `first_s` after no failures, `factor` times as much after each one, at most `longest_s`."""
    return min(longest_s, first_s * factor ** min(max(failures, 0), _MOST))
