"""The code repositories that a worker can't work on: it leaves their beads to others, and says why, once for each reason."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.repos.standing import names_of, stopped_repos

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.store import Clone


class StoppedRepos:
    """What one worker has told of them. `tell` prints a line."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def claim_args(self, hub: Clone) -> dict[str, Any]:
        """Return the arguments that keep their beads out of a claim; none where there are none."""
        stopped = stopped_repos(hub, hub.snapshot(), hub.runtime.now())
        for line in sorted({f"no work on {one.name}: {one.why}" for one in stopped} - self._told):
            self._tell(line)
            self._told.add(line)
        return {"without_repos": names_of(stopped)} if stopped else {}
