"""bd doctor."""

from __future__ import annotations

import json

from bd import TYPE_CHECKING
from bd.cli.questions import is_confirmed
from bd.cli.spec import Command, Flag
from bd.core import versions
from bd.core.schema import CONFIG_PATH
from bd.operations.beads import Write
from bd.operations.upgrade import Upgrade
from bd.report.doctor import examine, stale_capacity

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "doctor",
    Flag("--fix", help="Fix what can be fixed; shows the difference first."),
    Flag("--yes", "-y", help="With --fix: do not ask."),
    Flag("--offline", help="Do not ask the remote."),
    help="""Check the hub and this clone; changes nothing.

    Exit 7 if something is damaged.
    """,
    examples=["bd doctor", "bd doctor --fix      show what would be fixed, ask, fix"],
)


def run(app: App, fix: bool, yes: bool, offline: bool) -> None:
    """Check the hub and this clone; changes nothing."""
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
    """Upgrade an older hub, and rewrite capacity files that differ from the claims; everything else needs a person."""
    version = app.hub.snapshot().config().get("format", versions.FORMAT)
    mended = _written(app, {CONFIG_PATH: {"format": version}}, {CONFIG_PATH: {"format": versions.FORMAT}}, yes=yes)
    if version < versions.FORMAT and not mended:
        return []
    snapshot = app.hub.snapshot()
    wanted = stale_capacity(snapshot, app.now)
    mended += _written(app, {path: snapshot.record(path) for path in wanted}, wanted, yes=yes)
    if not mended and not wanted:
        app.out.note("bd can't fix any of this")
    return mended


def _written(app: App, old: Mapping[str, Any], new: Mapping[str, Any], *, yes: bool) -> list[str]:
    """Show how files of the hub would change, ask, and write them. Return which were written."""
    if old == new or old.get(CONFIG_PATH, {}).get("format", 0) > versions.FORMAT:
        return []
    for path, fields in new.items():
        app.out.note(f"--- {path}\n- {json.dumps(old[path])}\n+ {json.dumps(fields)}")
    if not yes and not is_confirmed("Write this?"):
        return []
    if CONFIG_PATH in new:
        app.publish(Upgrade(**app.asked()))
    else:
        app.publish(Write(**app.asked(records=new, words="capacity files")))
    return list(new)
