"""The hub's commits, read once: who claims to have made each, the operation it names, and the files it changed.

Two processes list commits and files; the clone's object reader gets the contents. Used by everything that looks back (audit,
history); judges nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import BEADS_DIR
from bd.core.times import time_of_seconds
from bd.store import Entry
from bd.store.git import commit_message
from bd.store.hub_files import bead_id_of, with_volumes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.store.git.repository import GitRepo

    Progress = Callable[[int, int, str], None]

BY_HAND = "by hand"
_AT_ONCE = 500


class File(NamedTuple):
    """A file that a commit changed: its blob before and after, "" if there is none."""

    path: str
    old: str
    new: str

    @property
    def bead(self) -> str:
        """The id of the file's bead; "" for any other file."""
        bead_id = bead_id_of(self.path) if self.path.startswith(BEADS_DIR) and self.path.endswith(".yaml") else None
        return bead_id or ""


class Who(NamedTuple):
    """The author of a commit: the name, its kind (agent, human, hand ...), and whether a signature proves it.

    `verified` is None if signatures were not checked: then it is what the commit claims.
    """

    name: str
    kind: str
    verified: bool | None = None


class Commit(NamedTuple):
    """One commit. `sides` has, for each parent, the files that differ; `form` is the operation that it names.

    `at` is when it was written, `committed_at` when it was put where it is: later, if its clone kept it for a while.
    """

    name: str
    parents: tuple[str, ...]
    at: str
    author: str
    text: str
    form: Mapping[str, Any]
    trailers: Mapping[str, Sequence[str]]
    sides: tuple[tuple[File, ...], ...]
    committed_at: str

    @property
    def files(self) -> tuple[File, ...]:
        """The files that differ from the first parent."""
        return self.sides[0]

    @property
    def subject(self) -> str:
        return self.text.split("\n", 1)[0]

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1

    @property
    def is_by_hand(self) -> bool:
        """True if plain git made it: it names no operation."""
        return not self.form

    @property
    def verb(self) -> str:
        return str(self.form.get("verb", ""))

    @property
    def args(self) -> Mapping[str, Any]:
        args = self.form.get("args")
        return args if isinstance(args, dict) else {}

    @property
    def uids(self) -> Sequence[str]:
        return self.trailers.get("Bd-Uid", ())

    @property
    def tokens(self) -> frozenset[str]:
        """The claim tokens that the commit names: won by it, or presented to it."""
        presented = self.form.get("tokens")
        given = presented.values() if isinstance(presented, dict) else ()
        return frozenset([*self.trailers.get("Bd-Token", ()), *(token for token in given if isinstance(token, str))])

    @property
    def tries(self) -> int:
        text = (list(self.trailers.get("Bd-Tries", ())) or ["1"])[-1]
        return max(1, int(text[:9])) if text.isdecimal() else 1


def who(commit: Commit) -> Who:
    """Return who made a commit, by its own words. The one place to add signatures."""
    if commit.is_by_hand:
        return Who(commit.author, "hand")
    kind, colon, name = str(commit.form.get("by") or "").rpartition(":")
    said = (list(commit.trailers.get("Bd-Agent", ())) or [""])[-1]
    return Who(name or said or commit.author, kind if colon else "agent")


def read(
    repo: GitRepo, tip: str, *ranges: str, paths: Sequence[str] = (), on_progress: Progress | None = None
) -> Iterator[Commit]:
    """Yield the commits of a tip, parents first. `ranges` bound them (`^COMMIT`), `paths` limit them and their files."""
    limits = ["--", *paths] if paths else []
    _, out, _ = repo.run("rev-list", "--reverse", "--topo-order", "--full-history", "--parents", tip, *ranges, *limits)
    lines = [line.split(" ") for line in out.decode().splitlines()]
    for start in range(0, len(lines), _AT_ONCE):
        chunk = lines[start : start + _AT_ONCE]
        sides = _sides(repo, chunk, limits)
        texts = repo.objects.read_many([words[0] for words in chunk])
        for words, data in zip(chunk, list(texts), strict=True):
            yield _commit(words[0], tuple(words[1:]), data or b"", tuple(next(sides) for _ in words[1:] or [""]))
        if on_progress:
            on_progress(start + len(chunk), len(lines), "reading history")


def _commit(name: str, parents: tuple[str, ...], data: bytes, sides: tuple[tuple[File, ...], ...]) -> Commit:
    headers, text = commit_message.split_commit(data)
    author, at_s = commit_message.signed_by(headers)
    at = time_of_seconds(at_s)
    form, trailers = commit_message.form_of(text) or {}, commit_message.parse(text)
    committed_at = time_of_seconds(commit_message.committed_at_s(headers))
    return Commit(name, parents, at, author.split(" <")[0], text, form, trailers, sides, committed_at)


def _sides(repo: GitRepo, lines: Sequence[Sequence[str]], limits: Sequence[str]) -> Iterator[tuple[File, ...]]:
    """Yield, for each commit and each of its parents in order (once without parents), the files that differ. One git process."""
    pairs = [(words[0], parent) for words in lines for parent in words[1:] or [""]]
    data = "".join(f"{commit} {parent}".rstrip() + "\n" for commit, parent in pairs).encode()
    args = ("diff-tree", "--stdin", "--always", "-r", "-z", "--root", "--raw", "--no-renames", "--full-index", *limits)
    _, out, _ = repo.run(*args, data=data)
    parts = iter(out.decode("utf-8", "surrogateescape").split("\0")[:-1])
    next(parts, None)  # the first commit's name
    found: list[Entry] = []
    for part in parts:
        if part.startswith(":"):
            _, mode, old, new, _ = part.split(" ")
            found.append(Entry(next(parts), _blob(new), mode, _blob(old)))
        else:
            yield _files(repo, found)
            found = []
    yield _files(repo, found)


def _files(repo: GitRepo, entries: Sequence[Entry]) -> tuple[File, ...]:
    """Return the files that differ, with archived beads listed one by one."""
    return tuple(File(entry.path, entry.old or "", entry.oid or "") for entry in with_volumes(repo, entries))


def _blob(oid: str) -> str | None:
    return oid if oid.strip("0") else None
