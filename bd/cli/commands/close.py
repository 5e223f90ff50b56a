"""bd close."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.closing import close
from bd.cli.options import pass_app
from bd.cli.values import text_argument

EXAMPLE = """
\b
Examples:
  bd close hub-7k3q --reason "merged as #12"
  bd close hub-7k3q --reason done --output report.md
  bd close hub-7k3q --reason done --next --agent codemonkey    and claim the next, in one commit
"""


@click.command("close", epilog=EXAMPLE)
@click.argument("beads", nargs=-1, required=True)
@click.option("--reason", "-r", "--resolution", "-m", "--message", "--comment", "reason", help="What came out of it.")
@click.option("--reason-file", help="Read the reason from a file, - for stdin.")
@click.option("--output", "-o", help="What came of it: a file, - for stdin, a URL, or REPOSITORY@COMMIT:PATH.")
@click.option("--next", "--claim-next", "take_next", is_flag=True, help="Also claim the next bead that fits, in the same commit.")
@click.option(
    "--force", "-f", is_flag=True, help="Although it is blocked, unfinished below, pinned, or another's (then needs --reason)."
)
@pass_app
def command(
    app: App,
    beads: tuple[str, ...],
    reason: str | None,
    reason_file: str | None,
    **flags: Any,
) -> None:
    """Finish beads, and with --next claim the next one.

    Both are one commit. What a bead asks to be validated is checked first, and has to pass. A claimed bead is closed by
    who holds its claim. Closing a closed bead changes nothing. A small --output is kept in the bead, a larger one below
    artifacts/ of the hub.
    """
    close(app, beads, reason=text_argument(reason, reason_file, "reason"), **flags)
