"""bd take, bd give: a person takes a bead over from an agent, and hands it back to the agents."""

from __future__ import annotations

import os
import shlex

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Option
from bd.coding_agents.known import KNOWN
from bd.core.code_repos import repos_of
from bd.core.errors import Refused, WrongState
from bd.operations.claims import Release
from bd.operations.take import Take
from bd.repos.delivery import deliver_by_hand, in_words
from bd.repos.standing import why_stopped
from bd.repos.workspace import workspace_here
from bd.schedule.invocation import hub_id
from bd.worker.tally import session_of

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.repos.workspace import Workspace

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
    bead_id = bead_of(bead, app.snapshot(fetch=True)).id
    host = os.uname().nodename if hasattr(os, "uname") else ""
    reason, known = f"taken over by {me.agent}", app.held_tokens([bead_id])
    asked = {**app.asked(agent=me.agent, host=host, ids=[bead_id], reason=reason, held_tokens=known), "by": me.by}
    app.show_written(app.publish(Take(**asked)), "Taken")
    if app.out.is_json:
        return
    there = workspace_here(hub_id(app.hub), bead_id)
    if there is not None:
        app.out.line(f"  Its workspace: {there.folder}")
        app.out.line(f"  `bd workspace enter {bead_id}` starts your shell there, `bd give {bead_id}` hands the bead back.")
    session = session_of(app.hub, bead_id)
    program = KNOWN.get(session.program) if session else None
    if session is not None and program is not None and os.path.isdir(session.folder):
        words = shlex.join([*program.by_hand, session.session])
        then = escaped(f"`cd {shlex.quote(session.folder)} && {words}`")
        app.out.line(f"  Once its agent has ended, {then} goes on with the agent's session.")


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
        app.out.note(f"pushed {in_words(found.commits)} to {found.branch}")
