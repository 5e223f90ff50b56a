"""Rendering of pages: made from the hub, put into the frame, and cached until the hub or the clock has moved."""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import HTMLResponse

from bd import TYPE_CHECKING
from bd.core.times import time_text
from bd.web import layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.web.authentication import Account
    from bd.web.routes import Ask
    from bd.web.site import Site, View

# The most seconds by which a page may lag behind changes that only time makes.
_LASTS_S = 20.0


class Page(NamedTuple):
    """The content of a page; `stamp` is shown in its header."""

    title: str
    stamp: str
    body: str


async def shown(ask: Ask, make: Callable[[View, Ask], Page]) -> HTMLResponse:
    """Return the response with the page that `make` returns."""
    return HTMLResponse(await ask.site.read(_text, ask, make))


def _text(view: View, ask: Ask, make: Callable[[View, Ask], Page]) -> str:
    """Render a page in the reader's thread, so that a page that many request is made once."""
    key = (ask.request.url.path, ask.request.url.query, ask.person.name if ask.person else "")
    made_of = (view.snapshot.commit, view.snapshot.listened_at)

    def made() -> str:
        return framed(ask.site, ask.person, make(view, ask), view.tip)

    return ask.site.pages.get(key, made_of, view.now, made, _LASTS_S)


def framed(site: Site, person: Account | None, made: Page, tip: str = "") -> str:
    """Return a page as a whole document."""
    return layout.document(*made, tip=tip, person=person, has_people=bool(site.people))


def stamp(view: View) -> str:
    """Return the time of the data, for a page's header."""
    return f"as of {time_text(view.now)[:16].replace('T', ' ')} UTC"
