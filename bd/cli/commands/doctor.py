"""bd doctor."""

from __future__ import annotations

import json

import click

from bd.cli.context import App
from bd.cli.options import pass_app
from bd.operations.beads import Write
from bd.report.checkup import examine, stale_capacity


@click.command("doctor", epilog="\b\nExamples:\n  bd doctor\n  bd doctor --fix      show what would be mended, ask, mend")
@click.option("--fix", is_flag=True, help="Mend what can be mended; shows the difference first.")
@click.option("--yes", "-y", is_flag=True, help="With --fix: do not ask.")
@click.option("--offline", is_flag=True, help="Do not ask the remote.")
@pass_app
def command(app: App, fix: bool, yes: bool, offline: bool) -> None:
    """Check the hub and this clone; changes nothing.

    Exit 7 when something is damaged.
    """
    snapshot = app.hub.snapshot()
    findings = examine(app.hub, snapshot, app.now, remote=not offline and app.flags.fetch is not False)
    beads, _ = snapshot.cache.counts()
    damaged = any(finding.level == "damage" for finding in findings)
    mended = _fix(app, yes=yes) if fix else []
    if damaged:
        app.out.exit_code = 7
    if app.out.is_json:
        app.out.object(
            {
                "beads": beads,
                "healthy": not damaged,
                "findings": [finding._asdict() for finding in findings],
                "mended": mended,
                "commit": snapshot.commit,
            }
        )
        return
    for finding in findings:
        app.out.line(f"{finding.level}: {finding.where}: {finding.text}")
    counts = {level: sum(finding.level == level for finding in findings) for level in ("damage", "warning")}
    app.out.line(
        f"{beads} beads read at {snapshot.commit[:7]}: {counts['damage']} damaged, {_counted(counts['warning'], 'warning')}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _fix(app: App, *, yes: bool) -> list[str]:
    """Rewrite capacity files that do not repeat the claims; everything else needs a person."""
    snapshot = app.hub.snapshot()
    wanted = stale_capacity(snapshot, app.now)
    for path, fields in wanted.items():
        app.out.note(f"--- {path}\n- {json.dumps(snapshot.record(path))}\n+ {json.dumps(fields)}")
    if not wanted:
        app.out.note("nothing here can be mended by bd")
        return []
    if not yes and not click.confirm("Write this?", err=True):
        return []
    app.publish(Write(**app.asked(records=wanted, words="capacity files")))
    return list(wanted)
