"""How long a writer waits after a lost race where nobody else can be asked: full jitter (docs/protocol.md).

After M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): a random part of a wait that doubles
with every try, up to a cap.
"""

from __future__ import annotations

BASE_S = 0.05
CAP_S = 2.0


def longest_s(tries: int) -> float:
    """The longest that who has tried so often waits, in seconds."""
    return min(CAP_S, BASE_S * 2.0 ** min(tries, 10))


def pause_s(tries: int, spread: float) -> float:
    """The pause before the next try, in seconds; `spread` is a random number from 0 to 1."""
    return spread * longest_s(tries)
