"""Servers that misbehave: hooks in a bare repository, and a wrapper around the client's git.

Belongs here: making a push fail in a certain way. Does not belong here: what bd has to do about it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.running import Clone


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


@contextlib.contextmanager
def offline(clone: Clone) -> Iterator[None]:
    """The clone's remote can't be reached within this block."""
    url = git(clone.path, "remote", "get-url", "origin")
    git(clone.path, "remote", "set-url", "origin", str(clone.path / "nowhere.git"))
    yield
    git(clone.path, "remote", "set-url", "origin", url)
