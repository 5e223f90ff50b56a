"""bd demo."""

from __future__ import annotations

import contextlib
import secrets
import sys
from pathlib import Path

from bd import TYPE_CHECKING
from bd.cli import coding_demo, factory_demo
from bd.cli.output import escaped
from bd.cli.spec import PATH, Command, Flag, Option, whole_number
from bd.core.errors import BadInput, Damaged
from bd.demo.example import read_example
from bd.demo.hub import BRANCH, Demo
from bd.demo.view import Lines, LiveTable, Silent
from bd.report.audit.proof import prove

if TYPE_CHECKING:
    from bd.cli.app import App
    from bd.demo.board import Board
    from bd.demo.view import View
    from bd.report.audit.proof import Proof


SPEC = Command(
    "demo",
    Option("--beads", kind=whole_number(1, 1000), help="The number of beads; default: 25."),
    Option("--seed", help="The seed for the durations of the simulated work; with --agents for who is killed, and when."),
    Flag("--factory", help="Let them work through a plan with one problem of each kind."),
    Flag("--agents", help="Let three coding agents (stand-ins) build a program; one is killed with SIGKILL."),
    Flag("--keep", off="--no-keep", default=True, help="Keep the hub and the clones, to look around in (kept)."),
    Option("--dir", name="folder", kind=PATH, help="The folder for it; default: a new temporary one."),
    help="""Watch four agents race for the work in a temporary hub.

    Each is a process with a clone of its own, and runs real commands until the work is done. Then
    the hub's git history is read for the proof that no bead ever had two owners. With --factory they work off a plan
    with `bd work`, and the history tells of a retry, a poison pill, an output that did not pass, a claim that a ceiling
    refused, and a subtask that was waited for. With --agents stand-ins for coding agents work in a code repository: one is killed,
    one is resumed, one asks a person; both git histories prove that nothing was lost or done twice.
    """,
    examples=[
        "bd demo                          watch; the hub stays, to look around in",
        "bd demo --beads 100 --no-keep",
        "bd demo --factory                a plan in which everything goes wrong once",
        "bd demo --agents --seed 7",
        "bd demo --json | jq .pushes_per_claim",
    ],
)


def run(app: App, beads: int | None, seed: str | None, folder: str | None, *, factory: bool, agents: bool, keep: bool) -> None:
    """Show four agents racing through their own hub."""
    place = None if folder is None else Path(folder)
    if factory and agents:
        raise BadInput("--factory and --agents are two demonstrations")
    if factory:
        if beads is not None or seed is not None:
            raise BadInput("--beads and --seed can't be used with --factory")
        factory_demo.run(app, place, keep=keep)
        return
    if agents:
        if beads is not None:
            raise BadInput("--beads can't be used with --agents")
        coding_demo.run(app, place, seed or secrets.token_hex(4), keep=keep)
        return
    with Demo(place, read_example(beads), seed or secrets.token_hex(4), app.open_clone, app.runtime, keep=keep) as demo:
        board = demo.prepare()
        _say(app, f"A hub in {demo.hub_path}: {board.total} beads, and {len(board.rows)} agents race for them.")
        with _view(app) as view:
            seconds = demo.race(board, view.show)
        demo.bring_along()
        with contextlib.closing(demo.bare) as hub:
            proof = prove(hub, BRANCH)
        for line in ["", *proof.lines()]:
            _say(app, line)
        if not proof.holds or proof.done < proof.beads:
            raise Damaged("the proof failed", hint=f"the hub is in {demo.hub_path}", **proof.as_json())
    _tell(app, demo, board, proof, seconds)


def _say(app: App, text: str) -> None:
    """Print a line of the story at once, unless --json or --quiet."""
    if not app.out.is_json and not app.out.quiet:
        app.out.line(escaped(text))
        sys.stdout.flush()


def _view(app: App) -> View:
    if app.out.is_json or app.out.quiet:
        return Silent()
    return LiveTable() if app.out.is_terminal else Lines(lambda text: _say(app, text))


def _tell(app: App, demo: Demo, board: Board, proof: Proof, seconds: float) -> None:
    """Print how it ended, and what to type next."""
    if app.out.is_json:
        agents = {row.agent: {"done": row.done, "pushes": row.tries} for row in board.rows.values()}
        where = {"hub": str(demo.hub_path), "clone": str(demo.clone_path)} if demo.keep else {"hub": ""}
        app.out.object({**proof.as_json(), "seconds": round(seconds, 1), "agents": agents, **where})
        return
    _say(app, f"  {seconds:.1f} seconds from the start to the last close")
    if demo.keep and app.out.quiet:
        app.out.line(str(demo.hub_path))
    elif demo.keep:
        _say(app, "")
        _say(app, f"The hub stays in {demo.hub_path}, the agents' clones beside it. Next:")
        for line in demo.next_commands(next(iter(board.titles))):
            _say(app, f"  {line}")
