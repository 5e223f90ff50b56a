"""bd heartbeat, bd progress."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Option
from bd.core.errors import BadInput
from bd.operations.beads import Comment
from bd.worker import manual_heartbeat
from bd.worker import progress as notes

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "heartbeat",
    Argument("one", required=False, metavar="[BEAD]"),
    Option("--bead", help="Only for this one of the beads the agent holds; the same as BEAD."),
    Option("--progress", name="text", help="What the agent is doing, for people."),
    help="""Send heartbeats for an agent's beads, without a commit.

    Moves a side ref. If the server accepts no side refs it is a commit, at most every 15 minutes.
    Exit 5 when a claim is no longer the agent's.
    """,
    examples=['bd heartbeat --agent codemonkey --progress "tests are green"'],
)


def run(app: App, one: str | None, bead: str | None, text: str | None) -> None:
    """Send heartbeats for what an agent holds, without a commit."""
    if one and bead and one != bead:
        raise BadInput(f"{one} or {bead}?", hint="name one bead, or none for all that the agent holds")
    agent = app.claimant().agent
    given = manual_heartbeat.give(app.hub, agent, app.tokens_of_held, bead=one or bead, text=text)
    if app.out.is_json:
        app.out.object(given._asdict())
    else:
        for_what = f" for {', '.join(given.beads)}" if given.beads else ""
        app.out.said(f"✓ Heartbeat of {agent}{for_what}")


PROGRESS = Command(
    "progress",
    Argument("bead"),
    Argument("text"),
    Flag("--keep", help="Also keep it as a comment."),
    help="""Post a note on a bead while working on it.

    `bd show` and `bd agent status` show the latest; the last 20 are stored in the bead when the attempt ends.
    """,
    examples=['bd progress hub-7k3q "half of the files are done"'],
)


def progress(app: App, bead: str, text: str, keep: bool) -> None:
    """Post a note on a bead while working on it."""
    agent = app.claimant().agent
    if not keep:  # a comment is looked at as it is published
        app.warn_of_secrets(text)
    given = manual_heartbeat.give(app.hub, agent, app.tokens_of_held, bead=bead, text=text, must_hold=True)
    if keep:
        app.publish(Comment(**app.asked(list(given.beads), ids=list(given.beads), text=text)))
    if app.out.is_json:
        app.out.object({"id": given.beads[0], "progress": notes.kept(app.hub, given.beads[0])})
    else:
        app.out.said(f"✓ Noted on {given.beads[0]}: {escaped(text)}")
