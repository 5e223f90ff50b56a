"""bd mcp."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.serving import listening, site_of
from bd.cli.spec import Command, Flag
from bd.core.errors import BadInput
from bd.web.authentication import AGENT, Account

if TYPE_CHECKING:
    from bd.cli.app import App

PORT = 8751


SPEC = Command(
    "mcp",
    Flag("--http", help="Serve many clients over streamable HTTP, at /mcp; each sends a token of `bd token`."),
    *listening(PORT),
    help="""Serve the hub to agents over MCP.

    The tools are the endpoints of the HTTP API; the board and briefs are resources. On stdin and stdout by default, for one
    agent: give --agent, or set BD_AGENT. No tool ends a claim that the caller does not hold. Needs the extra `gitbeads[mcp]`.
    """,
    examples=[
        "bd mcp --agent codemonkey                    what an agent's program starts",
        "bd mcp --http --name fleet.example.org       for agents on other machines, behind a proxy",
    ],
)


def run(app: App, http: bool, host: str, port: int, token_file: str | None, names: tuple[str, ...]) -> None:
    """Serve the hub to agents over MCP."""
    if not find_spec("mcp"):
        raise BadInput("MCP needs an extra", hint="pip install 'gitbeads[mcp]'")
    if http:
        _over_http(app, host, port, token_file, names)
        return
    from bd.web.mcp_server import McpServer  # noqa: PLC0415  imports the extra

    agent = app.claimant().agent
    site = site_of(app, "127.0.0.1", (), None)
    asyncio.run(McpServer(site, Account(agent, "", AGENT)).on_stdio())


def _over_http(app: App, host: str, port: int, token_file: str | None, names: tuple[str, ...]) -> None:
    from bd.web import server  # noqa: PLC0415  the same
    from bd.web.app import mcp_application  # noqa: PLC0415
    from bd.web.mcp_server import PATH, OverHttp  # noqa: PLC0415

    site = site_of(app, host, names, token_file)
    listener = server.bound(host, port)
    address = f"{server.address_of(listener)}{PATH.lstrip('/')}"
    if app.out.is_json:
        app.out.object({"url": address})
    else:
        app.out.said(f"Serving MCP at {escaped(address)}; Ctrl-C ends it")
    sys.stdout.flush()
    server.run(site, listener, mcp_application(site, PATH, OverHttp(site)))
