"""The common part of list, ready, search, children and blocked: from filter flags to lines or JSON."""

from __future__ import annotations

from itertools import islice

from bd import TYPE_CHECKING
from bd.cli import bead_lines
from bd.cli.lookup import id_to_filter_by
from bd.cli.spec import PRIORITY, Flag, Option, list_option
from bd.cli.values import flat, key_values
from bd.compat import bead_json
from bd.core.ids import agent_or_person
from bd.core.times import instant_back
from bd.policy.readiness import Readiness
from bd.report.selection import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead, Snapshot
    from bd.core.queries import Lineup

_TIMES = ("created_after", "created_before", "updated_after", "updated_before", "closed_after", "closed_before")
_PIECE = 500
# The filters that list, ready, count and search share.
FILTERS = (
    list_option("--type", "-t", name="types", narrows=True, help="Only these types."),
    Option("--priority", "-p", name="priorities", kind=PRIORITY, multiple=True, help="Only this priority (repeatable)."),
    Option("--assignee", "-a", narrows=True, help="Only beads assigned to this name."),
    Flag("--unassigned", "--no-assignee", "-u", help="Only unassigned beads."),
    list_option("--label", "-l", "--labels", name="labels", narrows=True, help="Only beads with all of these labels."),
    list_option("--label-any", name="labels_any", narrows=True, help="Only beads with one of these labels."),
    list_option("--exclude-label", name="labels_not", narrows=True, help="No beads with these labels."),
    list_option("--exclude-type", name="types_not", narrows=True, help="No beads of these types."),
    Option("--waiting", metavar="WORD", narrows=True, help="Only beads that wait for this, such as human."),
    Option("--parent", narrows=True, help="Only beads below this one."),
    Flag("--no-parent", help="Only beads without a parent."),
    Option("--title", "--title-contains", narrows=True, help="Only beads with this text in the title."),
    Option("--desc-contains", name="description", narrows=True, hidden=True),
    Option("--notes-contains", name="notes", narrows=True, hidden=True),
    Option("--priority-min", kind=PRIORITY, hidden=True),
    Option("--priority-max", kind=PRIORITY, hidden=True),
    Flag("--no-labels", hidden=True),
    list_option("--id", name="ids", narrows=True, help="Only these ids."),
    Option(
        "--metadata-field",
        name="metadata",
        multiple=True,
        metavar="KEY=VALUE",
        narrows=True,
        help="Only beads with this metadata.",
    ),
    Option(
        "--created-after", narrows=True, help="Only beads made after this time: 2026-02-21, yesterday, or 2d for two days ago."
    ),
    Option("--created-before", narrows=True, help="Only beads made before this time."),
    Option("--updated-after", narrows=True, help="Only beads changed after this time."),
    Option("--updated-before", narrows=True, help="Only beads changed before this time."),
    Option("--closed-after", narrows=True, help="Only beads closed after this time."),
    Option("--closed-before", narrows=True, help="Only beads closed before this time."),
)


def wanted_of(app: App, snapshot: Snapshot, **flags: Any) -> Wanted:
    """Return the filters for the shared flags."""
    parent = flags.get("parent")
    times = {name: instant_back(flags[name], app.now) for name in _TIMES if flags.get(name)}
    lowest, highest = flags.get("priority_min"), flags.get("priority_max")
    priorities = tuple(flags.get("priorities") or ())
    if lowest is not None or highest is not None:
        allowed = range(lowest or 0, (4 if highest is None else highest) + 1)
        priorities = tuple(number for number in allowed if not priorities or number in priorities) or (-1,)
    return Wanted(
        statuses=tuple(flat(flags.get("statuses"))),
        everything=bool(flags.get("everything")),
        types=tuple(flat(flags.get("types"))),
        types_not=tuple(flat(flags.get("types_not"))),
        priorities=priorities,
        assignee=agent_or_person(flags.get("assignee") or "") or None,
        unassigned=bool(flags.get("unassigned")),
        labels=tuple(flat(flags.get("labels"))),
        labels_any=tuple(flat(flags.get("labels_any"))),
        labels_not=tuple(flat(flags.get("labels_not"))),
        unlabelled=bool(flags.get("no_labels")),
        waiting=flags.get("waiting") or None,
        parent=id_to_filter_by(app, snapshot, parent) if parent else None,
        no_parent=bool(flags.get("no_parent")),
        title=flags.get("title"),
        ids=tuple(id_to_filter_by(app, snapshot, text) for text in flat(flags.get("ids"))),
        metadata=key_values(tuple(flags.get("metadata") or ())),
        texts={key: flags[key] for key in ("description", "notes") if flags.get(key)},
        times=times,
    )


def show_list(
    app: App,
    snapshot: Snapshot,
    beads: Lineup,
    *,
    limit: int | None,
    default_limit: int,
    empty: str,
    tail: Callable[[Bead], str] | None = None,
    footer: str = "",
    with_state: bool = False,
) -> None:
    """Print a list: JSON in full unless limited, text cut at the default with a note about the rest.

    Lines may have a `tail`, or be `with_state`, like those of `bd list`.
    """
    total = len(beads)
    size = limit if limit is not None else (0 if app.out.is_json else default_limit)
    if app.out.is_json:
        app.out.json_text(bead_json.listed(beads, snapshot, app.now, size))
    elif app.out.quiet:
        app.out.lines(islice(beads.ids(), size or None))
    else:
        readiness = Readiness(snapshot, app.now)
        shown = (app.out.bead_line(bead, readiness, tail=tail(bead) if tail else "") for bead in islice(beads, size or None))
        app.out.lines(_lines_with_state(app, beads, size or None, readiness) if with_state else shown)
        if not total:
            app.out.line(empty)
        elif footer:
            app.out.line(footer)
    if 0 < size < total:
        app.out.note(f"showing {size} of {total}; --limit 0 shows all")


def _lines_with_state(app: App, beads: Lineup, size: int | None, readiness: Readiness) -> Iterator[str]:
    """Yield the lines of `bd list`; the store has most of the plain ones."""
    if not app.out.is_plain:
        yield from (bead_lines.line_with_state(app.out, bead, readiness) for bead in islice(beads, size))
        return
    snapshot = readiness.snapshot
    entries = islice(beads.derived(bead_lines.LINE), size)
    while piece := list(islice(entries, _PIECE)):
        unknown = [bead_id for bead_id, text in piece if text is None]
        made = dict(snapshot.derived(bead_lines.LINE, unknown))
        others = snapshot.heads([bead_id for bead_id in unknown if bead_id not in made])
        made.update(bead_lines.plain_lines(others, readiness))
        yield from (text or made[bead_id] for bead_id, text in piece)
