"""The contracts that the store is built on, and the values that pass through them.

The protocol of a hub (transaction, recovery, group commit, heartbeats, offline queue, cache) is written once, above these.
`Repository`, `Remote` and `LocalState` have two implementations each: on git and files (git/, local/), and in memory (memory/).
One test suite holds both to what is documented here (tests/contract).
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol


# The private refs of a clone. PUBLISHED is the last tip known to be on the hub; VIEW adds what is not published yet, and is what
# reads answer from.
PUBLISHED = "refs/bd/published"
VIEW = "refs/bd/view"
# Tips that were published once, but left the hub's history when somebody accepted a rewrite.
REWRITTEN = "refs/bd/rewritten/"
# As the old value of a ref: the ref must not exist yet.
ZERO = "0" * 40


# --- values -------------------------------------------------------------------------------


class Entry(Value):
    """A path of a tree and its blob; `oid` is None if the path is gone. `mode` is git's octal text.

    When two commits were compared, `old` is the blob in the older one; None if there was no file.
    """

    path: str
    oid: str | None
    mode: str = "100644"
    old: str | None = None

    @property
    def is_file(self) -> bool:
        """Return whether there is a file, and no link and no submodule in its place."""
        return self.oid is not None and self.mode in ("100644", "100755")


class Draft(Value):
    """A commit to be made.

    `message`, the author (`Name <mail>`), seconds since the epoch, the files (None deletes one), and the modes of files that are
    not plain. `sign` turns a raw commit into a signed one. `committed_s` is the committer's time if it differs.
    """

    message: str
    author: str
    at_s: int
    files: dict[str, bytes | None]
    modes: Mapping[str, str] = {}
    sign: Callable[[bytes], bytes] | None = None
    committed_s: int | None = None

    @property
    def placed_s(self) -> int:
        """The committer's time."""
        return self.at_s if self.committed_s is None else self.committed_s


class SideRef(Value):
    """An update of a side ref: to `new` (None deletes it), only if it is at `old` (None: it must not exist)."""

    ref: str
    new: str | None
    old: str | None


class PushLine(Value):
    """A server's answer for one ref of a push, as in `push --porcelain`: a flag and a summary."""

    flag: str
    summary: str

    @property
    def landed(self) -> bool:
        return self.flag in (" ", "*", "=", "+", "-")


class PushAnswer(Value):
    """A server's answer to a push: a line for each ref it reported, and all its words. A ref without a line got no answer."""

    lines: Mapping[str, PushLine]
    words: str

    @property
    def landed(self) -> bool:
        """Return whether the server reported refs, and accepted all of them."""
        return bool(self.lines) and all(line.landed for line in self.lines.values())


class Fetched(Value):
    """The result of a fetch: the branch's tip (None: no such branch), and the requests of other clones by uid.

    `is_probed`: the server is known to accept side refs. `lags`: it showed an older tip than this clone has seen there, as a
    replica does that is behind; then `tip` is the one seen before.
    """

    tip: str | None
    requests: Mapping[str, str] = {}
    is_probed: bool = False
    lags: bool = False


if TYPE_CHECKING:
    # --- the objects and refs of this clone -----------------------------------------------

    class Objects(Protocol):
        """Reads objects by name, or files by `<commit>:<path>`."""

        # Cached listings of archive volumes (archive/volumes.py).
        shelf: Any

        def read(self, name: str, *, at_most: int | None = None) -> bytes | None:
            """Return the content, or its first `at_most` bytes; None if the object is not in this clone."""

        def read_many(self, names: Sequence[str], *, at_once: int = 200, at_most: int | None = None) -> Iterator[bytes | None]:
            """Read many objects, in order."""

        def known(self, name: str, *, at_most: int | None = None) -> bytes:
            """Read an object that has to be here. Raises Damaged."""

    class Repository(Protocol):
        """The commits and refs of this clone. Writes are complete when the call returns."""

        @property
        def objects(self) -> Objects: ...

        @property
        def is_shallow(self) -> bool:
            """Return whether history is cut off somewhere."""

        def ref(self, name: str) -> str | None:
            """Return the object that a ref names; None if there is no such ref."""

        def refs(self, prefix: str) -> dict[str, str]:
            """Return all refs below a prefix."""

        def update_refs(self, updates: Iterable[tuple[str, str | None, str | None]]) -> None:
            """Set refs, all or none: (name, new, old). New None deletes; old None expects nothing, old ZERO expects no ref.

            Raises TryAgain if a ref is not what was expected.
            """

        def set_private_refs(self, values: Mapping[str, str]) -> None:
            """Set refs that only this clone writes, under the clone's lock."""

        def is_ancestor(self, older: str, newer: str) -> bool:
            """Return whether `older` is `newer` or in its history, as far as that is in this clone."""

        def commits_between(self, older: str | None, newer: str, *, without: Iterable[str] = ()) -> list[str]:
            """Return the commits of `newer` that are in neither `older` nor `without`, oldest first."""

        def diff(self, old: str | None, new: str, *paths: str) -> list[Entry]:
            """Return the files in which two commits differ, as they are in the newer one. With `old` None, every file."""

        def messages(self, tip: str, since: Sequence[str]) -> Iterator[tuple[str, str]]:
            """Yield (commit, message) of the commits in `tip` and not in the common history of `since`, newest first.

            Commits missing from this clone are ignored.
            """

        def ever_had(self, commit: str, path: str) -> bool:
            """Return whether the path ever existed, in all of a commit's history."""

        def write_commits(self, base: str | None, drafts: Sequence[Draft]) -> list[str]:
            """Store a chain of commits on top of `base`; return their names. Raises TryAgain (disk full) and Damaged."""

        def write_object(self, kind: str, data: bytes, length: int) -> str:
            """Store one object; return its name, of `length` hex digits. Raises OSError or TryAgain if nothing can be written."""

        def close(self) -> None:
            """End helper processes."""

    # --- one connection to one server ------------------------------------------------------

    class Remote(Protocol):
        """One connection to one server. It reports what the server said, and draws no conclusions.

        For a hub without a remote, the repository itself is the server.
        """

        # The name of the server in messages, as git calls it.
        name: str

        def begin_fetch(self) -> None:
            """Start a fetch of the branch; `fetch` waits for it. Only under the clone's lock."""

        def fetch(self) -> Fetched:
            """Fetch. Return what the server has; its objects are then in this clone, and its tip in the published ref.

            An ancestor of what was published before changes nothing: `lags`. Raises RemoteUnreachable; HubRewritten if the tip is
            neither an ancestor nor a descendant, or if a branch that existed is gone.
            """

        def drop_fetch(self) -> None:
            """Wait for a fetch that was started and is no longer needed."""

        def fetch_objects(self, refs: Sequence[str]) -> None:
            """Fetch the objects of these refs. What the server refuses shows when they are read.

            Raises RemoteUnreachable if there is no answer in time.
            """

        def list(self, *prefixes: str) -> dict[str, str]:
            """List the server's refs that start with one of these. Raises RemoteUnreachable."""

        def push(
            self,
            commit: str | None,
            base: str | None,
            sides: Sequence[SideRef] = (),
            *,
            exactly: bool = False,
            meanwhile: Callable[[], None] | None = None,
        ) -> PushAnswer:
            """Move the branch from `base` to `commit` (None: move only the side refs), all or nothing.

            The branch moves as a fast-forward; with `exactly`, only if the server is at `base`. Each side ref moves only from its
            old value. `meanwhile` is called while the push is under way. Raises RemoteUnreachable if there is no answer in time.
            """

    # --- what only this clone knows ---------------------------------------------------------

    class JournalEntry(Protocol):
        """One operation of this clone under way. Its process locks it; once that has ended, it is a dead process's entry."""

        path: str
        data: dict[str, Any]

        @property
        def uid(self) -> str: ...

        def write(self, *, durably: bool = True, **changes: Any) -> None:
            """Record a step. Without `durably` it only has to outlive the process, not the machine. Raises OSError."""

        def sync(self) -> None:
            """Flush what was written to the disk."""

        def remove(self) -> None:
            """Remove the entry: the operation is settled and its author has been told."""

        def close(self) -> None:
            """Let go of the entry, and leave it to the next command."""

    class Journal(Protocol):
        """The operations that this clone has begun and not yet settled. See local/journal.py for the states of an entry."""

        # True if it can tell that an entry's process has ended. If not, no process waits for another.
        tells_the_dead: bool

        def begin(self, uid: str, **data: Any) -> JournalEntry:
            """Return a new entry; it exists from its first `write` on."""

        def is_empty(self) -> bool: ...

        def unreadable(self) -> list[str]:
            """Return the entries that this bd can't read. They are neither settled nor removed."""

        def of_the_dead(self) -> Iterator[JournalEntry]:
            """Yield the entries of dead processes, oldest first, those taken over by a neighbour last.

            Each is locked by this process meanwhile. Only under the lock: other processes take an entry that is locked for that
            of a living one.
            """

        def take(self, fits: Callable[[Mapping[str, Any]], bool], number: int) -> list[tuple[str, dict[str, Any]]]:
            """Take up to `number` waiting entries that fit, by key. The caller then has to answer them."""

        def answer(self, key: str, told: Mapping[str, Any]) -> None:
            """Answer an operation that was taken, whole or not at all."""

        def answer_for_the_dead(self, uid: str, told: Mapping[str, Any]) -> None:
            """Answer an operation whose holder died before answering. Does nothing if nobody waits any more."""

        def answered(self, entry: JournalEntry) -> dict[str, Any] | None:
            """Return the answer to an entry. Removing the entry then removes the answer, too."""

        def put_back(self) -> None:
            """Make entries available again whose holder died before answering. Only under the lock."""

        def withdraw(self, entry: JournalEntry) -> bool:
            """Withdraw a waiting entry. False if a holder has taken it already."""

        def reclaim(self, entry: JournalEntry) -> None:
            """Give the entry back to its author, who has the lock and got no answer."""

    class Lock(Protocol):
        """The writer lock: one writer per clone. It is released when its process ends."""

        def __enter__(self) -> Lock: ...
        def __exit__(self, *_: object) -> None: ...

        def try_enter(self) -> bool:
            """Take the lock if it is free. Return whether that succeeded."""

        def timed_out(self) -> Exception:
            """Return the error for a process that could not get the lock in time."""

    class LocalState(Protocol):
        """Data that only this clone has. A crash loses what was not synced to disk, and nothing relies on it."""

        @property
        def journal(self) -> Journal: ...

        def lock(self, timeout_s: float, on_wait: Callable[[], None] | None = None) -> Lock:
            """Return the writer lock; entering it waits up to `timeout_s`."""

        def read(self, name: str) -> str | None:
            """Read a note; None if there is none or it can't be read."""

        def write(self, name: str, text: str) -> None:
            """Write a note, whole or not at all. Raises OSError."""

        def drop(self, name: str) -> None:
            """Remove a note."""

        def has_any(self, folder: str) -> bool:
            """Return whether there has ever been a note below this name."""
