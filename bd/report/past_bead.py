"""A bead as one commit left it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Bead
from bd.core.schema import bead_path
from bd.store.yaml import codec

if TYPE_CHECKING:
    from bd.store import Clone


def bead_at(hub: Clone, commit: str, bead_id: str) -> Bead | None:
    """Return a bead that was not archived then; None if there was none, or its file is damaged."""
    data = hub.repo.objects.read(f"{commit}:{bead_path(bead_id)}")
    try:
        return Bead(codec.parse_bead(data, bead_id).fields) if data is not None else None
    except codec.Unreadable:
        return None
