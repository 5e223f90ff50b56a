"""bd remember, recall, memories, forget."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Option
from bd.cli.values import text_argument
from bd.core.errors import NotFound
from bd.operations.memories import Forget, Remember
from bd.policy.memories import memories_of

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.policy.memories import Memory

SPEC = Command(
    "remember",
    Argument("text"),
    Option("--key", help="The key to find it by; default: its first words."),
    help="""Remember a text that every agent should know.

    It is part of the brief of every bead, with its author; up to 2 kB go into one, the newest first. People may write, and
    agents with `may: [remember]` in their file. A text under the same key is replaced.
    """,
    examples=['bd remember "the tests need port 8080" --key test-port', "bd recall port"],
)


def run(app: App, text: str, key: str | None) -> None:
    """Remember a text that every agent should know."""
    outcome = app.publish(Remember(**app.asked(text=text_argument(text, None, "text"), key=key)))
    made = outcome.change.result if outcome.change else {}
    if app.out.is_json:
        app.out.object({**made, "published": outcome.published})
    else:
        app.out.said(f"✓ Remembered under {made.get('key')}: {escaped(str(made.get('text')))}")


RECALL = Command(
    "recall",
    Argument("word", required=False),
    help="""Print what is remembered, or what of it has a word in it.

    A key alone is found before words.
    """,
    examples=["bd recall", "bd recall port --json"],
)


def recall(app: App, word: str | None) -> None:
    """Print what is remembered, or what of it has a word in it."""
    there = memories_of(app.snapshot())
    found = [one for one in there if one.key == word] or [one for one in there if not word or _has(one, word)]
    if word and not found:
        raise NotFound(f"nothing that is remembered has {word!r} in it", hint="`bd recall` prints everything")
    _show(app, found)


MEMORIES = Command(
    "memories",
    Argument("word", required=False),
    help="List what is remembered, as recall does.",
    examples=["bd memories", "bd memories port"],
)


def memories(app: App, word: str | None) -> None:
    """List what is remembered; unlike `recall`, nothing is no error."""
    _show(app, [one for one in memories_of(app.snapshot()) if not word or _has(one, word)])


FORGET = Command(
    "forget",
    Argument("key"),
    help="Forget what is remembered under a key.",
    examples=["bd forget test-port"],
)


def forget(app: App, key: str) -> None:
    """Forget what is remembered under a key."""
    outcome = app.publish(Forget(**app.asked(key=key)))
    if app.out.is_json:
        app.out.object({"key": key, "published": outcome.published})
    else:
        app.out.said(f"✓ Forgot {escaped(key)}")


def _has(memory: Memory, word: str) -> bool:
    return word.casefold() in f"{memory.key} {memory.text}".casefold()


def _show(app: App, found: list[Memory]) -> None:
    if app.out.is_json:
        app.out.json([one._asdict() for one in found])
        return
    if not found:
        app.out.said("Nothing is remembered.")
    for one in found:
        app.out.line(f"{app.out.styled(escaped(one.key), 'bold')}  {escaped(one.by)}, {app.out.age(one.at, app.now)} ago")
        app.out.line(f"  {escaped(one.text, one_line=False)}")
