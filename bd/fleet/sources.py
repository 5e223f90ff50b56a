"""Where work comes from by itself: schedules and triggers that are due. Whoever looks makes it, once for the fleet."""

from __future__ import annotations

from bd import clock
from bd.errors import BdError
from bd.operations.publish import publish
from bd.operations.schedules import RunSchedule
from bd.policy import schedules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.model import Snapshot
    from bd.store.hub import Hub
    from bd.store.outcome import Outcome


def due_schedules(snapshot: Snapshot) -> list[str]:
    """The names of the schedules that are due as far as this clone knows; one that can't be read is left out."""
    found = []
    for schedule in schedules.schedules_of(snapshot):
        try:
            if schedules.due_tick(schedule, clock.now()):
                found.append(str(schedule["name"]))
        except BdError:
            continue
    return found


def run_schedule(hub: Hub, name: str, by: str) -> Outcome:
    """Make what is due of one schedule, by the hub's own last word on it."""
    return publish(hub, RunSchedule(by=by, at=clock.time_text(clock.now(), exact=True), name=name))


def run_due(hub: Hub, by: str) -> list[str]:
    """Make whatever is due; a line for each bead that was made, and for each failure."""
    said: list[str] = []
    for name in due_schedules(hub.snapshot()):
        try:
            change = run_schedule(hub, name, by).change
        except BdError as error:
            said.append(f"schedule {name}: {error}")
            continue
        said += [f"{bead_id} made from schedule {name}" for bead_id in (change.beads if change else ())]
    return said
