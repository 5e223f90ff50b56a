"""bd prime, bd onboard: what an agent reads first."""

from __future__ import annotations

import click

from bd.cli import agent_guide
from bd.cli.app import App
from bd.cli.options import pass_app
from bd.policy.work_queue import ready_beads


@click.command("prime", epilog="\b\nExample:\n  bd prime --agent codemonkey")
@pass_app
def command(app: App) -> None:
    """Print what an agent has to know: who it is, the loop, the rules.

    Says nothing outside of a hub, so that a hook may call it everywhere.
    """
    if app.no_hub():
        if app.out.is_json:
            app.out.object({"text": ""})
        return
    snapshot = app.snapshot()
    name = app.identity.agent
    ready = ready_beads(snapshot, app.now)
    number = len(ready)
    if name:
        from bd.policy.eligibility import Eligibility

        number = len(list(Eligibility(snapshot, name, app.now).beads(ready)))
    held = [bead.id for bead in snapshot.live() if name and name in bead.holders]
    who = name or f"{app.identity.by.partition(':')[2]} (no agent: give --agent NAME or set BD_AGENT before you claim)"
    text = agent_guide.prime(who, sorted(held), number)
    if app.out.is_json:
        app.out.object({"text": text})
    else:
        app.out.lines(text.splitlines())


@click.command("onboard", epilog="\b\nExample:\n  bd onboard >> AGENTS.md")
@pass_app
def onboard(app: App) -> None:
    """Print the section for a repository's AGENTS.md.

    `bd setup` writes it there.
    """
    if app.out.is_json:
        app.out.object({"text": agent_guide.section()})
    else:
        app.out.lines(agent_guide.section().splitlines())
