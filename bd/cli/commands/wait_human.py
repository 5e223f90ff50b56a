"""bd wait-human, bd answer."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.values import text_argument
from bd.core.errors import BadInput
from bd.notify.hooks import tell
from bd.operations.human_wait import Answer, WaitHuman

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "wait-human",
    Argument("bead"),
    Option("--reason", "-r", help="The question; - reads stdin."),
    Flag("--force", help="Take it from whoever holds it."),
    help="""Park a bead until a person answers; it costs no attempt.

    Nobody is offered it until then. `bd list --waiting human` shows what waits.
    """,
    examples=['bd wait-human hub-7k3q --reason "which of the two logos?"'],
)


def run(app: App, bead: str, reason: str | None, force: bool) -> None:
    """Park a bead until a person answers; it costs no attempt."""
    question = text_argument(reason, None, "question")
    if not (question or "").strip():
        raise BadInput("waiting for a person needs a question", hint=f'bd wait-human {bead} --reason "what you must know"')
    outcome = app.publish(WaitHuman(**app.asked_to_end([bead], ids=[bead], reason=question, force=force)))
    app.show_written(outcome, "Waiting for a person:")
    for line in tell(app.hub, app.identity.by):
        app.out.note(escaped(line))


ANSWER = Command(
    "answer",
    Argument("bead"),
    Argument("words", many=True),
    Option("--file", "-f", help="Read it from a file, - for stdin."),
    help="""Answer a bead's question, and reopen it.

    The answer is a comment. The previous holder is offered it first, for two of its intervals.
    """,
    examples=['bd answer hub-7k3q "the blue one"'],
)


def answer(app: App, bead: str, words: tuple[str, ...], file: str | None) -> None:
    """Answer a bead's question, and reopen it."""
    text = text_argument(" ".join(words), file, "answer")
    if not (text or "").strip():
        raise BadInput("an empty answer", hint=f'bd answer {bead} "what is to be done"')
    outcome = app.publish(Answer(**app.asked(ids=[bead], text=text)))
    app.show_written(outcome, "Answered")
    for written in app.written(outcome):
        if written.get("prefer_until") and not app.out.is_json:
            kept = f"  Kept for {written.get('prefer_agent')} until {written.get('prefer_until')}."
            app.out.said(escaped(kept))
