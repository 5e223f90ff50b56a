"""The factory demo on a terminal: a line for each event, then what the history shows."""

from __future__ import annotations

import contextlib
import sys
from textwrap import wrap

from bd import TYPE_CHECKING
from bd.cli.columns import cut
from bd.cli.output import escaped
from bd.compat.dag_plans import read_graph
from bd.core.errors import Damaged
from bd.demo.example import read_example
from bd.demo.factory import plan_path
from bd.demo.hub import BRANCH, Demo
from bd.demo.watch import Story
from bd.report.audit.incidents import KINDS, mishaps
from bd.report.audit.proof import prove
from bd.report.log import read

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from bd.cli.app import App
    from bd.report.audit.incidents import Mishap
    from bd.report.bead_events import Transition

_WHO, _WHAT = 10, 11


def run(app: App, folder: Path | None, *, keep: bool) -> None:
    """Let the example fleet work through the example plan, and report. Raises Damaged if the history lacks a part."""
    beads = read_graph(str(plan_path()))
    with Demo(folder, read_example()._replace(beads=[]), "", app.open_clone, app.runtime, keep=keep) as demo:
        demo.prepare()
        _say(
            app,
            f"A hub in {demo.hub_path}, and a plan of {len(beads)} beads for four agents. It contains one problem of each kind.",
        )
        root_id, seconds = demo.factory(beads, story_of(app, demo))
        demo.bring_along()
        with contextlib.closing(demo.bare) as hub:
            proof = prove(hub, BRANCH)
            found = mishaps(read(hub, proof.audit.tip))
        tell(app, ["", *proof.lines(), f"  {seconds:.1f} seconds from the plan to its end", "", *_summary(app, found)])
        missing = [words for kind, words in KINDS.items() if kind not in found]
        if not proof.holds or missing:
            what = f"the history does not show: {', '.join(missing)}" if missing else "the proof does not hold"
            raise Damaged(what, hint=f"the hub is in {demo.hub_path}", **proof.as_json())
    _end(app, demo, root_id, {**proof.as_json(), "seconds": round(seconds, 1), "root": root_id}, found)


def story_of(app: App, demo: Demo) -> Story:
    def on_moved(old: str, new: str, seconds: float) -> None:
        with contextlib.closing(demo.bare) as hub:
            told = [one for one in read(hub, new, f"^{old}") if one.bead]
        tell(
            app,
            [
                _line(app, seconds, "you" if one.kind == "human" else one.agent or one.by, one.what, one.bead, _words(one))
                for one in told
            ],
        )

    def say(words: str, seconds: float) -> None:
        tell(app, [f"{seconds:5.1f}s  {'you':<{_WHO}}  {words}"])

    return Story(on_moved, say)


def _words(one: Transition) -> str:
    again = f" (attempt {one.attempt})" if one.attempt > 1 and one.what == "claimed" else ""
    return f"{one.title}{again}{f': {one.text}' if one.text else ''}"


def _line(app: App, seconds: float, *parts: str) -> str:
    """Format `SECONDS  WHO  WHAT  BEAD  WORDS`, cut to the width."""
    who, what, bead, words = (part.replace("\n", " ") for part in parts)
    line = f"{seconds:5.1f}s  {who:<{_WHO}}  {what:<{_WHAT}}  {bead}  {words}"
    return cut(line, app.out.width())


def _summary(app: App, found: dict[str, Mishap]) -> list[str]:
    """Describe what went wrong, each with the commits that show it."""
    lines = ["What went wrong, and how it ended:"]
    width = min(app.out.width(), 100)
    for kind, one in found.items():
        commits = " ".join(commit[:7] for commit in one.commits)
        lines.append(f"  {KINDS[kind]}: {one.bead} {one.title}")
        lines += [f"      {line}" for line in wrap(f"{one.words}  [{commits}]", width - 6)]
    return lines


def tell(app: App, lines: list[str]) -> None:
    """Print lines of the story at once, unless --json or --quiet."""
    if not app.out.is_json and not app.out.quiet:
        app.out.lines(map(escaped, lines))
        sys.stdout.flush()


def _say(app: App, line: str) -> None:
    tell(app, [line])


def _end(app: App, demo: Demo, root_id: str, proved: dict[str, Any], found: dict[str, Mishap]) -> None:
    """Print how it ended, and what to type next."""
    if app.out.is_json:
        where = {"hub": str(demo.hub_path), "clone": str(demo.clone_path)} if demo.keep else {"hub": ""}
        app.out.object({**proved, "happened": {kind: one.as_json() for kind, one in found.items()}, **where})
    elif demo.keep and app.out.quiet:
        app.out.line(str(demo.hub_path))
    elif demo.keep:
        first, *_ = demo.next_commands(root_id)
        bd = first.split(" && ")[-1].removesuffix(" list --all")
        more = [
            first.split(" && ")[0],
            *(f"{bd} {words}" for words in (f"dag show {root_id}", "log", "dlq list", f"cost {root_id}")),
        ]
        tell(
            app,
            [
                "",
                f"The hub stays in {demo.hub_path}, the agents' clones and logs beside it. Next:",
                *(f"  {line}" for line in more),
            ],
        )
