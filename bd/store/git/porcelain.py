"""Git's output, parsed into values: listings of trees, refs and worktrees, differences, pushes.

Names in it may be any bytes, and a server may list whatever it likes. This module only parses; repository.py, push.py and
worktree/checkout.py run git.
"""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.core.errors import Damaged
from bd.store.contract import Entry, PushLine
from bd.store.object_names import is_oid

if TYPE_CHECKING:
    from collections.abc import Iterator

# What git allows in a ref name (git check-ref-format), reduced to what matters here: no path component, refspec or pattern.
_REF = r"refs(?:/(?!\.)(?:(?!\.\.|@\{|\.lock(?:/|\Z)|\.\Z)[^\s~^:?*\[\\/\x00-\x20\x7f])+)+\Z"
# The mode of a regular file in the older commit of a difference; not a link or a submodule.
_FILE = ":100"


# Names of only these characters, without a dot, are valid refs under any of git's rules.
_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/"


# Git's own words for a ref of which the server has said nothing: it may have moved all the same. Over HTTP, older gits pass the
# second on as if it were the server's. Every other rejection is either the server's, or made before anything was sent.
_UNREPORTED = ("failed to report status", "expecting report")


def is_ref(text: str) -> bool:
    """Return whether the text can be a ref's full name."""
    if text.startswith("refs/") and not text.strip(_PLAIN):
        return "//" not in text and text[-1] != "/"
    return bool(re.match(_REF, text))


def _is_mode(text: str) -> bool:
    """Return whether the text is a mode as git prints it: five or six octal digits."""
    return len(text) in (5, 6) and not text.strip("01234567")


def tree_entries(out: bytes) -> list[Entry]:
    """Parse the output of `ls-tree -r -z`. Raises Damaged."""
    entries = []
    for record in _text(out).split("\0")[:-1]:
        meta, tab, path = record.partition("\t")
        words = meta.split(" ")
        if not tab or len(words) != 3 or not _is_mode(words[0]) or not is_oid(words[2]):
            raise _odd("ls-tree", record)
        entries.append(Entry(path, words[2], words[0]))
    return entries


def difference(out: bytes) -> list[Entry]:
    """Parse the output of `diff-tree -r -z --raw --full-index`: each file as it is in the newer commit. Raises Damaged."""
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
    """Parse the output of `for-each-ref --format=%(refname) %(objectname)`."""
    return {ref: oid for ref, _, oid in (line.partition(" ") for line in _text(out).split("\n")) if is_oid(oid)}


def remote_refs(out: bytes) -> dict[str, str]:
    """Parse the output of `ls-remote`.

    Invalid ref names are dropped: a server may list anything, and a fetch would read them as refspecs.
    """
    found = (line.partition("\t") for line in _text(out).split("\n"))
    return {ref: oid for oid, _, ref in found if is_oid(oid) and is_ref(ref)}


def push_lines(out: bytes) -> dict[str, PushLine]:
    """Parse the output of `push --porcelain`, one line per ref. A ref that the server has not reported on is left out."""
    lines: dict[str, PushLine] = {}
    for line in _text(out).split("\n"):
        parts = line.split("\t")
        if len(parts) >= 3 and len(parts[0]) == 1 and not any(words in parts[2] for words in _UNREPORTED):
            lines[parts[1].rpartition(":")[2]] = PushLine(parts[0], parts[2])
    return lines


def worktrees(out: bytes) -> Iterator[tuple[str, str]]:
    """Parse the output of `worktree list --porcelain`: (folder, full branch ref) of those that have a branch checked out."""
    for record in _text(out).split("\n\n"):
        lines = record.split("\n")
        branch = next((line[7:] for line in lines if line.startswith("branch ")), None)
        if branch and lines[0].startswith("worktree "):
            yield lines[0][9:], branch


def size_in(header: bytes) -> int | None:
    """Return the size in a header of `cat-file --batch`; None if there is no object. Raises EOFError and Damaged."""
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
