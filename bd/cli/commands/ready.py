"""bd ready."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.bead_lines import at_it
from bd.cli.claim_attempts import claim_first
from bd.cli.commands.bead_list import FILTERS, show_list, wanted_of
from bd.cli.commands.blocked import blocked_beads, blocked_objects, show_blocked
from bd.cli.output import escaped
from bd.cli.spec import Command, Flag, Option, whole_number
from bd.compat import bead_json
from bd.core.queries import Lineup
from bd.policy.eligibility import Eligibility
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness
from bd.policy.work_queue import ready_beads
from bd.report.selection import Wanted, ordered, passing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Snapshot
    from bd.policy.readiness import Reason


_TRIES = 10
# So many of the beads that do not fit for a reason are named, and what each reason is, in words for any number of beads.
_NAMED = 3
_UNFIT = {
    "routed": "routed to somebody else",
    "preferred": "kept for another agent for now",
    "needs": "in need of capabilities that it lacks",
    "holding": "held by it already",
    "exclusive": "with the exclusive name of a bead in progress",
    "budget": "beyond its budget",
    "ceiling": "beyond the budget of what they are part of",
    "skills": "outside its skills",
    "prefix": "with the title prefix of another agent",
    "fallback": "left to the others for two cycles first",
    "root": "whose work is the beads below it",
    "overloaded": "to wait until it is no longer overloaded",
}


SPEC = Command(
    "ready",
    *FILTERS,
    Option("--limit", "-n", kind=whole_number(0), help="At most this many; 0 is no limit."),
    Option("--sort", default="priority", help="priority (default), oldest, created, updated, title ..."),
    Flag("--all", name="everybody", help="Also beads that do not fit the agent."),
    Flag("--explain", help="Also blocked beads, and what blocks them."),
    Flag("--claim", name="take", hidden=True),
    help="""List the beads that can be worked on now, best first.

    Ready means open, unblocked, due and unclaimed. With --agent: only what that agent may
    take, by the same rule that `bd claim --next` uses.
    """,
    examples=[
        "bd ready                          what anybody could take",
        "bd ready --agent codemonkey       what this agent may take, best first",
        "bd ready --json | jq length",
    ],
)


def run(app: App, limit: int | None, sort: str, everybody: bool, explain: bool, take: bool, **flags: Any) -> None:
    """List the beads that can be worked on now, best first."""
    name = app.work_for
    snapshot = app.snapshot(fetch=app.flags.agent is not None)
    now = app.now
    ready = ready_beads(snapshot, now)
    wanted = wanted_of(app, snapshot, **flags).replace(everything=True)
    if wanted != Wanted(everything=True):
        ready = Lineup(filter(passing(snapshot, wanted, now, app.settings), ready))
    found, idle = ready, None
    unfit: Mapping[str, list[str]] = {}
    if name:
        answer = Eligibility(snapshot, name, now)
        idle = answer.idle()
        if everybody and idle and not app.out.is_json:
            app.out.note(f"{idle.text}: it may claim none of these now")
        if not everybody:
            found, unfit = Lineup(answer.beads(found)), answer.unfit()
    if sort != "priority":
        found = Lineup(ordered(list(found), sort, Ranking(snapshot, now)))
    if take or (explain and app.out.is_json):
        _claim_first(app, found) if take else _explain(app, found)
        return

    readiness = Readiness(snapshot, now)

    def tail(bead: Any) -> str:
        words = [f"ready {app.out.age(readiness.since(bead), now)}"]
        waiting = snapshot.waiting_counts([bead.id]).get(bead.id)
        if waiting:
            words.append(f"unblocks {waiting}")
        shared = at_it(bead, now)
        return ", ".join([*words, *([escaped(shared)] if shared else [])])

    footer, empty = _last_lines(snapshot, len(found), len(ready) - len(found), None if everybody else name, idle, unfit)
    show_list(app, snapshot, found, limit=limit, default_limit=100, empty=empty, tail=tail, footer=footer)
    if explain:
        show_blocked(app, blocked_beads(app))


def _last_lines(
    snapshot: Snapshot, found: int, others: int, name: str | None, idle: Reason | None, unfit: Mapping[str, list[str]]
) -> tuple[str, str]:
    """Return what is printed below the found beads, and what if there are none. `name` is whom the list is for."""
    tip = f" · hub at {snapshot.commit[:7]}"
    if name and idle:
        more = f". Ready in all: {others} (`bd ready --all`)" if others else ""
        return "", f"Nothing for {name} now: {idle.text}{more}{tip}"
    whom = f" for {name}" if name else ""
    left = f" ({others} more {'does' if others == 1 else 'do'} not fit: bd ready --all)" if name and others else ""
    why = "".join(f"\n  {_unfit_words(code, ids)}" for code, ids in unfit.items())
    return f"{found} ready{whom}{left}{tip}{why}", f"Nothing is ready{whom}{left}. `bd blocked` shows what waits.{tip}{why}"


def _unfit_words(code: str, ids: list[str]) -> str:
    """Return one line about the beads that do not fit for one reason, with a few of them."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{len(ids)} {_UNFIT.get(code, code)}: {', '.join(ids[:_NAMED])}{more}"


def _claim_first(app: App, found: Lineup) -> None:
    """Claim the best matching bead that is still free, or nothing: the Go tool's `ready --claim`."""
    outcome = claim_first(app, list(found.ids())[:_TRIES])
    if outcome:
        app.show_written(outcome, "Claimed")
    elif app.out.is_json:
        app.out.json([])
    else:
        app.out.note("none of the requested beads is ready")


def _explain(app: App, found: Lineup) -> None:
    """Print what is ready and what waits, as one object."""
    snapshot = app.snapshot()
    ranking = Ranking(snapshot, app.now)
    ready = [bead_json.issue(snapshot.bead(bead.id) or bead, ranking) for bead in found]
    blocked = blocked_objects(app, blocked_beads(app))
    summary = {"total_ready": len(ready), "total_blocked": len(blocked)}
    app.out.object({"ready": ready, "blocked": blocked, "summary": summary})
