"""The factory demo: the example fleet works through a plan with one problem of each kind, and a person helps when needed.

This module runs the agents, watches until the plan's root is closed, and runs what the person types. person.py knows when the
person helps; the plan, the pretended work and the person's input are in examples/factory; report/audit/incidents.py tells the
story from the history.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import Damaged
from bd.demo.example import DEMO_INTERVAL, example_folder
from bd.demo.person import Person
from bd.demo.processes import Runners, typed
from bd.operations.base import asked
from bd.operations.plan import ApplyPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.demo.person import Deed
    from bd.store import Clone

LOOK_S = 0.1
# After this long without a commit something is wrong that waiting won't fix.
STILL_LIMIT_S = 90.0


def plan_path() -> Path:
    """Return the path of the demo's plan."""
    return example_folder("factory") / "landing-page.yaml"


def apply_plan(hub: Clone, beads: list[dict[str, Any]], by: str) -> str:
    """Put the plan on the hub in one commit; return the id of its root."""
    change = hub.publish(ApplyPlan(**asked(hub.runtime, by, beads=beads))).change
    assert change is not None
    return str(change.result[beads[0]["name"]])


class Story(NamedTuple):
    """The listeners: `on_moved(old tip, new tip, seconds)` for the hub, and `say(text, seconds)` for what the person does."""

    on_moved: Callable[[str, str, float], None]
    say: Callable[[str, float], None]


class Factory(Runners):
    """The agents, each a `bd work`, and the person in the reader's clone."""

    end_with_stdin = False

    def __init__(self, clones: Mapping[str, Path], log_folder: Path) -> None:
        pretend = [sys.executable, str(example_folder("factory") / "pretend.py")]
        work = [sys.executable, "-m", "bd", "work", "--interval", DEMO_INTERVAL, "--agent"]
        super().__init__(clones, {name: [*work, name, "--", *pretend] for name in clones}, log_folder)
        self._person = Person()

    def run(self, hub: Clone, bare: Callable[[], str | None], root_id: str, story: Story) -> float:
        """Watch until the root is closed; return the seconds it took. `bare` returns the hub's tip. Raises Damaged."""
        started = moved = hub.runtime.monotonic()
        seen = hub.published() or ""
        while True:
            hub.runtime.sleep(LOOK_S)
            self.check()
            now_s = hub.runtime.monotonic()
            if bare() == seen:
                if now_s - moved > STILL_LIMIT_S:
                    hint = f"the agents' logs are in {self._log_folder}"
                    raise Damaged(f"nothing has moved for {STILL_LIMIT_S:.0f} s", hint=hint)
                continue
            hub.fetch()
            tip = hub.published() or ""
            story.on_moved(seen, tip, now_s - started)
            seen, moved = tip, now_s
            snapshot = hub.snapshot(tip)
            root = snapshot.bead(root_id)
            if root is None or root.is_done:
                return now_s - started
            for deed in self._person.deeds(snapshot, root_id, list(self._clones), hub.runtime.now()):
                self._do(deed, hub, story, now_s - started)

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
