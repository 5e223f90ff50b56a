"""How long a writer waits after a lost race where nobody else can be asked: full jitter (docs/protocol.md).

After M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): a random part of a wait that doubles
with every try, up to a cap.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random

BASE_S = 0.05
CAP_S = 2.0


def longest_s(tries: int) -> float:
    """The longest that who has tried so often waits, in seconds."""
    return min(CAP_S, BASE_S * 2.0 ** min(tries, 10))


def pause_s(tries: int, rng: random.Random | None = None) -> float:
    """The pause before the next try, in seconds."""
    from random import Random  # noqa: PLC0415  few need it, and it takes long to import

    return (rng or Random()).uniform(0, longest_s(tries))
