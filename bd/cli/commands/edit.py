"""bd edit."""

from __future__ import annotations

import os
import sys
import tempfile

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.questions import open_editor
from bd.cli.spec import Argument, Command
from bd.core.errors import BadInput
from bd.operations.hand_edits import Edit
from bd.store.hub_files import parse_file

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.store import Outcome
    from bd.store.hub_files import Row


SPEC = Command(
    "edit",
    Argument("bead"),
    help="""Edit a bead's YAML in your editor, checked before it is published.

    Only the fields that you change are written; concurrent changes of others are kept.
    """,
    examples=["EDITOR=vim bd edit hub-7k3q"],
)


def run(app: App, bead: str) -> None:
    """Edit a bead's YAML in an editor; the result is checked before it is published."""
    outcome = edited(app, bead)
    if outcome is not None:
        app.show_written(outcome, "Edited")
        return
    app.out.note("nothing was changed")
    if app.out.is_json:
        app.out.json([])


def edited(app: App, bead: str) -> Outcome | None:
    """Let a person edit a bead, and publish the result; None if nothing was changed."""
    snapshot = app.snapshot()
    found = bead_of(bead, snapshot)
    path = snapshot.path_of(found.id)
    before = app.hub.repo.objects.read(f"{snapshot.commit}:{path}") or b""
    text = _edited(before)
    row = _checked(path, text) if text is not None else None
    if row is None or row.fields == dict(found.fields):
        return None
    return app.publish(Edit(**app.asked([found.id], ids=[found.id], old=dict(found.fields), new=row.fields, text=text)))


def _edited(before: bytes) -> bytes | None:
    """Return the edited text; None if it is unchanged. Raises BadInput if there is no editor."""
    if not os.environ.get("EDITOR") and not os.environ.get("VISUAL") and not sys.stdin.isatty():
        raise BadInput("there is neither a terminal nor EDITOR", hint="use `bd update`, or edit the file and `bd sync`")
    descriptor, name = tempfile.mkstemp(prefix="bd-", suffix=".yaml")
    with os.fdopen(descriptor, "wb") as file:
        file.write(before)
    open_editor(name)
    with open(name, "rb") as file:
        after = file.read()
    os.unlink(name)
    return None if after == before else after


def _checked(path: str, text: bytes) -> Row:
    """Parse the edited text. Raises BadInput, naming the file that keeps an unreadable text."""
    row = parse_file(path, "", text)
    if row.reason is None:
        return row
    descriptor, name = tempfile.mkstemp(prefix="bd-", suffix=".yaml")
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
    raise BadInput(f"the edited file {row.reason}", hint=f"your text is kept in {name}")
