"""Hubs that somebody hostile pushed to: any bytes under any name in a tree, made without git's own checks.

`plant` commits onto the branch of a repository, whatever git would say to it: links, gitlinks, names that no
`git add` takes. Belongs here: making them, and the reads that everything is put through.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.running import Clone, Result

FILE, LINK, GITLINK, FOLDER = "100644", "120000", "160000", "40000"
GOOD = "id: hub-good\ntitle: A bead like any other\n"
GOOD_PATH = "beads/hub-good.yaml"


class Special(NamedTuple):
    """An entry of a tree that is no plain file: its mode, and its content (of a gitlink: the commit)."""

    mode: str
    content: bytes


def link(target: str) -> Special:
    """A symbolic link."""
    return Special(LINK, target.encode())


def gitlink() -> Special:
    """A submodule's commit that nobody has."""
    return Special(GITLINK, b"c0ffee" + b"0" * 34)


Content = str | bytes | Special | None


def plant(repository: Path, files: Mapping[str, Content], *, branch: str = "main", message: str = "planted") -> str:
    """Commit files onto a branch (None removes one, and all below it); the commit. Names are bytes as UTF-8 writes them."""
    ref = f"refs/heads/{branch}"
    base = git(repository, "rev-parse", ref)
    root = _tree(repository, _fallen(repository, base), {})
    for path, content in files.items():
        *folders, name = path.encode("utf-8", "surrogateescape").split(b"/")
        place = root
        for folder in folders:
            inner = place.get(folder)
            place = place.setdefault(folder, {}) if isinstance(inner, dict) else place.update({folder: {}}) or place[folder]
        if content is None:
            place.pop(name, None)
        else:
            place[name] = _blob(repository, content)
    tree = _written(repository, root)
    person = ("-c", "user.name=Mallory", "-c", "user.email=mallory@example.org")
    commit = git(repository, *person, "commit-tree", tree, "-p", base, "-m", message)
    git(repository, "update-ref", ref, commit)
    return commit


def _fallen(repository: Path, commit: str) -> str:
    return git(repository, "rev-parse", f"{commit}^{{tree}}")


def _tree(repository: Path, oid: str, into: dict[bytes, Any]) -> dict[bytes, Any]:
    """A tree as nested dictionaries of (mode, object)."""
    listed = subprocess.run(["git", "-C", repository, "ls-tree", "-z", oid], capture_output=True, check=True).stdout
    for record in listed.split(b"\0")[:-1]:
        meta, _, name = record.partition(b"\t")
        mode, kind, child = meta.decode().split()
        into[name] = _tree(repository, child, {}) if kind == "tree" else (mode, child)
    return into


def _blob(repository: Path, content: str | bytes | Special) -> tuple[str, str]:
    if isinstance(content, Special) and content.mode == FOLDER:
        return FOLDER, content.content.decode()
    mode, data = content if isinstance(content, Special) else (FILE, content.encode() if isinstance(content, str) else content)
    return mode, data.decode() if mode == GITLINK else _stored(repository, "blob", data)


def _written(repository: Path, entries: dict[bytes, Any]) -> str:
    ready = {name: (FOLDER, _written(repository, entry)) if isinstance(entry, dict) else entry for name, entry in entries.items()}
    order = sorted(ready, key=lambda name: name + b"/" if ready[name][0] == FOLDER else name)
    raw = b"".join(ready[name][0].encode() + b" " + name + b"\0" + bytes.fromhex(ready[name][1]) for name in order)
    return _stored(repository, "tree", raw)


def _stored(repository: Path, kind: str, data: bytes) -> str:
    """Write an object as git does, whatever is in it; its name."""
    whole = f"{kind} {len(data)}\0".encode() + data
    oid = hashlib.sha1(whole).hexdigest()  # noqa: S324
    git_folder = repository / ".git" if (repository / ".git").exists() else repository
    path = git_folder / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(whole, 1))
    return oid


# Every way to look at a hub. Each of them meets whatever was planted.
READS: tuple[tuple[str, ...], ...] = (
    (),
    ("list", "--all"),
    ("ready", "--no-fetch"),
    ("blocked",),
    ("attention",),
    ("stalled",),
    ("stats",),
    ("count", "--by-assignee"),
    ("count", "--by-label"),
    ("epic", "status"),
    ("dlq", "list"),
    ("agent", "list"),
    ("agent", "show", "codemonkey"),
    ("search", "a"),
    ("show", "hub-good"),
    ("why", "hub-good"),
    ("history", "hub-good"),
    ("children", "hub-good"),
    ("comments", "hub-good"),
    ("dep", "tree", "hub-good"),
    ("label", "list-all"),
    ("export",),
    ("config", "show"),
    ("poll", "--agent", "codemonkey"),
    ("whoami",),
    ("trust",),
    ("doctor",),
)
# What may never come out on a terminal: it moves cursors, sets titles, fills clipboards, turns text around.
FORBIDDEN = (
    "\x00\x07\x08\x0b\x0c\r\x0e\x0f\x1a\x1b\x7f\x85\x90\x9b\x9d\x9f"
    "\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2064\u2066\u2067\u2068\u2069\ufeff\U000e0041"
)


def harmless(result: Result, *codes: int) -> Result:
    """The command ended as commands end, with none of what a terminal would obey, and not by a bug."""
    assert result.code in (codes or (0, 3, 4, 7)), result
    assert "a bug in bd" not in result.out + result.err, result
    assert "Traceback" not in result.err, result
    for sign in FORBIDDEN:
        assert sign not in result.out, f"{sign!r} in stdout of {result}"
        assert sign not in result.err, f"{sign!r} in stderr of {result}"
    return result


def everything_goes_on(clone: Clone) -> None:
    """Every read answers, as text and as JSON, and the bead like any other is there."""
    for args in READS:
        harmless(clone.here(*args, check=False))
        shown = harmless_json(clone.here(*args, "--json", check=False)) if args else None
        if args[:1] == ("list",):
            assert isinstance(shown, list)
            assert "hub-good" in {bead["id"] for bead in shown}


def harmless_json(result: Result) -> object:
    """One JSON document, valid UTF-8, no bug."""
    assert result.code in (0, 3, 4, 7), result
    assert "a bug in bd" not in result.err, result
    result.out.encode()
    if result.args[:1] == ("export",):
        return None
    return result.json


def tree_of(folder: Path) -> set[str]:
    """Every path below a folder, without git's own and the clone's notes."""
    return {
        os.path.relpath(os.path.join(where, name), folder)
        for where, folders, names in os.walk(folder)
        for name in (*folders, *names)
        if "/.git/" not in f"{where}/{name}/"
    }
