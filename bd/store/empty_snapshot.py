"""The snapshot of a hub that is being created."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Bead, Damage, Snapshot
from bd.core.schema import bead_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


class EmptySnapshot(Snapshot):
    """No commit, no beads, no records."""

    commit = ""

    @property
    def damages(self) -> list[Damage]:
        return []

    def bead(self, bead_id: str) -> Bead | None:
        return None

    def by_uid(self, uid: str) -> Bead | None:
        return None

    def every(self) -> Iterator[Bead]:
        return iter(())

    live = every

    def mentioning(self, bead_id: str) -> list[Bead]:
        return []

    def starting(self, text: str) -> list[str]:
        return []

    def path_of(self, bead_id: str) -> str:
        return bead_path(bead_id)

    def record(self, path: str) -> Mapping[str, Any] | None:
        return None

    def records(self, folder: str) -> Mapping[str, Mapping[str, Any]]:
        return {}


EMPTY = EmptySnapshot()
