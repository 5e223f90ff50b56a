"""bd close."""

from __future__ import annotations

import socket

import click

from bd.cli.context import App
from bd.cli.options import pass_app, text_argument
from bd.cli.validating import seals_of
from bd.cli.yielding import given_output
from bd.operations.endings import Close

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
    output: str | None,
    take_next: bool,
    force: bool,
) -> None:
    """Finish beads, and with --next claim the next one.

    Both are one commit. What a bead asks to be validated is checked first, and has to pass. A claimed bead is closed by
    who holds its claim. Closing a closed bead changes nothing. A small --output is kept in the bead, a larger one below
    artifacts/ of the hub.
    """
    reason = text_argument(app, reason, reason_file, "reason")
    extra, made = given_output(app, beads, output)
    if not force:
        seals = seals_of(app, beads, made)
        extra.update({"seals": seals} if seals else {})
    if take_next:
        extra["next"] = {"agent": app.claimant().agent, "host": socket.gethostname()}
    outcome = app.publish(Close(**app.asked_to_end(beads, ids=list(beads), reason=reason, force=force, **extra)))
    claimed = {bead_id for _, bead_id in outcome.change.tokens} if outcome.change else set()
    said = {bead.id: "Claimed" if bead.id in claimed else "Closed" for bead in app.written(outcome)}
    app.show_written(outcome, said)
