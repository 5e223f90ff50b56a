"""The truth about a hub, read with git's own commands and never through a clone of bd.

Belongs here: what tests ask a repository after bd has run. A test that would ask `bd show`
whether `bd close` worked would only ask the same cache twice.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from typing import TYPE_CHECKING

from bd.core.model import Bead
from bd.core.schema import bead_path
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def git(
    folder: Path | str, *args: str, data: bytes | None = None, check: bool = True, env: Mapping[str, str] | None = None
) -> str:
    """What a git command prints, stripped; `env` is more of the environment. Fails the test when git does, unless told otherwise."""
    words = ["git", "-C", os.fspath(folder), *args]
    result = subprocess.run(words, input=data, capture_output=True, env={**os.environ, **env} if env else None)
    if check and result.returncode:
        raise AssertionError(f"git {' '.join(args)}: exit {result.returncode}\n{result.stderr.decode(errors='replace')}")
    return result.stdout.decode("utf-8", "replace").strip()


def contents(repository: Path | str, names: Sequence[str]) -> list[bytes]:
    """What these objects hold, by any name that git knows, in one process; of a folder, its raw tree."""
    asked = "".join(f"{name}\n" for name in names).encode()
    out = subprocess.run(
        ["git", "-C", os.fspath(repository), "cat-file", "--batch"], input=asked, capture_output=True, check=True
    ).stdout
    found, place = [], 0
    for name in names:
        end = out.index(b"\n", place)
        header = out[place:end]
        assert not header.endswith(b" missing"), name
        place = end + 1 + int(header.split()[-1])
        found.append(out[end + 1 : place])
        place += 1
    return found


def tip(repository: Path | str, branch: str = "main") -> str:
    """The commit at the end of the branch. A ref's own file counts before packed ones, and takes no process to read."""
    for folder in (".git", ""):
        with (
            contextlib.suppress(OSError),
            open(os.path.join(repository, folder, "refs", "heads", branch), encoding="ascii") as ref,
        ):
            if re.fullmatch(r"[0-9a-f]{40,64}\n", text := ref.read()):
                return text.strip()
    return git(repository, "rev-parse", "--verify", f"refs/heads/{branch}")


def tip_paths(repository: Path | str, branch: str = "main") -> list[str]:
    """Every path at the tip."""
    return git(repository, "ls-tree", "-r", "--name-only", f"refs/heads/{branch}").splitlines()


def tip_file(repository: Path | str, path: str, branch: str = "main") -> bytes | None:
    """The bytes of a file at the tip; None when it is not there."""
    result = subprocess.run(
        ["git", "-C", os.fspath(repository), "cat-file", "blob", f"refs/heads/{branch}:{path}"], capture_output=True
    )
    return result.stdout if result.returncode == 0 else None


def tip_bead(repository: Path | str, bead_id: str, branch: str = "main") -> Bead | None:
    """A bead as the tip has it; None when it is not there."""
    data = tip_file(repository, bead_path(bead_id), branch)
    return None if data is None else Bead(codec.parse_bead(data, bead_id).fields)


def all_beads(repository: Path | str, branch: str = "main") -> list[Bead]:
    """Every bead that is not archived, as the tip has it."""
    names = [
        path.removeprefix("beads/").removesuffix(".yaml") for path in tip_paths(repository, branch) if path.startswith("beads/")
    ]
    names = [name for name in names if "/" not in name]
    texts = contents(repository, [f"refs/heads/{branch}:{bead_path(name)}" for name in names])
    return [Bead(codec.parse_bead(data, name).fields) for name, data in zip(names, texts, strict=True)]


def bead_files(repository: Path | str, branch: str = "main") -> dict[str, bytes]:
    """Every bead's file at the tip, in the order of their paths; those in a volume of the archive as if they were files in a folder."""
    found: dict[str, bytes] = {}
    paths = [path for path in tip_paths(repository, branch) if path.startswith("beads/")]
    texts = contents(repository, [f"refs/heads/{branch}:{path}" for path in paths])
    for path, data in zip(paths, texts, strict=True):
        if path.count("/") == 2 and path.startswith("beads/archive/"):
            _, *parts = re.split(rb"(?m)^--- # (\S+?)(?:, \d+ bytes)?\n", data)
            documents = zip(parts[::2], parts[1::2], strict=True)
            found |= {f"{path}/{name.decode()}.yaml": text for name, text in documents}
        else:
            found[path] = data
    return dict(sorted(found.items()))


def log(repository: Path | str, branch: str = "main") -> list[str]:
    """The subjects of the branch's commits, the newest first."""
    return git(repository, "log", "--format=%s", f"refs/heads/{branch}").splitlines()


def commits(repository: Path | str, branch: str = "main") -> list[str]:
    """The branch's commits, the oldest first."""
    return git(repository, "rev-list", "--reverse", f"refs/heads/{branch}").splitlines()


def commit_file(folder: Path, path: str, text: str | bytes, message: str = "by hand") -> str:
    """Write one file into a checkout and commit it with plain git; the commit."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    git(folder, "add", "--", path)
    git(folder, "commit", "--quiet", "-m", message)
    return git(folder, "rev-parse", "HEAD")
