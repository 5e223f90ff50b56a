"""The example fleet: its agents and beads, read from examples/demo and cut to a size. hub.py puts it on a hub."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import Damaged
from bd.core.schema import AGENT_FIELDS
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

# The poll interval of the demo's agents; a fallback agent waits for two of them.
DEMO_INTERVAL = "1s"


class Example(NamedTuple):
    """Agents by name, and beads for `Create`, each named by its id, parents before their children."""

    agents: Mapping[str, Mapping[str, Any]]
    beads: list[dict[str, Any]]


def example_folder(name: str = "demo") -> Path:
    """Return the folder of an example: in the installed package, or next to it in the repository. Raises Damaged."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "examples" / name, package.parent / "examples" / name):
        if folder.is_dir():
            return folder
    raise Damaged(f"the example {name} is missing from this installation", hint="pip install --force-reinstall gitbeads")


def read_example(count: int | None = None, folder: Path | None = None) -> Example:
    """Return the example fleet with this many beads: the first in work order, or with copies if there are too few."""
    where = folder or example_folder()
    agents: dict[str, Mapping[str, Any]] = {}
    for path in sorted((where / "agents").glob("*.yaml")):
        agents[path.stem] = {**_parsed(path, AGENT_FIELDS), "interval": DEMO_INTERVAL}
    beads: list[dict[str, Any]] = []
    for path in sorted((where / "beads").glob("*.yaml")):
        try:
            beads.append(codec.parse_bead(path.read_bytes(), path.stem).fields)
        except codec.Unreadable as error:
            raise Damaged(f"{path} {error}") from None
    return Example(agents, sized(beads, len(beads) if count is None else count))


def _parsed(path: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return codec.parse(path.read_bytes(), table).fields
    except codec.Unreadable as error:
        raise Damaged(f"{path} {error}") from None


def sized(beads: Iterable[Mapping[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return `count` beads: copies of the given ones in rounds that depend only on themselves.

    The first round keeps its ids; later ones get new ids and a number in their titles. A round that is cut off loses the edges to
    its missing beads.
    """
    order = in_work_order(beads)
    chosen: list[dict[str, Any]] = []
    for number in range(1, -(-count // max(1, len(order))) + 1):
        part = order[: count - len(chosen)]
        names = {bead["id"]: bead["id"] if number == 1 else f"{bead['id']}/{number}" for bead in part}
        chosen += sorted((_copy(bead, number, names) for bead in part), key=lambda spec: "parent" in spec)
    return chosen


def _copy(bead: Mapping[str, Any], number: int, names: Mapping[str, str]) -> dict[str, Any]:
    spec = {**bead, "name": names[bead["id"]]}
    if number > 1:
        del spec["id"]
        spec["title"] = f"{bead['title']} (round {number})"
    spec["depends_on"] = [names[target] for target in bead.get("depends_on", []) if target in names]
    if bead.get("parent") in names:
        spec["parent"] = names[bead["parent"]]
    else:
        spec.pop("parent", None)
    return spec


def in_work_order(beads: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the beads with dependencies first, and the more urgent first among equals. Raises Damaged for a cycle."""
    waiting = {bead["id"]: bead for bead in beads}
    order: list[Mapping[str, Any]] = []
    while waiting:
        free = [bead for bead in waiting.values() if not any(target in waiting for target in bead.get("depends_on", []))]
        if not free:
            raise Damaged(f"the example's beads wait for each other: {', '.join(sorted(waiting))}")
        best = min(free, key=lambda bead: (bead.get("priority", 2), bead["id"]))
        order.append(best)
        del waiting[best["id"]]
    return order
