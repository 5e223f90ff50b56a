"""bd migrate."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.commands.import_ import progress_of, tell, words_of
from bd.cli.spec import Argument, Command, Flag, Option
from bd.compat.go_workspace import look, sources
from bd.core.errors import BadInput
from bd.core.schema import CONFIG_PATH
from bd.operations.base import asked
from bd.operations.beads import Write
from bd.operations.import_beads import Import
from bd.setup.dry_run import rehearse
from bd.setup.hub import make_hub, moved_aside

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.compat.go_workspace import Workspace
    from bd.core.settings import Settings
    from bd.setup.dry_run import HubRehearsal


SPEC = Command(
    "migrate",
    Argument("source", required=False, metavar="FROM"),
    Flag("--dry-run", help="Only show what would be done."),
    Option("--prefix", "-p", help="The prefix of new ids; default: the workspace's."),
    Option("--branch", help="Create the hub on its own branch."),
    Option("--remote", help="The git URL that the fleet shares; becomes origin."),
    Flag("--inspect", help="Only show whether there is something to migrate."),
    Flag("--yes", "-y", hidden=True),
    help="""Migrate a workspace of the Go tool: create the hub, and import every bead.

    Finds its export or table dumps here or in FROM. Ids, comments, dependencies and times stay. Repeating it changes nothing.
    """,
    examples=[
        "bd migrate --dry-run              what would become of the Go tool's workspace here",
        "bd migrate ../old-hub             its export or table dumps into the hub here",
        "bd migrate --branch beads         make the hub on a branch of its own",
    ],
)


def run(
    app: App,
    source: str | None,
    dry_run: bool,
    prefix: str | None,
    branch: str | None,
    remote: str | None,
    inspect: bool,
    yes: bool,
) -> None:
    """Migrate a workspace of the Go tool: the hub, and every bead in it."""
    where = os.path.abspath(app.flags.directory or os.getcwd())
    is_there = app.no_hub() is None
    if inspect:
        _inspect(app, source or where, is_there=is_there)
        return
    if is_there and not source and not sources(where):
        _nothing(app)
        return
    found = look(source or where, progress_of(app) if is_there else None, words_of(app) if is_there else None)
    chosen = prefix or found.prefix
    if not is_there and not chosen:
        raise BadInput("the ids here have no common prefix", hint="bd migrate --prefix hub")
    if dry_run:
        if is_there:
            _plan(app, found)
        else:
            _plan_hub(app, found, rehearse(where, chosen, app.open_clone, remote=remote, branch=branch), where, chosen)
        return
    if not is_there:
        with moved_aside(where):
            _, hub = make_hub(where, chosen, app.open_clone, remote=remote, branch=branch)
        app.use(hub)
        app.out.note(f"made a hub: {where}, branch {hub.branch_name}, prefix {chosen}")
        if os.path.exists(os.path.join(where, ".beads", "issues.jsonl")):
            app.out.note("for viewers, `bd config set export.auto true` keeps .beads/issues.jsonl up to date from now on")
    _bring_in(app, found)


def _nothing(app: App) -> None:
    if app.out.is_json:
        app.out.object({"created": 0, "updated": 0, "unchanged": 0, "needed": False})
    else:
        app.out.said("Nothing to migrate: the hub is there, and no export or dump of the Go tool was found.")


def _inspect(app: App, place: str, *, is_there: bool) -> None:
    found = sources(place)
    shown = {"hub": is_there, "sources": found, "needed": bool(found) and not is_there}
    if app.out.is_json:
        app.out.object(shown)
    else:
        app.out.line(f"hub: {'there' if is_there else 'none'}; to migrate: {', '.join(found) or 'nothing'}")


def _plan(app: App, found: Workspace) -> None:
    """Show what would be imported into the existing hub, without importing it."""
    fields = _own_words(app.settings(), found)
    words = [Write(**app.asked(records={CONFIG_PATH: fields}, words=" and ".join(fields)))] if fields else []
    change = app.preview(*words, Import(**app.asked(beads=found.batch.beads)))
    app.out.note("the hub is there")
    _tell_plan(app, found, change.result)


def _plan_hub(app: App, found: Workspace, would: HubRehearsal, where: str, prefix: str) -> None:
    """Show the same for the hub that would be created."""
    who = asked(app.runtime, would.by)
    fields = _own_words(would.settings(), found)
    if fields:
        would.add(Write(**who, records={CONFIG_PATH: fields}, words=" and ".join(fields)))
    change = would.add(Import(**who, beads=found.batch.beads))
    app.out.note(f"would make a hub: {where}, branch {would.branch_name}, prefix {prefix}")
    for note in would.notes:
        app.out.note(note)
    _tell_plan(app, found, change.result)


def _tell_plan(app: App, found: Workspace, result: dict[str, list[Any]]) -> None:
    _tell_rest(app, found)
    if found.batch.unread:
        app.out.exit_code = 7
    tell(app, found.batch, result, dry_run=True, published=False)


def _own_words(settings: Settings, found: Workspace) -> dict[str, Any]:
    """Return the settings that add the workspace's own types and statuses to the hub."""
    own = {"types": settings.types, "statuses": settings.statuses}
    wanted = {"types": found.types, "statuses": found.statuses}
    return {key: sorted({*own[key], *names}) for key, names in wanted.items() if names and not {*names} <= {*own[key]}}


def _bring_in(app: App, found: Workspace) -> None:
    fields = _own_words(app.settings(), found)
    if fields:
        app.publish(Write(**app.asked(records={CONFIG_PATH: fields}, words=" and ".join(fields))))
    outcome = app.publish(Import(**app.asked(beads=found.batch.beads)))
    if outcome.change and outcome.change.result["created"]:
        _tell_rest(app, found)
    if found.batch.unread:
        app.out.exit_code = 7
    tell(app, found.batch, outcome.change.result if outcome.change else {}, dry_run=False, published=outcome.published)


def _tell_rest(app: App, found: Workspace) -> None:
    if found.leftovers:
        app.out.note(f"left as they are, and no longer used: {', '.join(found.leftovers)}")
    if any(name.endswith(".db") for name in found.leftovers):
        app.out.note("move the database away, or a client may take it for the hub")
