"""Lookup of what a command line names: a typed bead, or a thing of the hub that has a name."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import BdError, NoSuchBead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead, Snapshot
    from bd.store import Outcome


def bead_of(typed: str, snapshot: Snapshot) -> Bead:
    """Return the whole bead for a typed id or prefix. Raises NoSuchBead and Ambiguous."""
    bead = snapshot.bead(ids.resolve(typed, snapshot.starting, snapshot.exists))
    if bead is None:
        raise NoSuchBead(typed)
    return bead


def beads_of(typed: Iterable[str], snapshot: Snapshot) -> tuple[list[Bead], list[BdError]]:
    """Return the whole beads for typed ids, and the errors of the others."""
    found: list[Bead] = []
    missing: list[BdError] = []
    for word in typed:
        try:
            bead = snapshot.bead(ids.resolve(word, snapshot.starting, snapshot.exists))
            found += [bead] if bead else []
        except BdError as error:
            missing.append(error)
    return found, missing


def whole_id(typed: str, snapshot: Snapshot) -> str:
    """Return the whole id of a bead that may be gone: then it is the one that was typed. Raises Ambiguous."""
    try:
        return ids.resolve(typed, snapshot.starting, snapshot.exists)
    except NoSuchBead:
        return typed.strip()


def id_to_filter_by(app: App, snapshot: Snapshot, typed: str) -> str:
    """Return the whole id of the bead to filter by. If there is no such bead, print a note and return the id as typed."""
    try:
        return ids.resolve(typed, snapshot.starting, snapshot.exists)
    except NoSuchBead:
        app.out.note(f"there is no bead {typed}")
        return typed.strip()


def list_them(
    app: App,
    what: str,
    found: Sequence[Mapping[str, Any]],
    headings: Sequence[str],
    row_of: Callable[[Mapping[str, Any]], list[str]],
) -> None:
    """Print all things of a kind, such as schedules: as JSON, as names alone, or as a table."""
    if app.out.is_json:
        app.out.json(list(found))
    elif app.out.quiet:
        for one in found:
            app.out.line(one["name"])
    elif found:
        app.out.table([what, *headings], [row_of(one) for one in found])
    else:
        app.out.line(f"No {what}s.")


def tell_removed(app: App, what: str, name: str, outcome: Outcome) -> None:
    """Report that one of them is removed."""
    if app.out.is_json:
        app.out.object({"name": name, "removed": True, "published": outcome.published})
    else:
        app.out.said(f"✓ Removed {what} {name}")
