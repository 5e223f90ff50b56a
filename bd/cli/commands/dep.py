"""bd dep."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.cli.output import escaped
from bd.cli.spec import INTEGER, Argument, Command, Flag, Group, Option, one_of
from bd.compat import bead_json
from bd.core import ids
from bd.core.errors import BadInput
from bd.operations.dependencies import DepAdd, DepRemove
from bd.policy.circles import circles
from bd.policy.dag import awaited
from bd.policy.ranking import Ranking

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.core.model import Bead, Snapshot


ADD = Command(
    "add",
    Argument("bead"),
    Argument("target", required=False),
    Option("--type", "-t", name="kind", default="blocks", help="blocks (default), parent-child, related, discovered-from ..."),
    Option("--blocked-by", "--depends-on", name="other", help="The bead it waits for, as a flag."),
    help="Make a bead wait for another, its child, or linked to it. Cycles are refused.",
    examples=["bd dep add hub-b hub-a               b waits for a", "bd dep add hub-b hub-a -t related"],
)


def add(app: App, bead: str, target: str | None, kind: str, other: str | None) -> None:
    """Make a bead wait for another, its child, or linked to it. Cycles are refused."""
    target = target or other
    if not target:
        raise BadInput("which bead does it wait for?", hint="bd dep add B A")
    outcome = app.publish(DepAdd(**app.asked(ids=[bead, target], kind=kind)))
    _answer(app, outcome, "added", kind)


REMOVE = Command(
    "remove",
    Argument("bead"),
    Argument("target"),
    help="Remove the edges from one bead to another.",
    examples=["bd dep remove hub-b hub-a"],
)


def remove(app: App, bead: str, target: str) -> None:
    """Remove the edges from one bead to another."""
    _answer(app, app.publish(DepRemove(**app.asked(ids=[bead, target]))), "removed", None)


def _answer(app: App, outcome: Any, status: str, kind: str | None) -> None:
    bead_id, target_id = outcome.change.touched
    if app.out.is_json:
        shown = {"status": status, "issue_id": bead_id, "depends_on_id": target_id, "published": outcome.published}
        app.out.object({**shown, "type": kind} if kind else shown)
    else:
        app.out.said(f"✓ {status.capitalize()} dependency: {bead_id} {'waits for' if kind == 'blocks' else '->'} {target_id}")


LIST_EDGES = Command(
    "list",
    Argument("beads", many=True, required=True),
    Option("--direction", kind=one_of("down", "up"), default="down", help="What it waits for, or (up) what waits for it."),
    Option("--type", "-t", name="kind", narrows=True, help="Only this kind."),
    help="List what a bead depends on, or what depends on it.",
    examples=["bd dep list hub-b --direction up"],
)


def list_edges(app: App, beads: tuple[str, ...], direction: str, kind: str | None) -> None:
    """List what a bead depends on, or what depends on it."""
    snapshot = app.snapshot()
    names = [ids.resolve(bead, snapshot.starting, snapshot.exists) for bead in beads]
    if len(names) > 1 and direction == "down":
        raw = [edge for name in names for edge in bead_json.edges(_whole(snapshot, name)) if not kind or edge["type"] == kind]
        _show_edges(app, raw)
        return
    ranking = Ranking(snapshot, app.now)
    found: list[dict[str, Any]] = []
    for name in names:
        pairs = (
            _below(snapshot, name)
            if direction == "up"
            else [(edge["depends_on_id"], edge["type"]) for edge in bead_json.edges(_whole(snapshot, name))]
        )
        entries = (
            bead_json.linked(snapshot.bead(other), its_kind, ranking) for other, its_kind in pairs if not kind or its_kind == kind
        )
        found += [entry for entry in entries if entry]
    if app.out.is_json:
        app.out.json(found)
        return
    for entry in found:
        app.out.line(f"{entry['id']}  {entry['dependency_type']}  {entry['status']}  {escaped(entry['title'])}")
    if not found:
        app.out.line("None.")


def _whole(snapshot: Snapshot, bead_id: str) -> Bead:
    bead = snapshot.bead(bead_id)
    assert bead is not None
    return bead


def _below(snapshot: Snapshot, bead_id: str) -> list[tuple[str, str]]:
    return [
        (other.id, edge["type"])
        for other in snapshot.mentioning(bead_id)
        for edge in bead_json.edges(other)
        if edge["depends_on_id"] == bead_id
    ]


def _show_edges(app: App, raw: list[dict[str, str]]) -> None:
    if app.out.is_json:
        app.out.json(raw)
        return
    for edge in raw:
        app.out.line(f"{edge['issue_id']} {edge['type']} {edge['depends_on_id']}")


TREE = Command(
    "tree",
    Argument("bead"),
    Option("--direction", kind=one_of("down", "up"), default="down", help="What it waits for, or (up) what waits for it."),
    Option("--max-depth", "-d", kind=INTEGER, default=20, help="How deep."),
    Option("--status", narrows=True, help="Only beads of this status, below the first."),
    Flag("--reverse", hidden=True),
    Option("--format", name="form", kind=one_of("tree", "mermaid"), default="tree", help="mermaid: a diagram's text."),
    help="Draw what a bead waits for, and what that waits for.",
    examples=["bd dep tree hub-b"],
)


def tree(app: App, bead: str, direction: str, max_depth: int, status: str | None, reverse: bool, form: str) -> None:
    """Draw what a bead waits for, and what that waits for."""
    direction = "up" if reverse else direction
    snapshot = app.snapshot()
    root = ids.resolve(bead, snapshot.starting, snapshot.exists)
    ranking = Ranking(snapshot, app.now)
    nodes = [
        node for node in _nodes(ranking, root, direction, max_depth) if not node.depth or not status or node.status == status
    ]
    if app.out.is_json:
        app.out.json([node.shown for node in nodes])
        return
    if form == "mermaid":
        app.out.lines(_mermaid(nodes))
        return
    for node in nodes:
        found = snapshot.head(node.id)
        lead = "  " * node.depth
        line = app.out.bead_line(found, ranking.readiness, lead=lead) if found else f"{lead}{node.id} (does not exist)"
        app.out.line(line + node.note)


class _Node(NamedTuple):
    """A bead in the tree, and the one `above` it; a `note` says why nothing is drawn below it."""

    shown: dict[str, Any]
    depth: int
    above: str | None
    note: str

    @property
    def id(self) -> str:
        return str(self.shown["id"])

    @property
    def status(self) -> str | None:
        return self.shown.get("status")


def _mermaid(nodes: list[_Node]) -> list[str]:
    """Draw a flowchart: each bead once, with an arrow to what it waits for."""
    titles = {node.id: str(node.shown.get("title", "")).replace('"', "'") for node in nodes}
    boxes = [f'  {bead_id}["{bead_id}: {escaped(title)}"]' for bead_id, title in titles.items()]
    arrows = [f"  {node.above} --> {node.id}" for node in nodes if node.above]
    return ["flowchart TD", *boxes, *dict.fromkeys(arrows)]


def _nodes(ranking: Ranking, root: str, direction: str, limit: int) -> list[_Node]:
    """Return the tree, depth first. A bead that several others wait for has a line for each, but its own tree only once."""
    snapshot = ranking.snapshot
    places: list[tuple[str, int, str | None, str]] = []
    beads: dict[str, Bead | None] = {}
    drawn: dict[str, bool] = {}  # each with whether anything stands below it
    rest: list[tuple[str, str | None, int]] = [(root, None, 0)]
    while rest:
        bead_id, above, depth = rest.pop()
        following: list[str] = []
        if bead_id not in drawn:
            beads[bead_id] = bead = snapshot.bead(bead_id)
            if bead is not None:
                following = awaited(bead) if direction == "down" else [other.id for other in snapshot.dependents_of(bead_id)]
        note = " (above)" if drawn.get(bead_id) else " ..." if following and depth >= limit else ""
        places.append((bead_id, depth, above, note))
        if not note:
            drawn.setdefault(bead_id, bool(following))
            rest += [(target, bead_id, depth + 1) for target in reversed(following)]
    ranking.weigh(bead_id for bead_id, bead in beads.items() if bead is not None)
    entries = {bead_id: bead_json.issue(bead, ranking) if bead else {"id": bead_id} for bead_id, bead in beads.items()}
    return [
        _Node(
            {**entries[bead_id], "depth": depth, "truncated": bool(note), **({"parent_id": above} if above else {})},
            depth,
            above,
            note,
        )
        for bead_id, depth, above, note in places
    ]


CYCLES = Command(
    "cycles",
    help="Find beads that wait for each other.",
    examples=["bd dep cycles"],
)


def cycles(app: App) -> None:
    """Find beads that wait for each other."""
    found = circles(app.snapshot())
    if app.out.is_json:
        app.out.json([circle.ids for circle in found])
        return
    for circle in found:
        app.out.line(circle.words())
    if not found:
        app.out.line("No circles.")


# The Go tool's other ways to say which of two beads waits, and whether the flag names the one that waits.
_FLAG_WAITS = {"--blocks": True, "-b": True, "--blocked-by": False, "--depends-on": False}


def _blocking(words: list[str]) -> list[str]:
    """Rewrite `dep A --blocks B`, and `dep B --blocked-by A`, as `dep add B A`."""
    for place, word in enumerate(words):
        flag, equals, other = word.partition("=")
        if flag not in _FLAG_WAITS:
            continue
        behind = place + (1 if equals else 2)
        others = [*words[:place], *words[behind:]]
        bead = next((one for one in others if not one.startswith("-")), None)
        if bead is None or bead in SPEC.commands or (not equals and behind > len(words)):
            return words
        others.remove(bead)
        other = other if equals else words[place + 1]
        return ["add", *((other, bead) if _FLAG_WAITS[flag] else (bead, other)), *others]
    return words


SPEC = Group(
    "dep",
    {
        "add": (ADD, add),
        "remove": (REMOVE, remove),
        "rm": (REMOVE, remove),
        "list": (LIST_EDGES, list_edges),
        "tree": (TREE, tree),
        "cycles": (CYCLES, cycles),
    },
    help="Add, remove and show dependencies.",
    rewritten=_blocking,
)
