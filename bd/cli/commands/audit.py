"""bd audit."""

from __future__ import annotations

import textwrap

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Command, Option
from bd.report.audit import rules
from bd.report.audit.audit import examine, lineage, start_of

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.report.audit.audit import Audit, HandMade, Violation


_WIDTH = 78
_SHOWN = 10


SPEC = Command(
    "audit",
    Option("--since", metavar="WHEN", narrows=True, help="Only commits after this: a commit, a time, or an age (`2h`)."),
    help="""Prove from the hub's history that every change kept the rules.

    Reads every commit of the hub branch, says who claimed, lists what was made by hand with plain git, and names each
    commit that broke a rule. Exit 7 if there is one.
    """,
    examples=[
        "bd audit                      the whole history; exit 7 when a rule was broken",
        "bd audit --since 1d           only what came since yesterday",
        "bd audit --json | jq '.violations[].text'",
    ],
)


def run(app: App, since: str | None) -> None:
    """Prove from the hub's history that every change kept the rules."""
    hub = app.hub
    if app.flags.fetch and not app.flags.at:
        hub.fetch()
    view = hub.view()
    tip = hub.commit_at(app.flags.at) if app.flags.at else hub.published() or view
    start = start_of(hub, since, tip) if since else None
    found = examine(hub.repo, tip, start, hub.on_progress)
    if not app.flags.at:
        gone = lineage(hub.repo, tip, hub.branch, hub.remote_name)
        found = found._replace(violations=(*found.violations, *gone))
    if not found.holds:
        app.out.exit_code = 7
    missing = app.tell_gaps(reads_history=found.is_cut)
    if app.out.is_json:
        app.out.object({**found.as_json(), **missing})
        return
    if app.out.quiet:
        for commit in dict.fromkeys(violation.commit for violation in found.violations):
            app.out.line(commit)
        return
    _tell(app, found)


def _tell(app: App, audit: Audit) -> None:
    out = app.out
    mark = "✓ " if audit.holds else ""
    what = "every change kept the rules" if audit.holds else _counted(len(audit.violations), "violation")
    since = "" if audit.is_whole else f" since {audit.start[:7]}"
    out.line(f"{mark}{_counted(audit.commits, 'commit')}{since} to {audit.tip[:7]}: {out.styled(what, 'bold')}")
    owners = {violation.code for violation in audit.violations} & {"two_owners", "replaced", "changed_hands", "exclusive"}
    if audit.is_cut:
        out.line(f"  This clone is shallow: what was before {audit.start[:7]} could not be checked")
    out.line(f"  {_counted(audit.claims, 'claim')}; {'see below for the owners' if owners else 'no bead had two owners'}")
    for name, number in list(audit.agents.items())[:_SHOWN]:
        out.line(f"    {escaped(name)}  {_counted(number, 'claim')}")
    if len(audit.agents) > _SHOWN:
        out.line(f"    and {len(audit.agents) - _SHOWN} more agents")
    if audit.hand_made:
        out.line(f"\nMade by hand, with plain git ({len(audit.hand_made)}):")
    for made in audit.hand_made:
        _tell_made(app, made)
    if audit.violations:
        out.line(f"\nViolations ({len(audit.violations)}):")
    for violation in audit.violations:
        _tell_violation(app, violation)
    if audit.notes:
        out.line(f"\nNotes, which only signatures could prove ({len(audit.notes)}):")
    for note in audit.notes[:_SHOWN]:
        _tell_violation(app, note)
    if len(audit.notes) > _SHOWN:
        out.line(f"  and {len(audit.notes) - _SHOWN} more; `bd audit --json` has all of them")


def _tell_made(app: App, made: HandMade) -> None:
    app.out.line(f"  {made.commit[:7]}  {made.at}  {escaped(made.by)}")
    for line in made.what[:_SHOWN]:
        _wrapped(app, "      ", line)
    if len(made.what) > _SHOWN:
        app.out.line(f"      and {len(made.what) - _SHOWN} more files")


def _tell_violation(app: App, violation: Violation) -> None:
    by = f"  {escaped(violation.by)}" if violation.by else ""
    hand = ", by hand" if violation.is_by_hand else ""
    app.out.line(f"  {app.out.styled(violation.commit[:7], 'bold')}  {violation.at}{by}{hand}".rstrip())
    _wrapped(app, "    found  ", f"{violation.bead}: {violation.text}" if violation.bead else violation.text)
    _wrapped(app, "    rule   ", rules.RULES[violation.code].words)
    _wrapped(app, "    next   ", violation.todo())


def _wrapped(app: App, head: str, text: str) -> None:
    lines = textwrap.wrap(escaped(text), _WIDTH - len(head), break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        app.out.line((head if number == 0 else " " * len(head)) + line)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
