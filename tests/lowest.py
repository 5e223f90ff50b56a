"""The lowest versions of what bd depends on, as constraints for pip: `python -m tests.lowest > tests/lowest.txt`.

Belongs here: reading them from pyproject.toml. They are those of the package and of the extras that its users install.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "tests" / "lowest.txt"
EXTRAS = ("validate", "notify", "watch", "serve", "signing")
_HEAD = "# Made by `python -m tests.lowest > tests/lowest.txt` from the bounds in pyproject.toml.\n"


def lowest() -> str:
    """The constraints file that belongs to pyproject.toml. Raises ValueError for a dependency without a lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    return _HEAD + "".join(f"{line}\n" for line in sorted({_pinned(one) for one in wanted}, key=str.lower))


def _pinned(requirement: str) -> str:
    name, bound, version = requirement.partition(">=")
    if not bound or any(sign in version for sign in ",;<"):
        raise ValueError(f"{requirement!r} is not of the form name>=version")
    return f"{name.strip()}=={version.strip()}"


if __name__ == "__main__":
    sys.stdout.write(lowest())
