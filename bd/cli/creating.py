"""What `bd create` does once the flags of one bead are read. Loads no click: an agent's create goes by cli/parse.py."""

from __future__ import annotations

from bd.cli.output import escaped
from bd.cli.values import flat, text_argument
from bd.core.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.store.transaction.outcome import Outcome


def create(app: App, title: str | None, *, silent: bool = False, force: bool = False, **flags: Any) -> None:
    """Make one bead and answer. Raises BadInput, and what the bead is refused with."""
    from bd.operations.create import Create

    if title is None or not title.strip():
        raise BadInput("a bead needs a title", hint='bd create "Fix the login page"')
    forced: dict[str, Any] = {"force": True} if force else {}
    outcome = app.publish(Create(**app.asked(beads=[spec_of(title, **flags)], **forced)))
    _tell(app, outcome, silent=silent)


def create_quickly(app: App, title: str, **flags: Any) -> None:
    """Make one bead and print only its id. Raises what the bead is refused with."""
    from bd.operations.create import Create

    outcome = app.publish(Create(**app.asked(beads=[spec_of(title, **flags)])))
    bead = app.written(outcome)[0]
    if app.out.is_json:
        app.out.object({"id": bead.id, "published": outcome.published})
    else:
        app.out.line(bead.id)


def _tell(app: App, outcome: Outcome, *, silent: bool) -> None:
    beads = app.written(outcome)
    (made,) = outcome.change.touched if outcome.change else ("",)
    if silent or app.out.quiet:
        app.out.line(made)
    elif not beads:  # it was made before with its idempotency key, and deleted: a note says so
        if app.out.is_json:
            app.out.object({"id": made, "deleted": True, "published": outcome.published})
        else:
            app.out.line(f"{made} was made before and is deleted; nothing was made.")
    elif app.out.is_json:
        app.show_written(outcome, "Created", as_object=True)
    else:
        for bead in beads:
            app.out.line(f"✓ Created {app.out.styled(bead.id, 'bold')} — {escaped(bead.title)}")
            app.out.line(f"  P{bead.priority} {bead.type}, {bead.status}" + ("" if outcome.published else ", not published yet"))


def spec_of(title: str, **flags: Any) -> dict[str, Any]:
    """The bead that the flags describe; unset ones are left out."""
    spec: dict[str, Any] = {
        "title": title,
        "type": flags.get("bead_type"),
        "priority": flags.get("priority"),
        "base_priority": flags.get("base_priority"),
        "description": text_argument(
            "-" if flags.get("stdin") else flags.get("description"), flags.get("body_file"), "description"
        ),
        "design": text_argument(flags.get("design"), flags.get("design_file"), "design"),
        "acceptance_criteria": flags.get("acceptance"),
        "notes": flags.get("notes") or flags.get("append_notes"),
        "assignee": flags.get("assignee"),
        "labels": flat(flags.get("labels")),
        "deps": flat(flags.get("deps")),
        "needs": flat(flags.get("needs")),
        "parent": flags.get("parent"),
        "id": flags.get("bead_id"),
        "external_ref": flags.get("external_ref"),
        "deadline": flags.get("deadline"),
        "defer_until": flags.get("defer_until"),
        "expected": flags.get("expected"),
        "estimated_minutes": flags.get("estimate"),
        "exclusive": flags.get("exclusive"),
        "max_attempts": flags.get("max_attempts"),
        "spec": None if flags.get("max_cost") is None else {"max_cost_usd": flags["max_cost"]},
        "budget_ceiling_usd": flags.get("budget_ceiling"),
        "claim_mode": flags.get("claim_mode"),
        "metadata": metadata_of(flags.get("metadata")),
        "idempotency_key": flags.get("idempotency_key"),
    }
    spec = {key: value for key, value in spec.items() if value not in (None, "", [], {})}
    if not flags.get("inherit_labels", True):
        spec["inherit_labels"] = False
    return spec


def metadata_of(text: str | None) -> dict[str, Any] | None:
    """A `--metadata` value: a JSON object, or @FILE. Raises BadInput."""
    if not text:
        return None
    import json

    if text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise BadInput(f"can't read {text[1:]}: {error}") from error
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--metadata is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput("--metadata is not a JSON object")
    return value
