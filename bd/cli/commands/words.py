"""bd types, bd statuses: the types and statuses that a bead may have."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.spec import Command
from bd.core import schema

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


_TYPES = {
    "task": "Work that has to be done",
    "bug": "Something is broken",
    "feature": "Something new",
    "epic": "A large piece of work with children",
    "chore": "Upkeep",
    "code": "Writing code",
    "research": "Finding something out",
    "review": "Looking at somebody's work",
    "test": "Trying something out",
    "deploy": "Deploying something",
    "synthesis": "Putting results together",
    "decision": "Something to decide",
    "spike": "Finding out whether something is possible",
    "story": "Something a user wants",
    "milestone": "A point to reach",
}
# Name: the Go tool's category and icon, and the meaning.
_STATUSES = {
    "open": ("active", "○", "Nobody works on it"),
    "in_progress": ("wip", "◐", "Somebody works on it"),
    "blocked": ("wip", "●", "Set aside by hand"),
    "deferred": ("frozen", "❄", "Hidden until a time"),
    "validating": ("wip", "◑", "Done, and being checked"),
    "closed": ("done", "✓", "Done"),
    "cancelled": ("done", "–", "Called off"),
    "dead_letter": ("frozen", "✗", "Given up after failing"),
}


TYPES = Command(
    "types",
    help="List the types a bead may have.",
    examples=["bd types --json"],
)


def types(app: App) -> None:
    """List the types a bead may have."""
    core = [{"name": name, "description": _TYPES.get(name, "")} for name in schema.TYPES]
    own = list(app.settings().types)
    if app.out.is_json:
        app.out.object({"core_types": core, **({"custom_types": own} if own else {})})
        return
    app.out.table(
        ["type", "description"], [*(list(entry.values()) for entry in core), *([name, "defined by this hub"] for name in own)]
    )


STATUSES = Command(
    "statuses",
    help="List the statuses a bead may have.",
    examples=["bd statuses --json"],
)


def statuses(app: App) -> None:
    """List the statuses a bead may have."""
    core: list[dict[str, Any]] = [
        {"name": name, "category": category, "icon": icon, "description": words}
        for name, (category, icon, words) in _STATUSES.items()
    ]
    own = list(app.settings().statuses)
    if app.out.is_json:
        app.out.object({"built_in_statuses": core, **({"custom_statuses": [{"name": name} for name in own]} if own else {})})
        return
    if app.out.quiet:
        app.out.lines([*_STATUSES, *own])
        return
    rows = [[entry["icon"], entry["name"], entry["description"]] for entry in core]
    app.out.table(["", "status", "what it means"], [*rows, *(["", name, "defined by this hub"] for name in own)])
