"""Reads the difference of a commit as an operation that can be decided again."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.ids import is_bead_id
from bd.core.model import Bead
from bd.core.queries import mentions
from bd.core.schema import BEADS_DIR, bead_path, fields_of_path, is_volume, volume_of
from bd.core.times import time_of_seconds
from bd.operations.hand_edits import HandCommit
from bd.store.git import commit_message
from bd.store.git.repository import GITLINK
from bd.store.hub_files import bead_id_of, entries_of, is_wanted
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store import Clone
    from bd.store.git.repository import GitRepo


def operation_of(
    hub: Clone,
    commit: str,
    parent: str,
    author: str,
    *,
    uid: str | None = None,
    force: bool = False,
    reason: str | None = None,
) -> HandCommit:
    """Return the hand edits that turn `parent` into `commit` (commit ids; an empty parent: everything is new).

    `uid` replaces the one in its trailers. An unreadable bead file is refused on its own, and never carried over.
    """
    repo = hub.repo
    headers, text = commit_message.split_commit(repo.objects.read(commit) or b"")
    form = commit_message.form_of(text) or {}
    edits: list[dict[str, Any]] = []
    into: dict[str | None, str | None] = {}
    records: dict[str, Any] = {}
    modes: dict[str, str] = {}
    tip = hub.published() or ""
    entries = entries_of(repo, parent or None, commit)
    # An unreadable volume is a single file without edits; beads that left it may be elsewhere now.
    volumes = [entry.path for entry in entries if is_volume(entry.path)]
    files = {path: (_at(repo, parent, path), _at(repo, commit, path), _at(repo, tip, path)) for path in volumes}
    for entry in entries:
        has_left = volume_of(entry.path) in volumes
        if entry.path in volumes or (has_left and entry.oid):
            into[bead_id_of(entry.path)] = volume_of(entry.path)
            continue
        old_data = _at(repo, parent, entry.path)
        is_link = entry.mode == GITLINK and entry.oid
        new_data = entry.oid.encode() if entry.oid and is_link else repo.objects.read(entry.oid) if entry.oid else None
        if is_wanted(entry.path) and not entry.path.startswith(BEADS_DIR):
            record = _record(entry.path, new_data)
            if record is not None or new_data is None:
                if old_data != new_data:
                    records[entry.path] = (_record(entry.path, old_data), record, new_data)
                continue
        edit = _edit(entry.path, old_data, new_data)
        if edit:
            edits.append({**edit, "has_left": has_left})
        elif not has_left:
            if entry.oid:
                modes[entry.path] = entry.mode
            files[entry.path] = (old_data, new_data, _at(repo, tip, entry.path))
    at = time_of_seconds(commit_message.signed_by(headers)[1])
    name = author.split(" <", maxsplit=1)[0]
    by, uid = form.get("by") or f"human:{name}", uid or form.get("uid") or commit
    more: dict[str, Any] = {"files": files, "modes": modes, "tokens": form.get("tokens")}
    given = {"force": force, "reason": reason} if force else form.get("args") or {}
    edits = _with_targets(_joined(edits, into, hub.runtime), repo, commit)
    return HandCommit(by=by, at=at, uid=uid, edits=edits, records=records, **more, **_forced(given))


def _at(repo: GitRepo, commit: str, path: str) -> bytes | None:
    return repo.objects.read(f"{commit}:{path}") if commit else None


def _edit(path: str, old_data: bytes | None, new_data: bytes | None) -> dict[str, Any] | None:
    """Return the edit of a bead's file; None if it is not one, or can't be read: then it is treated as any other file."""
    bead_id = bead_id_of(path) if path.startswith(BEADS_DIR) and path.endswith(".yaml") else None
    old, new = _fields(bead_id, old_data), _fields(bead_id, new_data)
    if bead_id is None or (new is None and (old is None or new_data is not None)):
        return None
    moved = path if new is not None and old is None else None
    return {"id": bead_id, "old": old, "new": new, "text": new_data, "path": moved, "was": old_data}


def _forced(args: dict[str, Any]) -> dict[str, Any]:
    """Return the `force` and `reason` recorded in a commit, if any."""
    return {key: args[key] for key in ("force", "reason") if args.get("force") and args.get(key)}


def _joined(edits: list[dict[str, Any]], into: Mapping[str | None, str | None], runtime: Runtime) -> list[dict[str, Any]]:
    """Reduce the edits to one per bead: a file that disappeared here and is new there was moved.

    `into` are the volumes that now hold beads, each a single file. A bead that left a volume for nowhere is deleted with it.
    """
    gone = {edit["id"]: edit for edit in edits if edit["new"] is None}
    new = {edit["id"] for edit in edits if edit["old"] is None}
    found = []
    for edit in edits:
        before = gone.get(edit["id"])
        if edit["new"] is None and (edit["id"] in new or edit["has_left"]):
            continue
        was, _ = edit.pop("was"), edit.pop("has_left")
        if edit["new"] is None and edit["id"] in into:
            edit["into"] = into[edit["id"]]
        old = before["old"] if before and edit["old"] is None else edit["old"]
        is_only_moved = before is not None and before.get("was", was) == edit["text"]
        found.append(
            {**edit, "old": old, "text": None if is_only_moved else edit["text"], "new_uid": None if old else runtime.new_id()}
        )
    return found


def _with_targets(edits: list[dict[str, Any]], repo: GitRepo, commit: str) -> list[dict[str, Any]]:
    """Add to each edit the uids of the beads that it newly names, as of the commit; not of beads that the commit adds."""
    added = {edit["id"] for edit in edits if edit["old"] is None}
    found = []
    for edit in edits:
        before, after = (Bead(edit[key] or {}) for key in ("old", "new"))
        named = sorted(mentions(after) - mentions(before) - added)
        fields = {one: _fields(one, _at(repo, commit, bead_path(one))) for one in named if is_bead_id(one)}
        targets = {one: known["uid"] for one, known in fields.items() if known and known.get("uid")}
        found.append({**edit, "targets": targets} if targets else edit)
    return found


def _fields(bead_id: str | None, data: bytes | None) -> dict[str, Any] | None:
    if data is None or bead_id is None:
        return None
    try:
        return codec.parse_bead(data, bead_id).fields
    except codec.Unreadable:
        return None


def _record(path: str, data: bytes | None) -> dict[str, Any] | None:
    if data is None:
        return None
    try:
        return codec.parse(data, fields_of_path(path)).fields
    except codec.Unreadable:
        return None
