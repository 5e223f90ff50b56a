"""What the commands that serve a hub have in common: options, the site, and what they tell when they begin."""

from __future__ import annotations

import gc

from bd.cli.app import App
from bd.cli.spec import Option, whole_number
from bd.web.host_names import of_bind
from bd.web.site import Site
from bd.web.token_file import TokenFiles, accounts_of, own_file


def listening(port: int) -> tuple[Option, ...]:
    """Return the options that say where a server listens, and for whom. `port` is its default."""
    return (
        Option("--host", default="127.0.0.1", shows_default=True, help="Where to listen."),
        Option("--port", kind=whole_number(0, 65535), default=port, shows_default=True, help="0 takes any free port."),
        Option(
            "--token-file",
            metavar="FILE",
            help="More tokens than `bd token` has made: lines with a name and a token; created if missing.",
        ),
        Option(
            "--name",
            name="names",
            multiple=True,
            metavar="HOST",
            help="Answer to this host name too (a proxy's); may be repeated.",
        ),
    )


def site_of(app: App, host: str, names: tuple[str, ...], token_file: str | None, *, is_private: bool = False) -> Site:
    """Return a site on this clone, with the tokens of `bd token` and those of a file. Raises NoHub and BadInput."""
    if token_file:
        accounts_of(token_file, lambda: app.identity.by.split(":", 1)[-1], app.out.note)
    app.hub.view()  # no hub, no server
    tokens = TokenFiles([*([token_file] if token_file else []), own_file(app.hub.place.folder)], app.out.note)
    gc.enable()
    flags = app.flags
    site = Site(lambda: App(flags, app.runtime).hub, app.runtime, tokens.accounts, of_bind(host, names), is_private=is_private)
    site.tell = app.out.note
    return site
