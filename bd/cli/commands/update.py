"""bd update."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.bead_options import BODY_FILE, FIELDS, LONG_TEXTS, options, typed_fields
from bd.cli.repo_names import warn_of_unknown_repo
from bd.cli.spec import Argument, Command, Flag, Option, list_option
from bd.cli.validation import seals_of
from bd.cli.values import flat, key_values, metadata_of
from bd.cli.work_options import WORK_OPTIONS, maps_of
from bd.core.errors import BadInput
from bd.operations.beads import Update
from bd.operations.claims import Claim
from bd.operations.last_write import last_write

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.operations.base import Operation


# What `set` replaces; labels, dependencies and ids change in other ways.
_SET = tuple(key for key in FIELDS if key not in ("labels", "deps", "id"))


SPEC = Command(
    "update",
    Argument("beads", many=True),
    Flag("--claim", help="Claim it (compatibility form of `bd claim`)."),
    Option("--status", "-s", help="open, in_progress, blocked, deferred, closed, cancelled ..."),
    Option("--reason", help="Why, with a status."),
    Option("--title", help="A new title."),
    *options("type", "priority", "base_priority", "description", changing=True),
    BODY_FILE,
    *options("design"),
    *LONG_TEXTS,
    *options("acceptance_criteria", "notes", changing=True),
    Option("--append-notes", help="Add to the notes."),
    *options("assignee", "external_ref", "parent", "deadline", "defer_until", "expected", "estimated_minutes", changing=True),
    *options("exclusive", "max_attempts", changing=True),
    *WORK_OPTIONS,
    *options("repo", "needs", "budget_ceiling_usd", "claim_mode", changing=True),
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
    warn_of_unknown_repo(app, flags.get("repo"))


def changes_of(app: App, **flags: Any) -> dict[str, Any]:
    """Return the operation's arguments for the flags; empty if there are none."""
    changes: dict[str, Any] = {}
    title = flags.get("title")
    fields = {**({"title": title} if title is not None else {}), **typed_fields(flags, *_SET)}
    if title == "":
        raise BadInput("the title can't be empty")
    if flags.get("set_labels"):
        fields["labels"] = sorted(flat(flags["set_labels"]))
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
