"""The live board, and the assets it loads."""

from __future__ import annotations

from starlette.responses import Response

from bd import TYPE_CHECKING
from bd.report import html_page
from bd.report.board import board_page
from bd.report.board.board import gather
from bd.web import layout
from bd.web.assets import content_of
from bd.web.pages import Page, shown
from bd.web.refusal import Refusal
from bd.web.routes import OPEN, Route

if TYPE_CHECKING:
    from bd.web.routes import Ask
    from bd.web.site import View

_DAMAGES = 10
# The forms that pause and resume claiming.
_PAUSE = html_page.section(
    "Switch",
    layout.form("/pause", "Pause the fleet", [layout.field("reason", "Reason")], is_inline=True),
)
_RESUME = layout.form("/resume", "Resume the fleet", is_inline=True)


async def board(ask: Ask) -> Response:
    """Show the whole fleet on one page."""
    return await shown(ask, _board)


def _board(view: View, ask: Ask) -> Page:
    made = gather(view.snapshot, view.flow(), view.settings, view.now)
    body = layout.live("damages", _damages(view))
    if ask.person:
        body += layout.live("resume", _RESUME if made.paused else "")
    body += layout.live("board", board_page.sections(made, layout.bead_link))
    if ask.person:
        body += layout.live("pause", "" if made.paused else _PAUSE)
    return Page(f"{view.name} board", f"last change {made.flow['until'][:16].replace('T', ' ')} UTC", body)


def _damages(view: View) -> str:
    """List the unreadable files, which block nothing."""
    found = view.snapshot.damages
    told = [f"{damage.path} {damage.reason}" for damage in found[:_DAMAGES]]
    told += [f"and {len(found) - _DAMAGES} more; `bd doctor` lists them"] if len(found) > _DAMAGES else []
    lines = "".join(f"<li>{html_page.text(line)}</li>" for line in told)
    return f'<div class="alert">Files that can\'t be read, and are left alone:<ul>{lines}</ul></div>' if told else ""


async def asset(ask: Ask) -> Response:
    """Serve the style sheet, the script or the icon. Their names change with their content, so they are cached for good."""
    found = content_of(ask.words["name"])
    if found is None:
        raise Refusal(404, "no such path")
    return Response(found[0], media_type=found[1], headers={"cache-control": "public, max-age=31536000, immutable"})


ROUTES = (
    Route("GET", "/", board),
    Route("GET", "/assets/{name}", asset, OPEN),
)
