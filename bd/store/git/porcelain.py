"""What git prints, read into values: listings of trees, refs and worktrees, differences, pushes.

Names in it are anybody's: any bytes, and a server may list whatever it likes. Belongs here: parsing alone.
Does not belong here: running git (repository.py, push.py, checkout.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bd.core.errors import Damaged
from bd.store.contract import Entry, PushLine
from bd.store.object_names import is_oid

if TYPE_CHECKING:
    from collections.abc import Iterator

# What git lets a ref be called (git check-ref-format), as far as it matters: no part of a path, a refspec or a pattern.
_REF = r"refs(?:/(?!\.)(?:(?!\.\.|@\{|\.lock(?:/|\Z)|\.\Z)[^\s~^:?*\[\\/\x00-\x20\x7f])+)+\Z"
# A file as the older commit of a difference has it: neither a link nor a submodule.
_FILE = ":100"


# Names of these alone, without a dot, are refs whatever git's rules are.
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/"


def is_ref(text: str) -> bool:
    """Whether the text can be a ref's full name."""
    if text.startswith("refs/") and not text.strip(_PLAIN):
        return "//" not in text and text[-1] != "/"
    return bool(re.match(_REF, text))


def _is_mode(text: str) -> bool:
    """Whether the text is how git writes the kind of an entry: five or six octal figures."""
    return len(text) in (5, 6) and not text.strip("01234567")


def tree_entries(out: bytes) -> list[Entry]:
    """The answer of `ls-tree -r -z`. Raises Damaged."""
    entries = []
    for record in _text(out).split("\0")[:-1]:
        meta, tab, path = record.partition("\t")
        words = meta.split(" ")
        if not tab or len(words) != 3 or not _is_mode(words[0]) or not is_oid(words[2]):
            raise _odd("ls-tree", record)
        entries.append(Entry(path, words[2], words[0]))
    return entries


def difference(out: bytes) -> list[Entry]:
    """The answer of `diff-tree -r -z --raw --full-index`: each file as it is in the newer one. Raises Damaged."""
    parts = _text(out).split("\0")
    entries = []
    for meta, path in zip(parts[0:-1:2], parts[1::2], strict=False):
        words = meta.split(" ")
        is_whole = meta.startswith(":") and len(words) == 5 and _is_mode(words[1]) and is_oid(words[2]) and is_oid(words[3])
        if not is_whole:
            raise _odd("diff-tree", meta)
        old = words[2] if words[0].startswith(_FILE) and words[2].strip("0") else None
        entries.append(Entry(path, None if words[4] == "D" else words[3], words[1], old))
    return entries


def local_refs(out: bytes) -> dict[str, str]:
    """The answer of `for-each-ref --format=%(refname) %(objectname)`."""
    return {ref: oid for ref, _, oid in (line.partition(" ") for line in _text(out).split("\n")) if is_oid(oid)}


def remote_refs(out: bytes) -> dict[str, str]:
    """The answer of `ls-remote`. What can't be a ref's name is left out: a server may list anything, and a fetch would take it for more."""
    found = (line.partition("\t") for line in _text(out).split("\n"))
    return {ref: oid for oid, _, ref in found if is_oid(oid) and is_ref(ref)}


def push_lines(out: bytes) -> dict[str, PushLine]:
    """The answer of `push --porcelain`, a line a ref."""
    lines: dict[str, PushLine] = {}
    for line in _text(out).split("\n"):
        parts = line.split("\t")
        if len(parts) >= 3 and len(parts[0]) == 1:
            lines[parts[1].rpartition(":")[2]] = PushLine(parts[0], parts[2])
    return lines


def worktrees(out: bytes) -> Iterator[tuple[str, str]]:
    """The answer of `worktree list --porcelain`: (folder, branch as a full ref) of those that show a branch."""
    for record in _text(out).split("\n\n"):
        lines = record.split("\n")
        branch = next((line[7:] for line in lines if line.startswith("branch ")), None)
        if branch and lines[0].startswith("worktree "):
            yield lines[0][9:], branch


def size_in(header: bytes) -> int | None:
    """The size that a header of `cat-file --batch` announces; None where there is no object. Raises EOFError and Damaged."""
    if not header.endswith(b"\n"):
        raise EOFError
    words = header.split()
    if words and words[-1] in (b"missing", b"ambiguous", b"submodule"):
        return None
    if len(words) != 3 or not words[2].isdigit() or len(words[2]) > 18:
        raise _odd("cat-file", header.decode("utf-8", "replace"))
    return int(words[2])


def _text(out: bytes) -> str:
    return out.decode("utf-8", "surrogateescape")


def _odd(command: str, words: str) -> Damaged:
    return Damaged(f"git {command} answers {words[:80]!r}", hint="`git fsck` tells what is wrong")
