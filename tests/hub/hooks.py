"""Servers that misbehave: hooks in a bare repository, and a wrapper around the client's git.

Belongs here: making a push fail in a certain way. Does not belong here: what bd has to do about it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
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


# How a server's report on a push can be spoilt, once the refs have moved: what comes in its place.
SPOILT_REPORTS = {
    "no line for any ref": "side(pkt(b'unpack ok\\n') + b'0000') + b'0000'",
    "nothing": "b''",
    "an end at once": "side(b'0000') + b'0000'",
    "an unknown verdict": "side(pkt(b'unpick ok\\n') + b'0000') + b'0000'",
    "an unknown line": "side(pkt(b'unpack ok\\n') + pkt(b'garbage') + b'0000') + b'0000'",
    "an unknown answer for a ref": "side(pkt(b'unpack ok\\n') + pkt(b'so refs/heads/main\\n') + b'0000') + b'0000'",
    "words outside of the protocol": "b'Internal Server Error'",
    "a broken line": "side(pkt(b'unpack ok\\n') + b'00')",
}


def spoil_reports(clone: Clone, folder: Path, report: str) -> Path:
    """Let the clone's remote take pushes and spoil its report. Until the file that is returned is gone, fetches then fail."""
    pushed, receive, upload = folder / "pushed", folder / "receive", folder / "upload"
    receive.write_text(
        f"#!{sys.executable} -S\n"
        "import pathlib, subprocess, sys\n"
        "pkt = lambda data: b'%04x' % (len(data) + 4) + data\n"
        "side = lambda data: pkt(b'\\1' + data)\n"
        "server = subprocess.Popen(['git', 'receive-pack', sys.argv[1]], stdout=subprocess.PIPE)\n"
        "line = b''\n"
        "while line != b'0000':\n"
        "    line = server.stdout.read(4)\n"
        "    line += server.stdout.read(max(int(line, 16) - 4, 0))\n"
        "    sys.stdout.buffer.write(line)\n"
        "sys.stdout.flush()\n"
        "server.stdout.read()\n"
        f"pathlib.Path({str(pushed)!r}).touch()\n"
        f"sys.stdout.buffer.write({report})\n"
    )
    upload.write_text(f'#!/bin/sh\n[ -e {pushed} ] || exec git upload-pack "$@"\nexit 1\n')
    for name, path in (("receivepack", receive), ("uploadpack", upload)):
        path.chmod(0o755)
        git(clone.path, "config", f"remote.origin.{name}", str(path))
    return pushed


@contextlib.contextmanager
def offline(clone: Clone) -> Iterator[None]:
    """The clone's remote can't be reached within this block."""
    url = git(clone.path, "remote", "get-url", "origin")
    git(clone.path, "remote", "set-url", "origin", str(clone.path / "nowhere.git"))
    yield
    git(clone.path, "remote", "set-url", "origin", url)
