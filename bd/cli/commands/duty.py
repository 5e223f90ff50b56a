"""bd drain, bd undrain, bd offline, bd online."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.options import AGENT, pass_app
from bd.operations.switches import SetDuty


def _set(app: App, agent: str, duty: str, **more: Any) -> None:
    outcome = app.publish(SetDuty(**app.asked(agent=agent, duty=duty, known=True, **more)))
    result = outcome.change.result if outcome.change else {}
    if app.out.is_json:
        app.out.object({**result, "published": outcome.published})
    else:
        app.out.said(f"✓ {agent} is {result.get('status', duty)}")


@click.command("drain", epilog="\b\nExample:\n  bd drain codemonkey")
@click.argument("agent", type=AGENT)
@pass_app
def drain(app: App, agent: str) -> None:
    """Let an agent finish what it has and take nothing new.

    What is assigned to it waits for it.
    """
    _set(app, agent, "draining")


@click.command("undrain", epilog="\b\nExample:\n  bd undrain codemonkey")
@click.argument("agent", type=AGENT)
@pass_app
def undrain(app: App, agent: str) -> None:
    """Let a draining agent take work again."""
    _set(app, agent, "available", ends="draining")


@click.command("offline", epilog="\b\nExample:\n  bd offline codemonkey")
@click.argument("agent", type=AGENT)
@pass_app
def offline(app: App, agent: str) -> None:
    """Say that an agent is not there.

    It gets no work, what was assigned to it is open to everyone, and nothing is assigned to it.
    """
    _set(app, agent, "offline")


@click.command("online", epilog="\b\nExample:\n  bd online codemonkey")
@click.argument("agent", type=AGENT)
@pass_app
def online(app: App, agent: str) -> None:
    """Say that an agent is there again."""
    _set(app, agent, "available", ends="offline")
