"""bd workspace: list, path, enter, prune."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.cli.lookup import whole_id
from bd.cli.output import escaped
from bd.cli.spec import DURATION, Argument, Command, Flag, Group, Option
from bd.core.errors import BadInput, NotFound
from bd.core.times import age_text, instant_of
from bd.processes.run import hand_over
from bd.repos import housekeeping
from bd.repos.housekeeping import REMOVED, seen_workspaces
from bd.repos.leftovers import KINDS
from bd.repos.workspace import known_workspaces, workspace_here
from bd.schedule.invocation import hub_id

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.repos.housekeeping import Seen
    from bd.repos.workspace import Workspace


LIST_ALL = Command(
    "list",
    Argument("beads", many=True),
    help="""List the workspaces of this machine, and what is unpushed in each.

    What nobody else has is set aside first: commits, other branches, detached heads, stashes, changes, new files,
    submodules; files that git ignores when the folder is removed. Each is shown with the command that prints it.
    """,
    examples=["bd workspace list", "bd workspace list hub-7k3q --json"],
)


def list_all(app: App, beads: tuple[str, ...]) -> None:
    """List the workspaces of this machine, and what is unpushed in each."""
    wanted = {whole_id(bead, app.snapshot()) for bead in beads}
    found = [one for one in seen_workspaces(app.hub) if not beads or one.workspace.bead in wanted]
    if app.out.is_json:
        app.out.json([_object(one) for one in found])
        return
    for one in found:
        _show(app, one)
    if not found:
        app.out.line("No workspaces on this machine.")


def _show(app: App, one: Seen) -> None:
    workspace = one.workspace
    age = f", {age_text((app.now - instant_of(workspace.ended_at)).total_seconds())} ago" if workspace.ended_at else ""
    where = "" if workspace.url is None else f"  {workspace.branch}"
    head = f"{workspace.bead}  attempt {workspace.attempt} of {workspace.agent}, {one.state}{age}{where}"
    app.out.line(escaped(head))
    if one.state != REMOVED:
        app.out.line(f"  {escaped(workspace.folder)}")
    for kept in one.kept:
        app.out.line(f"  unpushed: {KINDS[kept.kind]}: git --git-dir {escaped(one.git_dir)} show {kept.oid[:12]}")
    for words in one.wrong:
        app.out.line(f"  not set aside, so the folder stays: {escaped(words)}")


def _object(one: Seen) -> dict[str, Any]:
    workspace = one.workspace
    kept = [{"kind": kept.kind, "commit": kept.oid, "ref": kept.ref} for kept in one.kept]
    found = {
        "id": workspace.bead,
        "repo": workspace.repo if workspace.url else None,
        "attempt": workspace.attempt,
        "agent": workspace.agent,
        "state": one.state,
        "folder": workspace.folder if one.state != REMOVED else None,
        "branch": workspace.branch if workspace.url else None,
        "ended_at": workspace.ended_at,
    }
    return {
        **{key: value for key, value in found.items() if value is not None},
        "git_dir": one.git_dir,
        "unpushed": kept,
        "not_set_aside": one.wrong,
    }


PATH = Command(
    "path", Argument("bead"), help="Print the folder of a bead's workspace.", examples=["cd $(bd workspace path hub-7k3q)"]
)


def path(app: App, bead: str) -> None:
    """Print the folder of a bead's workspace."""
    workspace = _of(app, bead)
    if app.out.is_json:
        app.out.object({"id": workspace.bead, "folder": workspace.folder})
    else:
        app.out.line(workspace.folder)


def _of(app: App, bead: str) -> Workspace:
    """Return the workspace of a bead: the last attempt's. Raises NotFound."""
    there = workspace_here(hub_id(app.hub), whole_id(bead, app.snapshot()))
    if there is None:
        raise NotFound(f"{bead} has no workspace on this machine", hint="`bd workspace list` shows what is here")
    return there


ENTER = Command(
    "enter",
    Argument("bead"),
    help="""Start your shell in a bead's workspace.

    `bd` finds the hub there. An agent may be working in it: `bd take ID` takes the bead over first.
    """,
    examples=["bd workspace enter hub-7k3q"],
)


def enter(app: App, bead: str) -> None:
    """Start your shell in a bead's workspace."""
    workspace = _of(app, bead)
    if workspace.is_in_use(app.runtime):
        app.out.note(f"an agent is working in it; `bd take {bead}` takes the bead over")
    shell = os.environ.get("SHELL") or "/bin/sh"
    environment = {**os.environ, "BEADS_DIR": app.hub.client_folder(), "BD_WORKSPACE": workspace.folder}
    app.hub.close()
    app.out.exit_code = hand_over(shell, workspace.folder, environment)


PRUNE = Command(
    "prune",
    Argument("beads", many=True),
    Option("--older", kind=DURATION, help="Those whose attempts ended this long ago; default: 3d, with ids: any."),
    Flag("--forget", help="Also drop what was set aside of those beads' workspaces. It can't be undone."),
    help="""Remove workspaces in which nobody works.

    What is unpushed is set aside first, and `bd workspace list` shows it afterwards; a folder of which something can't be
    set aside stays. So does, without ids, that of a bead that somebody holds. Workers do this by themselves once a day.
    """,
    examples=["bd workspace prune", "bd workspace prune hub-7k3q", "bd workspace prune hub-7k3q --forget"],
)


def prune(app: App, beads: tuple[str, ...], older: float | None, forget: bool) -> None:
    """Remove workspaces in which nobody works."""
    if forget and not beads:
        raise BadInput("--forget needs the ids of beads", hint="`bd workspace list` shows what is set aside")
    wanted = {whole_id(bead, app.snapshot()) for bead in beads}
    least_s = older if older is not None else 0.0 if beads else housekeeping.KEPT_S
    gone, stays = [], []
    for workspace in list(known_workspaces(hub_id(app.hub))):
        if workspace.bead not in wanted if beads else housekeeping.is_held(workspace, app.snapshot()):
            continue
        if not housekeeping.is_old(workspace, app.now, least_s):
            continue
        was_there = os.path.isdir(workspace.folder)
        why = housekeeping.removed(workspace, app.hub)
        if why:
            stays.append((workspace, why))
            continue
        if was_there:
            gone.append(workspace)
        if forget:
            housekeeping.forgotten(workspace, app.hub)
    if app.out.is_json:
        kept = [{"id": one.bead, "folder": one.folder, "why": why} for one, why in stays]
        app.out.object({"removed": [{"id": one.bead, "folder": one.folder} for one in gone], "kept": kept})
        return
    app.out.said(f"✓ Removed {len(gone)} workspace{'' if len(gone) == 1 else 's'}")
    for one, why in stays:
        app.out.note(f"{one.folder} stays: {why[0]}")


SPEC = Group(
    "workspace",
    {"list": (LIST_ALL, list_all), "path": (PATH, path), "enter": (ENTER, enter), "prune": (PRUNE, prune)},
    help="Find, enter and remove the workspaces of this machine.",
)
