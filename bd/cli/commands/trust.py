"""bd trust."""

from __future__ import annotations

import sys

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.questions import is_confirmed
from bd.cli.spec import Command, Flag
from bd.notify.command_pins import asked_for, changes, pin, pinned, revoke
from bd.pool.preview import preview

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.notify.command_pins import Asked


SPEC = Command(
    "trust",
    Flag("--yes", "-y", help="Pin every command that is shown."),
    Flag("--revoke", name="forget", help="Remove all pins."),
    help="""Show the commands a hub asks to run, and pin them.

    A pinned command runs as long as its text stays exactly the same, and so do the hub's files that it names and, of a pool's
    start, the pool's size and provider. Each is shown as it will run here. The entry of a code repository is pinned as a whole:
    its URL, and the commands that run there. To trust a command that runs files of a repository is to trust that repository.
    """,
    examples=["bd trust             show and ask", "bd trust --yes       pin what is shown", "bd trust --revoke"],
)


def run(app: App, yes: bool, forget: bool) -> None:
    """Show the commands a hub asks to run, and pin them."""
    if forget:
        revoke(app.hub)
    asked = asked_for(app.hub, app.snapshot())
    known = pinned(app.hub)
    why = {one.name: changes(one, known.get(one.name)) for one in asked}
    new = [one for one in asked if why[one.name]]
    if not app.out.is_json:
        for one in asked:
            _show(app, one, why[one.name], is_known=one.name in known)
        if not asked:
            app.out.line("This hub asks to run no commands.")
    if new and not forget and not yes and sys.stdin.isatty():
        yes = is_confirmed(f"Trust {len(new)} commands as shown?")
    if yes and asked:
        pin(app.hub, asked)
        why = {one.name: [] for one in asked}
    if app.out.is_json:
        app.out.json([_object(app, one, why[one.name]) for one in asked])
    elif yes and asked:
        app.out.said(f"✓ Pinned {len(asked)} commands in this clone")
    elif new:
        number = "1 command is" if len(new) == 1 else f"{len(new)} commands are"
        app.out.note(f"{number} not trusted; `bd trust --yes` pins what is shown")


def _show(app: App, one: Asked, why: list[str], *, is_known: bool) -> None:
    """Print a command and how it will run. The hub's text is indented further than bd's own lines, so it can't imitate them."""
    app.out.line(f"{'NOT trusted' if why else 'trusted'}  {escaped(one.name)}  {one.pin[:12]}")
    for line in one.text.split("\n"):  # indented, so that no line can pass for a name
        app.out.line(f"    {escaped(line)}")
    will = preview(app.hub, app.snapshot(), one)
    facts = [("because", words) for words in why if is_known]
    facts += [("runs as", will.text)] if will.text != one.text else []
    facts.append(("in", will.folder))
    if one.runs:
        names = f", names {one.runs['names']}" if one.runs["names"] else ""
        facts.append(("members", f"{one.runs['min']} to {one.runs['max']} by {one.runs['provider']}{names}"))
    facts += [("file", f"{path}, of this hub, pinned as {digest[:12]}") for path, digest in one.files.items()]
    facts.append(("trusts", will.trusts))
    for label, words in facts:
        app.out.line(f"  {label:8} {escaped(words)}")


def _object(app: App, one: Asked, why: list[str]) -> dict[str, Any]:
    will = preview(app.hub, app.snapshot(), one)
    shown = {"name": one.name, "command": one.text, "hash": one.pin, "trusted": not why, "why": why}
    return {
        **shown,
        "runs_as": will.text,
        "folder": will.folder,
        "files": dict(one.files),
        "runs": dict(one.runs),
        "trusts": will.trusts,
    }
