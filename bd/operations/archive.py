"""Archiving: beads done long ago are moved out of the way, and otherwise unchanged.

They go into volumes, many beads in one file, by the month they ended in: few files keep pushes fast, and hosts recommend it.
Large beads keep their own files.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.model import Change
from bd.core.schema import ARCHIVE_DIR, archive_path, volume_of, volume_path
from bd.core.times import instant_of
from bd.operations.base import Operation, register, subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext

# The default number of beads that one commit moves.
LIMIT = 2000
# If the active folder has more files than this, done beads are archived earlier, but never on the day they ended.
CROWDED = 3000
_SOONEST = timedelta(days=1)
# The number of beads that fills a volume: every write to one rewrites all of it, and hosts recommend files below a megabyte.
VOLUME_SIZE = 250
# A bead with more characters in its fields keeps its own file.
LARGE = 20_000


def ended_at(bead: Bead) -> str:
    """Return when a done bead ended; if it was closed by hand without a date, the time of its last change."""
    return bead.get("closed_at") or bead.updated_at


def due(snapshot: Snapshot, before: datetime) -> list[Bead]:
    """Return the beads to archive that ended before this instant, the oldest first; those without a date stay."""
    found = [bead for bead in snapshot.ended() if ended_at(bead) and instant_of(ended_at(bead)) < before]
    return _oldest_first(found)


def scattered(snapshot: Snapshot) -> list[Bead]:
    """Return the archived beads with their own files, as the first versions of bd gave each one, the oldest first.

    None in a hub of an older format, where every archived bead has its own file, wherever a person may have put it.
    """
    if not _has_volumes(snapshot):
        return []
    paths = {path for path in snapshot.bead_paths(ARCHIVE_DIR) if not volume_of(path)}
    ids = {path.rpartition("/")[2].removesuffix(".yaml") for path in paths}
    found = snapshot.heads(sorted(ids))
    return _oldest_first([bead for bead in found if bead.is_done and ended_at(bead) and snapshot.path_of(bead.id) in paths])


def _has_volumes(snapshot: Snapshot) -> bool:
    version: int = snapshot.config().get("format", versions.FORMAT)
    return version >= versions.VOLUMES_SINCE


def _oldest_first(beads: list[Bead]) -> list[Bead]:
    return sorted(beads, key=lambda bead: (ended_at(bead).rstrip("Z"), bead.id))


def _is_large(bead_id: str, snapshot: Snapshot) -> bool:
    bead = snapshot.bead(bead_id)
    return bead is not None and len(str(bead.fields)) > LARGE


def placed(beads: Iterable[Bead], snapshot: Snapshot) -> dict[str, str]:
    """Return where these beads go: into the last volume of the month they ended in, while it has room.

    In a hub of an older format each gets its own file, since there may be a bd that can't read volumes.
    """
    has_volumes = _has_volumes(snapshot)
    damaged = {place for damage in snapshot.damages for place in (damage.path, volume_of(damage.path))}
    counts: dict[str, dict[int, int]] = {}
    moves: dict[str, str] = {}
    for bead in beads:
        ended = ended_at(bead)
        alone = archive_path(bead.id, ended)
        if not has_volumes or _is_large(bead.id, snapshot):
            if alone not in damaged:  # else it stays: nothing is moved onto an unreadable file
                moves[bead.id] = alone
            continue
        month = ended[:7]
        volumes = counts[month] = counts.get(month) or _volumes(month, snapshot)
        number = max(volumes)
        while volumes.get(number, 0) >= VOLUME_SIZE or volume_path(month, number) in damaged:
            number += 1
        volumes[number] = volumes.get(number, 0) + 1
        moves[bead.id] = f"{volume_path(month, number)}/{bead.id}.yaml"
    return moves


def _first_small(beads: list[Bead], count: int, snapshot: Snapshot) -> list[Bead]:
    """Return the first beads that need no file of their own, reading no more than necessary."""
    return list(islice((bead for bead in beads if not _is_large(bead.id, snapshot)), count))


def _volumes(month: str, snapshot: Snapshot) -> dict[int, int]:
    """Return how many beads each volume of a month has, by number; includes at least the first one."""
    found = {1: 0}
    for path in snapshot.bead_paths(f"{ARCHIVE_DIR}{month}-"):
        number = path.removeprefix(f"{ARCHIVE_DIR}{month}-").partition(".yaml/")[0]
        if number.isdecimal():
            found[int(number)] = found.get(int(number), 0) + 1
    return found


@register
class Archive(Operation):
    """Move beads that were done long ago to the archive: `older_than_s` (unset: the setting), `limit`.

    Which ones is decided on the tip, the oldest first; a replay names them (`ids`), and leaves out those reopened, moved or
    deleted since. Archived beads with their own files are collected into volumes, up to the limit.
    """

    verb: ClassVar[str] = "archive"
    takes: ClassVar[frozenset[str]] = frozenset({"ids", "limit", "older_than_s"})

    def named_in(self, args: Mapping[str, Any]) -> list[str]:
        """Return nothing: a replay takes the beads by id alone, and leaves out what is no longer due."""
        return []

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        limit = self.args.get("limit") or LIMIT
        if "ids" in self.args:
            named = (snapshot.head(bead_id) for bead_id in self.args["ids"])
            found = [
                bead for bead in named if bead and bead.is_done and ended_at(bead) and not volume_of(snapshot.path_of(bead.id))
            ]
            wanted = found
        else:
            found = self._found(snapshot, context)
            wanted = found[:limit]
            wanted += _first_small(scattered(snapshot), limit - len(wanted), snapshot)
        moves = {bead_id: path for bead_id, path in placed(wanted, snapshot).items() if path != snapshot.path_of(bead_id)}
        gathered = [bead_id for bead_id in moves if snapshot.path_of(bead_id).startswith(ARCHIVE_DIR)]
        archived = [bead_id for bead_id in moves if bead_id not in gathered]
        result = {"archived": archived, "gathered": gathered, "left": max(0, len(found) - limit)}
        return Change({}, subject("archive", moves, self.by), moves=moves, touched=tuple(moves), result=result)

    def _found(self, snapshot: Snapshot, context: DecisionContext) -> list[Bead]:
        """Return the old beads, and without an explicit age, as many more as a crowded active folder needs."""
        found = due(snapshot, self.cutoff(context))
        if self.args.get("older_than_s") is not None:
            return found
        active = sum(1 for _ in snapshot.live()) + sum(1 for _ in snapshot.ended())
        too_many = active - len(found) - CROWDED
        return found + due(snapshot, self.asked_at - _SOONEST)[len(found) :][:too_many] if too_many > 0 else found

    def cutoff(self, context: DecisionContext) -> datetime:
        """Return the instant before which beads are old."""
        given = self.args.get("older_than_s")
        return self.asked_at - timedelta(seconds=context.settings.archive_after if given is None else given)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        form["args"] = {"ids": list(change.touched)}
        return form
