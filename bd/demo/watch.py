"""The watch over a hub on which agents carry out a plan: until it is done, an agent ends early, or nothing moves any more."""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import Damaged
from bd.demo.processes import Runners

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.model import Snapshot
    from bd.store import Clone

LOOK_S = 0.1
# After this long without a commit something is wrong that waiting won't fix.
STILL_LIMIT_S = 90.0


class Story(NamedTuple):
    """The listeners: `on_moved(old tip, new tip, seconds)` for the hub, and `say(text, seconds)` for what the person does."""

    on_moved: Callable[[str, str, float], None]
    say: Callable[[str, float], None]


class Watch(Runners):
    """The agents' processes, each a `bd work`, and what is done whenever the hub has moved."""

    end_with_stdin = False

    def run(self, hub: Clone, bare: Callable[[], str | None], root_id: str, story: Story) -> float:
        """Watch until the plan is done; return the seconds it took. `bare` returns the hub's tip. Raises Damaged."""
        started = moved = hub.runtime.monotonic()
        seen, is_done = hub.published() or "", False
        while True:
            hub.runtime.sleep(LOOK_S)
            now_s = hub.runtime.monotonic()
            at_s = now_s - started
            is_over = self.on_look(story, at_s)
            self.check()
            if bare() != seen:
                hub.fetch()
                tip = hub.published() or ""
                story.on_moved(seen, tip, at_s)
                seen, moved = tip, now_s
                is_done = self.on_moved(hub, hub.snapshot(tip), root_id, story, at_s)
            elif now_s - moved > STILL_LIMIT_S:
                hint = f"the agents' logs are in {self._log_folder}"
                raise Damaged(f"nothing has moved for {STILL_LIMIT_S:.0f} s", hint=hint)
            if is_done and is_over:
                return at_s

    def on_look(self, story: Story, at_s: float) -> bool:
        """Do what is due by the clock. Return whether that is all."""
        return True

    def on_moved(self, hub: Clone, snapshot: Snapshot, root_id: str, story: Story, at_s: float) -> bool:
        """Do what a person does about a new state of the hub. Return whether the plan is done."""
        raise NotImplementedError
