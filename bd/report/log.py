"""The transitions of a hub's history, read from its commits in order."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Bead
from bd.core.schema import FILE_LIMIT
from bd.report import commits
from bd.report.bead_events import CLAIMING, SILENT, Transition, of_bead, of_hub
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bd.report.commits import Commit, File, Progress
    from bd.store.git.repository import GitRepo

_AT_ONCE = 500


def read(repo: GitRepo, tip: str, *ranges: str, on_progress: Progress | None = None) -> Iterator[Transition]:
    """Yield what the commits that lead to a tip did, oldest first; `ranges` bound them (`^COMMIT`, `--max-count=N`).

    The first commit of a shallow clone is skipped: what it changed is unknown here.
    """
    contents, is_cut = _Contents(repo), repo.is_shallow
    for chunk in _chunks(commits.read(repo, tip, *ranges, on_progress=on_progress)):
        contents.learn([file for commit in chunk for file in commit.files if file.bead])
        for commit in chunk:
            if commit.parents or not is_cut:
                yield from _of(commit, contents)


def last(repo: GitRepo, tip: str, size: int) -> tuple[list[Transition], bool]:
    """Return the last transitions, oldest first, and whether there are earlier ones."""
    count = size + 1
    while True:
        found = list(read(repo, tip, f"--max-count={count}"))
        _, out, _ = repo.run("rev-list", "--count", f"--max-count={count + 1}", tip)
        if len(found) > size or int(out) <= count:
            return found[-size:], len(found) > size
        count *= 4


def _chunks(found: Iterator[Commit]) -> Iterator[list[Commit]]:
    chunk: list[Commit] = []
    for commit in found:
        chunk.append(commit)
        if len(chunk) == _AT_ONCE:
            yield chunk
            chunk = []
    yield chunk


def _of(commit: Commit, contents: _Contents) -> Iterator[Transition]:
    beads: dict[str, list[File]] = {}
    for file in commit.files:
        if file.bead:
            beads.setdefault(file.bead, []).append(file)
    if not beads or commit.is_merge:  # the changes in a merge were reported where they were made
        if commit.verb not in SILENT:
            yield of_hub(commit)
        return
    found: list[Transition] = []
    for bead_id, files in beads.items():
        before = contents.bead(bead_id, _first(file.old for file in files))
        after = contents.bead(bead_id, _first(file.new for file in files))
        if before is not None or after is not None:
            found += of_bead(commit, bead_id, before, after)
    yield from sorted(found, key=lambda one: one.what in CLAIMING)  # one bead was closed, then the next one claimed


def _first(oids: Iterator[str]) -> str:
    return next((oid for oid in oids if oid), "")


class _Contents:
    """Beads by blob; the newest content of each is kept, because the next commit changes it."""

    def __init__(self, repo: GitRepo) -> None:
        self._repo = repo
        self._known: dict[tuple[str, str], Bead | None] = {}
        self._newest: dict[str, tuple[str, str]] = {}

    def learn(self, files: Sequence[File]) -> None:
        """Read the old and new contents of these files, and drop those no longer needed."""
        kept = set(self._newest.values())
        self._known = {pair: bead for pair, bead in self._known.items() if pair in kept}
        wanted = list(dict.fromkeys((file.bead, oid) for file in files for oid in (file.old, file.new) if oid))
        wanted = [pair for pair in wanted if pair not in self._known]
        contents = self._repo.objects.read_many([oid for _, oid in wanted], at_most=FILE_LIMIT + 1)
        for pair, data in zip(wanted, contents, strict=True):
            self._known[pair] = _parsed(pair[0], data)
        for file in files:
            if file.new:
                self._newest[file.bead] = (file.bead, file.new)
            else:
                self._newest.pop(file.bead, None)

    def bead(self, bead_id: str, oid: str) -> Bead | None:
        """Return the bead in a content; None if there is none, or it can't be read."""
        return self._known.get((bead_id, oid))


def _parsed(bead_id: str, data: bytes | None) -> Bead | None:
    try:
        return Bead(codec.parse_bead(data or b"", bead_id).fields)
    except codec.Unreadable:
        return None
