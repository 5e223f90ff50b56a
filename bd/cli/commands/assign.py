"""bd assign, bd priority, bd tag: one field of one bead."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import PRIORITY, Argument, Command, Flag, Option
from bd.operations.beads import Update

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


SPEC = Command(
    "assign",
    Argument("bead"),
    Argument("name"),
    Flag("--force", help="Even if that agent is offline, or somebody else holds the bead."),
    Option("--reason", "-r", help="The reason; required if somebody holds it."),
    help="""Route a bead to an agent or a person.

    An empty name unassigns it.
    """,
    examples=["bd assign hub-7k3q codemonkey"],
)


def run(app: App, bead: str, name: str, force: bool, reason: str | None) -> None:
    """Route a bead to an agent or a person."""
    forced = {"force": True, "reason": reason} if force else {}
    changes: dict[str, Any] = {"set": {"assignee": name.strip()}, "verb_words": "assign", **forced}
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], **changes)))
    app.show_written(outcome, f"Assigned to {name}:" if name.strip() else "Assigned to nobody:", as_object=True)


PRIORITISE = Command(
    "priority",
    Argument("bead"),
    Argument("value", kind=PRIORITY),
    help="Give a bead a priority.",
    examples=["bd priority hub-7k3q 1"],
)


def prioritise(app: App, bead: str, value: int) -> None:
    """Give a bead a priority."""
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], set={"priority": value})))
    app.show_written(outcome, f"P{value}:", as_object=True)


TAG = Command(
    "tag",
    Argument("bead"),
    Argument("label"),
    help="Put a label on a bead.",
    examples=["bd tag hub-7k3q urgent"],
)


def tag(app: App, bead: str, label: str) -> None:
    """Put a label on a bead."""
    outcome = app.publish(Update(**app.asked([bead], ids=[bead], add={"labels": [label]}, verb_words="label")))
    app.show_written(outcome, f"Label {label} added:", as_object=True)
