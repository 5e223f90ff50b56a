"""Reads all files of a hub; many of them in several processes, each with its own git.

This module divides the work, and does whatever a process failed to do. hub_files.py parses, cache.py stores.

One process parses YAML on one core, and the first read of a hub is mostly that. The processes are plain Python interpreters that
get their task on stdin and answer on stdout. If one fails in any way, its part is read here.
"""

from __future__ import annotations

import contextlib
import gc
import marshal
import os
import subprocess
import sys

from bd import TYPE_CHECKING
from bd.store.archive.volumes import shelf_of
from bd.store.cache.rows import Packed, packed
from bd.store.contract import Entry
from bd.store.git.repository import GitRepo
from bd.store.hub_files import Row, parse_entries

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO, Any

    from bd.core.value import Value
    from bd.store.contract import Repository

# The number of files read, sent and stored at once.
PIECE = 100
# Parsing this many files takes several times as long as starting a process.
WORTH_A_PROCESS = 4000
_MOST = 8
# An answer starts with a mark and this many bytes for its length: an interpreter may print other things.
_MARK, _LENGTH = b"bd", 6
_PIPE_SIZE = 1 << 20
_SERVE = "import sys; sys.path[:] = {path!r}; from bd.store.cache.load import serve; serve()"


def read_all(
    repo: Repository, entries: Sequence[Entry], on_progress: Callable[[int, int], None] | None
) -> Iterator[list[Packed]]:
    """Yield every file as a cache row, in pieces. All files have to exist: none may be a removal."""
    pieces = [entries[start : start + PIECE] for start in range(0, len(entries), PIECE)]
    number = min(_cores(), _MOST, len(entries) // WORTH_A_PROCESS)
    done = 0
    with contextlib.ExitStack() as stack:
        readers = (
            [stack.enter_context(_Reader(repo, pieces[place::number])) for place in range(number)]
            if isinstance(repo, GitRepo) and number > 1
            else []
        )
        for place, piece in enumerate(pieces):
            answer = readers[place % number].answer(len(piece)) if readers else None
            yield answer if answer is not None else _read_here(repo, piece)
            done += len(piece)
            if on_progress:
                on_progress(done, len(entries))


def _read_here(repo: Repository, piece: Sequence[Entry]) -> list[Packed]:
    return [packed(row) for row in parse_entries(repo, piece) if isinstance(row, Row)]


def _cores() -> int:
    """Return how many processes can run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Reader:
    """A process that reads pieces in order. After any error it gives no more answers."""

    def __init__(self, repo: GitRepo, pieces: list[Sequence[Entry]]) -> None:
        self._task = marshal.dumps(
            (
                (repo.git_dir, repo.common_dir, repo.work_tree, repo.timeout_s),
                [[_values(entry) for entry in piece] for piece in pieces],
                _places(repo, [entry.oid for piece in pieces for entry in piece]),
            )
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> _Reader:
        with contextlib.suppress(OSError, ValueError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE.format(path=sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pipesize=_PIPE_SIZE,
            )
            assert self._process.stdin is not None
            self._process.stdin.write(self._task)
            self._process.stdin.close()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            self._process.wait()

    def answer(self, number: int) -> list[Packed] | None:
        """Return its next piece, of this many files; None if it failed."""
        if self._process is None:
            return None
        assert self._process.stdout is not None
        try:
            data = _received(self._process.stdout)
            found = [Packed(*values) for values in marshal.loads(data)]
        except (OSError, EOFError, ValueError, TypeError):
            found = []
        if len(found) == number:
            return found
        self.__exit__()
        self._process = None
        return None


def _places(repo: GitRepo, oids: Iterable[str | None]) -> dict[str, tuple[str, str]]:
    """Return the locations of those objects that are only in a volume of the archive."""
    known = repo.objects.shelf.places if repo.objects.shelf else {}
    return {oid: known[oid] for oid in oids if oid in known}


def _values(value: Value) -> tuple[Any, ...]:
    """Return what another process makes the value from."""
    return tuple(value.as_dict().values())


def _received(stream: IO[bytes]) -> bytes:
    """Read one answer. Raises EOFError if it is incomplete."""
    head = stream.read(len(_MARK) + _LENGTH)
    if not head.startswith(_MARK):
        raise EOFError
    length = int.from_bytes(head[len(_MARK) :], "big")
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def serve() -> None:
    """Run as a reader process: read the task from stdin, and answer piece by piece."""
    gc.disable()
    place, pieces, places = marshal.loads(sys.stdin.buffer.read())
    git_dir, common_dir, work_tree, timeout_s = place
    repo = GitRepo(git_dir, common_dir, work_tree, timeout_s=timeout_s)
    if places:
        shelf_of(repo.objects).places.update(places)
    out = sys.stdout.buffer
    for piece in pieces:
        found = _read_here(repo, [Entry(*values) for values in piece])
        data = marshal.dumps([_values(one) for one in found])
        out.write(_MARK + len(data).to_bytes(_LENGTH, "big") + data)
        out.flush()
    repo.close()
