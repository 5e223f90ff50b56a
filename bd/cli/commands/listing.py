"""What list, ready, search, children and blocked share: from filter flags to lines or JSON."""

from __future__ import annotations

from bd import clock, ids
from bd.cli.options import flat, key_values
from bd.report.selection import Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.cli.context import App
    from bd.model import Bead, Snapshot

_TIMES = ("created_after", "created_before", "updated_after", "updated_before", "closed_after", "closed_before")


def wanted_of(app: App, snapshot: Snapshot, **flags: Any) -> Wanted:
    """The filters that the shared flags ask for."""
    parent = flags.get("parent")
    times = {name: clock.instant_of(clock.typed_time(flags[name], app.now)) for name in _TIMES if flags.get(name)}
    return Wanted(
        statuses=tuple(flat(flags.get("statuses"))),
        everything=bool(flags.get("everything")),
        types=tuple(flat(flags.get("types"))),
        types_not=tuple(flat(flags.get("types_not"))),
        priorities=tuple(flags.get("priorities") or ()),
        assignee=flags.get("assignee") or None,
        unassigned=bool(flags.get("unassigned")) or flags.get("assignee") == "",
        labels=tuple(flat(flags.get("labels"))),
        labels_any=tuple(flat(flags.get("labels_any"))),
        labels_not=tuple(flat(flags.get("labels_not"))),
        waiting=flags.get("waiting") or None,
        parent=ids.resolve(parent, snapshot.starting, snapshot.exists) if parent else None,
        no_parent=bool(flags.get("no_parent")),
        title=flags.get("title"),
        ids=tuple(ids.resolve(text, snapshot.starting, snapshot.exists) for text in flat(flags.get("ids"))),
        metadata=key_values(tuple(flags.get("metadata") or ())),
        times=times,
    )


def show_list(
    app: App,
    snapshot: Snapshot,
    beads: list[Bead],
    *,
    limit: int | None,
    default_limit: int,
    empty: str,
    tail: Callable[[Bead], str] | None = None,
    footer: str = "",
) -> None:
    """Print a list: JSON whole unless limited, text cut at the default with what it left out."""
    from bd.interop import views

    total = len(beads)
    size = limit if limit is not None else (0 if app.out.is_json else default_limit)
    shown = beads[:size] if size else beads
    if app.out.is_json:
        app.out.json_text(views.listed(shown, snapshot, app.now))
    elif app.out.quiet:
        for bead in shown:
            app.out.line(bead.id)
    else:
        for bead in shown:
            app.out.line(app.out.bead_line(bead, snapshot, app.now, tail=tail(bead) if tail else ""))
        if not total:
            app.out.line(empty)
        elif footer:
            app.out.line(footer)
    if len(shown) < total:
        app.out.note(f"showing {len(shown)} of {total}; --limit 0 shows all")
