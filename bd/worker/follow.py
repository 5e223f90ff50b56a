"""Following the hub: yields every new tip of its branch, and tells of the progress notes that agents report in side refs."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.policy.live_notes import reported
from bd.worker.fleet_state import LOOK_EVERY_S
from bd.worker.watcher import Lookout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.policy.live_notes import LiveNote
    from bd.store import Clone

# The longest wait between two peeks at a hub on another machine.
LONGEST_S = 60.0


def tips(
    hub: Clone,
    known: str,
    longest_s: float = LONGEST_S,
    on_trouble: Callable[[str], None] | None = None,
    on_notes: Callable[[list[LiveNote]], None] | None = None,
) -> Iterator[str]:
    """Yield each new tip of the hub after `known`, fetched, without end. Peeks at one ref, often if that costs nothing.

    If the hub can't be reached it tries again, and calls `on_trouble` once. `on_notes` gets the notes that have come since.
    """
    lookout, is_told = Lookout(hub.runtime), False
    lookout.begin(hub, longest_s)
    notes = Notes(hub) if on_notes else None
    try:
        while True:
            is_rung = lookout.wait(lookout.pause_s())
            if notes is not None and on_notes is not None and (fresh := notes.fresh()):
                on_notes(fresh)
            if not is_rung and not lookout.has_moved(hub, known):
                continue
            try:
                hub.fetch()
            except BdError as error:
                if on_trouble and not is_told:
                    on_trouble(f"{error.message}; trying again")
                is_told = True
                continue
            is_told = False
            tip = hub.published() or known
            if tip != known:
                known = tip
                lookout.begin(hub, longest_s, anew=True)
                yield tip
    finally:
        lookout.end()


class Notes:
    """The notes that agents report on the beads they hold: those that were there at the beginning, and what comes."""

    def __init__(self, hub: Clone) -> None:
        self._hub = hub
        self._listened_s = hub.runtime.monotonic()
        self._known = set(self._heard())

    def fresh(self) -> list[LiveNote]:
        """Return the notes that are new, the oldest first; [] if it is too early to ask again."""
        now_s = self._hub.runtime.monotonic()
        if now_s - self._listened_s < LOOK_EVERY_S:
            return []
        self._listened_s = now_s
        found = self._heard()
        fresh = [note for note in found if note not in self._known]
        self._known = {*self._known, *fresh} if fresh else self._known
        return fresh

    def _heard(self) -> list[LiveNote]:
        try:
            self._hub.listen()
        except BdError:  # whoever follows hears of that from the branch
            return []
        return reported(self._hub.snapshot())
