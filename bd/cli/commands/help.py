"""bd help."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.click_commands import TITLES
from bd.cli.global_options import NAMES
from bd.cli.reference import every_command, write_pages
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.table import COMMANDS, SECTIONS

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "help",
    Argument("name", required=False),
    Flag("--all", name="everything", help="Also the commands that only existing clients use."),
    Option("--man", metavar="FOLDER", help="Write the manual pages there, one for each command."),
    help="Show every command, for people or as JSON.",
    examples=["bd help --all", "bd help claim", "bd help --man man/man1", "bd help --json | jq -r '.commands[].name'"],
)


def run(app: App, name: str | None, everything: bool, man: str | None) -> None:
    """Show every command, for people or as JSON."""
    if man:
        _write_pages(app, man)
        return
    if app.out.is_json:
        app.out.object({"commands": every_command(), "global_options": sorted(NAMES)})
        return
    width = max(map(len, COMMANDS))
    for section in SECTIONS:
        app.out.line(f"{TITLES[section]}:")
        for known, row in COMMANDS.items():
            if row.section == section:
                app.out.line(f"  {known:{width}}  {row.help}")


def _write_pages(app: App, folder: str) -> None:
    write_pages(folder)
    if app.out.is_json:
        app.out.object({"folder": folder, "pages": len(COMMANDS)})
    else:
        app.out.said(f"✓ Wrote {len(COMMANDS)} manual pages into {folder}")
