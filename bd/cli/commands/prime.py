"""bd prime, bd onboard: what an agent reads first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.cli import agent_guide
from bd.cli.spec import Command
from bd.policy.eligibility import Eligibility
from bd.policy.work_queue import ready_beads

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "prime",
    help="""Print what an agent needs to know: who it is, the loop, the rules.

    Prints nothing outside of a hub, so that hooks can call it anywhere.
    """,
    examples=["bd prime --agent codemonkey"],
)


def run(app: App) -> None:
    """Print what an agent needs to know: who it is, the loop, the rules."""
    if app.no_hub():
        if app.out.is_json:
            app.out.object({"text": ""})
        return
    snapshot = app.snapshot()
    name = app.identity.agent
    ready = ready_beads(snapshot, app.now)
    number = len(ready)
    if name:
        number = len(list(Eligibility(snapshot, name, app.now).beads(ready)))
    held = [bead.id for bead in snapshot.live() if name and name in bead.holders]
    who = name or f"{app.identity.by.partition(':')[2]} (no agent: give --agent NAME or set BD_AGENT before you claim)"
    text = agent_guide.prime(who, sorted(held), number, name)
    if app.out.is_json:
        app.out.object({"text": text})
    else:
        app.out.lines(text.splitlines())


ONBOARD = Command(
    "onboard",
    help="""Print the section for a repository's AGENTS.md.

    `bd setup` writes it there.
    """,
    examples=["bd onboard >> AGENTS.md"],
)


def onboard(app: App) -> None:
    """Print the section for a repository's AGENTS.md."""
    if app.out.is_json:
        app.out.object({"text": agent_guide.section()})
    else:
        app.out.lines(agent_guide.section().splitlines())
