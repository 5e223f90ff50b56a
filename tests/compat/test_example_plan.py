"""The plan in examples/: applied as it stands, and worked through to its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.truth import all_beads

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

PLAN = Path(__file__).parents[2] / "examples" / "plans" / "landing-page.yaml"


def test_the_landing_page(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    alice.here("agent", "add", "coder", "--max", "9", "--capability", "git")
    made = alice.here("plan", "apply", str(PLAN), "--json").json
    ids = made["ids"]
    names = {bead_id: name for name, bead_id in ids.items()}
    beads = {names[bead.id]: bead for bead in all_beads(hub)}
    assert beads["test"].get("spec")["context_refs"] == [f"task:{ids['synthesize']}:output", f"task:{ids['implement']}:output"]
    order: list[set[str]] = []
    while True:
        ready = [row["id"] for row in alice.here("ready", "--json", "--agent", "coder").json]
        if not ready:
            break
        order.append({names[bead_id] for bead_id in ready})
        for bead_id in ready:
            alice.here("claim", bead_id, "--agent", "coder")
            alice.here("close", bead_id, "--agent", "coder", "--output", "-", input=f"what came of {names[bead_id]}")
    assert order == [{"research", "design", "implement"}, {"synthesize"}, {"test"}, {"deploy"}]
    assert [row["id"] for row in alice.here("ready", "--json").json] == [made["root"]], "which is no work of an agent"
    assert alice.here("dag", "show", made["root"], "--json").json["status"] == "completed"
    context = alice.here("context", ids["synthesize"], "--json").json["context"]
    assert [one["data"] for one in context] == ["what came of research", "what came of design"]
    text = alice.here("plan", "export", made["root"]).out
    assert "task:synthesize-the-requirements:output" in text
