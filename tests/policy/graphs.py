"""Graphs of beads, written as rows."""

from __future__ import annotations

from tests.memory import MemorySnapshot, make_bead


def graph(*rows: str) -> MemorySnapshot:
    """Beads from rows: `a` alone, `a -> b c` waits, `a ^ p` a parent, `a * p` one that spawned it, `a ~ b` a waiting link.

    Rows may be joined by `;`.
    """
    fields: dict[str, dict[str, object]] = {}
    for row in rows:
        for part in row.split(";"):
            words = part.split()
            bead = fields.setdefault(words[0], {})
            for name in words[2:]:
                fields.setdefault(name, {})
            if "->" in words:
                bead["depends_on"] = words[2:]
            elif "^" in words:
                bead["parent"] = words[2]
            elif "*" in words:
                bead.update(parent=words[2], links=[{"type": "discovered-from", "id": words[2]}])
            elif "~" in words:
                bead["links"] = [{"type": "waits-for", "id": words[2]}]
    return MemorySnapshot([make_bead(name, **given) for name, given in fields.items()])
