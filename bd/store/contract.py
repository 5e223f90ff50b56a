"""What the store asks of what lies below and beside it: small contracts, and the values that pass through them.

Everything that the protocol of a hub consists of (transaction, recovery, group commit, heartbeats, offline queue, cache)
is written once, above these. `Repository`, `Remote` and `LocalState` have two implementations each: on git and files
(git/, local/), and in memory (memory/). One suite holds both to what is said here (tests/contract).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol


# The private refs of a clone: the last tip known to be on the hub, and what reads answer from: that, and what is not published yet.
PUBLISHED = "refs/bd/published"
VIEW = "refs/bd/view"
# Tips that were published once and are no longer in the hub's history, since somebody accepted a rewrite.
REWRITTEN = "refs/bd/rewritten/"
# The old value of a ref that must not exist yet.
ZERO = "0" * 40


# --- values -------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A path of a tree and its blob; `oid` None when the path is gone. `mode` is git's octal text.

    `old` is the blob that was there before, where two commits were compared; None where there was no file.
    """

    path: str
    oid: str | None
    mode: str = "100644"
    old: str | None = None


class Draft(NamedTuple):
    """A commit to be made: message, author (`Name <mail>`), seconds, files (None deletes), modes of those not plain.

    `sign` makes of a raw commit a signed one.
    """

    message: str
    author: str
    at_s: int
    files: dict[str, bytes | None]
    modes: Mapping[str, str] = {}
    sign: Callable[[bytes], bytes] | None = None


class SideRef(NamedTuple):
    """A ref beside the branch that is to be moved: to `new` (None deletes it) from exactly `old` (None: there is none)."""

    ref: str
    new: str | None
    old: str | None


class PushLine(NamedTuple):
    """What a server says of one ref of a push, in the words of `push --porcelain`: a flag, and a summary."""

    flag: str
    summary: str

    @property
    def landed(self) -> bool:
        return self.flag in (" ", "*", "=", "+", "-")


class PushAnswer(NamedTuple):
    """What a server said of a push: a line for each ref it spoke of, and all its words. No line is no answer."""

    lines: Mapping[str, PushLine]
    words: str


class Fetched(NamedTuple):
    """What a server had: the branch's tip (None: no such branch), requests of other clones by uid, and whether it is known to take side refs."""

    tip: str | None
    requests: Mapping[str, str] = {}
    is_probed: bool = False


if TYPE_CHECKING:
    # --- the objects and refs of this clone -----------------------------------------------

    class Objects(Protocol):
        """Reads objects by name, or a file by `<commit>:<path>`."""

        # What of the archive was looked into (archive/volumes.py).
        shelf: Any

        def read(self, name: str, *, at_most: int | None = None) -> bytes | None:
            """The content; None for what is not here. `at_most` bytes of it."""

        def read_many(self, names: Sequence[str], *, at_once: int = 200, at_most: int | None = None) -> Iterator[bytes | None]:
            """The same for many, in order."""

        def known(self, name: str, *, at_most: int | None = None) -> bytes:
            """The same for what has to be here. Raises Damaged."""

    class Repository(Protocol):
        """The commits that this clone has, and its refs. What it is told to store is here when the call returns."""

        @property
        def objects(self) -> Objects: ...

        @property
        def is_shallow(self) -> bool:
            """Whether history is cut off somewhere."""

        def ref(self, name: str) -> str | None:
            """The object a ref names; None when there is none."""

        def refs(self, prefix: str) -> dict[str, str]:
            """Every ref below a prefix."""

        def update_refs(self, updates: Iterable[tuple[str, str | None, str | None]]) -> None:
            """Set refs, all or none: (name, new, old). New None deletes; old None expects nothing in particular, ZERO no ref.

            Raises TryAgain when one is not what was expected.
            """

        def set_private_refs(self, values: Mapping[str, str]) -> None:
            """Set refs that nobody else writes, under the clone's lock."""

        def is_ancestor(self, older: str, newer: str) -> bool:
            """Whether one commit is the other or in its history, as far as that is here."""

        def commits_between(self, older: str | None, newer: str, *, without: Iterable[str] = ()) -> list[str]:
            """The commits of `newer` that `older` and `without` do not have, oldest first."""

        def diff(self, old: str | None, new: str, *paths: str) -> list[Entry]:
            """The files in which two commits differ, as they are in the newer one. `old` None: every file."""

        def messages(self, tip: str, since: Sequence[str]) -> Iterator[tuple[str, str]]:
            """(commit, message) of what `tip` has and the common history of `since` has not, newest first; those not here count for nothing."""

        def ever_had(self, commit: str, path: str) -> bool:
            """Whether there was ever a file at this path, in all of a commit's history."""

        def write_commits(self, base: str | None, drafts: Sequence[Draft]) -> list[str]:
            """A chain of commits on top of `base`; their names. Raises TryAgain (disk full) and Damaged."""

        def write_object(self, kind: str, data: bytes, length: int) -> str:
            """One object; its name, of so many figures. Raises OSError and TryAgain where nothing can be written."""

        def close(self) -> None:
            """Let go of helper processes."""

    # --- one connection to one server ------------------------------------------------------

    class Remote(Protocol):
        """What one connection to one server does. It reports what the server said, and draws no conclusion.

        For a hub without a remote, this repository is the server.
        """

        # What messages call the server: as git does.
        name: str

        def begin_fetch(self) -> None:
            """Start a fetch of the branch, which `fetch` then waits for. Only under the clone's lock."""

        def fetch(self) -> Fetched:
            """What the server has, its objects here, and its tip in the published ref.

            Raises RemoteUnreachable; HubRewritten when the tip does not descend from what was published before, or when a
            branch that was there is gone.
            """

        def drop_fetch(self) -> None:
            """Wait for a fetch that was begun and that nobody waits for."""

        def fetch_objects(self, refs: Sequence[str]) -> None:
            """Bring the objects of these refs here; what the server refuses shows when they are read. Raises RemoteUnreachable for no answer in time."""

        def list(self, *prefixes: str) -> dict[str, str]:
            """The server's refs that start with one of these. Raises RemoteUnreachable."""

        def push(
            self,
            commit: str | None,
            base: str | None,
            sides: Sequence[SideRef] = (),
            *,
            exactly: bool = False,
            meanwhile: Callable[[], None] | None = None,
        ) -> PushAnswer:
            """Move the branch from `base` to `commit` (None: only the side refs), all or nothing.

            The branch moves as a fast-forward, with `exactly` only if the server has `base`; each side ref only from its old
            value. `meanwhile` is called while the server is being talked to. Raises RemoteUnreachable for no answer in time.
            """

    # --- what only this clone knows ---------------------------------------------------------

    class JournalEntry(Protocol):
        """One operation of this clone on its way; locked by its process, and the dead's once that has ended."""

        path: str
        data: dict[str, Any]

        @property
        def uid(self) -> str: ...

        def write(self, *, durably: bool = True, **changes: Any) -> None:
            """Record a step; not `durably` where it only has to outlive the process. Raises OSError."""

        def sync(self) -> None:
            """Bring what was written through to the disk."""

        def remove(self) -> None:
            """The operation is settled, and whoever had to know knows."""

        def close(self) -> None:
            """Leave the entry to whoever comes next."""

    class Journal(Protocol):
        """What this clone has begun and not yet settled. See local/journal.py for the states of an entry."""

        # Whether it can be seen that the process of an entry has ended. Else nobody waits by one.
        tells_the_dead: bool

        def begin(self, uid: str, **data: Any) -> JournalEntry:
            """A new entry, there from its first `write` on."""

        def is_empty(self) -> bool: ...

        def unreadable(self) -> list[str]:
            """The entries that this bd can't read; neither decided nor dropped."""

        def of_the_dead(self) -> Iterator[JournalEntry]:
            """The entries whose process is gone, oldest first, those last that a neighbour had taken over; ours meanwhile."""

        def take(self, fits: Callable[[Mapping[str, Any]], bool], number: int) -> list[tuple[str, dict[str, Any]]]:
            """Up to so many waiting entries that fit, by their key, from now on the caller's to answer."""

        def answer(self, key: str, told: Mapping[str, Any]) -> None:
            """Answer an operation that was taken, whole or not at all."""

        def answer_for_the_dead(self, uid: str, told: Mapping[str, Any]) -> None:
            """The same for one that a holder took and did not live to answer; nothing where nobody waits any more."""

        def answered(self, entry: JournalEntry) -> dict[str, Any] | None:
            """The answer that an entry got. Whoever removes the entry then removes the answer with it."""

        def put_back(self) -> None:
            """Let those be taken again that a holder took and did not live to answer. Only under the lock."""

        def withdraw(self, entry: JournalEntry) -> bool:
            """Take a waiting entry back; False when a holder has it already."""

        def reclaim(self, entry: JournalEntry) -> None:
            """The lock is the author's and nobody has answered: the entry is its author's again."""

    class Lock(Protocol):
        """One writer a clone. It goes with its process."""

        def __enter__(self) -> Lock: ...
        def __exit__(self, *_: object) -> None: ...

        def try_enter(self) -> bool:
            """Take the lock if nobody has it; whether that went well."""

        def timed_out(self) -> Exception:
            """The error of who waited for it in vain."""

    class LocalState(Protocol):
        """What only this clone knows. What was not synced is lost in a crash, and nothing relies on it."""

        @property
        def journal(self) -> Journal: ...

        def lock(self, timeout_s: float, on_wait: Callable[[], None] | None = None) -> Lock:
            """The writer lock; whoever enters it waits so long."""

        def read(self, name: str) -> str | None:
            """A note; None when there is none or it can't be read."""

        def write(self, name: str, text: str) -> None:
            """Keep a note, whole or not at all. Raises OSError."""

        def drop(self, name: str) -> None:
            """Forget a note."""

        def has_any(self, folder: str) -> bool:
            """Whether there has ever been a note below this name."""
