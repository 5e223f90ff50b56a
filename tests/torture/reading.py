"""A hub's commits, read with git alone: what each of them said it was, and the beads as it left them.

Written without bd's audit, so that the two can disagree.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from bd.core.model import Bead
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FORMAT = (
    "%x01%H%x02%s%x02%(trailers:key=Bd-Uid,valueonly,separator=%x20)%x02%(trailers:key=Bd-Token,valueonly,separator=%x20)"
    "%x02%(trailers:key=Bd-Op,valueonly,separator=%x20)"
)


class Commit(NamedTuple):
    """A commit, and the beads that it left: all of them, by id; `torn` are files that can't be read, `tokens` those of its author."""

    oid: str
    subject: str
    uids: tuple[str, ...]
    beads: Mapping[str, Bead]
    torn: tuple[str, ...] = ()
    tokens: frozenset[str] = frozenset()


def history(repository: Path, tip: str, env: Mapping[str, str]) -> list[Commit]:
    """The commits up to a tip, oldest first."""
    out = _git(
        repository,
        env,
        "log",
        "--reverse",
        "--first-parent",
        "-m",
        "--no-renames",
        "--raw",
        "--no-abbrev",
        f"--format={_FORMAT}",
        tip,
    )
    parts = out.decode("utf-8", "replace").split("\x01")[1:]
    changes = [_changes(part) for part in parts]
    contents = _blobs(repository, env, {oid for each in changes for _, oid in each if oid.strip("0")})
    parsed: dict[tuple[str, bytes], Bead | None] = {}
    files: dict[str, dict[str, bytes]] = {}
    found: list[Commit] = []
    for part, changed in zip(parts, changes, strict=True):
        oid, subject, uids, tokens, form = part.partition("\n")[0].split("\x02")
        for path, blob in changed:
            files.pop(path, None)
            if blob.strip("0"):
                files[path] = _documents(path, contents[blob])
        beads: dict[str, Bead] = {}
        torn: list[str] = []
        for path in sorted(files, key=lambda path: -path.count("/")):  # where two are of one bead, the active one counts
            for key in files[path].items():
                if key not in parsed:
                    parsed[key] = _parsed(key[1], key[0])
                bead = parsed[key]
                if bead is not None:
                    beads[key[0]] = bead
                elif path in dict(changed):
                    torn.append(path)
        found.append(Commit(oid, subject, tuple(uids.split()), beads, tuple(torn), frozenset(tokens.split()) | _presented(form)))
    return found


def _presented(form: str) -> frozenset[str]:
    """The tokens under which an operation was asked for; one that also wins claims names only theirs in its trailers."""
    return frozenset((json.loads(form).get("tokens") or {}).values()) if form else frozenset()


def _documents(path: str, data: bytes) -> dict[str, bytes]:
    """The beads in a file, by id: one, or those of a volume of the archive."""
    if path.count("/") != 2:
        return {_id(path): data}
    _, *parts = re.split(rb"(?m)^--- # (\S+), \d+ bytes\n", data)
    return {name.decode(): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _changes(part: str) -> list[tuple[str, str]]:
    """(path, blob) of the bead files that a commit changed; zeros for one that is gone."""
    lines = [line[1:].split("\t") for line in part.splitlines()[1:] if line.startswith(":")]
    return [(path, meta.split()[3]) for meta, path in lines if path.startswith("beads/") and path.endswith(".yaml")]


def _id(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".yaml")


def _parsed(data: bytes, bead_id: str) -> Bead | None:
    try:
        return Bead(codec.parse_bead(data, bead_id).fields)
    except Exception:
        return None


def _blobs(repository: Path, env: Mapping[str, str], oids: Iterable[str]) -> dict[str, bytes]:
    wanted = sorted(oids)
    out = _git(repository, env, "cat-file", "--batch", data="".join(f"{oid}\n" for oid in wanted).encode())
    found: dict[str, bytes] = {}
    at = 0
    for oid in wanted:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[2])
        found[oid] = out[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


def moves(repository: Path, env: Mapping[str, str], branch: str = "main") -> list[str]:
    """Every tip that the branch has had, oldest first; lines of the log that a full disk has cut off are left out."""
    file = repository / "logs" / "refs" / "heads" / branch
    words = [line.split(maxsplit=2) for line in file.read_text().splitlines()] if file.exists() else []
    return [line[1] for line in words if len(line) > 2 and len(line[0]) == len(line[1])]


def is_ancestor(repository: Path, env: Mapping[str, str], older: str, newer: str) -> bool:
    done = subprocess.run(
        ["git", "-C", repository, "merge-base", "--is-ancestor", older, newer], env=dict(env), capture_output=True
    )
    return done.returncode == 0


def refs(repository: Path, env: Mapping[str, str], under: str) -> list[str]:
    """The names of the refs below a folder, without it."""
    out = _git(repository, env, "for-each-ref", "--format=%(refname)", under).decode()
    return [line.removeprefix(f"{under}/") for line in out.split()]


def _git(repository: Path, env: Mapping[str, str], *words: str, data: bytes | None = None) -> bytes:
    done = subprocess.run(["git", "-C", repository, *words], env=dict(env), input=data, capture_output=True)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode(errors='replace')}")
    return done.stdout
