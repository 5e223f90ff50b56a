"""Objects: read from their files or through one running git, and written for small changes.

A claim changes two files. Git's own ways to commit them without an index take two processes (fast-import, and the unpack-objects
it starts). This module writes the blobs, trees and commit itself, with the same bytes; tests compare them with git's. Larger
changes, and repositories with shared permissions, go through fast-import (repository.py).
"""

from __future__ import annotations

import os
import zlib
from _thread import get_ident

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, Damaged, TryAgain
from bd.core.schema import volume_of
from bd.store.archive.volumes import shelf_of
from bd.store.git.porcelain import size_in
from bd.store.git.trees import FOLDER, Tree, TreeEntry
from bd.store.object_names import is_oid, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    from bd.store.archive.volumes import Shelf
    from bd.store.contract import Draft
    from bd.store.git.process import Process
    from bd.store.git.repository import GitRepo

    _Blob = tuple[bytes | None, bytes]  # its mode (None: as it is there), its raw object name

_FILE = b"100644"
_GITLINK = "160000"
_SHARED_BITS = 0o2020  # setgid or group-writable: other users must be able to write here, too
# How often a reader that a signal ended is started again.
_STARTS = 3
# Up to this many objects are looked for one by one among loose files; git finds more at once.
_FEW = 16
# Objects with a larger file, or larger content, are left to git.
_FILE_LIMIT, _CONTENT_LIMIT = 2_000_000, 16_000_000
# Up to this many bytes of answers are held at once; the rest of a request is asked again, so many large files don't fill memory.
_HELD_LIMIT, _SKIP_SIZE = 16_000_000, 1_000_000
_BLOCK, _LARGE_TREE = 4096 - 11, 20_000  # the first is a disk block, less the overhead of an object
# Trees kept in memory: one write reads the same few again and again.
_TREES_KEPT = 8


def open_plainly(path: str, flags: int) -> int:
    """Open a file without following a link or blocking on a pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))


class LooseWriter:
    """Writes loose objects into one repository. Objects appear whole or not at all."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._folder = os.path.join(repo.common_dir, "objects")

    def is_usable(self) -> bool:
        """Return whether plain files with this user's own permissions are right for this repository."""
        try:
            return not os.stat(self._folder).st_mode & _SHARED_BITS
        except OSError:
            return False

    def commit(self, base: str, draft: Draft) -> str:
        """Write a commit on top of `base` with the draft's files. Return its name. Raises OSError."""
        length = len(base)
        changes: dict[bytes, _Blob | None] = {}
        for path, content in draft.files.items():
            mode = draft.modes.get(path)
            if content is None:
                changes[_checked(path)] = None
                continue
            name = content.decode() if mode == _GITLINK else self.write(b"blob", content, length)
            changes[_checked(path)] = (mode.encode() if mode else None, bytes.fromhex(name))
        root = self._repo.objects.tree_of(base)
        tree = self._edited(root, changes, length) or self.write(b"tree", b"", length)
        author = draft.author.encode()
        text = b"tree %s\nparent %s\nauthor %s %d +0000\ncommitter %s %d +0000\n\n%s" % (
            tree.encode(),
            base.encode(),
            author,
            draft.at_s,
            author,
            draft.placed_s,
            draft.message.encode(),
        )
        return self.write(b"commit", draft.sign(text) if draft.sign else text, length)

    def _edited(self, old: Tree, changes: Mapping[bytes, _Blob | None], length: int) -> str | None:
        """Write the tree with these paths set or removed. Return its name; None if it would be empty."""
        below: dict[bytes, dict[bytes, _Blob | None]] = {}
        new: dict[bytes, TreeEntry | None] = {}
        for path, blob in changes.items():
            name, slash, rest = path.partition(b"/")
            there = old.entry(name)
            if slash:
                below.setdefault(name, {})[rest] = blob
            elif blob is None:
                new[name] = None
            else:
                kept = there.mode if there and there.mode.startswith(b"100") else _FILE
                new[name] = TreeEntry(blob[0] or kept, blob[1])
        for name, inner in below.items():
            there = old.entry(name)
            sub = self._repo.objects.tree(there.oid.hex()) if there and there.mode == FOLDER else Tree(b"", length // 2)
            made = self._edited(sub, inner, length)
            new[name] = TreeEntry(FOLDER, bytes.fromhex(made)) if made else None
        raw = old.edited(new)
        if not raw:
            return None
        made = self.write(b"tree", raw, length)
        self._repo.objects.keep(made, raw)
        return made

    def write(self, kind: bytes, data: bytes, length: int) -> str:
        """Write one object. Return its name. Raises OSError."""
        name = name_of(kind, data, length)
        folder = os.path.join(self._folder, name[:2])
        path = os.path.join(folder, name[2:])
        if os.path.exists(path):
            return name
        fresh = os.path.join(folder, f"tmp_obj_{os.getpid()}_{get_ident()}_{name[2:10]}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(fresh, flags, 0o444)
        except FileNotFoundError:
            os.makedirs(folder, exist_ok=True)
            descriptor = os.open(fresh, flags, 0o444)
        try:
            packed = _deflated(kind, data)
            while packed:
                packed = packed[os.write(descriptor, packed) :]
        finally:
            os.close(descriptor)
        os.replace(fresh, path)
        return name


def _deflated(kind: bytes, data: bytes) -> bytes:
    """Return the content of an object's file. One that fits into a disk block is stored uncompressed, which is faster."""
    whole = kind + b" %d\0" % len(data) + data
    size = len(whole)
    if size > _BLOCK:
        return zlib.compress(whole, 0 if kind == b"tree" and size > _LARGE_TREE else 1)  # object names hardly compress
    stored = b"\x78\x01\x01" + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")  # RFC 1950 and 1951
    return stored + whole + zlib.adler32(whole).to_bytes(4, "big")


def _checked(path: str) -> bytes:
    """Return a hub path as git stores it. Raises BadInput if it could leave the tree."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts) or any(char in path for char in '\n\\"\0'):
        raise BadInput(f"{path!r} can't be a file of a hub")
    return path.encode("utf-8", "surrogateescape")


class ObjectReader:
    """Reads objects by name: loose ones from their files, all others through one `git cat-file --batch` per command."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._folder = os.path.join(repo.common_dir, "objects")
        self._process: Process | None = None
        self._trees: dict[str, Tree] = {}
        self._is_plain: bool | None = None
        # The archive volumes that this command has listed (archive/volumes.py).
        self.shelf: Shelf | None = None

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None

    def read(self, name: str, *, at_most: int | None = None) -> bytes | None:
        """Return an object's content, or its first `at_most` bytes; None if it does not exist."""
        found = next(self.read_many([name], at_most=at_most))
        if found is None and (volume := volume_of(name.partition(":")[2])):
            return shelf_of(self).at(name.partition(":")[0], volume, name.rpartition("/")[2].removesuffix(".yaml"))
        return found

    def read_many(self, names: Sequence[str], *, at_once: int = 200, at_most: int | None = None) -> Iterator[bytes | None]:
        """Read many objects in order, of each at most `at_most` bytes. `at_once` requests must fit into a pipe's buffer.

        Documents of listed archive volumes are objects, too.
        """
        there = self.shelf
        others = self._read_many([name for name in names if not (there and name in there.places)], at_once, at_most)
        for name in names:
            yield there.document(name, at_most) if there and name in there.places else next(others)

    def _read_many(self, names: Sequence[str], at_once: int, at_most: int | None) -> Iterator[bytes | None]:
        if any("\n" in name for name in names):
            raise BadInput("a name with a line break in it")
        start = 0
        while start < len(names):
            chunk = names[start : start + at_once]
            found = self._directly(chunk[0]) if len(names) <= _FEW else None
            answers = self._asked(chunk, at_most) if found is None else [found[:at_most]]
            yield from answers
            start += len(answers)
            if found is None and len(answers) < len(chunk):
                at_once = len(answers)
            answers = []  # free them before the next ones come

    def tree_of(self, commit: str) -> Tree:
        """Return the tree of a commit. Raises Damaged if it is missing."""
        return self.tree(self.tree_name(commit))

    def tree_name(self, commit: str) -> str:
        """Return the name of a commit's tree. Raises Damaged if there is no such commit."""
        return _tree_name(self.known(commit))

    def tree(self, oid: str) -> Tree:
        """Return a tree. Raises Damaged if it is missing: a missing tree is not an empty one."""
        return self._trees.get(oid) or self.keep(oid, self.known(oid))

    def keep(self, oid: str, raw: bytes) -> Tree:
        """Keep the content of a tree in memory."""
        tree = Tree(raw, len(oid) // 2)
        while len(self._trees) >= _TREES_KEPT:
            del self._trees[next(iter(self._trees))]
        self._trees[oid] = tree
        return tree

    def known(self, name: str, *, at_most: int | None = None) -> bytes:
        """Read an object that has to exist. Raises Damaged."""
        raw = self.read(name, at_most=at_most)
        if raw is None:
            raise Damaged(f"this clone lacks the object {name}", hint="`git fsck` tells more; a new `bd clone` fixes it")
        return raw

    # --- from files ---

    def _directly(self, name: str) -> bytes | None:
        """Read the object `<name>` or the file `<commit>:<path>` from loose objects alone; None if git has to be asked."""
        oid, colon, path = name.partition(":")
        try:
            if not colon:
                return self._loosely(oid, b"")
            tree = self.loose_tree_of(oid)
            *folders, last = path.encode("utf-8", "surrogateescape").split(b"/")
            for folder in folders:
                tree = self.loose_tree(_name_in(tree, folder))
            blob = _name_in(tree, last)
            return _loose(self._folder, blob, b"blob") or self._checked_out(path, blob)
        except (LookupError, ValueError):
            return None

    def loose_tree_of(self, commit: str) -> Tree:
        """Return the tree of a commit if both are loose. Raises LookupError."""
        return self.loose_tree(_tree_name(self._loosely(commit, b"commit")))

    def loose_tree(self, oid: str) -> Tree:
        """Return a tree that is loose. Raises LookupError."""
        return self._trees.get(oid) or self.keep(oid, self._loosely(oid, b"tree"))

    def _loosely(self, oid: str, kind: bytes) -> bytes:
        if not is_oid(oid) or not self._may_look() or (found := _loose(self._folder, oid, kind)) is None:
            raise LookupError
        return found

    def _checked_out(self, path: str, oid: str) -> bytes | None:
        """Return the content of the file checked out at a path, if it is that object."""
        try:
            with open(os.path.join(self._repo.work_tree or "", path), "rb", opener=open_plainly) as file:
                content = file.read(_FILE_LIMIT)
        except OSError:
            return None
        return content if name_of(b"blob", content, len(oid)) == oid else None

    def _may_look(self) -> bool:
        """Return whether object files can be trusted to be what git would give: no `git replace`, no reftable."""
        if self._is_plain is None:
            folder = self._repo.common_dir
            self._is_plain = not any(os.path.exists(os.path.join(folder, name)) for name in ("refs/replace", "reftable"))
            try:
                with open(os.path.join(folder, "packed-refs"), "rb") as file:
                    self._is_plain = self._is_plain and b" refs/replace/" not in file.read()
            except FileNotFoundError:
                pass
        return self._is_plain

    # --- through git ---

    def _asked(self, names: Sequence[str], at_most: int | None) -> list[bytes | None]:
        """Return the answers. If a signal to the process group (Ctrl-C) ended git, a new process is started."""
        for _ in range(_STARTS):
            if self._process is None:
                self._process = self._repo.spawn(["cat-file", "--batch"], stdin=True)
            try:
                return _answers(self._process, names, at_most)
            except (BrokenPipeError, EOFError) as error:
                if self._process.wait() >= 0:
                    raise Damaged("git cat-file ended early", hint="`git fsck` tells what is wrong") from error
            self.close()
        raise TryAgain("git cat-file was ended by signals again and again")


def _tree_name(commit: bytes) -> str:
    """Return the name of the tree in a raw commit; "" if there is none."""
    return commit.split(b"\n", 1)[0].removeprefix(b"tree ").decode("ascii", "replace")


def _name_in(tree: Tree, name: bytes) -> str:
    """Return the object that a name in a tree refers to. Raises LookupError."""
    entry = tree.entry(name)
    if entry is None:
        raise LookupError
    return entry.oid.hex()


def _loose(folder: str, oid: str, kind: bytes = b"") -> bytes | None:
    """Return the content of a loose object (of this kind, if one is given).

    None: leave it to git to find it, or to say what is wrong.
    """
    try:
        with open(os.path.join(folder, oid[:2], oid[2:]), "rb") as file:
            packed = file.read(_FILE_LIMIT)
        inflating = zlib.decompressobj()
        head, _, content = inflating.decompress(packed, _CONTENT_LIMIT).partition(b"\0")
    except (OSError, zlib.error):
        return None
    there, _, size = head.partition(b" ")
    is_whole = inflating.eof and size == b"%d" % len(content)
    return content if is_whole and there == (kind or there) else None


def _answers(process: Process, names: Sequence[str], at_most: int | None) -> list[bytes | None]:
    """Return the first answers, at least one, up to the memory limit.

    All are read: one left in the pipe would answer the next question.
    """
    stdin, stdout = process.stdin, process.stdout
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
    """Read one answer of the process, or its first bytes. Raises EOFError if it ended early."""
    size = size_in(stdout.readline())
    if size is None:
        return None
    wanted = size if at_most is None else min(size, at_most)
    content = stdout.read(wanted)
    rest = size + 1 - wanted  # the unwanted bytes and the line end
    while len(content) == wanted and rest:
        skipped = len(stdout.read(min(rest, _SKIP_SIZE)))
        if not skipped:
            raise EOFError
        rest -= skipped
    if len(content) < wanted:
        raise EOFError
    return content
