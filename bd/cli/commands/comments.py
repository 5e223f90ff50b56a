"""bd comment, bd comments, bd note."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.lookup import bead_of
from bd.cli.options import pass_app
from bd.cli.output import escaped
from bd.cli.values import text_argument
from bd.compat import bead_json
from bd.core.errors import BadInput
from bd.operations.beads import Comment, Update


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


@click.command("comment", epilog='\b\nExample:\n  bd comment hub-7k3q "the cause is the proxy"')
@click.argument("bead")
@click.argument("words", nargs=-1)
@click.option("--author", "-a", help="In whose name.")
@click.option("--file", "-f", help="Read it from a file, - for stdin.")
@click.option("--stdin", is_flag=True, help="Read it from stdin.")
@pass_app
def comment(app: App, bead: str, words: tuple[str, ...], author: str | None, file: str | None, stdin: bool) -> None:
    """Comment on a bead."""
    _add(app, bead, words, author, file, stdin=stdin)


@click.command("comments", epilog='\b\nExamples:\n  bd comments hub-7k3q\n  bd comments add hub-7k3q "looks good"')
@click.argument("arguments", nargs=-1, required=True)
@click.option("--author", "-a", help="With add: in whose name.")
@click.option("--file", "-f", help="With add: read it from a file, - for stdin.")
@pass_app
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


@click.command("note", epilog='\b\nExample:\n  bd note hub-7k3q "tried with curl, same result"')
@click.argument("bead")
@click.argument("words", nargs=-1)
@click.option("--file", "-f", help="Read it from a file, - for stdin.")
@click.option("--stdin", is_flag=True, help="Read it from stdin.")
@pass_app
def note(app: App, bead: str, words: tuple[str, ...], file: str | None, stdin: bool) -> None:
    """Append to a bead's notes."""
    text = text_argument("-" if stdin else " ".join(words), file, "note") or ""
    if not text.strip():
        raise BadInput("an empty note")
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], append={"notes": text}, verb_words="note")))
    app.show_written(outcome, "Note added to", as_object=True)
