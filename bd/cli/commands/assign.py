"""bd assign, bd priority, bd tag: one field of one bead."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.options import PRIORITY, pass_app
from bd.operations.beads import Update


@click.command("assign", epilog="\b\nExample:\n  bd assign hub-7k3q codemonkey")
@click.argument("bead")
@click.argument("name")
@click.option("--force", is_flag=True, help="Although that agent is offline, or another holds the bead.")
@click.option("--reason", "-r", help="Why; needed to take it from who holds it.")
@pass_app
def command(app: App, bead: str, name: str, force: bool, reason: str | None) -> None:
    """Route a bead to an agent or a person.

    An empty name routes it to nobody.
    """
    forced = {"force": True, "reason": reason} if force else {}
    changes: dict[str, Any] = {"set": {"assignee": name.strip()}, "verb_words": "assign", **forced}
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], **changes)))
    app.show_written(outcome, f"Assigned to {name}:" if name.strip() else "Assigned to nobody:", as_object=True)


@click.command("priority", epilog="\b\nExample:\n  bd priority hub-7k3q 1")
@click.argument("bead")
@click.argument("value", type=PRIORITY)
@pass_app
def priority(app: App, bead: str, value: int) -> None:
    """Give a bead a priority."""
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], set={"priority": value})))
    app.show_written(outcome, f"P{value}:", as_object=True)


@click.command("tag", epilog="\b\nExample:\n  bd tag hub-7k3q urgent")
@click.argument("bead")
@click.argument("label")
@pass_app
def tag(app: App, bead: str, label: str) -> None:
    """Put a label on a bead."""
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], add={"labels": [label]}, verb_words="label")))
    app.show_written(outcome, f"Label {label} added:", as_object=True)
