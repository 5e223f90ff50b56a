"""bd help."""

from __future__ import annotations

import click

from bd.cli.context import App
from bd.cli.options import pass_app


@click.command("help", epilog="\b\nExamples:\n  bd help --all\n  bd help claim\n  bd help --json | jq -r '.commands[].name'")
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Also the commands that only existing clients use.")
@pass_app
def command(app: App, name: str | None, everything: bool) -> None:
    """Show every command, for people or as JSON."""
    from bd.cli.group import TITLES
    from bd.cli.manual import every_command
    from bd.cli.table import COMMANDS, SECTIONS

    if app.out.is_json:
        app.out.object({"commands": every_command(), "global_options": _global_options()})
        return
    width = max(map(len, COMMANDS))
    for section in SECTIONS:
        app.out.line(f"{TITLES[section]}:")
        for known, row in COMMANDS.items():
            if row.section == section:
                app.out.line(f"  {known:{width}}  {row.help}")


def _global_options() -> list[str]:
    from bd.cli.globals import NAMES

    return sorted(NAMES)
