"""bd pause, bd resume."""

from __future__ import annotations

import click

from bd.cli.app import App
from bd.cli.options import pass_app
from bd.cli.output import escaped
from bd.operations.switches import Pause, Resume


@click.command("pause", epilog='\b\nExample:\n  bd pause --reason "moving the cluster"')
@click.option("--reason", "-r", help="Why; shown to everybody who is refused a claim.")
@pass_app
def command(app: App, reason: str | None) -> None:
    """Let nobody claim until `bd resume`.

    What is in work goes on and is closed as ever; every claim ends with exit 3 and `reason` paused.
    """
    outcome = app.publish(Pause(**app.asked(reason=(reason or "").strip() or None)))
    paused = outcome.change.result if outcome.change else {}
    if app.out.is_json:
        app.out.object({"paused": True, **paused, "published": outcome.published})
    else:
        why = f": {escaped(paused['reason'])}" if paused.get("reason") else ""
        app.out.said(f"✓ The fleet is paused{why}")


@click.command("resume", epilog="\b\nExample:\n  bd resume")
@pass_app
def resume(app: App) -> None:
    """Let the fleet claim again."""
    outcome = app.publish(Resume(**app.asked()))
    if app.out.is_json:
        app.out.object({"paused": False, "published": outcome.published})
    else:
        app.out.said("✓ The fleet may claim")
