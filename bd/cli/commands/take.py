"""bd take, bd give: a person takes a bead over from an agent, and hands it back to the agents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bd.cli.lookup import bead_of
from bd.cli.spec import Argument, Command, Option
from bd.core.code_repos import repos_of
from bd.core.errors import Refused, WrongState
from bd.operations.claims import Claim, Release
from bd.repos.delivery import deliver_by_hand
from bd.repos.standing import why_stopped
from bd.repos.workspace import workspace_here
from bd.schedule.invocation import hub_id

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.repos.workspace import Workspace
    from bd.store import Outcome

SPEC = Command(
    "take",
    Argument("bead"),
    help="""Take a bead over from the agent that works on it.

    The claim is yours then. The agent's process is ended at its next heartbeat, with the grace period of its worker. Its workspace
    stays: work on in it, then close the bead or hand it back with `bd give`.
    """,
    examples=["bd take hub-7k3q"],
)


def run(app: App, bead: str) -> None:
    """Take a bead over from the agent that works on it."""
    me = app.claimant(compatible=True)
    outcome = _taken(app, bead, me.agent, me.by)
    app.show_written(outcome, "Taken")
    if app.out.is_json:
        return
    bead_id = outcome.change.touched[0] if outcome.change else bead
    there = workspace_here(hub_id(app.hub), bead_id)
    if there is not None:
        app.out.line(f"  Its workspace: {there.folder}")
        app.out.line(f"  `bd workspace enter {bead_id}` starts your shell there, `bd give {bead_id}` hands the bead back.")


def _taken(app: App, bead: str, agent: str, by: str) -> Outcome:
    """Free the bead and claim it. Raises the refusals of both; AlreadyClaimed if an agent was faster in between."""
    head = bead_of(bead, app.snapshot(fetch=True))
    bead = head.id
    if head.claims and agent not in head.holders:
        app.publish(Release(**app.asked([bead], ids=[bead], reason=f"taken over by {agent}", force=True)))
        app.renew()
    host = os.uname().nodename if hasattr(os, "uname") else ""
    asked = {**app.asked(agent=agent, host=host, force=True, ids=[bead], held_tokens=app.held_tokens([bead])), "by": by}
    return app.publish(Claim(**asked))


GIVE = Command(
    "give",
    Argument("bead"),
    Option("--reason", "-r", help="What the agents should know; kept on the bead."),
    help="""Hand a bead that you have taken over back to the agents.

    What you committed in its workspace is pushed to the bead's branch first, where the next attempt begins.
    """,
    examples=['bd give hub-7k3q --reason "the tests run again; the docs are missing"'],
)


def give(app: App, bead: str, reason: str | None) -> None:
    """Hand a bead that you have taken over back to the agents."""
    head = bead_of(bead, app.snapshot(fetch=True))
    bead, agent = head.id, app.claimant(compatible=True).agent
    if agent not in head.holders:
        raise WrongState(f"{bead} is not yours to give back", hint=f"`bd take {bead}` takes it over", id=bead)
    there = workspace_here(hub_id(app.hub), bead)
    if there is not None and there.url is not None:
        _push(app, there)
    asked = app.asked_to_end([bead], ids=[bead], reason=(reason or "").strip() or f"handed back by {agent}")
    app.show_written(app.publish(Release(**asked)), "Given back")


def _push(app: App, there: Workspace) -> None:
    """Push what was committed in a workspace. Raises Refused if this clone may not, and as deliver_by_hand does."""
    stopped = why_stopped(app.hub, app.snapshot(), app.now, there.repo)
    if stopped is not None and not stopped.is_rest:
        raise Refused(f"{there.repo} gets no work here: {stopped.why}", hint="`bd repo list` shows all", id=there.bead)
    entry = repos_of(app.snapshot().config())[0].get(there.repo)
    if entry is None:
        app.out.note(
            f"nothing is pushed: the hub has no repository {there.repo} any more; `bd workspace list` shows what there is"
        )
        return
    found = deliver_by_hand(there, entry, app.hub)
    for note in found.notes:
        app.out.note(note)
    if found.branch and not found.is_beside:
        app.out.note(f"pushed {found.commits} commits to {found.branch}")
