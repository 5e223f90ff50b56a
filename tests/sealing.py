"""An environment in which nothing of the machine's own can change what a test finds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

GIT_CONFIGURATION = """\
[user]
\tname = Test Person
\temail = person@example.org
[init]
\tdefaultBranch = main
[protocol]
\tallow = never
[protocol "file"]
\tallow = always
[advice]
\tdetachedHead = false
"""
_FOREIGN = ("GIT_", "BD_", "BEADS_")


def sealed_environment(home: Path) -> dict[str, str]:
    """This process's environment with nothing in it that could change a test's result."""
    home.mkdir(parents=True, exist_ok=True)
    configuration = home / "gitconfig"
    configuration.write_text(GIT_CONFIGURATION, encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "GIT_CONFIG_GLOBAL": str(configuration),
        "GIT_CONFIG_NOSYSTEM": "1",
        "EDITOR": "false",
        "VISUAL": "false",
        "GIT_EDITOR": "false",
        "NO_COLOR": "1",
    }
