"""bd whoami."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command
from bd.core.identity import claimant

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "whoami",
    help="""Show who writes and claims here.

    The identity, and which flag, variable or file it comes from.
    """,
    examples=["BD_AGENT=codemonkey bd whoami"],
)


def run(app: App) -> None:
    """Show who writes and claims here."""
    who = app.identity
    agent = claimant(who, is_person=True).agent
    owner = app.settings().owner(agent)
    if app.out.is_json:
        app.out.object({"agent": agent, "source": who.source, "owner": owner, "by": who.by, "can_claim": bool(who.agent)})
        return
    app.out.line(f"{agent} ({who.source}); claims as {owner}, writes as {who.by}")
    if not who.agent:
        app.out.line("At a terminal you may claim under this name; elsewhere give --agent NAME or set BD_AGENT.")
