"""bd create, bd q."""

from __future__ import annotations

from typing import Any

import click

from bd.cli.app import App
from bd.cli.creating import create, create_quickly
from bd.cli.options import CLAIM_MODE, PRIORITY, list_option, long_texts, pass_app
from bd.cli.output import escaped
from bd.core.errors import BadInput
from bd.operations.create import Create

EXAMPLE = """
\b
Examples:
  bd create "Fix CORS in the auth middleware" -t bug -p 1 -l infra/auth
  bd create "Write the docs" --deps hub-7k3q --parent hub-a1b2
  bd create --file plan.yaml            many beads in one commit
  echo "long text" | bd create "A title" --description -
"""


@click.command("create", epilog=EXAMPLE)
@click.argument("title", required=False)
@click.option("--title", "title_flag", hidden=True)
@click.option("--type", "-t", "bead_type", help="task, bug, feature, research ... (task)")
@click.option("--priority", "-p", type=PRIORITY, help="0 (critical) to 4 (background); 2 when left out.")
@click.option("--base-priority", type=click.FloatRange(0, 100), help="The finer scale, 0 to 100.")
@click.option("--description", "-d", "--body", help="What it is about; - reads stdin.")
@click.option("--body-file", help="Read the description from a file, - for stdin.")
@click.option("--design", help="How it is to be done.")
@long_texts
@click.option("--acceptance", "--acceptance-criteria", "acceptance", help="When it is done.")
@click.option("--notes", help="Anything else.")
@click.option("--append-notes", hidden=True)
@click.option("--assignee", "-a", "--assign", help="Route it to this agent or person.")
@list_option("--labels", "-l", "--label", "labels", help="Labels (repeat, or commas).")
@list_option("--deps", "--depends-on", "deps", help="What it waits for: ID, or blocks:ID, discovered-from:ID ...")
@list_option("--needs", "needs", help="Capabilities it takes.")
@click.option("--parent", help="The bead it is part of.")
@click.option("--id", "bead_id", help="This id, instead of a new one.")
@click.option("--external-ref", help="Such as gh-9 or a URL.")
@click.option("--due", "--deadline", "deadline", help="A date, a time, or 2d.")
@click.option("--defer", "defer_until", help="Hide it until then.")
@click.option("--expected", help="How long it should take, such as 45m.")
@click.option("--estimate", "-e", type=int, help="Minutes.")
@click.option("--exclusive", help="A name no two beads in work may share, such as repo:site.")
@click.option("--max-attempts", type=click.IntRange(min=1), help="Attempts it may use up.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), metavar="USD", help="The most an attempt may cost; a claim reserves it."
)
@click.option("--budget-ceiling", type=click.FloatRange(min=0), metavar="USD", help="The most it and all below it may cost.")
@click.option("--claim-mode", type=CLAIM_MODE, help="advisory: several agents may be at it at once.")
@click.option("--metadata", help="A JSON object, or @FILE.")
@click.option("--idempotency-key", help="A second create with this key returns the first bead.")
@click.option("--inherit-labels/--no-inherit-labels", default=True, help="Take the parent's labels too.")
@click.option("--file", "-f", "plan", help="Many beads: YAML plan or JSONL; - reads stdin.")
@click.option("--graph", hidden=True, help="The Go tool's name for a JSON plan.")
@click.option("--dry-run", is_flag=True, help="With --file: only say what would be made.")
@click.option("--silent", is_flag=True, help="Print only the id.")
@click.option("--force", is_flag=True, help="Assign it although that agent is offline.")
@pass_app
def command(
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
    """Make a bead, or many from a file in one commit."""
    title = title if title is not None else title_flag
    source = plan or graph
    if not source:
        create(app, title, force=force, silent=silent, **flags)
    elif title:
        raise BadInput("a title and --file together", hint="the titles stand in the file")
    else:
        _create_many(app, source, {"force": True} if force else {}, dry_run=dry_run, silent=silent)


def _create_many(app: App, source: str, forced: dict[str, Any], *, dry_run: bool, silent: bool) -> None:
    from bd.compat.plan_files import read_plan
    from bd.operations.base import World

    specs = read_plan(source, World(app.now, app.settings()))
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


@click.command("q", epilog='\b\nExample:\n  id=$(bd q "Look into the slow query")')
@click.argument("title")
@click.option("--type", "-t", "bead_type", help="task, bug, feature ... (task)")
@click.option("--priority", "-p", type=PRIORITY, help="0 to 4.")
@list_option("--labels", "-l", "--label", "labels", help="Labels.")
@pass_app
def quick(app: App, title: str, **flags: Any) -> None:
    """Make a bead and print only its id."""
    create_quickly(app, title, **flags)
