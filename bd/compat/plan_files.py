"""Plans: files with many beads, which `bd create --file` creates in one commit.

Supported forms: JSON lines (a bead per line), a YAML or JSON plan (a root with tasks), a list of beads, a single bead, the Go
tool's graphs (nodes and edges), and the examples of the source papers as printed (`task:`, `dag:`). Ids in those examples that
are not valid (`task_01J8K1...`) are placeholders: they are kept as metadata, and the notes mention it.
"""

from __future__ import annotations

from difflib import get_close_matches

from bd import TYPE_CHECKING
from bd.compat.documents import Entry, entries_of, first_choice, is_null
from bd.compat.jsonl_import import bytes_of
from bd.compat.plan_beads import Misplaced, Place, Spec, edge_kind, read_spec, refuse_unusable
from bd.core.errors import BadInput
from bd.core.model import Bead
from bd.core.schema import WAITING_LINKS
from bd.operations.field_values import check_status, checked
from bd.policy.circles import new_circle
from bd.policy.dag_progress import children_by_parent
from bd.store.empty_snapshot import EMPTY, EmptySnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from bd.core.operation import DecisionContext

_LIST_KEYS = ("nodes", "tasks", "beads", "issues")
_ID = frozenset({"id"})
_PLAN_KEYS = frozenset({*_LIST_KEYS, "edges", "commit_message", "id"})
_ENDS = {"from": ("from", "from_key", "from_id", "source"), "to": ("to", "to_key", "to_id", "target")}
_OF_DAG = ("tasks", "roots", "leaves")


def read_plan(source: str, context: DecisionContext | None = None) -> list[dict[str, Any]]:
    """Read the beads of a plan file (`-`: stdin) for Create, in such an order that beads come before those that refer to them.

    Raises NotFound, or BadInput with the line or entry: for invalid YAML or JSON, an unknown field, or a name that is not in the
    plan.
    """
    shown = "stdin" if source == "-" else source
    specs = read_specs(bytes_of(source), shown, context)
    refuse_gathering(specs, shown)
    return [spec.value() for spec in specs]


def refuse_gathering(specs: Iterable[Spec], shown: str) -> None:
    """Refuse a DAG of beads that exist, where a file can only make new ones. Raises BadInput."""
    gathering = next((spec for spec in specs if spec.gathers), None)
    if gathering is not None:
        words = f"{shown}: {gathering.words} gathers beads that exist: {', '.join(gathering.gathers)}"
        raise BadInput(words, hint="`bd plan apply FILE` makes it, and makes them its parts")


def read_specs(data: bytes, shown: str, context: DecisionContext | None = None) -> list[Spec]:
    """Read the beads of a plan's text, parents before their children, and check every name in them.

    With a `context`, also check the values that depend on the hub or the clock. Raises BadInput and WouldCycle.
    """
    specs: list[Spec] = []
    try:
        for entry in entries_of(data, shown):
            specs += _specs_of(entry)
        if not specs:
            raise BadInput(f"{shown} contains no beads", hint="nothing was made")
        if context is not None:
            _check_values(specs, context)
        _resolve(specs)
        _refuse_circles(specs)
    except Misplaced as error:
        raise error.told(data, shown) from None
    return _parents_first(specs)


def _check_values(specs: list[Spec], context: DecisionContext) -> None:
    """Refuse values that are invalid in this hub, such as an unknown type or an invalid time."""
    for spec in specs:
        for key, value in spec.fields.items():
            try:
                checked({key: value}, context)
                if key == "status":
                    check_status(str(value), context)
                refuse_unusable(key, value)
            except BadInput as error:
                raise spec.wrong(error.message, hint=error.hint, word=key) from None


def _parents_first(specs: list[Spec]) -> list[Spec]:
    """Return the beads in their order, except that parents come before their children."""
    by_name = {spec.name: spec for spec in specs if spec.name}
    placed: dict[int, Spec] = {}
    for spec in specs:
        way = [spec]
        while (parent := by_name.get(way[-1].parent or "")) is not None and id(parent) not in placed:
            way.append(parent)
        placed.update((id(one), one) for one in reversed(way) if id(one) not in placed)
    return list(placed.values())


# --- shapes -------------------------------------------------------------------------------


def _specs_of(entry: Entry) -> list[Spec]:
    where, root = Place(entry.where), entry.value
    if isinstance(root, list):
        return [spec for number, item in enumerate(root) for spec in _one(item, where.inside(f"entry {number + 1}", number))]
    if not isinstance(root, dict):
        raise BadInput(f"{where.words or 'the file'}: a plan is a mapping or a list", hint="docs/format.md, A plan file")
    if isinstance(root.get("agent"), dict) and "title" not in root:
        raise BadInput(
            f"{where.words or 'the file'} describes an agent, not beads",
            hint="`bd import FILE` makes of it .beads/agents/NAME.yaml",
        )
    if isinstance(root.get("dag"), dict) and "title" not in root:
        return _dag({**root["dag"], **{key: value for key, value in root.items() if key == "tasks"}}, where.inside("dag", "dag"))
    return _one(root, where)


def _one(raw: Any, where: Place) -> list[Spec]:
    """Return the beads of one entry: a bead, a bead with tasks, or the lists of a graph."""
    if isinstance(raw, dict) and isinstance(raw.get("task"), dict) and "title" not in raw:
        return [_paper_task(raw["task"], where)]
    lists = [key for key in _LIST_KEYS if isinstance(raw, dict) and isinstance(raw.get(key), list)]
    has_root = not lists or bool(set(raw) - _PLAN_KEYS | _ID & set(raw))
    specs: list[Spec] = []
    if has_root:
        place = where if where.words else Place("the plan" if lists else "the bead")
        root = read_spec(raw, place, without=(_PLAN_KEYS if lists else _ID))
        _take_id(root, raw)
        specs.append(root)
    for key in lists:
        for number, item in enumerate(raw[key]):
            specs += _one(item, where.inside(f"{key}[{number + 1}]", key, number))
    if has_root and lists:
        root.fields.setdefault("type", "epic")
        root.name = root.name or _free_name(specs)
        root.tasks = specs[1:]
        for spec in root.tasks:
            spec.parent = spec.parent or root.name
    if lists:
        _edges(raw.get("edges"), specs)
    return specs


def _take_id(spec: Spec, raw: dict[str, Any]) -> None:
    """Use an `id` as the bead's name in the plan; if it has the form of a bead's id, also as its id."""
    given = raw.get("id")
    if given is None or is_null(given):
        return
    text = str(given).strip()
    if _is_placeholder(text):
        spec.metadata["id"] = text
    elif "-" in text and "key" not in raw:
        spec.fields["id"] = text
    spec.name = spec.name or text


def _free_name(specs: list[Spec]) -> str:
    taken = {spec.name for spec in specs}
    return next(name for name in ("root", "plan", *(f"root-{n}" for n in range(2, len(specs) + 3))) if name not in taken)


def _edges(raw: Any, specs: list[Spec]) -> None:
    """Add the edges that a graph lists separately from its nodes: `from` waits for `to`, or is linked to it."""
    by_name = {spec.name: spec for spec in specs if spec.name}
    for number, edge in enumerate(raw if isinstance(raw, list) else [], start=1):
        where = Place(f"edges[{number}]", ("edges", number - 1))
        if not isinstance(edge, dict):
            raise Misplaced(f"{where.words}: an edge is a mapping with from and to", where)
        ends = {side: next((str(edge[key]).strip() for key in keys if key in edge), "") for side, keys in _ENDS.items()}
        if not ends["from"] or not ends["to"]:
            raise Misplaced(f"{where.words}: an edge needs from and to", where, hint="{from: write, to: research}")
        kind = edge_kind(str(edge.get("type") or ""))
        kind = "" if kind == "blocks" else kind
        waiting = by_name.get(ends["from"])
        if waiting is not None and kind in ("parent-child", "parent"):
            waiting.parent = ends["to"]
        elif waiting is not None:
            waiting.edges.append((kind, ends["to"]))
        elif not kind and ends["to"] in by_name and _looks_like_id(ends["from"]):
            by_name[ends["to"]].edges.append(("blocks", ends["from"]))
        else:
            words = f"{where.words}: {ends['from']!r} is not a name in this plan"
            raise Misplaced(words, where, ends["from"], hint=_close(ends["from"], by_name))


# --- the forms of the source papers -------------------------------------------------------


def _is_placeholder(text: str) -> bool:
    return "..." in text or "…" in text


def _paper_task(raw: dict[str, Any], where: Place) -> Spec:
    """Return the bead of a `task:` as printed in the papers; its DAG is the tree above it."""
    spec = read_spec(raw, where.inside("task", "task"), without=frozenset({"id", "dag_id"}))
    spec.is_excerpt = True
    _take_id(spec, raw)
    spec.dag_id = "" if is_null(raw.get("dag_id")) else str(raw["dag_id"]).strip()
    return spec


def _join(spec: Spec, dag_id: str, names: Mapping[str, str]) -> None:
    """Put a task below its DAG: one of this plan, or a bead's id. Any other DAG is its own here, and metadata names it."""
    if dag_id in names or (_looks_like_id(dag_id) and not _is_placeholder(dag_id)):
        spec.parent = dag_id
    else:
        spec.metadata["dag_id"] = dag_id


def _dag(raw: dict[str, Any], where: Place) -> list[Spec]:
    """Return the tree of a `dag:`: its root, and its tasks if they are included."""
    tasks = raw["tasks"] if isinstance(raw.get("tasks"), list) else []
    written_out = [task if "task" in task else {"task": task} for task in tasks if isinstance(task, dict)]
    plan = {key: value for key, value in raw.items() if key not in _OF_DAG}
    # The root of a running DAG stays open until somebody closes it.
    if str(first_choice(raw.get("status"))) in ("running", "failed"):
        plan["status"] = "open"
    specs = _one({**plan, "tasks": written_out}, where)
    if not specs:
        raise BadInput(f"{where.words}: a bead needs a title", hint="docs/format.md, A plan file")
    root = specs[0]
    root.is_excerpt = True
    for spec in specs[1:]:
        if spec.parent in (str(raw.get("id")), None):
            spec.parent = root.name
    made = {spec.name for spec in specs}
    root.gathers = [one for one in _ids(raw.get("tasks")) if not _is_placeholder(one) and one not in made]
    for key in () if written_out else _OF_DAG:  # roots and leaves follow from the tasks, where these are known
        unknown = [one for one in _ids(raw.get(key)) if _is_placeholder(one) and one != "..."]
        if unknown:
            root.metadata[key] = unknown
    return specs


def _ids(given: Any) -> list[str]:
    """The ids in a list of a DAG; what is no list, or no id, names none."""
    entries = given if isinstance(given, list) else []
    return [str(one).strip() for one in entries if not isinstance(one, (dict, list)) and not is_null(one)]


def _say_placeholders(spec: Spec) -> None:
    named = ((key, spec.metadata.get(key)) for key in ("id", "dag_id", "parent_id", "depends_on", *_OF_DAG))
    there = [key for key, value in named if value and any(map(_is_placeholder, value if isinstance(value, list) else [value]))]
    if there:
        words = f"The source names its {', '.join(there)} by placeholders; metadata keeps them."
        notes = spec.fields.get("notes")
        spec.fields["notes"] = f"{notes}\n{words}" if notes else words


# --- names --------------------------------------------------------------------------------


def _looks_like_id(text: str) -> bool:
    return "-" in text or "." in text


def _resolve(specs: list[Spec]) -> None:
    """Check every name, and reverse `blocks:NAME`, so that the later bead has the dependency.

    A placeholder in an excerpt that refers to nothing here becomes metadata.
    """
    names, by_name = _names(specs)
    for spec in specs:
        if spec.parent and spec.is_excerpt and spec.parent not in names and _is_placeholder(spec.parent):
            spec.metadata["parent_id"], spec.parent = spec.parent, None
        if spec.dag_id and not spec.parent:
            _join(spec, spec.dag_id, names)
        if spec.parent:
            spec.parent = _known(spec, spec.parent, "parent", names)
        edges, spec.edges = spec.edges, []
        for kind, target in edges:
            if spec.is_excerpt and target not in names and _is_placeholder(target):
                spec.metadata.setdefault("depends_on", []).append(target)
                continue
            found = _known(spec, target, "depends_on", names)
            if kind == "blocks" and found in by_name:
                spec.name = spec.name or next(n for n in map("bead-{}".format, range(len(specs) + 1)) if n not in names)
                names[spec.name] = spec.name
                by_name[found].edges.append(("", spec.name))
            elif kind in ("parent-child", "parent"):
                spec.parent = spec.parent or found
            else:
                spec.edges.append((kind, found))
        if spec.is_excerpt and spec.parent in waits_of(spec):
            # There a parent is what a task was spawned from, and may end before it; here it closes after its children.
            above = by_name.get(spec.parent or "")
            spec.metadata["parent_id"], spec.parent = spec.parent, above.parent if above else None
        if spec.is_excerpt:
            _say_placeholders(spec)


class _Named(EmptySnapshot):
    """A snapshot of a plan's beads by name, with only their edges."""

    def __init__(self, beads: Iterable[Bead]) -> None:
        self._beads = {bead.id: bead for bead in beads}
        self._children = children_by_parent(self)

    def head(self, bead_id: str) -> Bead | None:
        return self._beads.get(bead_id)

    def every(self) -> Iterator[Bead]:
        return iter(self._beads.values())

    def children_of(self, bead_id: str) -> list[Bead]:
        return self._children.get(bead_id, [])


def _refuse_circles(specs: list[Spec]) -> None:
    """Refuse beads of the plan that wait for each other, also through their parents: they could never start."""
    named = {spec.name or f"\n{place}": spec for place, spec in enumerate(specs)}
    planned = _Named(
        Bead(
            {
                "id": name,
                "parent": spec.parent,
                "depends_on": waits_of(spec),
                "links": [{"type": kind, "id": target} for kind, target in spec.edges if kind],
            }
        )
        for name, spec in named.items()
    )
    circle = new_circle(EMPTY, planned, named)
    if circle:
        spec = named[circle.ids[0]]
        words = f"{spec.words}: these would wait for each other: {circle.words()}"
        raise Misplaced(words, spec.place, circle.ids[1], hint="one of them has to go first", circle=circle.ids)


def waits_of(spec: Spec) -> list[str]:
    """Return the names and ids that a bead of a plan waits for."""
    return [target for kind, target in spec.edges if not kind or kind in WAITING_LINKS]


def _names(specs: list[Spec]) -> tuple[dict[str, str], dict[str, Spec]]:
    """Return all words that can refer to each bead of the plan: its name, and its future id."""
    names: dict[str, str] = {}
    by_name: dict[str, Spec] = {}
    for spec in specs:
        if spec.name is None:
            continue
        if spec.name in by_name:
            raise spec.wrong("another bead of the plan has this name", word=spec.name)
        if ":" in spec.name:
            raise spec.wrong("a name has no colon in it", word=spec.name)
        by_name[spec.name] = spec
        names[spec.name] = spec.name
    for spec in specs:
        if spec.name and spec.fields.get("id"):
            names.setdefault(spec.fields["id"], spec.name)
    return names, by_name


def _known(spec: Spec, target: str, what: str, names: dict[str, str]) -> str:
    if target in names:
        return names[target]
    if not _looks_like_id(target):
        raise spec.wrong(
            f"{what}: {target!r} is neither a name in this plan nor a bead's id", hint=_close(target, names), word=target
        )
    return target


def _close(word: str, names: Any) -> str:
    close = get_close_matches(word, list(names), n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else "a bead outside the plan is named by its whole id, such as hub-7k3q"
