"""bd assign."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.context import App
from bd.cli.options import pass_app
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
