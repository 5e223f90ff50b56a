"""Objects: read through one running git, and a few of them written by ourselves.

Written are the blobs, trees and commit of one small change.

A claim changes two files. Git's own ways to commit them without an index cost two processes
(fast-import, and the unpack-objects it starts); this costs none and writes the same bytes, which
tests hold against git's. Anything larger, and repositories with shared permissions, go through
fast-import (gitrepo.py).
"""

from __future__ import annotations

import contextlib
import os
import zlib
from _thread import get_ident

from bd.errors import BadInput, Damaged, TryAgain
from bd.store.answers import size_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO, Any

    from bd.store.gitrepo import Draft, GitRepo

    _Blob = tuple[bytes | None, bytes]  # its mode (None: as it is there), its raw object name

_TREE = b"40000"
_FILE = b"100644"
_GITLINK = "160000"
_SHARED_BITS = 0o2020  # setgid or group-writable: somebody else has to be able to write here too

# So often a reader that was ended by a signal is asked anew.
_STARTS = 3
# Answers are held together up to this many bytes; the rest of a request is asked again, so that many large files take no more.
_HELD_LIMIT = 16_000_000
_SKIP_SIZE = 1_000_000
SHA256_LENGTH = 64
# name -> (mode, raw object name)
Entries = dict[bytes, tuple[bytes, bytes]]


def name_of(kind: bytes, data: bytes, length: int) -> str:
    """The object name of some content, in the hash of a repository whose names have this length."""
    name: str = _hash(length)(kind + b" %d\0" % len(data) + data).hexdigest()
    return name


def _hash(length: int) -> Any:
    """Git's hash. The built-in SHA-1 where there is one: hashlib loads OpenSSL, which takes longer than a commit."""
    if length == SHA256_LENGTH:
        from hashlib import sha256  # noqa: PLC0415  repositories with SHA-256 are rare

        return sha256
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        from hashlib import sha1  # noqa: PLC0415
    return sha1


class LooseWriter:
    """Writes loose objects into one repository. Objects appear whole or not at all."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._folder = os.path.join(repo.common_dir, "objects")
        self._fresh: dict[str, bytes] = {}

    def is_usable(self) -> bool:
        """Whether plain files with this user's own permissions are right here."""
        try:
            return not os.stat(self._folder).st_mode & _SHARED_BITS
        except OSError:
            return False

    def commit(self, base: str, draft: Draft) -> str:
        """A commit on top of `base` with the draft's files; returns its name. Raises OSError."""
        length = len(base)
        changes: dict[bytes, _Blob | None] = {}
        for path, content in draft.files.items():
            mode = draft.modes.get(path)
            if content is None:
                changes[_checked(path)] = None
                continue
            name = content.decode() if mode == _GITLINK else self.write(b"blob", content, length)
            changes[_checked(path)] = (mode.encode() if mode else None, bytes.fromhex(name))
        root = self._tree_of(base)
        tree = self._edited(root, changes, length) or self.write(b"tree", b"", length)
        author = draft.author.encode()
        text = b"tree %s\nparent %s\nauthor %s %d +0000\ncommitter %s %d +0000\n\n%s" % (
            tree.encode(),
            base.encode(),
            author,
            draft.at_s,
            author,
            draft.at_s,
            draft.message.encode(),
        )
        return self.write(b"commit", text, length)

    def _tree_of(self, commit: str) -> Entries:
        raw = self._known(commit)
        tree = raw.split(b"\n", 1)[0].removeprefix(b"tree ").decode()
        return self._entries(tree, len(commit))

    def _known(self, oid: str) -> bytes:
        """The content of an object that has to be there. Raises Damaged: a missing tree is not an empty one."""
        raw = self._fresh.get(oid)
        if raw is None:
            raw = self._repo.objects.read(oid)
        if raw is None:
            raise Damaged(f"this clone lacks the object {oid}", hint="`git fsck` tells more; a fresh `bd clone` mends it")
        return raw

    def _entries(self, oid: str, length: int) -> Entries:
        raw = self._known(oid)
        size = length // 2
        entries: Entries = {}
        place = 0
        while place < len(raw):
            blank = raw.index(b" ", place)
            end = raw.index(b"\0", blank)
            entries[raw[blank + 1 : end]] = (raw[place:blank], raw[end + 1 : end + 1 + size])
            place = end + 1 + size
        return entries

    def _edited(self, entries: Entries, changes: Mapping[bytes, _Blob | None], length: int) -> str | None:
        """The tree with these paths set or removed; None when nothing is left of it."""
        below: dict[bytes, dict[bytes, _Blob | None]] = {}
        for path, blob in changes.items():
            name, slash, rest = path.partition(b"/")
            if slash:
                below.setdefault(name, {})[rest] = blob
            elif blob is None:
                entries.pop(name, None)
            else:
                kept = entries[name][0] if name in entries and entries[name][0].startswith(b"100") else _FILE
                entries[name] = (blob[0] or kept, blob[1])
        for name, inner in below.items():
            there = entries.get(name)
            sub = self._entries(there[1].hex(), length) if there and there[0] == _TREE else {}
            tree = self._edited(sub, inner, length)
            if tree is None:
                entries.pop(name, None)
            else:
                entries[name] = (_TREE, bytes.fromhex(tree))
        if not entries:
            return None
        # Git sorts a tree as if its folders' names ended in a slash.
        order = sorted(entries, key=lambda name: name + b"/" if entries[name][0] == _TREE else name)
        raw = b"".join(entries[name][0] + b" " + name + b"\0" + entries[name][1] for name in order)
        return self.write(b"tree", raw, length)

    def write(self, kind: bytes, data: bytes, length: int) -> str:
        """Write one object; returns its name. Raises OSError."""
        name = name_of(kind, data, length)
        self._fresh[name] = data
        folder = os.path.join(self._folder, name[:2])
        path = os.path.join(folder, name[2:])
        if os.path.exists(path):
            return name
        os.makedirs(folder, exist_ok=True)
        fresh = os.path.join(folder, f"tmp_obj_{os.getpid()}_{get_ident()}_{name[2:10]}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o444)
        try:
            packed = zlib.compress(kind + b" %d\0" % len(data) + data, 1)
            while packed:
                packed = packed[os.write(descriptor, packed) :]
        finally:
            os.close(descriptor)
        os.rename(fresh, path)
        return name


def _checked(path: str) -> bytes:
    """A path of a hub as git stores it. Raises BadInput for one that could leave the tree."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or any(char in path for char in '\n\\"\0'):
        raise BadInput(f"{path!r} can't be a file of a hub")
    return path.encode("utf-8", "surrogateescape")


class ObjectReader:
    """A running `git cat-file --batch`: objects by name, one process for the whole command."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._process = repo.spawn(["cat-file", "--batch"], stdin=True)

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):  # it was ended before it had read everything
                    stream.close()
        self._process.wait()

    def read(self, name: str, *, at_most: int | None = None) -> bytes | None:
        """The content of the object a name means, or its first `at_most` bytes; None when there is none."""
        return next(self.read_many([name], at_most=at_most))

    def read_many(self, names: Sequence[str], *, at_once: int = 200, at_most: int | None = None) -> Iterator[bytes | None]:
        """The contents of many objects in order, of each its first `at_most` bytes. `at_once` requests stay below a pipe's buffer."""
        start = 0
        while start < len(names):
            chunk = names[start : start + at_once]
            if any("\n" in name for name in chunk):
                raise BadInput("a name with a line break in it")
            answers = self._asked(chunk, at_most)
            yield from answers
            start += len(answers)
            if len(answers) < len(chunk):
                at_once = len(answers)
            answers = []  # let go before the next ones come

    def _asked(self, names: Sequence[str], at_most: int | None) -> list[bytes | None]:
        """The answers, from a new process where a signal to the whole group, as Ctrl-C sends it, has ended this one."""
        for _ in range(_STARTS):
            try:
                return self._answers(names, at_most)
            except (BrokenPipeError, EOFError) as error:
                if self._process.wait() >= 0:
                    raise Damaged("git cat-file ended early", hint="`git fsck` tells what is wrong") from error
            self.close()
            self._process = self._repo.spawn(["cat-file", "--batch"], stdin=True)
        raise TryAgain("git cat-file was ended by signals again and again")

    def _answers(self, names: Sequence[str], at_most: int | None) -> list[bytes | None]:
        """The first of them, as many as may be held, at least one. All are taken: one left there would answer the next question."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise Damaged("git cat-file did not start")
        stdin.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
        stdin.flush()
        answers: list[bytes | None] = []
        held = 0
        for _ in names:
            if held > _HELD_LIMIT:
                _answer(stdout, 0)
                continue
            answer = _answer(stdout, at_most)
            answers.append(answer)
            held += len(answer or b"")
        return answers


def _answer(stdout: IO[bytes], at_most: int | None = None) -> bytes | None:
    """One answer of the process, or its first bytes. Raises EOFError when it has ended before the end of it."""
    size = size_in(stdout.readline())
    if size is None:
        return None
    wanted = size if at_most is None else min(size, at_most)
    content = stdout.read(wanted)
    rest = size + 1 - wanted  # what is not wanted, and the line's end
    while len(content) == wanted and rest:
        skipped = len(stdout.read(min(rest, _SKIP_SIZE)))
        if not skipped:
            raise EOFError
        rest -= skipped
    if len(content) < wanted:
        raise EOFError
    return content
