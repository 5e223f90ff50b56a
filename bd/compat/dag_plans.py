"""A whole DAG as one plan: reads a plan file for `bd plan apply`, and makes the plan file of an existing DAG.

This module handles the root, the names, and which tasks their parents wait for. plan_files.py reads the forms of plan files,
plan_beads.py single beads in them.
"""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.compat.jsonl_import import bytes_of
from bd.compat.plan_files import read_specs, waits_of
from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS, WAITING_LINKS
from bd.operations.create import with_refs
from bd.policy.dag import awaited
from bd.policy.dag_progress import below, children_by_parent
from bd.store.yaml import editor

if TYPE_CHECKING:
    from typing import Any

    from bd.compat.plan_beads import Spec
    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext

# The fields that define a bead; all others record what has happened to it.
_PLANNED = (
    *("title", "type", "priority", "base_priority", "priority_boost_per_minute", "deadline", "labels", "needs", "expected"),
    *("exclusive", "description", "design", "acceptance_criteria", "notes", "spec", "claim_mode", "max_attempts", "retry"),
    *("budget_ceiling_usd", "external_ref", "metadata", "estimated_minutes"),
)
_YIELDED = frozenset({"data", "artifacts"})
_ORDER = ("name", *(key for key in BEAD_FIELDS if key not in ("depends_on", "parent", "links")), "parent", "depends_on", "links")
_NAME_LIMIT = 40


def read_graph(source: str, context: DecisionContext | None = None) -> list[dict[str, Any]]:
    """Read the beads of a plan file (`-`: stdin) for `ApplyPlan`: the root first, and each with a name.

    Raises NotFound, or BadInput or WouldCycle with the line.
    """
    return graph_of(bytes_of(source), "stdin" if source == "-" else source, context)


def read_new(source: str) -> list[dict[str, Any]]:
    """Do the same for a plan that is applied again and again, so it can gather no existing beads. Raises BadInput."""
    beads = read_graph(source)
    if beads[0].get("gathers"):
        raise BadInput(
            f"{source} gathers beads that exist: {', '.join(beads[0]['gathers'])}", hint="`bd plan apply FILE` does it once"
        )
    return beads


def graph_of(data: bytes, shown: str, context: DecisionContext | None = None) -> list[dict[str, Any]]:
    """Read the beads of a plan whose text was read already; error messages call it `shown`."""
    specs = read_specs(data, shown, context)
    root, *tasks = specs
    stray = next((task for task in tasks if task not in root.tasks), None)
    if stray is not None:
        words = f"{shown}: a plan has one root, and {stray.words} is not below it"
        raise BadInput(words, hint="title: THE GOAL, and tasks: below it; `bd create --file` makes beads without a root")
    names = {spec.name for spec in specs}
    for place, spec in enumerate(specs):
        spec.name = spec.name or next(
            name for name in (f"task-{n}" for n in range(place, 2 * len(specs) + 1)) if name not in names
        )
        names.add(spec.name)
    for spec in reversed(specs):
        _wait_for_tasks(spec)
    return [spec.value() for spec in specs]


def _wait_for_tasks(spec: Spec) -> None:
    """Make a parent wait for its last tasks: those that none of its other tasks waits for."""
    waited_for = {target for task in spec.tasks for target in waits_of(task)}
    there = set(waits_of(spec))
    spec.edges += [("", task.name) for task in spec.tasks if task.name and task.name not in waited_for | there]


# --- from a DAG to a plan ------------------------------------------------------------------


def plan_of(root: Bead, snapshot: Snapshot) -> dict[str, Any]:
    """Return a plan that recreates this DAG: its beads as planned, without their progress."""
    members = below(root, children_by_parent(snapshot))
    beads = snapshot.wholes([root.id, *(member.bead.id for member in members)])
    names = _names(beads)
    inner = {target for bead in beads[1:] for target in awaited(bead)}
    root_waits = [one for one in root.depends_on if one not in names or one in inner]
    tasks = [_planned(bead, names, root, bead.depends_on) for bead in beads[1:]]
    plan = {key: value for key, value in _planned(beads[0], names, root, root_waits).items() if key != "name"}
    return {**plan, **({"tasks": tasks} if tasks else {})}


def plan_text(plan: dict[str, Any]) -> str:
    """Return a plan as YAML."""
    return editor.document(plan, _ORDER)


def _planned(bead: Bead, names: dict[str, str], root: Bead, waits: list[str]) -> dict[str, Any]:
    """Return a bead as in a plan. References to beads of the plan are by name, all others by id."""
    fields: dict[str, Any] = {"name": names[bead.id]}
    fields.update(with_refs({key: bead.get(key) for key in _PLANNED if bead.get(key) is not None}, names))
    output = {key: value for key, value in (bead.get("output") or {}).items() if key not in _YIELDED}
    routed = (bead.get("claim") or {}).get("routed") if bead.claim else bead.get("routed") if bead.is_done else bead.assignee
    links = [
        {"type": link.type, "id": names.get(link.id, link.id)}
        for link in bead.links
        if link.type in WAITING_LINKS or link.type != "discovered-from"
    ]
    fields.update({"output": output} if output else {})
    fields.update({"assignee": routed} if routed else {})
    if bead.parent and bead.parent != root.id and bead.id != root.id:
        fields["parent"] = names.get(bead.parent, bead.parent)
    fields.update({"depends_on": [names.get(one, one) for one in waits]} if waits else {})
    fields.update({"links": links} if links else {})
    return {key: fields[key] for key in _ORDER if key in fields}


def _names(beads: list[Bead]) -> dict[str, str]:
    """Return a unique name for each bead: its name in the original plan, or else words of its title."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for bead in beads:
        key = (bead.get("idempotency_key") or "").rpartition("/")[2] if bead.parent else ""
        wanted = re.sub(r"[^\w]+", "-", (key or bead.title).casefold()).strip("-")[:_NAME_LIMIT].strip("-") or "task"
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}-{number}"
        taken.add(name)
        names[bead.id] = name
    return names
