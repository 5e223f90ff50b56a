"""The pages of beads: lists by status and search words, and the page of one bead."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import NoSuchBead
from bd.policy.lifecycle import waits_for_human
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness
from bd.report import html_page
from bd.report.board.board_page import status
from bd.report.history import events
from bd.report.selection import Wanted, has_words, ordered, selected
from bd.web import bead_page, layout
from bd.web.pages import Page, shown, stamp
from bd.web.routes import Route

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.core.model import Bead, Snapshot
    from bd.report.history import Event
    from bd.web.routes import Ask
    from bd.web.site import View

# The most beads on a list, and the most characters of a query that are used.
_LISTED = 200
_QUERY_LIMIT = 200
_STATUSES = (
    *(("", "not done"), ("all", "all"), ("ready", "ready"), ("pending", "blocked"), ("retrying", "retrying")),
    *(("in_progress", "in progress"), ("parked", "parked"), ("dead_letter", "dead letters"), ("closed", "closed")),
    ("cancelled", "cancelled"),
)
_HEADS = [("bead", "id"), ("", "title"), ("kind", "time"), ("agent", "time"), ("status", "")]


async def beads(ask: Ask) -> Response:
    """List the beads with a status, or those that contain every word of `q`."""
    return await shown(ask, _list)


def _list(view: View, ask: Ask) -> Page:
    query = ask.query.get("q", "")[:_QUERY_LIMIT].strip()
    wanted = ask.query.get("status", "")
    wanted = wanted if wanted in dict(_STATUSES) else ""
    found = _found(view, query.casefold().split(), wanted)
    readiness = Readiness(view.snapshot, view.now)
    rows = [_row(bead, readiness) for bead in found[:_LISTED]]
    more = f'<p class="none">and {len(found) - _LISTED} more</p>' if len(found) > _LISTED else ""
    none = "Nothing found." if query or wanted else "Nothing is open."
    head = f"{len(found)} found" if query else f"{len(found)} {dict(_STATUSES)[wanted]}"
    body = layout.live("beads", html_page.section(head, html_page.table(_HEADS, rows, none) + more))
    return Page(f"{view.name} beads", stamp(view), _filters(query, wanted) + body)


def _found(view: View, words: list[str], wanted: str) -> list[Bead]:
    statuses = (wanted,) if wanted else ()
    pool = selected(view.snapshot, Wanted(statuses=statuses), view.now, lambda: view.settings)
    if words:
        pool = [bead for bead in view.snapshot.wholes([bead.id for bead in pool]) if has_words(bead, words)]
    return ordered(pool, "priority", Ranking(view.snapshot, view.now))


def _filters(query: str, wanted: str) -> str:
    fields = [
        f'<label>Words<input type="search" name="q" value="{html_page.text(query)}" maxlength="{_QUERY_LIMIT}"></label>',
        layout.choice("status", "Status", _STATUSES, wanted),
    ]
    return f'<form class="inline" action="/beads">{"".join(fields)}<button>Find</button></form>\n'


def _row(bead: Bead, readiness: Readiness) -> tuple[str, ...]:
    agent = ", ".join(bead.holders) or bead.assignee or ""
    phase = status(readiness.phase(bead))
    return layout.bead_link(bead.id), bead.title, f"P{bead.priority} {bead.type}", agent, phase


async def bead(ask: Ask) -> Response:
    """Show one bead: its fields, what it waits for, its comments, and its history."""
    return await shown(ask, _bead)


def _bead(view: View, ask: Ask) -> Page:
    typed = ask.words["id"]
    bead_id = _known(typed, view.snapshot)
    found = view.snapshot.bead(bead_id)

    def past() -> list[Event]:
        return events(view.hub.repo, bead_id, view.snapshot.commit, path=view.snapshot.path_of(bead_id))

    # A history only grows when its bead changes, so it is not read again for every move of the hub.
    made_of = found.fields if found else view.snapshot.commit
    told = ask.site.pasts.get(bead_id, made_of, view.now, past)
    if found is None:
        if not told:
            raise NoSuchBead(typed)
        body = '<p class="state past">This bead is gone.</p>\n' + bead_page.history(told)
        return Page(bead_id, stamp(view), body)
    body = layout.live("bead", bead_page.body(found, view.snapshot, view.now))
    if ask.person:
        body += layout.live("forms", _forms(found))
    return Page(bead_id, stamp(view), body + layout.live("history", bead_page.history(told)))


def _known(typed: str, snapshot: Snapshot) -> str:
    """Return the full id of a bead. A deleted bead still has a history, under its exact id."""
    return ids.resolve(typed, snapshot.starting, snapshot.exists) if snapshot.starting(typed) else ids.check_bead_id(typed)


def _forms(bead: Bead) -> str:
    """Return the forms for what a person can do with the bead now."""
    path = layout.bead_path(bead.id)
    made = []
    if waits_for_human(bead):
        answer = layout.field("text", "Answer, and reopen it", rows=3, is_required=True)
        made.append(layout.form(f"{path}/answer", "Answer", [answer]))
    if bead.status == "dead_letter":
        made.append(layout.form(f"{path}/retry", "Try again", [layout.field("reason", "What is different now")]))
    said = layout.field("text", "Comment", rows=3, is_required=True)
    made.append(layout.form(f"{path}/comment", "Comment", [said]))
    return html_page.section("Your turn", "".join(made))


ROUTES = (
    Route("GET", "/beads", beads),
    Route("GET", "/beads/{id}", bead),
)
