"""bd plan."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.lookup import bead_of
from bd.cli.options import pass_app
from bd.cli.output import escaped
from bd.operations.base import World
from bd.operations.plan import ApplyPlan

EXAMPLE = """
\b
Examples:
  bd plan apply plan.yaml --dry-run     check it, and say what would be made
  bd plan apply plan.yaml
  bd plan apply plan.json --idempotency-key nightly-2026-03-01
"""


@click.group("plan", no_args_is_help=False)
def command() -> None:
    """Make a whole DAG from a plan file, and write one."""


@command.command("apply", epilog=EXAMPLE)
@click.argument("file")
@click.option("--dry-run", is_flag=True, help="Check it against the hub, and only say what would be made.")
@click.option("--idempotency-key", help="A second apply with this key makes nothing, and answers with the first one's beads.")
@click.option("--parent", help="The bead the root is part of.")
@click.option("--force", is_flag=True, help="Assign also to agents that are offline.")
@pass_app
def apply(app: App, file: str, *, dry_run: bool, idempotency_key: str | None, parent: str | None, force: bool) -> None:
    """Make everything a plan file says (- reads stdin) in one commit, or nothing.

    A plan has a title, any other field of its root, and tasks: beads with a name each, and with what they wait for by
    name or id. The root is done last.
    """
    from bd.compat.dag_plans import read_graph

    app.refuse_past()
    specs = read_graph(file, World(app.now, app.settings()))
    for key, value in (("idempotency_key", idempotency_key), ("parent", parent)):
        specs[0].update({key: value} if value else {})
    forced: dict[str, Any] = {"force": True} if force else {}
    operation = ApplyPlan(**app.asked(beads=specs, **forced))
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
        app.out.line(f"✓ {said} {app.out.styled(root, 'bold')} — {escaped(specs[0]['title'])}: {len(made)} beads")
        app.out.line(f"  `bd dag show {root}` shows them" + ("" if outcome.published else "; not published yet"))


def _show_plan(app: App, operation: ApplyPlan) -> None:
    """What the plan would make of the hub as this clone knows it; ids are minted when it is applied."""
    change = app.preview(operation)
    specs = operation.args["beads"] if not change.is_empty else []
    if app.out.is_json:
        would: list[dict[str, Any]] = [{"name": spec["name"], "title": spec["title"]} for spec in specs]
        app.out.object({"would_create": would, "dry_run": True})
        return
    for note in change.notes:
        app.out.note(note)
    for spec in specs:
        waits = f"   after {', '.join(spec['deps'])}" if spec.get("deps") else ""
        app.out.line(f"Would create: {escaped(spec['name'])} — {escaped(spec['title'])}{escaped(waits)}")


@command.command("export", epilog="\b\nExample:\n  bd plan export hub-7k3q > plan.yaml")
@click.argument("root")
@pass_app
def export(app: App, root: str) -> None:
    """Write a DAG as the plan file that makes it anew, without what became of it."""
    from bd.compat.dag_plans import plan_of, plan_text

    snapshot = app.snapshot()
    bead = bead_of(root, snapshot)
    plan = plan_of(bead, snapshot)
    if app.out.is_json:
        app.out.object(plan)
    else:
        app.out.line(plan_text(plan).rstrip("\n"))
