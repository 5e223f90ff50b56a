"""The factory demo: the example fleet works through a plan with one problem of each kind, and a person helps when needed.

This module runs the agents until the plan's root is closed, and runs what the person types. person.py knows when the person
helps; the plan, the pretended work and the person's input are in examples/factory; report/audit/incidents.py tells the story from
the history.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from bd import TYPE_CHECKING
from bd.core.errors import Damaged
from bd.demo.example import DEMO_INTERVAL, example_folder
from bd.demo.person import Person
from bd.demo.processes import typed
from bd.demo.watch import Watch
from bd.operations.base import asked
from bd.operations.plan import ApplyPlan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.core.model import Snapshot
    from bd.demo.person import Deed
    from bd.demo.watch import Story
    from bd.store import Clone


def plan_path() -> Path:
    """Return the path of the demo's plan."""
    return example_folder("factory") / "landing-page.yaml"


def apply_plan(hub: Clone, beads: list[dict[str, Any]], by: str) -> str:
    """Put the plan on the hub in one commit; return the id of its root."""
    change = hub.publish(ApplyPlan(**asked(hub.runtime, by, beads=beads))).change
    assert change is not None
    return str(change.result[beads[0]["name"]])


class Factory(Watch):
    """The agents, each a `bd work`, and the person in the reader's clone."""

    def __init__(self, clones: Mapping[str, Path], log_folder: Path) -> None:
        pretend = [sys.executable, str(example_folder("factory") / "pretend.py")]
        work = [sys.executable, "-m", "bd", "work", "--interval", DEMO_INTERVAL, "--agent"]
        super().__init__(clones, {name: [*work, name, "--", *pretend] for name in clones}, log_folder)
        self._person = Person()

    def on_moved(self, hub: Clone, snapshot: Snapshot, root_id: str, story: Story, at_s: float) -> bool:
        """Do what the person does, unless the root is closed."""
        root = snapshot.bead(root_id)
        if root is None or root.is_done:
            return True
        for deed in self._person.deeds(snapshot, root_id, list(self._clones), hub.runtime.now()):
            self._do(deed, hub, story, at_s)
        return False

    def _do(self, deed: Deed, hub: Clone, story: Story, at_s: float) -> None:
        """Run the person's real commands."""
        story.say(f"$ bd {shlex.join(deed.words)}", at_s)
        folder = hub.repo.work_tree or ""
        ended = typed(folder, *deed.words)
        if deed.note_on:
            refused = ended.stderr.partition("\n")[0].removeprefix("Error: ")
            story.say(refused, at_s)
            ended = typed(folder, "comment", deed.note_on, f"refused: {refused}")
        if ended.returncode:
            raise Damaged(f"bd {shlex.join(deed.words)} ended with exit {ended.returncode}: {ended.stderr.strip()}")
