"""bd update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.cli.commands.create import LONG_TEXTS
from bd.cli.spec import CLAIM_MODE, INTEGER, PRIORITY, Argument, Command, Flag, Option, list_option, real_number, whole_number
from bd.cli.validation import seals_of
from bd.cli.values import flat, key_values, metadata_of, text_argument
from bd.cli.work_options import WORK_OPTIONS, maps_of
from bd.core.errors import BadInput
from bd.operations.beads import Update
from bd.operations.claims import Claim
from bd.operations.last_write import last_write

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.operations.base import Operation


_TEXTS = {
    "title": "title",
    "bead_type": "type",
    "priority": "priority",
    "base_priority": "base_priority",
    "description": "description",
    "design": "design",
    "acceptance": "acceptance_criteria",
    "notes": "notes",
    "assignee": "assignee",
    "external_ref": "external_ref",
    "parent": "parent",
    "deadline": "deadline",
    "defer_until": "defer_until",
    "expected": "expected",
    "estimate": "estimated_minutes",
    "exclusive": "exclusive",
    "max_attempts": "max_attempts",
    "budget_ceiling": "budget_ceiling_usd",
    "claim_mode": "claim_mode",
    "repo": "repo",
}


SPEC = Command(
    "update",
    Argument("beads", many=True),
    Flag("--claim", help="Claim it (compatibility form of `bd claim`)."),
    Option("--status", "-s", help="open, in_progress, blocked, deferred, closed, cancelled ..."),
    Option("--reason", help="Why, with a status."),
    Option("--title", help="A new title."),
    Option("--type", "-t", name="bead_type", help="Another type."),
    Option("--priority", "-p", kind=PRIORITY, help="0 to 4."),
    Option("--base-priority", kind=real_number(0, 100), help="The finer scale, 0 to 100."),
    Option("--description", "-d", "--body", help="The description; - reads stdin."),
    Option("--body-file", help="Read the description from a file, - for stdin."),
    Option("--design", help="The design."),
    *LONG_TEXTS,
    Option("--acceptance", "--acceptance-criteria", help="The acceptance criteria."),
    Option("--notes", help="Replace the notes."),
    Option("--append-notes", help="Add to the notes."),
    Option("--assignee", "-a", "--assign", help='Route it to this name; "" to nobody.'),
    Option("--external-ref", help="Such as gh-9 or a URL."),
    Option("--parent", help='Its parent; "" for none.'),
    Option("--due", "--deadline", name="deadline", help="A date, a time, or 2d."),
    Option("--defer", name="defer_until", help="Hide it until then."),
    Option("--expected", help="How long it should take."),
    Option("--estimate", "-e", kind=INTEGER, help="Minutes."),
    Option("--exclusive", help="A name; two beads with the same one are never in progress at once."),
    Option("--max-attempts", kind=whole_number(1), help="The maximum number of attempts."),
    *WORK_OPTIONS,
    list_option("--needs", help='Capabilities that it needs; "" for none.'),
    Option("--budget-ceiling", kind=real_number(0), metavar="USD", help="The maximum cost of it and everything below it."),
    Option("--claim-mode", kind=CLAIM_MODE, help="advisory: several agents may work on it at once."),
    list_option("--add-label", name="add_labels", help="Add labels."),
    list_option("--remove-label", name="remove_labels", help="Remove labels."),
    list_option("--set-labels", help="Replace all labels."),
    Option("--metadata", help="A JSON object to merge, or @FILE."),
    Option("--set-metadata", multiple=True, metavar="KEY=VALUE", help="Set one metadata value."),
    Option("--unset-metadata", multiple=True, metavar="KEY", help="Remove one metadata value."),
    Flag("--force", help="Even if somebody else holds it (needs --reason)."),
    help="Change fields of beads. Concurrent changes of different fields all succeed.",
    examples=[
        "bd update hub-7k3q --priority 1 --add-label infra/auth",
        "bd update hub-7k3q hub-m2v8 --status deferred --defer tomorrow",
        'bd update hub-7k3q --set-metadata pr=12 --notes ""      an empty value clears',
    ],
)


def run(app: App, beads: tuple[str, ...], claim: bool, **flags: Any) -> None:
    """Change fields of beads. Two people who change different fields at once both succeed."""
    if not beads:
        last = last_write(app.hub) or {}
        beads = tuple((last.get("touched") or [])[-1:])
        if not beads:
            raise BadInput("which bead?", hint="bd update ID --priority 1")
    if any("=" in bead for bead in beads):
        raise BadInput(f"{next(bead for bead in beads if '=' in bead)!r} is not an id", hint="fields are flags: --priority 1")
    operation: Operation
    if claim:
        who = app.claimant(compatible=True)
        held = app.held_tokens(beads)
        operation = Claim(**{**app.asked(ids=list(beads), agent=who.agent, held_tokens=held), "by": who.by})
    else:
        changes = changes_of(app, **flags)
        if not changes:
            app.out.note("No updates specified")
            if app.out.is_json:
                app.out.json([])
            return
        if changes.get("status") == "closed" and not changes.get("force"):
            seals = seals_of(app, beads)
            changes.update({"seals": seals} if seals else {})
        operation = Update(**app.asked(beads, ids=list(beads), **changes))
    app.show_written(app.publish(operation), "Claimed" if claim else "Updated issue:")


def changes_of(app: App, **flags: Any) -> dict[str, Any]:
    """Return the operation's arguments for the flags; empty if there are none."""
    given = "-" if flags.get("stdin") else flags.get("description")
    flags["description"] = text_argument(given, flags.get("body_file"), "description")
    flags["design"] = text_argument(flags.get("design"), flags.get("design_file"), "design")
    changes: dict[str, Any] = {}
    fields: dict[str, Any] = {_TEXTS[flag]: flags[flag] for flag in _TEXTS if flags.get(flag) is not None}
    if fields.get("title") == "":
        raise BadInput("the title can't be empty")
    if flags.get("set_labels"):
        fields["labels"] = sorted(flat(flags["set_labels"]))
    if flags.get("needs"):
        fields["needs"] = flat(flags["needs"])
    if fields:
        changes["set"] = fields
    maps = maps_of(flags)
    if maps:
        changes["maps"] = maps
    add, remove = flat(flags.get("add_labels")), flat(flags.get("remove_labels"))
    if add:
        changes["add"] = {"labels": add}
    if remove:
        changes["remove"] = {"labels": remove}
    if flags.get("append_notes"):
        changes["append"] = {"notes": flags["append_notes"]}
    metadata: dict[str, Any] = {
        **(metadata_of(flags.get("metadata")) or {}),
        **key_values(tuple(flags.get("set_metadata") or ())),
    }
    metadata.update(dict.fromkeys(flags.get("unset_metadata") or ()))
    if metadata:
        changes["metadata"] = metadata
    if flags.get("status"):
        changes["status"] = flags["status"]
    if changes and flags.get("reason"):
        changes["reason"] = flags["reason"]
    if changes and flags.get("force"):
        changes["force"] = True
    return changes
