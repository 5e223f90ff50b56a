"""bd plan."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.lookup import bead_of
from bd.cli.output import escaped
from bd.cli.spec import Argument, Command, Flag, Group, Option
from bd.compat.dag_plans import plan_of, plan_text, read_graph
from bd.core.operation import DecisionContext
from bd.operations.plan import ApplyPlan

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App


APPLY = Command(
    "apply",
    Argument("file"),
    Flag("--dry-run", help="Check it against the hub, and only show what would be created."),
    Option("--idempotency-key", help="A second apply with this key creates nothing, and returns the first one's beads."),
    Option("--parent", help="The bead the root is part of."),
    Flag("--force", help="Assign also to agents that are offline."),
    help="""Create everything in a plan file (- reads stdin) in one commit, or nothing.

    A plan has a title, any other field of its root, and tasks: beads with a name each, and with what they wait for by
    name or id. The root is done last.
    """,
    examples=[
        "bd plan apply plan.yaml --dry-run     check it, and say what would be made",
        "bd plan apply plan.yaml",
        "bd plan apply plan.json --idempotency-key nightly-2026-03-01",
    ],
)


def apply(app: App, file: str, *, dry_run: bool, idempotency_key: str | None, parent: str | None, force: bool) -> None:
    """Create everything in a plan file (- reads stdin) in one commit, or nothing."""
    app.refuse_past()
    specs = read_graph(file, DecisionContext(app.now, app.settings()))
    for key, value in (("idempotency_key", idempotency_key), ("parent", parent)):
        specs[0].update({key: value} if value else {})
    gathers = specs[0].pop("gathers", [])
    more: dict[str, Any] = {**({"force": True} if force else {}), **({"gathers": gathers} if gathers else {})}
    operation = ApplyPlan(**app.asked(beads=specs, **more))
    if dry_run:
        _show_plan(app, operation)
        return
    outcome = app.publish(operation)
    made = outcome.change.result if outcome.change else {}
    root = made[specs[0]["name"]]
    if app.out.is_json:
        app.out.object({"root": root, "ids": made, "published": outcome.published})
    elif app.out.quiet:
        app.out.line(root)
    else:
        is_new = bool(outcome.change and not outcome.change.is_empty)
        said = "Planned" if is_new else "Planned before:"
        app.out.line(
            f"✓ {said} {app.out.styled(root, 'bold')} — {escaped(specs[0]['title'])}: {len(made)} bead{'s' if len(made) > 1 else ''}"
        )
        app.out.line(f"  `bd dag show {root}` shows them" + ("" if outcome.published else "; not published yet"))


def _show_plan(app: App, operation: ApplyPlan) -> None:
    """Show what the plan would create; ids are minted when it is applied."""
    change = app.preview(operation)
    specs = operation.args["beads"] if not change.is_empty else []
    gathers = operation.args.get("gathers", []) if not change.is_empty else []
    if app.out.is_json:
        would: list[dict[str, Any]] = [{"name": spec["name"], "title": spec["title"]} for spec in specs]
        app.out.object({"would_create": would, **({"would_gather": gathers} if gathers else {}), "dry_run": True})
        return
    for note in change.notes:
        app.out.note(note)
    for spec in specs:
        waits = f"   after {', '.join(spec['deps'])}" if spec.get("deps") else ""
        app.out.line(f"Would create: {escaped(spec['name'])} — {escaped(spec['title'])}{escaped(waits)}")
    if gathers:
        app.out.line(f"Would gather below it: {escaped(', '.join(gathers))}")


EXPORT = Command(
    "export",
    Argument("root"),
    help="Write a DAG as a plan file that recreates it, without its results.",
    examples=["bd plan export hub-7k3q > plan.yaml"],
)


def export(app: App, root: str) -> None:
    """Write a DAG as a plan file that would create it again, without its results."""
    snapshot = app.snapshot()
    bead = bead_of(root, snapshot)
    plan = plan_of(bead, snapshot)
    if app.out.is_json:
        app.out.object(plan)
    else:
        app.out.line(plan_text(plan).rstrip("\n"))


SPEC = Group(
    "plan",
    {
        "apply": (APPLY, apply),
        "export": (EXPORT, export),
    },
    help="Create a DAG from a plan file, or write one.",
)
