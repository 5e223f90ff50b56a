"""The changes that people with a token can make. Each is an ordinary operation in their name."""

from __future__ import annotations

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.schema import TYPES
from bd.operations.beads import Comment
from bd.operations.create import Create
from bd.operations.fail import DlqRetry
from bd.operations.human_wait import Answer
from bd.operations.switches import Pause, Resume
from bd.web import forms, layout
from bd.web.pages import Page, framed
from bd.web.routes import FORM_LIMIT, WRITE, Route, wants_json

if TYPE_CHECKING:
    from starlette.responses import Response

    from bd.web.routes import Ask
    from bd.web.site import Make

# The fields of a new bead that this form offers; the rest is for the command line.
_TEXTS = ("title", "type", "description", "acceptance_criteria", "assignee", "parent")
_LISTS = ("labels", "deps")
_PRIORITIES = (("0", "P0 critical"), ("1", "P1 high"), ("2", "P2 normal"), ("3", "P3 low"), ("4", "P4 background"))


async def new(ask: Ask) -> Response:
    """Show the form for a new bead."""
    fields = [
        layout.field("title", "Title", is_required=True),
        layout.row(
            layout.choice("type", "Type", [(kind, kind) for kind in TYPES], "task"),
            layout.choice("priority", "Priority", _PRIORITIES, "2"),
        ),
        layout.field("description", "Description", rows=6),
        layout.field("acceptance_criteria", "Done when", rows=3),
        layout.row(layout.field("labels", "Labels, with commas"), layout.field("deps", "Waits for these ids")),
        layout.row(layout.field("assignee", "For"), layout.field("parent", "Part of")),
    ]
    body = layout.form("/beads", "Create", fields)
    return HTMLResponse(framed(ask.site, ask.person, Page("New bead", "", body)))


async def create(ask: Ask) -> Response:
    """Create a bead."""
    sent = forms.read(ask)
    spec: dict[str, object] = {key: sent[key].strip() for key in _TEXTS if sent.get(key, "").strip()}
    if not spec.get("title"):
        raise BadInput("a bead needs a title")
    for key in _LISTS:
        entries = [entry.strip() for entry in sent.get(key, "").split(",") if entry.strip()]
        if entries:
            spec[key] = entries
    priority = sent.get("priority", "").strip().lower().removeprefix("p")
    if priority:
        if priority not in ("0", "1", "2", "3", "4"):
            raise BadInput(f"{priority!r} is not a priority", hint="0 (critical) to 4 (background)")
        spec["priority"] = int(priority)
    return await _done(ask, lambda asked: Create(beads=[spec], **asked))


async def comment(ask: Ask) -> Response:
    """Comment on a bead."""
    text = _needed(ask, "text", "an empty comment")
    return await _done(ask, lambda asked: Comment(ids=[ask.words["id"]], text=text, **asked))


async def answer(ask: Ask) -> Response:
    """Answer the question that a bead waits for."""
    text = _needed(ask, "text", "an empty answer")
    return await _done(ask, lambda asked: Answer(ids=[ask.words["id"]], text=text, **asked))


async def retry(ask: Ask) -> Response:
    """Reopen a dead letter."""
    reason = forms.read(ask).get("reason", "").strip() or None
    return await _done(ask, lambda asked: DlqRetry(ids=[ask.words["id"]], reason=reason, **asked))


async def pause(ask: Ask) -> Response:
    """Pause claiming."""
    reason = forms.read(ask).get("reason", "").strip() or None
    return await _done(ask, lambda asked: Pause(reason=reason, **asked), "/")


async def resume(ask: Ask) -> Response:
    """Resume claiming."""
    return await _done(ask, lambda asked: Resume(**asked), "/")


def _needed(ask: Ask, name: str, without: str) -> str:
    text = forms.read(ask).get(name, "")
    if not text.strip():
        raise BadInput(without)
    return text


async def _done(ask: Ask, make: Make, page: str = "") -> Response:
    """Publish the change, and show the bead or the given page."""
    assert ask.person is not None
    done = await ask.site.write(ask.person, make)
    if wants_json(ask.request):
        told = {"ids": list(done.beads), "published": done.published, "by": ask.person.name, "notes": list(done.notes)}
        return JSONResponse(told)
    return RedirectResponse(page or layout.bead_path(done.beads[0]), 303)


ROUTES = (
    Route("GET", "/new", new, WRITE),
    Route("POST", "/beads", create, WRITE, FORM_LIMIT),
    Route("POST", "/beads/{id}/comment", comment, WRITE, FORM_LIMIT),
    Route("POST", "/beads/{id}/answer", answer, WRITE, FORM_LIMIT),
    Route("POST", "/beads/{id}/retry", retry, WRITE, FORM_LIMIT),
    Route("POST", "/pause", pause, WRITE, FORM_LIMIT),
    Route("POST", "/resume", resume, WRITE, FORM_LIMIT),
)
