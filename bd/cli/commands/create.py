"""bd create, bd q."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.cli.output import escaped
from bd.cli.spec import CLAIM_MODE, INTEGER, PRIORITY, Argument, Command, Flag, Option, list_option, real_number, whole_number
from bd.cli.values import flat, metadata_of, text_argument
from bd.cli.work_options import WORK_OPTIONS, maps_of, without_unset
from bd.core.errors import BadInput
from bd.core.operation import DecisionContext
from bd.operations.create import Create

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.store import Outcome

# The Go tool's options for a long description or design.
LONG_TEXTS = (Flag("--stdin", hidden=True), Option("--design-file", hidden=True))

SPEC = Command(
    "create",
    Argument("title", required=False),
    Option("--title", name="title_flag", hidden=True),
    Option("--type", "-t", name="bead_type", help="task, bug, feature, research ... (task)"),
    Option("--priority", "-p", kind=PRIORITY, help="0 (critical) to 4 (background); default: 2."),
    Option("--base-priority", kind=real_number(0, 100), help="The finer scale, 0 to 100."),
    Option("--description", "-d", "--body", help="The description; - reads stdin."),
    Option("--body-file", help="Read the description from a file, - for stdin."),
    Option("--design", help="The design."),
    *LONG_TEXTS,
    Option("--acceptance", "--acceptance-criteria", help="The acceptance criteria."),
    Option("--notes", help="Anything else."),
    Option("--append-notes", hidden=True),
    Option("--assignee", "-a", "--assign", help="Route it to this agent or person."),
    list_option("--labels", "-l", "--label", help="Labels (repeat, or commas)."),
    list_option("--deps", "--depends-on", help="What it waits for: ID, or blocks:ID, discovered-from:ID ..."),
    list_option("--needs", help="Capabilities that it needs."),
    Option("--parent", help="Its parent."),
    Option("--id", name="bead_id", help="Use this id."),
    Option("--external-ref", help="Such as gh-9 or a URL."),
    Option("--due", "--deadline", name="deadline", help="A date, a time, or 2d."),
    Option("--defer", name="defer_until", help="Hide it until then."),
    Option("--expected", help="How long it should take, such as 45m."),
    Option("--estimate", "-e", kind=INTEGER, help="Minutes."),
    Option("--exclusive", help="A name such as repo:site; two beads with the same one are never in progress at once."),
    Option("--max-attempts", kind=whole_number(1), help="The maximum number of attempts."),
    *WORK_OPTIONS,
    Option("--budget-ceiling", kind=real_number(0), metavar="USD", help="The maximum cost of it and everything below it."),
    Option("--claim-mode", kind=CLAIM_MODE, help="advisory: several agents may work on it at once."),
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
    Option("--type", "-t", name="bead_type", help="task, bug, feature ... (task)"),
    Option("--priority", "-p", kind=PRIORITY, help="0 to 4."),
    list_option("--labels", "-l", "--label", help="Labels."),
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
        **without_unset(maps_of(flags)),
        "repo": flags.get("repo"),
        "budget_ceiling_usd": flags.get("budget_ceiling"),
        "claim_mode": flags.get("claim_mode"),
        "metadata": metadata_of(flags.get("metadata")),
        "idempotency_key": flags.get("idempotency_key"),
    }
    spec = {key: value for key, value in spec.items() if value not in (None, "", [], {})}
    if not flags.get("inherit_labels", True):
        spec["inherit_labels"] = False
    return spec
