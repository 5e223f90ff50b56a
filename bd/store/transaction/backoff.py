"""The wait after a lost race when no other clone can be asked: exponential backoff with full jitter (docs/protocol.md).

After M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): a random part of a wait that doubles with every
try, up to a cap.
"""

from __future__ import annotations

from bd.core.backoff import grown_s

BASE_S = 0.05
CAP_S = 2.0


def longest_s(tries: int) -> float:
    """Return the upper limit of the wait after this many tries, in seconds."""
    return grown_s(BASE_S, tries, CAP_S)
