"""bd claim, bd start."""

from __future__ import annotations

import socket
from typing import Any

import click

from bd.cli.context import App
from bd.cli.options import pass_app
from bd.errors import BadInput
from bd.operations.claims import Claim, Start

EXAMPLE = """
\b
Examples:
  bd claim --next --agent codemonkey
  bd claim hub-7k3q --agent codemonkey
  bd claim --next --count 3 --agent codemonkey     one started, two reserved
  bd claim hub-7k3q --agent codemonkey --resume    take over your own claim
"""


@click.command("claim", epilog=EXAMPLE)
@click.argument("beads", nargs=-1)
@click.option("--next", "take_next", is_flag=True, help="The best bead that fits, decided as it is published.")
@click.option("--count", type=click.IntRange(min=1, max=100), default=1, help="With --next: up to this many.")
@click.option("--reserve", is_flag=True, help="Do not start it yet; it must be started within the ttl (15m).")
@click.option("--resume", is_flag=True, help="Take over what this agent already holds, with a new token.")
@click.option("--force", is_flag=True, help="Also what is routed to others or does not fit.")
@pass_app
def command(app: App, beads: tuple[str, ...], take_next: bool, **flags: Any) -> None:
    """Take a bead, or the best one that fits; published before it is said.

    A claim that was reported is on the hub: no other agent has it. A lost race takes the next
    best with --next, and ends with exit 5 for a bead named. Exit 3: nothing fits now.
    """
    run(app, beads, take_next=take_next, **flags)


def run(
    app: App,
    beads: tuple[str, ...],
    *,
    take_next: bool = False,
    count: int = 1,
    reserve: bool = False,
    resume: bool = False,
    force: bool = False,
) -> None:
    """Claim and answer; what the command does once its flags are read."""
    if bool(beads) == take_next and not (resume and not beads):
        raise BadInput("which bead?", hint="give ids, or --next for the best one that fits")
    who = app.claimant()
    asked = app.asked(agent=who.agent, host=socket.gethostname(), force=force)
    asked["by"] = who.by
    if beads:
        asked["ids"] = list(beads)
    else:
        asked.update({"next": take_next, "count": count})
    if reserve:
        asked["reserve"] = True
    if resume:
        asked.update({"resume": True, "also_me": [name for name in (app.hub.place.user_name, app.hub.place.user_mail) if name]})
    outcome = app.publish(Claim(**asked))
    if app.out.is_json or app.out.quiet:
        app.show_written(outcome, "Claimed")
        return
    _tell(app, outcome, resumed=resume)


def _tell(app: App, outcome: Any, *, resumed: bool) -> None:
    from bd.output import escaped

    settings = app.hub.settings(app.hub.snapshot(outcome.commit))
    for bead in app.written(outcome):
        claim = bead.claim
        if claim is None:
            continue
        verb = "Resumed" if resumed else "Claimed" if claim.started_at else "Reserved"
        limit = bead.get("max_attempts", settings.max_attempts)
        app.out.line(f"✓ {verb} {app.out.styled(bead.id, 'bold')} — {escaped(bead.title)} (attempt {claim.attempt} of {limit})")
        then = "Close it when it is done." if claim.started_at else f"Start it before {claim.expires_at}: `bd start {bead.id}`."
        app.out.line(f"  Published as {outcome.commit[:7]}. {then}")
        if app.tokens.count(bead.id) > 1:
            app.out.line(f"  This clone has held it before: export BD_TOKEN={claim.token}")
    app.out.failures(outcome.change.failures if outcome.change else ())


@click.command("start", epilog="\b\nExample:\n  bd start hub-7k3q --agent codemonkey")
@click.argument("beads", nargs=-1, required=True)
@pass_app
def start(app: App, beads: tuple[str, ...]) -> None:
    """Begin the work on a reserved bead."""
    outcome = app.publish(Start(**app.asked(beads, ids=list(beads))))
    app.show_written(outcome, "Started")
