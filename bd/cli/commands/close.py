"""bd close."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.close_output import given_output
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.validation import seals_of
from bd.cli.values import text_argument
from bd.operations.close import Close

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "close",
    Argument("beads", many=True, required=True),
    Option("--reason", "-r", "--resolution", "-m", "--message", "--comment", help="The result, in words."),
    Option("--reason-file", help="Read the reason from a file, - for stdin."),
    Option("--output", "-o", help="The output: a file, - for stdin, a URL, or REPOSITORY@COMMIT:PATH."),
    Flag("--next", "--claim-next", name="take_next", help="Also claim the next bead that fits, in the same commit."),
    Flag(
        "--force",
        "-f",
        help="Even if it is blocked or pinned, has unfinished children, or is somebody else's (then needs --reason).",
    ),
    help="""Finish beads, and with --next claim the next one.

    Both are one commit. If a bead asks for validation, its output is checked first and has to pass. Only its holder
    can close a claimed bead. Closing a closed bead changes nothing. A small --output is kept in the bead, a larger one
    below artifacts/ of the hub.
    """,
    examples=[
        'bd close hub-7k3q --reason "merged as #12"',
        "bd close hub-7k3q --reason done --output report.md",
        "bd close hub-7k3q --reason done --next --agent codemonkey    and claim the next, in one commit",
    ],
)


def run(
    app: App,
    beads: Sequence[str],
    *,
    reason: str | None,
    reason_file: str | None,
    output: str | None,
    take_next: bool,
    force: bool,
) -> None:
    """Close, and print the result. Raises BadInput, NotValidated, and the close's refusals."""
    reason = text_argument(reason, reason_file, "reason")
    extra: dict[str, Any] = {}
    made = None
    if output is not None:
        extra, made = given_output(app, beads, output)
    if not force:
        seals = seals_of(app, beads, lambda _: made)
        extra.update({"seals": seals} if seals else {})
    if take_next:
        extra["next"] = {"agent": app.claimant().agent, "host": os.uname().nodename if hasattr(os, "uname") else ""}
    outcome = app.publish(Close(**app.asked_to_end(beads, ids=list(beads), reason=reason, force=force, **extra)))
    claimed = {bead_id for _, bead_id in outcome.change.tokens} if outcome.change else set()
    said = {bead.id: "Claimed" if bead.id in claimed else "Closed" for bead in app.written(outcome)}
    app.show_written(outcome, said)
