"""bd claim, bd start."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.claiming import claim
from bd.cli.options import pass_app
from bd.operations.claims import Start

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
    """Take a bead, or the best one that fits.

    A claim that was reported is on the hub: no other agent has it. A lost race takes the next
    best with --next, and ends with exit 5 for a bead named. Exit 3: nothing fits now.
    """
    claim(app, beads, take_next=take_next, **flags)


@click.command("start", epilog="\b\nExample:\n  bd start hub-7k3q --agent codemonkey")
@click.argument("beads", nargs=-1, required=True)
@pass_app
def start(app: App, beads: tuple[str, ...]) -> None:
    """Begin the work on a reserved bead."""
    outcome = app.publish(Start(**app.asked(beads, ids=list(beads))))
    app.show_written(outcome, "Started")
