"""bd attention."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.app import SIGNS
from bd.cli.output import escaped
from bd.cli.spec import Command
from bd.core.times import age_text
from bd.policy.unpublished import KEPT_LONG
from bd.report.attention import gather
from bd.repos.standing import stopped_repos

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.report.attention import Attention


# The heading of each section, with the commands to use.
HEADINGS = {
    "dead_letters": "Given up after their last attempt: `bd dlq show ID`, then `bd dlq retry ID` or `bd cancel ID`",
    "waiting": "Waiting for a person: `bd answer ID TEXT`",
    "stalled": "Stalled: `bd stalled --reassign ID`",
    "refused": "Refused by the hub and kept in this clone: `bd sync --kept`",
    "unpublished": "Not published for more than an hour: `bd sync`",
    "offline": "Agents presumed offline",
    "damaged": "Files that can't be read: `bd doctor`",
    "overloaded": "Agents that are overloaded: look at its log, then `bd agent clear NAME`",
    "given_back": "Given back again and again, each time paid for: `bd show ID`, then `bd update`, `bd defer` or `bd cancel ID`",
    "repos": "Code repositories that get no work in this clone: `bd repo list`",
    "outages": "Accounts that rest, since their provider fails or refuses them: `bd agent wake NAME` ends that",
}


SPEC = Command(
    "attention",
    help="""List what needs a person.

    Beads that were given up or given back again and again, questions, stalls, writes the hub refused or has not got for
    more than an hour, agents that fell silent or are overloaded, accounts that rest, damaged files, code repositories
    that rest. Always exit 0. Fetches first, unless told --no-fetch.
    """,
    examples=["bd attention", "bd attention --json | jq .total"],
)


def run(app: App) -> None:
    """List what needs a person."""
    view = app.look()
    app.leave_out(SIGNS, "this clone's writes that are not on the hub")
    refused, waiting = ((), []) if app.flags.at else (app.hub.kept(), app.hub.left_behind(app.now - KEPT_LONG)[0])
    repos = () if app.flags.at else stopped_repos(app.hub, app.snapshot(), app.now)
    told = [one.as_json() for one in repos if not one.is_new]
    found = gather(app.snapshot(), view.stalls, refused, waiting, app.now, told)
    if app.out.is_json:
        app.out.object(found.as_json())
    else:
        _show(app, found)


def _show(app: App, found: Attention) -> None:
    if not found.total:
        app.out.line("Nothing needs a person.")
        return
    place = 0
    for kind, entries in found._asdict().items():
        if not entries:
            continue
        if place:
            app.out.line()
        place += 1
        app.out.line(app.out.styled(HEADINGS[kind], "bold"))
        for entry in entries:
            app.out.line(f"  {escaped(_words(kind, entry))}")


def _words(kind: str, entry: dict[str, Any]) -> str:
    """Format one entry."""
    get = entry.get
    age = age_text(get("age_s", 0))
    if kind == "dead_letters":
        why = ": ".join(str(get(key)) for key in ("reason", "error") if get(key))
        tries = "1 attempt" if get("attempts") == 1 else f"{get('attempts')} attempts"
        return f"{get('id')}  {get('title')}   {tries}{f', {why}' if why else ''}, {age} ago"
    if kind == "waiting":
        by = f"{get('asked_by')}, " if get("asked_by") else ""
        return f"{get('id')}  {get('title')}   {by}{age} ago: {get('question') or 'no question noted'}"
    if kind == "stalled":
        return f"{get('id')}  {get('title')}   {get('owner') or 'nobody'}: it {get('text')}, last sign {age} ago"
    if kind == "refused":
        return f"{get('uid')}  {get('error') or 'no reason noted'}"
    if kind == "unpublished":
        return f"{get('subject')}   {age} ago"
    if kind == "offline":
        holds = f", holds {', '.join(get('beads', []))}" if get("beads") else ""
        return f"{get('agent')}   last heard of {age} ago{holds}"
    if kind == "overloaded":
        return f"{get('agent')}   {get('failed')} of its last {get('of')} attempts failed, the last {age} ago"
    if kind == "repos":
        return f"{get('repo')}   {get('why')}"
    if kind == "given_back":
        return (
            f"{get('id')}  {get('title')}   {get('times')} times in a row, last {age} ago: {get('reason') or 'no reason noted'}"
        )
    if kind == "outages":
        until = "until somebody has looked, or a trial succeeds; the next is" if get("needs_person") else "the next trial is"
        agents = ", ".join(get("agents", [])) or "no agent now"
        return f"{get('account')}   {get('reason')} for {age}, {until} at {get('until')}: {agents}"
    return f"{get('path')}  {get('reason')}"
