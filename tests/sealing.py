"""An environment in which nothing of the machine's own can change what a test finds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

# Nothing is packed by itself: a process for that after every command takes time, and one may still run when a test ends.
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
[gc]
\tauto = 0
[receive]
\tautoGC = false
[maintenance]
\tauto = false
"""
# What is let in: where programs are and files go, the zone of the run, and what the tests' own tools hand down. So
# PYTHONDONTWRITEBYTECODE stays outside, with which each process would compile bd anew.
_KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ", "USER", "LOGNAME", "CI", "PICTURES")
_KEPT_OF_TOOLS = ("PYTEST_", "COV_", "COVERAGE_", "PLAYWRIGHT_")


def sealed_environment(home: Path) -> dict[str, str]:
    """The environment of a test's processes: a HOME and git settings of their own, and of the machine's only what is let in."""
    home.mkdir(parents=True, exist_ok=True)
    configuration = home / "gitconfig"
    configuration.write_text(GIT_CONFIGURATION, encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if key in _KEPT or key.startswith(_KEPT_OF_TOOLS)}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "GIT_CONFIG_GLOBAL": str(configuration),
        "GIT_CONFIG_NOSYSTEM": "1",
        "EDITOR": "false",
        "VISUAL": "false",
        "GIT_EDITOR": "false",
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "NO_COLOR": "1",
    }


def seal(patch: pytest.MonkeyPatch, home: Path) -> None:
    """Make the sealed environment that of this process, for as long as the patch lasts."""
    environment = sealed_environment(home)
    for name in set(os.environ) - set(environment):
        patch.delenv(name)
    for name, value in environment.items():
        patch.setenv(name, value)
