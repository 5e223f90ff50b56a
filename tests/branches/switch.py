"""What each wrapped condition passes through: at most one of them is negated, and who comes by is noted."""

from __future__ import annotations

import os
from typing import Any

# pytest's prefix: such variables come through to the processes that tests start.
NEGATED, SEEN = "PYTEST_BRANCH_NEGATED", "PYTEST_BRANCH_SEEN"
_negated, _file = os.environ.get(NEGATED), os.environ.get(SEEN)
_known: set[tuple[str, str]] = set()


def check(key: str, value: Any) -> Any:
    """The value of a condition; turned around if it is the one."""
    if _file:
        _note(key, os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
    return not value if key == _negated else value


def negate(key: str) -> None:
    """Turn this condition around from now on, here and in processes that are started; the empty text for none."""
    global _negated
    _negated = os.environ[NEGATED] = key


def _note(key: str, test: str) -> None:
    if (key, test) in _known or not test:
        return
    _known.add((key, test))
    with open(str(_file), "ab", buffering=0) as file:
        file.write(f"{key}\t{test}\n".encode())
