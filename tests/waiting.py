"""Waiting for what another process does: as long as that takes on a busy machine. Only a hang ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 240.0


def until(holds: Callable[[], object], every_s: float = 0.05) -> None:
    """Look again and again, and go on as soon as it is so."""
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, "it never came to be"
        time.sleep(every_s)
