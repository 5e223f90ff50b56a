"""bd create, bd q."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.bead_options import BODY_FILE, LONG_TEXTS, filled, options, typed_fields
from bd.cli.output import escaped
from bd.cli.repo_names import warn_of_unknown_repo
from bd.cli.spec import Argument, Command, Flag, Option
from bd.cli.values import metadata_of
from bd.cli.work_options import WORK_OPTIONS, maps_of, without_unset
from bd.core.errors import BadInput
from bd.core.operation import DecisionContext
from bd.operations.create import Create

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.store import Outcome

SPEC = Command(
    "create",
    Argument("title", required=False),
    Option("--title", name="title_flag", hidden=True),
    *options("type", "priority", "base_priority", "description"),
    BODY_FILE,
    *options("design"),
    *LONG_TEXTS,
    *options("acceptance_criteria", "notes"),
    Option("--append-notes", hidden=True),
    *options("assignee", "labels", "deps", "needs", "parent", "id", "external_ref", "deadline", "defer_until", "expected"),
    *options("estimated_minutes", "exclusive", "max_attempts"),
    *WORK_OPTIONS,
    *options("repo", "budget_ceiling_usd", "claim_mode"),
    Option("--metadata", help="A JSON object, or @FILE."),
    Option("--idempotency-key", help="A second create with this key returns the first bead."),
    Flag("--inherit-labels", off="--no-inherit-labels", default=True, help="Also add the parent's labels."),
    Option("--file", "-f", name="plan", help="Many beads: YAML plan or JSONL; - reads stdin."),
    Option("--graph", hidden=True, help="The Go tool's name for a JSON plan."),
    Flag("--dry-run", help="With --file: only show what would be created."),
    Flag("--silent", help="Print only the id."),
    Flag("--force", help="Assign it even if that agent is offline."),
    help="Create a bead, or many from a file in one commit.",
    examples=[
        'bd create "Fix CORS in the auth middleware" -t bug -p 1 -l infra/auth',
        'bd create "Write the docs" --deps hub-7k3q --parent hub-a1b2',
        "bd create --file plan.yaml            many beads in one commit",
        'echo "long text" | bd create "A title" --description -',
    ],
)


def run(
    app: App,
    title: str | None,
    title_flag: str | None,
    plan: str | None,
    graph: str | None,
    dry_run: bool,
    silent: bool,
    force: bool,
    **flags: Any,
) -> None:
    """Create a bead, or many from a file in one commit."""
    title = title if title is not None else title_flag
    source = plan or graph
    if not source:
        _create_one(app, title, force=force, silent=silent, **flags)
    elif title:
        raise BadInput("give either a title or --file", hint="the titles are in the file")
    else:
        _create_many(app, source, {"force": True} if force else {}, dry_run=dry_run, silent=silent)


def _create_one(app: App, title: str | None, *, silent: bool, force: bool, **flags: Any) -> None:
    if title is None or not title.strip():
        raise BadInput("a bead needs a title", hint='bd create "Fix the login page"')
    forced: dict[str, Any] = {"force": True} if force else {}
    outcome = app.publish(Create(**app.asked(beads=[spec_of(title, **flags)], **forced)))
    warn_of_unknown_repo(app, flags.get("repo"))
    _tell(app, outcome, silent=silent)


def _create_many(app: App, source: str, forced: dict[str, Any], *, dry_run: bool, silent: bool) -> None:
    from bd.compat.plan_files import read_plan  # noqa: PLC0415  only for many at once

    specs = read_plan(source, DecisionContext(app.now, app.settings()))
    operation = Create(**app.asked(beads=specs, **forced))
    if dry_run:
        app.preview(operation)
        if app.out.is_json:
            app.out.object({"would_create": [spec["title"] for spec in specs], "dry_run": True})
        else:
            for spec in specs:
                app.out.line(f"Would create: {escaped(spec['title'])}")
        return
    outcome = app.publish(operation)
    made = outcome.change.touched if outcome.change else ()
    if app.out.is_json:
        app.out.object(
            {"ids": outcome.change.result if outcome.change else {}, "created": list(made), "published": outcome.published}
        )
    elif silent or app.out.quiet:
        for bead_id in made:
            app.out.line(bead_id)
    else:
        app.show_written(outcome, "Created")


QUICK = Command(
    "q",
    Argument("title"),
    *options(
        "type", "priority", "labels", helps={"type": "task, bug, feature ... (task)", "priority": "0 to 4.", "labels": "Labels."}
    ),
    help="Create a bead and print only its id.",
    examples=['id=$(bd q "Look into the slow query")'],
)


def quick(app: App, title: str, **flags: Any) -> None:
    """Create a bead and print only its id."""
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
    elif not beads:  # it was made earlier with its idempotency key, and deleted: a note says so
        if app.out.is_json:
            app.out.object({"id": made, "deleted": True, "published": outcome.published})
        else:
            app.out.line(f"{made} was created earlier with this key and is deleted; nothing was created.")
    elif app.out.is_json:
        app.show_written(outcome, "Created", as_object=True)
    else:
        for bead in beads:
            app.out.line(f"✓ Created {app.out.styled(bead.id, 'bold')} — {escaped(bead.title)}")
            app.out.line(f"  P{bead.priority} {bead.type}, {bead.status}" + ("" if outcome.published else ", not published yet"))


def spec_of(title: str, **flags: Any) -> dict[str, Any]:
    """Return the bead's fields from the flags; unset ones are left out."""
    notes = flags.get("notes") or flags.get("append_notes")
    spec: dict[str, Any] = {
        "title": title,
        **typed_fields({**flags, "notes": notes}),
        **without_unset(maps_of(flags)),
        "metadata": metadata_of(flags.get("metadata")),
        "idempotency_key": flags.get("idempotency_key"),
    }
    spec = filled(spec)
    if not flags.get("inherit_labels", True):
        spec["inherit_labels"] = False
    return spec
