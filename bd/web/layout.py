"""The frame of every page: head, navigation, and the line that says how fresh the page is. Pure functions."""

from __future__ import annotations

from urllib.parse import quote

from bd import TYPE_CHECKING
from bd.report import html_page
from bd.report.html_page import Cell
from bd.web.assets import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.web.authentication import Account

_WAYS = (("/", "Board"), ("/beads", "Beads"), ("/agents", "Agents"), ("/flow", "Flow"))


def document(title: str, stamp: str, body: str, *, tip: str = "", person: Account | None = None, has_people: bool = False) -> str:
    """Return a whole page. `tip` is the commit it shows; `has_people` says whether there is somebody who can sign in."""
    ways = [f'<a href="{href}">{words}</a>' for href, words in _WAYS]
    if person:
        ways.append('<a href="/new">New bead</a>')
    search = '<input type="search" name="q" placeholder="Search" aria-label="Search" maxlength="200">'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{html_page.text(title)}</title>\n<link rel="icon" href="{path_of("icon.svg")}">\n'
        f'<link rel="stylesheet" href="{path_of("bd.css")}">\n<script src="{path_of("bd.js")}" defer></script>\n'
        f"</head>\n<body>\n<header><h1>{html_page.text(title)}</h1>{live('stamp', f'<p>{html_page.text(stamp)}</p>')}</header>\n"
        f'<nav>{"".join(ways)}<form action="/beads" class="search">{search}</form>{_who(person, has_people=has_people)}</nav>\n'
        f'<p id="freshness" role="status">&nbsp;</p>\n<main data-tip="{tip}">\n{body}</main>\n</body>\n</html>\n'
    )


def _who(person: Account | None, *, has_people: bool) -> str:
    if person:
        button = f'<button class="plain" title="Sign out">{html_page.text(person.name)} &times;</button>'
        return f'<form method="post" action="/sign-out" class="who">{button}</form>'
    return '<a href="/sign-in" class="who">Sign in</a>' if has_people else ""


def live(name: str, body: str) -> str:
    """Wrap a part of a page that updates itself, except while somebody types in it."""
    return f'<div id="{name}" data-live>{body}</div>\n'


def bead_path(bead_id: str) -> str:
    """Return the URL path of a bead's page."""
    return f"/beads/{quote(bead_id, safe='')}"


def bead_link(bead_id: str) -> Cell:
    """Return a bead's id as a link to its page."""
    return Cell(f'<a href="{bead_path(bead_id)}">{html_page.text(bead_id)}</a>')


def agent_link(name: str) -> Cell:
    return Cell(f'<a href="/agents#{quote(name, safe="")}">{html_page.text(name)}</a>')


def form(action: str, button: str, fields: Iterable[str] = (), *, is_inline: bool = False) -> str:
    """Return a form that posts a change; `is_inline` puts it on one line if there is room."""
    kind = ' class="inline"' if is_inline else ""
    inner = f"{''.join(fields)}<button>{html_page.text(button)}</button>"
    return f'<form method="post" action="{html_page.text(action)}"{kind}>{inner}</form>\n'


def field(name: str, words: str, *, rows: int = 0, value: str = "", is_required: bool = False, most: int = 500) -> str:
    """Return an input with its label: one line, or a text area of `rows` lines."""
    needs = " required" if is_required else ""
    if rows:
        inner = f'<textarea name="{name}" rows="{rows}"{needs}>{html_page.lines(value)}</textarea>'
    else:
        inner = f'<input name="{name}" value="{html_page.text(value)}" maxlength="{most}" autocomplete="off"{needs}>'
    return f"<label>{html_page.text(words)}{inner}</label>"


def row(*fields: str) -> str:
    """Put fields side by side."""
    return f'<div class="row">{"".join(fields)}</div>'


def choice(name: str, words: str, values: Iterable[tuple[str, str]], chosen: str) -> str:
    """Return a select box; `values` are pairs of value and label."""
    options = (
        f'<option value="{html_page.text(value)}"{" selected" if value == chosen else ""}>{html_page.text(told)}</option>'
        for value, told in values
    )
    return f'<label>{html_page.text(words)}<select name="{name}">{"".join(options)}</select></label>'
