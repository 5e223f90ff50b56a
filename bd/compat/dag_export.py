"""Exports of a DAG: JSON, a Mermaid flowchart, or a Graphviz graph."""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.compat import bead_json
from bd.policy.budget import left_under
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.policy.dag_progress import Dag, Shape

_COLOURS = {
    "ready": "#d7f5d7",
    "retrying": "#fff3c4",
    "claimed": "#d6e6ff",
    "running": "#d6e6ff",
    "validating": "#d6e6ff",
    "parked": "#f0d9f5",
    "dead_lettered": "#f9d0d0",
    "completed": "#e8e8e8",
    "cancelled": "#e8e8e8",
}
_PLAIN = "#ffffff"
_LABEL_LIMIT = 60


def spent_usd(beads: list[Bead]) -> float:
    """Return what the beads have cost so far."""
    return float(sum((bead.get("cost") or {}).get("usd") or 0 for bead in beads))


def summary(dag: Dag) -> dict[str, Any]:
    """Return the summary of a DAG, as in `dag list`."""
    counts: dict[str, int] = {}
    for task in dag.tasks:
        counts[dag.phases[task.id]] = counts.get(dag.phases[task.id], 0) + 1
    shown: dict[str, Any] = {"id": dag.root.id, "title": dag.root.title, "status": dag.status}
    return {**shown, "done": dag.done, "total": len(dag.tasks), "phases": counts}


def as_json(dag: Dag, shape: Shape, snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    """Return the whole DAG with all its beads."""
    wholes = snapshot.wholes([dag.root.id, *(member.bead.id for member in dag.members)])
    ranking = Ranking(snapshot, now)
    ceiling = wholes[0].get("budget_ceiling_usd")
    return {
        **summary(dag),
        "roots": shape.roots,
        "leaves": shape.leaves,
        "critical_path": shape.critical,
        "critical_path_s": shape.critical_s,
        "cost_usd": spent_usd(wholes),
        **({"budget_ceiling_usd": ceiling, "left_usd": left_under(wholes[0], snapshot, now)} if ceiling is not None else {}),
        "edges": [{"from": task, "to": target} for task, targets in shape.edges.items() for target in targets],
        "beads": [bead_json.issue(bead, ranking) for bead in wholes],
    }


def _drawn(dag: Dag, shape: Shape) -> tuple[list[Bead], list[tuple[str, str]]]:
    """Return the nodes and edges of a drawing: the root and its tasks, with edges from each bead to those that wait for it."""
    beads = [dag.root, *(member.bead for member in dag.members)]
    edges = [(target, task) for task, targets in shape.edges.items() for target in targets]
    ends = [one for one in shape.leaves if one != dag.root.id]
    return beads, [*edges, *((leaf, dag.root.id) for leaf in ends)]


def mermaid(dag: Dag, shape: Shape) -> str:
    """Return a Mermaid flowchart; the critical path has thick borders."""
    beads, edges = _drawn(dag, shape)
    numbers = {bead.id: f"n{place}" for place, bead in enumerate(beads)}
    lines = ["flowchart TD"]
    lines += [f'  {numbers[bead.id]}["{_mermaid_text(bead.id)}<br/>{_mermaid_text(bead.title)}"]' for bead in beads]
    lines += [f"  {numbers[first]} --> {numbers[then]}" for first, then in edges]
    for bead in beads:
        style = f"fill:{_COLOURS.get(dag.phases[bead.id], _PLAIN)},stroke:#444,color:#111"
        lines.append(f"  style {numbers[bead.id]} {style}{',stroke-width:3px' if bead.id in shape.critical else ''}")
    return "\n".join(lines)


def _mermaid_text(text: str) -> str:
    """Escape a text for Mermaid: special characters as numeric codes."""
    return re.sub(r"[^\w \-.,/()]", lambda match: f"#{ord(match.group())};", _cut(text))


def dot(dag: Dag, shape: Shape) -> str:
    """Return a Graphviz graph."""
    beads, edges = _drawn(dag, shape)
    lines = ["digraph {", "  node [shape=box, style=filled, fontname=sans];"]
    for bead in beads:
        given: Mapping[str, str] = {
            "label": f"{bead.id}\n{_cut(bead.title)}",
            "fillcolor": _COLOURS.get(dag.phases[bead.id], _PLAIN),
            "penwidth": "3" if bead.id in shape.critical else "1",
        }
        lines.append(f"  {_dot_text(bead.id)} [{', '.join(f'{key}={_dot_text(value)}' for key, value in given.items())}];")
    lines += [f"  {_dot_text(first)} -> {_dot_text(then)};" for first, then in edges]
    return "\n".join([*lines, "}"])


def _dot_text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LABEL_LIMIT else line[: _LABEL_LIMIT - 1] + "…"
