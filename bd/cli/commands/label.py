"""bd label."""

from __future__ import annotations

from collections import Counter

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.spec import Argument, Command, Group
from bd.core.errors import BadInput
from bd.operations.beads import Update

if TYPE_CHECKING:
    from bd.cli.app import App


def _change(app: App, arguments: tuple[str, ...], key: str, said: str) -> None:
    if len(arguments) < 2:
        raise BadInput("give ids and a label", hint="bd label add ID LABEL")
    *beads, label = arguments
    outcome = app.publish(Update(**app.asked(beads, ids=list(beads), verb_words="label", **{key: {"labels": [label]}})))
    if app.out.is_json:
        touched = outcome.change.touched if outcome.change else ()
        app.out.json(
            [{"status": said, "issue_id": bead_id, "label": label, "published": outcome.published} for bead_id in touched]
        )
        app.out.failures(outcome.change.failures if outcome.change else ())
    else:
        app.show_written(outcome, f"Label {label} {said}:")


ADD = Command(
    "add",
    Argument("arguments", many=True, required=True, metavar="BEAD... LABEL"),
    help="Add a label to beads.",
    examples=["bd label add hub-7k3q infra/auth"],
)


def add(app: App, arguments: tuple[str, ...]) -> None:
    """Add a label to beads."""
    _change(app, arguments, "add", "added")


REMOVE = Command(
    "remove",
    Argument("arguments", many=True, required=True, metavar="BEAD... LABEL"),
    help="Remove a label from beads.",
    examples=["bd label remove hub-7k3q infra/auth"],
)


def remove(app: App, arguments: tuple[str, ...]) -> None:
    """Remove a label from beads."""
    _change(app, arguments, "remove", "removed")


LIST_ONE = Command(
    "list",
    Argument("bead"),
    help="List a bead's labels.",
    examples=["bd label list hub-7k3q"],
)


def list_one(app: App, bead: str) -> None:
    """List a bead's labels."""
    snapshot = app.snapshot()
    found = bead_of(bead, snapshot)
    if app.out.is_json:
        app.out.json(sorted(found.labels))
    else:
        for label in sorted(found.labels):
            app.out.line(label)


LIST_ALL = Command(
    "list-all",
    help="List every label and how many beads have it.",
    examples=["bd label list-all"],
)


def list_all(app: App) -> None:
    """List every label and how many beads have it."""
    counted = Counter(label for bead in app.snapshot().every() for label in bead.labels)
    if app.out.is_json:
        app.out.json([{"label": label, "count": number} for label, number in sorted(counted.items())])
    else:
        app.out.table(["label", "beads"], [[label, str(number)] for label, number in sorted(counted.items())])


SPEC = Group(
    "label",
    {
        "add": (ADD, add),
        "remove": (REMOVE, remove),
        "list": (LIST_ONE, list_one),
        "list-all": (LIST_ALL, list_all),
    },
    help="Add, remove and list labels.",
)
