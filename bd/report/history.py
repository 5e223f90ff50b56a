"""A bead's past: who changed it, when, and which fields, read from the hub's commits."""

from __future__ import annotations

from bd.clock import time_of_seconds
from bd.fields import ARCHIVE_DIR, BEADS_DIR, FILE_LIMIT
from bd.light import NamedTuple
from bd.store import codec, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from bd.store.hub import Hub

# Stamps that move with other fields and say nothing by themselves.
_QUIET = frozenset({"updated_at", "heated_at"})


class Event(NamedTuple):
    """One commit that changed a bead. `changes` maps a field to its (old, new) values; None where it was unset."""

    commit: str
    at: str
    by: str
    subject: str
    verb: str
    changes: Mapping[str, tuple[Any, Any]]


def events(hub: Hub, bead_id: str, tip: str) -> list[Event]:
    """The bead's events, oldest first; cut off where a shallow clone is."""
    args = (
        "log",
        "--reverse",
        "--full-history",
        "--format=commit %H",
        "--name-status",
        "--no-renames",
        tip,
        "--",
        f"{BEADS_DIR}{bead_id}.yaml",
        f"{ARCHIVE_DIR}*/{bead_id}.yaml",
    )
    _, out, _ = hub.repo.run(*args)
    found = []
    before: dict[str, Any] = {}
    place = ""
    for commit, path in _places(out.decode("utf-8", "surrogateescape")):
        headers, text = message.split_commit(hub.repo.objects.read(commit) or b"")
        if len(headers.get("parent", [])) > 1:
            continue
        after = _fields_at(hub, commit, path, bead_id)
        changes = dict(_changes(before, after))
        if path and place and path != place:
            changes["file"] = (place, path)
        author, at_s = message.signed_by(headers)
        form = message.form_of(text) or {}
        name = str(form.get("by") or author.split(" <")[0]).split(":", 1)[-1]
        subject = text.split("\n", 1)[0]
        if changes:
            found.append(Event(commit, time_of_seconds(at_s), name, subject, form.get("verb", "by hand"), changes))
        before, place = after, path
    return found


def _places(log: str) -> Iterator[tuple[str, str]]:
    """The commits of a log, and where each left the bead's file; an empty path: nowhere."""
    for record in log.split("commit ")[1:]:
        commit, *lines = record.split("\n")
        entries = [line.split("\t", 1) for line in lines if "\t" in line]
        yield commit, min((path for status, path in entries if status != "D"), key=len, default="")


def _fields_at(hub: Hub, commit: str, path: str, bead_id: str) -> dict[str, Any]:
    data = hub.repo.objects.read(f"{commit}:{path}", at_most=FILE_LIMIT + 1) if path else None
    if data is None:
        return {}
    try:
        return codec.parse_bead(data, bead_id).fields
    except codec.Unreadable as error:
        return {"id": bead_id, "unreadable": str(error)}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for key in {**before, **after}:
        if key not in _QUIET and before.get(key) != after.get(key):
            yield key, (before.get(key), after.get(key))
