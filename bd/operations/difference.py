"""Read the difference that a commit makes, as an operation that can be decided again."""

from __future__ import annotations

from bd import ids
from bd.clock import time_of_seconds
from bd.fields import BEADS_DIR
from bd.operations.hand import HandCommit
from bd.store import codec, message
from bd.store.files import bead_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bd.store.hub import Hub


def operation_of(hub: Hub, commit: str, parent: str, author: str, *, force: bool = False) -> HandCommit:
    """The hand edits that turn `parent` into `commit` (both commit ids; an empty parent: everything is new).

    A bead file that can't be read is a refusal of its own, never carried over.
    """
    repo = hub.repo
    headers, text = message.split_commit(repo.objects.read(commit) or b"")
    form = message.form_of(text) or {}
    edits: list[dict[str, Any]] = []
    files: dict[str, Any] = {}
    tip = hub.published() or ""
    for entry in repo.diff(parent or None, commit):
        old_data = repo.objects.read(f"{parent}:{entry.path}") if parent else None
        new_data = repo.objects.read(entry.oid) if entry.oid else None
        bead_id = bead_id_of(entry.path) if entry.path.startswith(BEADS_DIR) and entry.path.endswith(".yaml") else None
        new = _fields(bead_id, new_data)
        if bead_id is None or (new is None and new_data is not None):
            files[entry.path] = (old_data, new_data, repo.objects.read(f"{tip}:{entry.path}") if tip else None)
            continue
        old = _fields(bead_id, old_data)
        edits.append({"id": bead_id, "old": old, "new": new, "text": new_data, "new_uid": None if old else ids.mint()})
    stamp = (headers.get("author") or ["x <x> 0 +0000"])[0].split("> ")[-1].split()[0]
    at = time_of_seconds(int(stamp))
    name = author.split(" <", maxsplit=1)[0]
    return HandCommit(
        by=form.get("by") or f"human:{name}", at=at, uid=form.get("uid") or commit, edits=edits, files=files, force=force
    )


def _fields(bead_id: str | None, data: bytes | None) -> dict[str, Any] | None:
    if data is None or bead_id is None:
        return None
    try:
        return codec.parse_bead(data, bead_id).fields
    except codec.Unreadable:
        return None
