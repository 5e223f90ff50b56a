"""The frame of every page: head, ways to the other pages, the line that says how fresh it is. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from bd.report import html_page
from bd.report.html_page import Cell
from bd.web.assets import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bd.web.authentication import Person

_WAYS = (("/", "Board"), ("/beads", "Beads"), ("/agents", "Agents"), ("/flow", "Flow"))


def document(title: str, stamp: str, body: str, *, tip: str = "", person: Person | None = None, has_people: bool = False) -> str:
    """A whole page. `tip` is what it was made of, `has_people`: somebody may sign in here."""
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


def _who(person: Person | None, *, has_people: bool) -> str:
    if person:
        button = f'<button class="plain" title="Sign out">{html_page.text(person.name)} &times;</button>'
        return f'<form method="post" action="/sign-out" class="who">{button}</form>'
    return '<a href="/sign-in" class="who">Sign in</a>' if has_people else ""


def live(name: str, body: str) -> str:
    """A part of a page that is brought up to date by itself, unless somebody is typing in it."""
    return f'<div id="{name}" data-live>{body}</div>\n'


def bead_path(bead_id: str) -> str:
    """Where a bead has its page."""
    return f"/beads/{quote(bead_id, safe='')}"


def bead_link(bead_id: str) -> Cell:
    """A bead's id, which leads to its page."""
    return Cell(f'<a href="{bead_path(bead_id)}">{html_page.text(bead_id)}</a>')


def agent_link(name: str) -> Cell:
    return Cell(f'<a href="/agents#{quote(name, safe="")}">{html_page.text(name)}</a>')


def form(action: str, button: str, fields: Iterable[str] = (), *, is_inline: bool = False) -> str:
    """A form that changes something; `is_inline`: in one line, where there is room."""
    kind = ' class="inline"' if is_inline else ""
    inner = f"{''.join(fields)}<button>{html_page.text(button)}</button>"
    return f'<form method="post" action="{html_page.text(action)}"{kind}>{inner}</form>\n'


def field(name: str, words: str, *, rows: int = 0, value: str = "", is_required: bool = False, most: int = 500) -> str:
    """A field with its words: one line, or `rows` of them."""
    needs = " required" if is_required else ""
    if rows:
        inner = f'<textarea name="{name}" rows="{rows}"{needs}>{html_page.lines(value)}</textarea>'
    else:
        inner = f'<input name="{name}" value="{html_page.text(value)}" maxlength="{most}" autocomplete="off"{needs}>'
    return f"<label>{html_page.text(words)}{inner}</label>"


def row(*fields: str) -> str:
    """Fields side by side."""
    return f'<div class="row">{"".join(fields)}</div>'


def choice(name: str, words: str, values: Iterable[tuple[str, str]], chosen: str) -> str:
    """One of several values, each with its words."""
    options = (
        f'<option value="{html_page.text(value)}"{" selected" if value == chosen else ""}>{html_page.text(told)}</option>'
        for value, told in values
    )
    return f'<label>{html_page.text(words)}<select name="{name}">{"".join(options)}</select></label>'
