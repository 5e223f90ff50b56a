"""bd export."""

from __future__ import annotations

import sys
from collections import Counter

from bd import TYPE_CHECKING
from bd.cli.output import json_safe
from bd.cli.spec import Command, Flag, Option
from bd.compat.jsonl_export import lines_of, records_of, write_whole

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "export",
    Option("--output", "-o", help="Write to this file, whole or not at all; - is stdout."),
    Flag("--all", name="everything", help="Also infrastructure, templates and ephemeral beads."),
    Flag("--include-infra", help="Also beads of the types agent, rig, role and message."),
    help="""Write every bead as JSONL.

    One a line, sorted by id; closed ones too.
    """,
    examples=[
        "bd export > beads.jsonl",
        "bd export -o .beads/issues.jsonl       written whole or not at all",
        "bd export --at 2026-02-01 --all        everything, as it was then",
    ],
)


def run(app: App, output: str | None, everything: bool, include_infra: bool) -> None:
    """Write every bead as JSONL."""
    snapshot = app.snapshot()
    left_out: Counter[str] = Counter()
    records = list(records_of(snapshot, left_out, everything=everything, include_infra=include_infra))
    is_file = output not in (None, "-")
    if is_file:
        write_whole(str(output), lines_of(records))
    if app.out.is_json:
        app.out.object({"exported": len(records), "path": output}) if is_file else app.out.json(records)
    elif not is_file:
        sys.stdout.writelines(map(json_safe, lines_of(records)))
        sys.stdout.flush()  # if nobody reads, nothing was exported
    words = f"Exported {len(records)} {'bead' if len(records) == 1 else 'beads'}" + (f" to {output}" if is_file else "")
    if left_out:
        words += f"; left out: {', '.join(f'{number} {kind}' for kind, number in sorted(left_out.items()))} (--all takes them)"
    app.out.note(words)
