"""bd wait."""

from __future__ import annotations

import click

from bd.cli.context import App
from bd.cli.options import DURATION, pass_app
from bd.fleet.waiting import wait

EXAMPLE = """
\b
Examples:
  bd wait --agent codemonkey && ./agent.sh
  bd wait --agent codemonkey --timeout 10m --json
"""


@click.command("wait", epilog=EXAMPLE)
@click.option("--timeout", type=DURATION, help="Wait no longer than this (`10m`); for ever when left out.")
@pass_app
def command(app: App, timeout: float | None) -> None:
    """Wait until something is ready for an agent.

    Ends with 0 as soon as there is, with 3 when the time is over. Looks at one ref of the hub: every second where
    the hub is a path, elsewhere after 30 seconds and then less and less often, up to the agent's interval. Makes no
    commit, and claims nothing: somebody else may be faster.
    """
    agent = app.claimant().agent
    found = wait(app.hub, agent, timeout)
    if app.out.is_json:
        app.out.object({"agent": agent, "ready": found})
    elif app.out.quiet:
        app.out.lines(found)
    else:
        app.out.line(f"Ready for {agent}: {', '.join(found)}")
