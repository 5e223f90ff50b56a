"""bd trust."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bd.cli.output import escaped
from bd.cli.questions import is_confirmed
from bd.cli.spec import Command, Flag
from bd.notify.command_pins import asked_for, is_trusted, pin, revoke

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "trust",
    Flag("--yes", "-y", help="Pin every command that is shown."),
    Flag("--revoke", name="forget", help="Trust nothing any more."),
    help="""Show the commands a hub asks to run, and pin them.

    A pinned command runs as long as its text stays exactly the same.
    """,
    examples=["bd trust             show and ask", "bd trust --yes       pin what is shown", "bd trust --revoke"],
)


def run(app: App, yes: bool, forget: bool) -> None:
    """Show the commands a hub asks to run, and pin them."""
    if forget:
        revoke(app.hub)
    asked = asked_for(app.snapshot())
    new = [one for one in asked if not is_trusted(app.hub, one)]
    if not app.out.is_json:
        for one in asked:
            app.out.line(f"{'trusted' if one not in new else 'NOT trusted'}  {escaped(one.name)}  {one.pin[:12]}")
            for line in one.text.split("\n"):  # indented, so that no line can pass for a name
                app.out.line(f"    {escaped(line)}")
        if not asked:
            app.out.line("This hub asks to run nothing.")
    if new and not forget and not yes and sys.stdin.isatty():
        yes = is_confirmed(f"Trust {len(new)} commands as shown?")
    if yes and asked:
        pin(app.hub, asked)
        new = []
    if app.out.is_json:
        app.out.json([{"name": one.name, "command": one.text, "hash": one.pin, "trusted": one not in new} for one in asked])
    elif yes and asked:
        app.out.said(f"✓ Pinned {len(asked)} commands in this clone")
    elif new:
        number = "1 command is" if len(new) == 1 else f"{len(new)} commands are"
        app.out.note(f"{number} not trusted; `bd trust --yes` pins what is shown")
