"""Circles in imported data, which messages call cycles: edges that would close one become links that block nothing.

Nothing is lost (an export writes such a link as the original edge), and nothing waits for itself. Which edge gives way depends on
the graph alone, never on the order in which it was read.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.model import Bead, Change, Overlay
from bd.core.queries import made_of
from bd.core.schema import WAITING_LINKS
from bd.policy.circles import WAITS_FOR, Order, Step, shortest_circle
from bd.policy.dag import awaited, parent_loops
from bd.policy.dag_progress import children_by_parent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from bd.core.model import Snapshot


# So many of the circles are shown: finding the shortest takes as long as finding that there is one.
_SHOWN = 100


def untangled(beads: Mapping[str, Bead], snapshot: Snapshot) -> tuple[dict[str, Bead], list[str]]:
    """Return the beads without circles, and notes about what was changed.

    Of the beads that go round together the youngest gives way, and waits for none of the others; then again, until none do.
    What a bead waits for in its own tree gives way last: most often it closes after that anyhow.
    """
    kept = dict(beads)
    notes = _without_parent_loops(kept, snapshot)
    after = Overlay(snapshot, Change(kept, ""))
    order = Order(after, children_by_parent(after))
    searches: list[tuple[list[Step], set[Step] | None]] = [([Step(bead_id, True) for bead_id in sorted(kept)], None)]
    while searches:
        starts, within = searches.pop()
        for knot in [*order.knots(starts, within)]:
            inside = set(knot)
            ours = [step for step in knot if step.id in kept and _waits(step, inside, order)]
            owner = max(ours, key=lambda step: (not step.is_close, _age(kept[step.id])), default=None)
            if owner is None:
                notes.append(f"these wait for each other in the hub already: {' -> '.join(shortest_circle(order, knot).ids)}")
                continue
            for target in _waits(owner, inside, order):
                circle = shortest_circle(order, knot, (owner, target)).ids if len(notes) < _SHOWN else []
                while target.id in awaited(kept[owner.id]):
                    kept[owner.id], words = _unblocked(kept[owner.id], target.id)
                    told = f"{owner.id} -> {target.id} ({words}): would be a cycle, kept as a link"
                    notes.append(f"{told}: {' -> '.join(circle)}" if circle else told)
            order.forget(owner.id)
            searches.append((knot, inside))
    return kept, notes


def _waits(step: Step, inside: Collection[Step], order: Order) -> list[Step]:
    """Return the steps of a knot that one of them waits for, by dependencies and links."""
    return sorted(target for target, edge in order.before(step).items() if edge == WAITS_FOR and target in inside)


def _without_parent_loops(kept: dict[str, Bead], snapshot: Snapshot) -> list[str]:
    notes: list[str] = []
    for loop in [*parent_loops(sorted(kept), Overlay(snapshot, Change(kept, "")))]:
        ours = [kept[bead_id] for bead_id in loop if bead_id in kept]
        if not ours:
            continue
        owner = max(ours, key=_age)
        target = owner.parent
        assert target is not None
        details = _details(owner)
        detail = details.pop(f"parent-child:{target}" if target in owner.depends_on else target, {})
        link = {"type": "parent-child", "id": target, **detail}
        kept[owner.id] = owner.evolve(parent=None, links=_with(owner.get("links", []), link), edge_details=details)
        notes.append(f"{owner.id} -> {target} (parent-child): would be a cycle, kept as a link: {' -> '.join(loop)}")
    return notes


def _age(bead: Bead) -> tuple[str, str]:
    return made_of(bead.fields), bead.id


def _unblocked(bead: Bead, target: str) -> tuple[Bead, str]:
    """Return the bead no longer waiting for the target, with the edge kept as a link, and the edge's kind."""
    details = _details(bead)
    links = list(bead.get("links", []))
    if target in bead.depends_on:
        links = _with(links, {"type": "blocks", "id": target, **details.pop(target, {})})
        if f"parent-child:{target}" in details:
            details[target] = details.pop(f"parent-child:{target}")
        others = [other for other in bead.depends_on if other != target]
        return bead.evolve(depends_on=others, links=links, edge_details=details), "blocks"
    place = next(i for i, link in enumerate(links) if link.get("id") == target and link.get("type") in WAITING_LINKS)
    kind = links[place]["type"]
    links[place] = {**links[place], "type": "related"}
    details[target] = {**details.get(target, {}), "type": kind}
    return bead.evolve(links=links, edge_details=details), kind


def _with(links: list[dict[str, Any]], link: dict[str, Any]) -> list[dict[str, Any]]:
    """Add a link unless it is there."""
    pair = (link["type"], link["id"])
    return links if any((known.get("type"), known.get("id")) == pair for known in links) else [*links, link]


def _details(bead: Bead) -> dict[str, Any]:
    return dict(bead.get("edge_details", {}))
