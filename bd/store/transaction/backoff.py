"""How long a writer waits after a lost race where nobody else can be asked: full jitter (docs/protocol.md).

After M. Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015): a random part of a wait that doubles
with every try, up to a cap.
"""

from __future__ import annotations

from bd.core.backoff import grown_s

BASE_S = 0.05
CAP_S = 2.0


def longest_s(tries: int) -> float:
    """The longest that who has tried so often waits, in seconds."""
    return grown_s(BASE_S, tries, CAP_S)
