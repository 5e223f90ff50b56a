"""Pages: what a function makes of the hub, in the frame, and kept until the hub or the clock has moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from starlette.responses import HTMLResponse

from bd.core.times import time_text
from bd.web import layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.web.authentication import Person
    from bd.web.routes import Ask
    from bd.web.site import Site, View

# What time alone changes is shown at most so late.
_LASTS_S = 20.0


class Page(NamedTuple):
    """What a page shows. `stamp` stands in its head."""

    title: str
    stamp: str
    body: str


async def shown(ask: Ask, make: Callable[[View, Ask], Page]) -> HTMLResponse:
    """The page that the function makes."""
    return HTMLResponse(await ask.site.read(_text, ask, make))


def _text(view: View, ask: Ask, make: Callable[[View, Ask], Page]) -> str:
    """Runs where the hub is read, so that pages that many wait for are made once."""
    key = (ask.request.url.path, ask.request.url.query, ask.person.name if ask.person else "")
    made_of = (view.snapshot.commit, view.snapshot.listened_at)

    def made() -> str:
        return framed(ask.site, ask.person, make(view, ask), view.tip)

    return ask.site.pages.get(key, made_of, view.now, made, _LASTS_S)


def framed(site: Site, person: Person | None, made: Page, tip: str = "") -> str:
    """The whole document of a page."""
    return layout.document(*made, tip=tip, person=person, has_people=bool(site.people))


def stamp(view: View) -> str:
    """As of when, for a page's head."""
    return f"as of {time_text(view.now)[:16].replace('T', ' ')} UTC"
