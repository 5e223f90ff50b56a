"""bd export."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from bd.cli.context import App
from bd.cli.options import pass_app
from bd.interop.records import lines_of, record_of, write_whole
from bd.output import json_safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.model import Bead, Snapshot

# What the Go tool's exports leave out unless told otherwise.
_INFRA = frozenset({"agent", "rig", "role", "message"})
EXAMPLE = """
\b
Examples:
  bd export > beads.jsonl
  bd export -o .beads/issues.jsonl       written whole or not at all
  bd export --at 2026-02-01 --all        everything, as it was then
"""


@click.command("export", epilog=EXAMPLE)
@click.option("--output", "-o", help="Write to this file, whole or not at all; - is stdout.")
@click.option("--all", "everything", is_flag=True, help="Also infrastructure, templates and ephemeral beads.")
@click.option("--include-infra", is_flag=True, help="Also beads of the types agent, rig, role and message.")
@pass_app
def command(app: App, output: str | None, everything: bool, include_infra: bool) -> None:
    """Write every bead as JSONL.

    One a line, sorted by id; closed ones too.
    """
    snapshot = app.snapshot()
    left_out: Counter[str] = Counter()
    records = [
        record_of(bead, count)
        for bead, count in _beads(snapshot)
        if everything or not _is_left_out(bead, left_out, include_infra=include_infra)
    ]
    is_file = output not in (None, "-")
    if is_file:
        write_whole(str(output), lines_of(records))
    if app.out.is_json:
        app.out.object({"exported": len(records), "path": output}) if is_file else app.out.json(records)
    elif not is_file:
        sys.stdout.writelines(map(json_safe, lines_of(records)))
    words = f"Exported {len(records)} {'bead' if len(records) == 1 else 'beads'}" + (f" to {output}" if is_file else "")
    if left_out:
        words += f"; left out: {', '.join(f'{number} {kind}' for kind, number in sorted(left_out.items()))} (--all takes them)"
    app.out.note(words)


def _beads(snapshot: Snapshot) -> Iterable[tuple[Bead, int]]:
    """Every bead, whole, by id, with how many beads depend on it."""
    heads = sorted({bead.id: bead for bead in snapshot.every()}.values(), key=lambda bead: bead.id)
    waiting = Counter(target for head in heads for target in set(head.depends_on))
    for head in heads:
        bead = snapshot.bead(head.id)
        if bead is not None:
            yield bead, waiting[bead.id]


def _is_left_out(bead: Bead, counted: Counter[str], *, include_infra: bool) -> bool:
    kind = None
    if bead.type in _INFRA and not include_infra:
        kind = "infrastructure"
    elif bead.get("is_template"):
        kind = "template"
    elif bead.get("ephemeral"):
        kind = "ephemeral"
    if kind:
        counted[kind] += 1
    return kind is not None
