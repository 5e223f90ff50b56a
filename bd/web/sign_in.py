"""Signing in with a token, and signing out. The browser gets a cookie that scripts and other sites can't use."""

from __future__ import annotations

from starlette.responses import HTMLResponse, RedirectResponse

from bd import TYPE_CHECKING
from bd.web import authentication, forms, layout, request_guard
from bd.web.pages import Page, framed
from bd.web.refusal import Refusal
from bd.web.routes import FORM_LIMIT, OPEN, Route

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.web.routes import Ask

_LASTS_S = 30 * 86400


async def ask_token(ask: Ask) -> Response:
    """Show the page that asks for a token."""
    return HTMLResponse(_page(ask, ""))


async def sign_in(ask: Ask) -> Response:
    """Exchange a token for a cookie."""
    _refuse_others(ask)
    session = authentication.session_of(forms.read(ask).get("token", "").strip())
    if authentication.by_session(ask.site.people, session) is None:
        return HTMLResponse(_page(ask, "Nobody here has this token."), 401)
    answer = RedirectResponse("/", 303)
    is_secure = ask.request.url.scheme == "https" or ask.request.headers.get("origin", "").startswith("https:")
    answer.set_cookie(
        request_guard.cookie_of(ask.request), session, max_age=_LASTS_S, httponly=True, samesite="strict", secure=is_secure
    )
    return answer


async def sign_out(ask: Ask) -> Response:
    """Delete the cookie."""
    _refuse_others(ask)
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(request_guard.cookie_of(ask.request), httponly=True, samesite="strict")
    return answer


def _refuse_others(ask: Ask) -> None:
    """Refuse requests from other sites, which must not sign anybody in or out."""
    if not request_guard.is_from_here(ask.request):
        raise Refusal(403, "this does not come from a page of this site")


def _page(ask: Ask, trouble: str) -> str:
    field = (
        '<label>Your token, as in the token file of this server<input type="password" name="token" required '
        'autocomplete="current-password" maxlength="500"></label>'
    )
    told = f'<p class="state stop">{trouble}</p>' if trouble else ""
    return framed(ask.site, None, Page("Sign in", "", told + layout.form("/sign-in", "Sign in", [field])))


ROUTES = (
    Route("GET", "/sign-in", ask_token, OPEN),
    Route("POST", "/sign-in", sign_in, OPEN, FORM_LIMIT),
    Route("POST", "/sign-out", sign_out, OPEN, FORM_LIMIT),
)
