"""This clone's last write, read back as an operation that undoes it."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import NotFound, WrongState
from bd.core.schema import BEADS_DIR, bead_path
from bd.operations.undo import Undo
from bd.store.git import commit_message
from bd.store.hub_files import bead_id_of, entries_of
from bd.store.object_names import is_oid
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.store import Clone


def last_write(hub: Clone) -> dict[str, Any] | None:
    """Return this clone's last write: its commit, its subject, and the beads it touched; None if there is none."""
    last: dict[str, Any] | None = hub.noted_json("last.json", {"commit": str, "subject": str, "touched": [str]})
    return last if last and is_oid(last["commit"]) else None


def _to_undo(hub: Clone) -> tuple[dict[str, str], dict[str, str]]:
    """Return this clone's last write that is not undone, and for each bead the commit that last undid something on it. Raises NotFound."""
    last = last_write(hub) or {}
    known = hub.noted_json("last.json", {"writes": [{"commit": str, "subject": str}], "undone": {...: str}})
    writes = known["writes"] if known else [last] if last else []
    if not writes or not is_oid(writes[-1]["commit"]):
        earlier = "every write that it remembers has been undone" if last else "it has written nothing"
        raise NotFound(f"nothing to undo in this clone: {earlier}", hint="`bd history ID` shows what a bead was")
    return writes[-1], {bead_id: at for bead_id, at in known["undone"].items() if is_oid(at)} if known else {}


def undo_of_last(hub: Clone, ask: Callable[[list[str]], dict[str, Any]]) -> Undo:
    """Return the operation that undoes this clone's last write that is not undone yet. Raises NotFound and WrongState.

    `ask` returns the author's arguments, with the tokens for the given beads.
    """
    last, undone = _to_undo(hub)
    commit = last["commit"]
    headers, text = commit_message.split_commit(hub.repo.objects.read(commit) or b"")
    parents = headers.get("parent", [])
    verb = (commit_message.form_of(text) or {}).get("verb")
    if not parents or verb == "init":
        raise WrongState("creating a hub can't be undone")
    beads: dict[str, Any] = {}
    before_at: dict[str, str] = {}
    after_at: dict[str, str] = {}
    for entry in entries_of(hub.repo, parents[0], commit, BEADS_DIR.rstrip("/")):
        bead_id = bead_id_of(entry.path)
        if bead_id is None:
            continue
        versions = beads.setdefault(bead_id, {"before": None, "after": None})  # a moved file is two entries
        before = hub.repo.objects.read(f"{parents[0]}:{entry.path}")
        if before is not None:
            versions["before"], before_at[bead_id] = _fields(before, bead_id), entry.path
        if entry.oid:
            left = hub.repo.objects.read(f"{undone[bead_id]}:{entry.path}" if bead_id in undone else entry.oid)
            versions["after"], after_at[bead_id] = _fields(left, bead_id), entry.path  # as the write, or an undo since, left it
    if not beads:
        raise WrongState(f"the last write ({last['subject']}) changed no bead", hint="change settings back with `bd config set`")
    moves = {bead_id: path for bead_id, path in before_at.items() if path != after_at.get(bead_id, bead_path(bead_id))}
    more: dict[str, Any] = {"moves": moves} if moves else {}
    return Undo(words=last["subject"], beads=beads, **more, **ask(list(beads)))


def _fields(data: bytes | None, bead_id: str) -> dict[str, Any] | None:
    if data is None:
        return None
    try:
        return codec.parse_bead(data, bead_id).fields
    except codec.Unreadable as error:
        raise WrongState(f"{bead_id} {error}") from None
