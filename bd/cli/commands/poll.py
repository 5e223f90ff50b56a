"""bd poll."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import DURATION, Command, Option
from bd.worker.poll import poll

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "poll",
    Option("--interval", kind=DURATION, help="The poll interval, instead of the agent file's."),
    help="""Say whether an agent should look for work now, and keep its pace.

    Three polls without work double the interval, up to 2 hours; work resets it. Also frees stalled claims, and takes work
    from overloaded agents where the hub allows it (stealing.on_poll).
    Exit 0 if something is ready for the agent, else 3.
    """,
    examples=["bd poll --agent codemonkey --json"],
)


def run(app: App, interval: float | None) -> None:
    """Say whether an agent should look for work now, and keep its pace."""
    agent = app.claimant().agent
    found = poll(app.hub, agent, fetch=app.flags.fetch is not False, interval_s=interval)
    if not found.ready:
        app.out.exit_code = 3
    if app.out.is_json:
        app.out.object(found.as_json())
        return
    for bead_id in found.freed:
        app.out.note(f"freed {bead_id}: it had stalled")
    for bead_id in found.stolen:
        app.out.note(f"took {bead_id} from the queue of another agent")
    if found.ready:
        app.out.line(f"{found.ready} ready for {agent}.")
    else:
        app.out.line(f"No work for {agent}: {found.reasons[0].text}. Next look at {found.next_poll_at}.")
