"""Servers that misbehave: hooks in a bare repository, and a wrapper around the client's git.

Belongs here: making a push fail in a certain way. Does not belong here: what bd has to do about it.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def hook(repository: Path, name: str, script: str) -> Path:
    """Install a server hook; deleting the file that is returned removes it."""
    path = repository / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def git_wrapper(folder: Path, script: str) -> dict[str, str]:
    """A `git` that runs a piece of shell before the real one, as the environment that puts it first in PATH.

    The script sees `$verb` (push, fetch ...), `$real` (the real git) and `"$@"`.
    """
    real = shutil.which("git")
    folder.mkdir()
    path = folder / "git"
    path.write_text(
        "#!/bin/sh\n"
        f"real={real}\n"
        'verb=""\n'
        'for word in "$@"; do case "$word" in push|fetch|read-tree|ls-remote) verb=$word; break ;; esac; done\n'
        f"{script}\n"
        'exec "$real" "$@"\n'
    )
    path.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
