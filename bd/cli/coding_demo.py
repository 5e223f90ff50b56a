"""The coding demo on a terminal: a line for each event, then the proof from the hub's history and from the code's."""

from __future__ import annotations

import contextlib

from bd import TYPE_CHECKING
from bd.cli.factory_demo import story_of, tell
from bd.compat.dag_plans import read_graph
from bd.core.errors import Damaged
from bd.demo.code_history import prove_code
from bd.demo.coding import AGENTS, kill_of
from bd.demo.example import DEMO_INTERVAL, Example, example_folder
from bd.demo.hub import BRANCH, Demo
from bd.report.audit.proof import prove
from bd.store import locate

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from bd.cli.app import App
    from bd.demo.code_history import CodeProof


def run(app: App, folder: Path | None, seed: str, *, keep: bool) -> None:
    """Let stand-ins for coding agents build a program, and report. Raises Damaged if a history shows a loss or a double."""
    beads = read_graph(str(example_folder("coding") / "plan.yaml"))
    agents = {name: {"name": name, "interval": DEMO_INTERVAL, "fallback": True} for name in AGENTS}
    kill = kill_of(seed)
    with Demo(folder, Example(agents, []), seed, app.open_clone, app.runtime, keep=keep) as demo:
        demo.prepare()
        tell(
            app,
            [
                f"A hub in {demo.hub_path}, a code repository in {demo.code_path}, and a plan of {len(beads) - 1} beads.",
                f"Three stand-ins for coding agents work on it. With the seed {seed}, {kill.agent} is killed after {kill.after_s:g} s.",
            ],
        )
        root_id, seconds = demo.coding(beads, kill, story_of(app, demo))
        demo.bring_along()
        with contextlib.closing(demo.bare) as hub:
            proof = prove(hub, BRANCH)
        code = _code_proof(app, demo, root_id)
        tell(app, ["", *proof.lines(), *code.lines(), f"  {seconds:.1f} seconds from the plan to its end"])
        if not (proof.holds and code.holds):
            raise Damaged("the proof does not hold", hint=f"the hub is in {demo.hub_path}, its seed {seed}", **proof.as_json())
    _end(
        app,
        demo,
        root_id,
        {**proof.as_json(), "code_history": code.as_json(), "seconds": round(seconds, 1), "seed": seed, "killed": kill._asdict()},
    )


def _code_proof(app: App, demo: Demo, root_id: str) -> CodeProof:
    with contextlib.closing(app.open_clone(locate(str(demo.clone_path)))) as hub, contextlib.closing(demo.code) as code:
        snapshot = hub.snapshot()
        tasks = [bead for child in snapshot.children_of(root_id) if (bead := snapshot.bead(child.id)) is not None]
        written = {task.id: list((task.get("metadata") or {}).get("write", {})) for task in tasks}
        return prove_code(code, tasks, written)


def _end(app: App, demo: Demo, root_id: str, proved: dict[str, Any]) -> None:
    """Print how it ended, and what to type next."""
    if app.out.is_json:
        where = {"hub": str(demo.hub_path), "code": str(demo.code_path)} if demo.keep else {"hub": ""}
        app.out.object({**proved, "root": root_id, **where})
    elif demo.keep and app.out.quiet:
        app.out.line(str(demo.hub_path))
    elif demo.keep:
        cd, _, listing = demo.next_commands(root_id)[0].partition(" && ")
        bd = listing.removesuffix(" list --all")
        log = f"git -C {demo.code_path} log --all --graph --oneline"
        more = [cd, f"{bd} dag show {root_id}", f"{bd} brief {root_id}", f"{bd} cost", log]
        heading = f"The hub stays in {demo.hub_path}, the agents' clones and logs beside it. Next:"
        tell(app, ["", heading, *(f"  {line}" for line in more)])
