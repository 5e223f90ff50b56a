"""Whether a tag may be released: `python -m tests.release v1.2.3` prints the section of its changes, or says why not.

Belongs here: what has to agree with the tag. Does not belong here: building and publishing (.github/workflows/release.yml).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import bd

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def section(version: str, changelog: str) -> str:
    """What the changelog says of a version; empty when it says nothing."""
    found = re.search(rf"^## \[{re.escape(version)}\].*?$(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def problems(tag: str, changelog: str) -> list[str]:
    """Why the tag may not be released, each as a sentence."""
    found = []
    if tag != f"v{bd.__version__}":
        found.append(f"the tag {tag} is not v{bd.__version__}, the version in bd/__init__.py")
    if not section(tag.removeprefix("v"), changelog):
        found.append(f"CHANGELOG.md has no section with lines for {tag.removeprefix('v')}")
    return found


if __name__ == "__main__":
    text = CHANGELOG.read_text(encoding="utf-8")
    if why_not := problems(sys.argv[1], text):
        sys.exit("\n".join(why_not))
    print(section(sys.argv[1].removeprefix("v"), text))
