"""A hub's history as steps to judge: each commit with its changes of beads. Reads git; judges nothing."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.pools import pool_of
from bd.core.schema import AGENTS_DIR, CONFIG_PATH, FILE_LIMIT
from bd.core.settings import of_hub
from bd.report import commits
from bd.report.audit import rules
from bd.report.audit.bead_versions import Versions
from bd.report.audit.freed_claims import Fleet
from bd.report.audit.rules import BeadChange
from bd.store.bead_locations import Archived
from bd.store.hub_files import parse_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.report.audit.bead_versions import Version
    from bd.report.commits import Commit, File, Progress
    from bd.store.git.repository import GitRepo

_AT_ONCE = 500


class Step(NamedTuple):
    """One commit and its changes of beads, against its first parent.

    `is_found`: nothing before it is known, so its beads are accepted as they are. `lost` is what a merge dropped: beads and
    descriptions. `fleet` is what the hub's files said, if the commit ends claims of agents that are gone.
    """

    commit: Commit
    changes: tuple[BeadChange, ...]
    is_found: bool = False
    lost: tuple[tuple[str, str], ...] = ()
    unreadable: tuple[str, ...] = ()
    fleet: Fleet | None = None


class Reading:
    """The steps of one repository. `versions` is kept, so that each content is parsed once."""

    def __init__(self, repo: GitRepo) -> None:
        self.repo = repo
        self.versions = Versions(repo)
        self._archived = Archived(repo)

    def steps(self, tip: str, start: str | None, on_progress: Progress | None = None) -> Iterator[Step]:
        """Yield the steps that lead to a tip, parents first, without those that lead to `start`."""
        ranges = (f"^{start}",) if start else ()
        chunk: list[Commit] = []
        for commit in commits.read(self.repo, tip, *ranges, on_progress=on_progress):
            chunk.append(commit)
            if len(chunk) >= _AT_ONCE:
                yield from self._chunk(chunk)
                chunk = []
        yield from self._chunk(chunk)

    def _chunk(self, chunk: Sequence[Commit]) -> Iterator[Step]:
        files = (file for commit in chunk if commit.parents for side in commit.sides for file in side)
        self.versions.learn((file.bead, oid) for file in files if file.bead for oid in (file.old, file.new))
        for commit in chunk:
            yield self._step(commit)

    def _step(self, commit: Commit) -> Step:
        if not commit.parents:
            found = tuple(BeadChange(version.bead, None, version) for version in self.versions.claimed_at(commit.name))
            return Step(commit, found, is_found=True)
        changes = tuple(self._change(bead, files, commit) for bead, files in _by_bead(commit.files))
        broken = tuple(file.path for file in commit.files if (file.bead, file.new) in self.versions.unreadable)
        lost = tuple(self._lost(commit)) if commit.is_merge else ()
        fleet = self._fleet(commit.parents[0]) if commit.verb in rules.FREEING else None
        return Step(commit, changes, lost=lost, unreadable=broken, fleet=fleet)

    def _fleet(self, parent: str) -> Fleet:
        """Return what the hub's own files said at a commit."""
        config = self._record(f"{parent}:{CONFIG_PATH}", CONFIG_PATH)
        return Fleet(of_hub(config), lambda name: self._is_member(parent, name))

    def _is_member(self, commit: str, name: str) -> bool:
        """Return whether a name is that of a pool's member."""
        _, out, _ = self.repo.run("ls-tree", "-z", "--name-only", commit, "--", AGENTS_DIR, check=False)
        paths = [path for path in out.decode("utf-8", "replace").split("\0") if path.endswith(".yaml")]
        files = {path: self._record(f"{commit}:{path}", path) for path in paths}
        pools = [pool_of(path[len(AGENTS_DIR) : -len(".yaml")], file) for path, file in files.items() if file.get("pool")]
        base, _, number = name.rpartition("-")
        return any(name in (pool.name, *pool.names) or (base == pool.name and number.isdigit()) for pool in pools)

    def _record(self, name: str, path: str) -> Mapping[str, Any]:
        """Return the fields of a file of the hub; none if it does not exist or can't be read."""
        return parse_file(path, "", self.repo.objects.read(name, at_most=FILE_LIMIT)).fields or {}

    def _change(self, bead: str, files: Sequence[File], commit: Commit) -> BeadChange:
        old, new = _first(file for file in files if file.old), _first(file for file in files if file.new)
        before, after = self.versions.follow(bead, old.old if old else "", new.new if new else "")
        if new is None and commit.verb not in rules.DELETING:
            after = self._at(commit.name, bead)  # it had two files, and one of them is left
        moved = (old.path, new.path) if old and new and old.path != new.path else None
        return BeadChange(bead, before, after, moved, bool(old and new and old.old == new.new))

    def _lost(self, commit: Commit) -> Iterator[tuple[str, str]]:
        """Find what a merge of two left out. Of more than two parents the first two are compared."""
        one, other = (dict(_by_bead(side)) for side in commit.sides[:2])
        beads = sorted({*one, *other})
        if not beads:
            return
        _, out, _ = self.repo.run("merge-base", *commit.parents[:2], check=False)
        base = out.decode().strip()
        for bead in beads:
            sides = [self._side(bead, side.get(bead), commit.name) for side in (one, other)]
            after = sides[0][1] if bead in one else sides[1][1]
            mine = sides[0][0] if bead in one else after
            theirs = sides[1][0] if bead in other else after
            began = self._at(base, bead) if base else None
            for words in dict.fromkeys(rules.dropped(began, (mine, theirs), after)):
                yield bead, words

    def _side(self, bead: str, files: Sequence[File] | None, commit: str) -> tuple[Version | None, Version | None]:
        """Return a bead as a parent had it, and as the merge has it."""
        old = _first(file for file in files or () if file.old)
        new = _first(file for file in files or () if file.new)
        return self.versions.follow(bead, old.old if old else "", new.new if new else "")

    def _at(self, commit: str, bead: str) -> Version | None:
        """Return a bead at a commit."""
        entries = self._archived.all_of(bead, commit)
        return self.versions.get(bead, entries[0].oid or "") if entries else None


def _by_bead(files: Iterable[File]) -> list[tuple[str, list[File]]]:
    """Group bead files by bead; a moved bead has two."""
    found: dict[str, list[File]] = {}
    for file in files:
        if file.bead:
            found.setdefault(file.bead, []).append(file)
    return list(found.items())


def _first(files: Iterable[File]) -> File | None:
    """Return the file of a bead that counts: an active file wins over an archived one."""
    return min(files, key=lambda file: len(file.path), default=None)
