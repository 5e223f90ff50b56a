"""bd serve."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.serving import listening, site_of
from bd.cli.spec import Command, Flag, Option
from bd.cli.values import text_of
from bd.core.errors import BadInput
from bd.web import gateway_body, gateways, webhook_secrets
from bd.web.gateway_thread import Forwarding
from bd.web.host_names import is_loopback

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.web.authentication import Account
    from bd.web.site import Site

PORT = 8750


SPEC = Command(
    "serve",
    *listening(PORT),
    Flag("--private", help="Reading requires a token, too."),
    Option("--hook-secrets", metavar="FILE", help="Take webhooks: lines with github, gitea or gitlab and its secret."),
    Option("--forward", name="forwards", multiple=True, metavar="AGENT=URL", help="Post the agent's ready beads to a URL."),
    Option("--forward-body", metavar="FILE", help="JSON to post instead of bd's; its strings may have {{.Id}} and the like."),
    help="""Show the hub as live web pages, and answer agents without git.

    The board, every bead with its history, agents, numbers; Prometheus' /metrics; /healthz. Only this machine reaches
    it by default, and it works without the internet. Needs the extra `gitbeads[serve]`. The API for agents is
    /api/v1; `bd token create` makes tokens for it. Webhooks come to
    /hooks/github and the like; their secrets can also be in BD_HOOK_SECRET_GITHUB. BD_FORWARD_TOKEN goes to gateways.
    A body for them may have {{.Agent}}, {{.Id}}, {{.Title}}, {{.Type}}, {{.Priority}} and {{.Key}}.
    """,
    examples=[
        "bd serve                                     look, at http://127.0.0.1:8750/",
        "bd serve --token-file ~/.bd-tokens           and change things, for people with a token",
        "bd serve --hook-secrets ~/.bd-hooks          and let a forge say what happens",
        "bd serve --host 0.0.0.0 --token-file FILE --private --name fleet.example.org",
    ],
)


def run(app: App, host: str, port: int, token_file: str | None, names: tuple[str, ...], private: bool, **more: Any) -> None:
    """Show the hub as live web pages, and answer agents without git."""
    if not find_spec("starlette") or not find_spec("uvicorn"):
        raise BadInput("serving pages needs an extra", hint="pip install 'gitbeads[serve]'")
    from bd.web import server  # noqa: PLC0415  imports the extra

    site = site_of(app, host, names, token_file, is_private=private)
    if private and not site.people:
        raise BadInput("--private requires people with tokens", hint="`bd token create --person NAME`, or --token-file FILE")
    _equip(site, more["hook_secrets"], more["forwards"], more["forward_body"])
    listener = server.bound(host, port)
    if not is_loopback(host):
        _warn(app, site.people, is_private=private)
    _tell(app, server.address_of(listener), site.people)
    server.run(site, listener)


def _equip(site: Site, secrets_file: str | None, forwards: tuple[str, ...], body_file: str | None) -> None:
    """Give the site the webhooks' secrets, and the gateways to notify."""
    site.secrets = {
        **webhook_secrets.from_environment(os.environ),
        **(webhook_secrets.of_file(secrets_file) if secrets_file else {}),
    }
    targets = [gateways.target_of(text) for text in forwards]
    if body_file and not targets:
        raise BadInput("--forward-body is for gateways", hint="name one with --forward AGENT=URL")
    if targets:
        template = gateway_body.template_of(text_of(body_file, "body")) if body_file else None
        token = os.environ.get("BD_FORWARD_TOKEN", "")
        site.helpers = (Forwarding(site.feed, site.open_hub, site.runtime, targets, site.tell, token, template),)


def _warn(app: App, people: tuple[Account, ...], *, is_private: bool) -> None:
    who = "only people with a token may change anything" if people else "nobody may change anything without --token-file"
    if not is_private:
        app.out.note(f"warning: anybody who can reach this address can read the whole hub; {who}")
    app.out.note("warning: the connection is not encrypted; put a TLS proxy in front of it")


def _tell(app: App, address: str, people: tuple[Account, ...]) -> None:
    if app.out.is_json:
        app.out.object({"url": address, "writers": [person.name for person in people]})
    else:
        who = f"changes by {', '.join(person.name for person in people)}" if people else "read-only"
        app.out.said(f"Serving {address} ({escaped(who)}); Ctrl-C ends it")
    sys.stdout.flush()
