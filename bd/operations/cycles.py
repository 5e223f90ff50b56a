"""Cycles in imported data: edges that would close one become links that block nothing.

Nothing is lost (an export writes such a link as the original edge), and nothing waits for itself. Which edge gives way depends on
the graph alone, never on the order in which it was read.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from bd.core.model import Bead, Change, Overlay
from bd.core.schema import WAITING_LINKS
from bd.policy.dag import ancestors, awaited, find_cycle, find_parent_loop

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.model import Snapshot


def untangled(beads: Mapping[str, Bead], snapshot: Snapshot) -> tuple[dict[str, Bead], list[str]]:
    """Return the beads without cycles of blocking edges and parents, and notes about what was changed."""
    kept = dict(beads)
    notes = _without_parent_loops(kept, snapshot)
    ordered: dict[str, Bead | None] = {bead_id: _ordered(bead) for bead_id, bead in kept.items()}
    after = Overlay(snapshot, Change(ordered, ""))
    while cycle := find_cycle(sorted(kept), after):
        giving_way = _giving_way(cycle, after, kept)
        if giving_way is None:
            notes.append(f"these wait for each other in the hub already: {' -> '.join(cycle)}")
            break
        owner, target = giving_way
        kept[owner], words = _unblocked(kept[owner], target)
        ordered[owner] = _ordered(kept[owner])
        notes.append(f"{owner} -> {target} ({words}): would be a circle, kept as a link: {' -> '.join(cycle)}")
    return kept, notes


def _without_parent_loops(kept: dict[str, Bead], snapshot: Snapshot) -> list[str]:
    notes: list[str] = []
    after = Overlay(snapshot, Change(kept, ""))
    for bead_id in sorted(kept):
        while loop := find_parent_loop(kept[bead_id], after):
            owner = max((kept[i] for i in loop if i in kept), key=_age)
            target = owner.parent
            assert target is not None
            details = _details(owner)
            detail = details.pop(f"parent-child:{target}" if target in owner.depends_on else target, {})
            link = {"type": "parent-child", "id": target, **detail}
            kept[owner.id] = owner.evolve(parent=None, links=_with(owner.get("links", []), link), edge_details=details)
            notes.append(f"{owner.id} -> {target} (parent-child): would be a circle, kept as a link: {' -> '.join(loop)}")
    return notes


def _ordered(bead: Bead) -> Bead:
    """Return the bead with its edges sorted, so that a search always meets them in the same order."""
    if len(bead.depends_on) + len(bead.links) < 2:
        return bead
    links = sorted(bead.get("links", []), key=lambda link: (link.get("type", ""), link.get("id", "")))
    return bead.evolve(depends_on=sorted(bead.depends_on), links=links)


def _age(bead: Bead) -> tuple[str, str]:
    return bead.created_at, bead.id


def _giving_way(cycle: list[str], after: Snapshot, kept: Mapping[str, Bead]) -> tuple[str, str] | None:
    """Return the edge of the cycle made by the youngest of the imported beads, itself or as a parent of one that waits."""
    edges: list[tuple[tuple[str, str], str, str]] = []
    for waiting, target in pairwise(cycle):
        bead = after.head(waiting)
        if bead is None:
            continue
        for owner in (bead, *ancestors(bead, after)):
            if target in awaited(owner):
                if owner.id in kept:
                    edges.append((_age(owner), owner.id, target))
                break
    return max(edges)[1:] if edges else None


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
