"""bd pause, bd resume."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import Command, Option
from bd.operations.switches import Pause, Resume

if TYPE_CHECKING:
    from bd.cli.app import App


SPEC = Command(
    "pause",
    Option("--reason", "-r", help="Why; shown to everybody who is refused a claim."),
    help="""Pause the fleet: nobody can claim until `bd resume`.

    Work in progress continues, and can be closed or taken over (`bd take`); every claim ends with exit 3 and `reason` paused.
    """,
    examples=['bd pause --reason "moving the cluster"'],
)


def run(app: App, reason: str | None) -> None:
    """Stop all claims until `bd resume`."""
    outcome = app.publish(Pause(**app.asked(reason=(reason or "").strip() or None)))
    paused = outcome.change.result if outcome.change else {}
    if app.out.is_json:
        app.out.object({"paused": True, **paused, "published": outcome.published})
    else:
        why = f": {escaped(paused['reason'])}" if paused.get("reason") else ""
        app.out.said(f"✓ The fleet is paused{why}")


RESUME = Command(
    "resume",
    help="Let the fleet claim again.",
    examples=["bd resume"],
)


def resume(app: App) -> None:
    """Let the fleet claim again."""
    outcome = app.publish(Resume(**app.asked()))
    if app.out.is_json:
        app.out.object({"paused": False, "published": outcome.published})
    else:
        app.out.said("✓ The fleet may claim")
