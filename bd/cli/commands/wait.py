"""bd wait."""

from __future__ import annotations

import gc
import os

from bd import TYPE_CHECKING
from bd.cli.spec import DURATION, Command, Option
from bd.core.errors import BadInput
from bd.worker.long_poll import server_of, token_of
from bd.worker.wait import wait

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.worker.long_poll import Server

_VARIABLE = "BD_VIA_TOKEN"


SPEC = Command(
    "wait",
    Option("--timeout", kind=DURATION, help="The longest wait (`10m`); default: no limit."),
    Option("--via", metavar="URL", help="Ask a `bd serve`; while it is unreachable, ask the hub itself."),
    Option("--token-file", metavar="FILE", help="The token for --via, instead of BD_VIA_TOKEN."),
    help="""Wait until something is ready for an agent.

    Exit 0 as soon as there is, 3 when the time is over. A hub that is a path on this machine wakes it when it
    changes (at once with the extra `gitbeads[watch]`, else within a second); another one is asked for one ref, after 30
    seconds and then less and less often, up to the agent's interval. Makes no commit, and claims nothing: somebody else
    may be faster.
    """,
    examples=[
        "bd wait --agent codemonkey && ./agent.sh",
        "bd wait --agent codemonkey --timeout 10m --json",
        "bd wait --agent codemonkey --via https://fleet.example.org",
    ],
)


def run(app: App, timeout: float | None, via: str | None, token_file: str | None) -> None:
    """Wait until something is ready for an agent."""
    agent = app.claimant().agent
    if token_file and not via:
        raise BadInput("--token-file is for --via", hint="--via URL")
    gc.enable()  # it may run for days
    found = wait(app.hub, agent, timeout, _server(via, token_file) if via else None, app.out.note)
    if app.out.is_json:
        app.out.object({"agent": agent, "ready": found})
    elif app.out.quiet:
        app.out.lines(found)
    else:
        app.out.line(f"Ready for {agent}: {', '.join(found)}")


def _server(url: str, token_file: str | None) -> Server:
    return server_of(url, token_of(token_file) if token_file else os.environ.get(_VARIABLE, ""))
