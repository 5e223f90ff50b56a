"""Archiving: what has long been done is moved out of the way, and nothing else about it changes."""

from __future__ import annotations

from bd.clock import instant_of, timedelta
from bd.fields import ARCHIVE_DIR, archive_path
from bd.model import Change
from bd.operations.base import Operation, register, subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, ClassVar

    from bd.model import Bead, Snapshot
    from bd.operations.base import World

# How many beads one commit moves, unless told otherwise.
LIMIT = 2000
# Where the active folder has more files than this, done beads go earlier, but never on the day they ended.
CROWDED = 3000
_SOONEST = timedelta(days=1)


def ended_at(bead: Bead) -> str:
    """When a done bead ended; one that was closed by hand without saying when ended with its last change."""
    return bead.get("closed_at") or bead.updated_at


def due(snapshot: Snapshot, before: datetime) -> list[Bead]:
    """The beads that ended before this instant and are to be archived, the oldest first.

    Left out: what has no date, and what would be moved onto a file that can't be read.
    """
    damaged = {damage.path for damage in snapshot.damages}
    found = [
        bead
        for bead in snapshot.ended()
        if ended_at(bead) and instant_of(ended_at(bead)) < before and archive_path(bead.id, ended_at(bead)) not in damaged
    ]
    return sorted(found, key=lambda bead: (ended_at(bead).rstrip("Z"), bead.id))


@register
class Archive(Operation):
    """Move beads that were done long ago to the archive: `older_than_s` (unset: the setting), `limit`.

    Which ones is decided on the tip, the oldest first; a replay names them (`ids`) and leaves out
    what has been reopened, moved or deleted since.
    """

    verb: ClassVar[str] = "archive"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        if "ids" in self.args:
            named = (snapshot.head(bead_id) for bead_id in self.args["ids"])
            found = [bead for bead in named if bead and bead.is_done and not self._is_archived(bead, snapshot)]
        else:
            found = self._found(snapshot, world)
        moved = found[: self.args.get("limit") or LIMIT]
        moves: Mapping[str, str] = {bead.id: archive_path(bead.id, ended_at(bead)) for bead in moved}
        result = {"archived": list(moves), "left": len(found) - len(moved)}
        return Change({}, subject("archive", moves, self.by), moves=moves, touched=tuple(moves), result=result)

    def _found(self, snapshot: Snapshot, world: World) -> list[Bead]:
        """What is old, and where nobody said how old and the active folder is crowded, as many more as it needs."""
        found = due(snapshot, self.cutoff(world))
        if self.args.get("older_than_s") is not None:
            return found
        active = sum(1 for _ in snapshot.live()) + sum(1 for _ in snapshot.ended())
        too_many = active - len(found) - CROWDED
        return found + due(snapshot, self.asked_at - _SOONEST)[len(found) :][:too_many] if too_many > 0 else found

    def cutoff(self, world: World) -> datetime:
        """What ended before this is old."""
        given = self.args.get("older_than_s")
        return self.asked_at - timedelta(seconds=world.settings.archive_after if given is None else given)

    def _is_archived(self, bead: Bead, snapshot: Snapshot) -> bool:
        return snapshot.path_of(bead.id).startswith(ARCHIVE_DIR)

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().pinned(change, before)
        form["args"] = {"ids": list(change.touched)}
        return form
