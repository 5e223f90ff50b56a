"""bd comment, bd comments, bd note."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.values import text_argument
from bd.compat import bead_json
from bd.core.errors import BadInput
from bd.operations.beads import Comment, Update

if TYPE_CHECKING:
    from bd.cli.app import App


def _add(app: App, bead: str, words: tuple[str, ...], author: str | None, file: str | None, *, stdin: bool) -> None:
    text = text_argument("-" if stdin else " ".join(words), file, "comment")
    if not text or not text.strip():
        raise BadInput("an empty comment", hint=f'bd comment {bead} "what you have to say"')
    outcome = app.publish(Comment(**app.asked(ids=[bead], text=text, author=author)))
    entry = outcome.change.result if outcome.change else {}
    written = app.written(outcome)[0]
    if app.out.is_json:
        shown = {
            "id": entry["id"],
            "issue_id": written.id,
            "author": entry["author"],
            "text": entry["text"],
            "created_at": entry["at"],
        }
        app.out.object({**shown, "published": outcome.published})
    else:
        app.out.said(f"✓ Comment added to {written.id} — {escaped(written.title)}")


COMMENT = Command(
    "comment",
    Argument("bead"),
    Argument("words", many=True),
    Option("--author", "-a", help="The author."),
    Option("--file", "-f", help="Read it from a file, - for stdin."),
    Flag("--stdin", help="Read it from stdin."),
    help="Comment on a bead.",
    examples=['bd comment hub-7k3q "the cause is the proxy"'],
)


def comment(app: App, bead: str, words: tuple[str, ...], author: str | None, file: str | None, stdin: bool) -> None:
    """Comment on a bead."""
    _add(app, bead, words, author, file, stdin=stdin)


COMMENTS = Command(
    "comments",
    Argument("arguments", many=True, required=True),
    Option("--author", "-a", help="With add: in whose name."),
    Option("--file", "-f", help="With add: read it from a file, - for stdin."),
    help="List a bead's comments, or add one.",
    examples=["bd comments hub-7k3q", 'bd comments add hub-7k3q "looks good"'],
)


def comments(app: App, arguments: tuple[str, ...], author: str | None, file: str | None) -> None:
    """List a bead's comments, or add one."""
    if arguments[0] == "add":
        if len(arguments) < 2:
            raise BadInput("which bead?", hint='bd comments add ID "text"')
        _add(app, arguments[1], arguments[2:], author, file, stdin=False)
        return
    snapshot = app.snapshot()
    typed = arguments[1] if arguments[0] == "list" and len(arguments) > 1 else arguments[0]
    bead = bead_of(typed, snapshot)
    found = bead_json.comments(bead)
    if app.out.is_json:
        app.out.json(found)
        return
    for entry in found:
        app.out.line(
            f"{escaped(entry['author'])}, {app.out.age(entry['created_at'], app.now)} ago: {escaped(entry['text'], one_line=False)}"
        )
    if not found:
        app.out.line(f"{bead.id} has no comments.")


NOTE = Command(
    "note",
    Argument("bead"),
    Argument("words", many=True),
    Option("--file", "-f", help="Read it from a file, - for stdin."),
    Flag("--stdin", help="Read it from stdin."),
    help="Append to a bead's notes.",
    examples=['bd note hub-7k3q "tried with curl, same result"'],
)


def note(app: App, bead: str, words: tuple[str, ...], file: str | None, stdin: bool) -> None:
    """Append to a bead's notes."""
    text = text_argument("-" if stdin else " ".join(words), file, "note") or ""
    if not text.strip():
        raise BadInput("an empty note")
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], append={"notes": text}, verb_words="note")))
    app.show_written(outcome, "Note added to", as_object=True)
