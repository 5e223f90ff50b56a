"""The duties of an overseer, in their order: each says what it would do, and does it.

Any agent's poll does the first and the last as well, and everything is decided on the commit that it is built on: any number of
overseers may run.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.notify import hooks
from bd.operations.base import asked
from bd.operations.close import Close
from bd.operations.create import Create
from bd.operations.work_stealing import Rebalance
from bd.overseer import concerns, pages
from bd.policy.eligibility import is_root
from bd.policy.stealing import cycle
from bd.report.attention import gather
from bd.schedule.sources import due_schedules
from bd.worker.maintenance import keep_house
from bd.worker.stall_recovery import reassign

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.report.attention import Attention
    from bd.store import Clone
    from bd.worker.fleet_state import View


class Watch(NamedTuple):
    """What an overseer works with: the hub, what was observed of the fleet, and in whose name it acts."""

    hub: Clone
    view: View
    by: str

    def attention(self) -> Attention:
        """Return what needs a person now."""
        snapshot = self.hub.snapshot()
        return gather(snapshot, self.view._replace(snapshot=snapshot).stalls, (), (), self.hub.runtime.now())


class Done(NamedTuple):
    """What a duty has done: the beads or pages concerned, and a line for each; `error` says why it could not be done."""

    names: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    error: str = ""


class Duty(NamedTuple):
    """`would` says in lines what would be done now, and changes nothing; `do` does it. `help` completes "does"."""

    name: str
    help: str
    would: Callable[[Watch], list[str]]
    do: Callable[[Watch], Done]


def carried_out(duty: Duty, watch: Watch) -> Done:
    """Carry out a duty. One that fails does not keep the others from being done, unless the hub is out of reach.

    Raises TryAgain and its subclasses.
    """
    try:
        return duty.do(watch)
    except BdError as error:
        if error.transient:
            raise
        return Done(error=str(error))


# --- stalled claims -----------------------------------------------------------------------------


def _would_reassign(watch: Watch) -> list[str]:
    return [f"free {stall.id}: {stall.owner}'s claim {stall.text}" for stall in watch.view.abandoned]


def _reassign(watch: Watch) -> Done:
    outcome = reassign(watch.hub, watch.view.abandoned, watch.by)
    change = outcome.change if outcome else None
    names = change.touched if change else ()
    return Done(names, (*(f"Freed {name}: it had stalled" for name in names), *(change.notes if change else ())))


# --- queues ---------------------------------------------------------------------------------------


def _would_rebalance(watch: Watch) -> list[str]:
    found = cycle(watch.hub.snapshot(), watch.hub.runtime.now())
    return [f"move {move.id} from {move.source} to {move.to}" for move in found.moves]


def _rebalance(watch: Watch) -> Done:
    if not _would_rebalance(watch):
        return Done()
    change = watch.hub.publish(Rebalance(**asked(watch.hub.runtime, watch.by))).change
    moved = [bead for bead in (change.beads.values() if change else ()) if bead is not None]
    return Done(tuple(bead.id for bead in moved), tuple(f"Moved {bead.id} to {bead.assignee}" for bead in moved))


# --- roots of plans -------------------------------------------------------------------------------


def _finished_roots(watch: Watch) -> list[str]:
    snapshot = watch.hub.snapshot()
    epics = [bead for bead in snapshot.live() if bead.type == "epic" and bead.status == "open"]
    roots = (bead for bead in epics if is_root(bead, snapshot))
    return [bead.id for bead in roots if all(child.is_done for child in snapshot.children_of(bead.id))]


def _would_close(watch: Watch) -> list[str]:
    return [f"close {bead_id}: all beads below it are done" for bead_id in _finished_roots(watch)]


def _close(watch: Watch) -> Done:
    roots = _finished_roots(watch)
    if not roots:
        return Done()
    form = asked(watch.hub.runtime, watch.by, ids=roots, reason="All beads below it are done")
    change = watch.hub.publish(Close(**form)).change
    names = change.touched if change else ()
    return Done(names, tuple(f"Closed {name}: all beads below it are done" for name in names))


# --- concerns -------------------------------------------------------------------------------------


def _would_file(watch: Watch) -> list[str]:
    found, snapshot = watch.attention(), watch.hub.snapshot()
    made = [f"file: {one.title}" for one in concerns.unfiled(found, snapshot)]
    return [*made, *(f"close {bead.id}: it is over ({bead.title})" for bead in concerns.over(found, snapshot))]


def _file(watch: Watch) -> Done:
    hub, found = watch.hub, watch.attention()
    new, over = concerns.unfiled(found, hub.snapshot()), concerns.over(found, hub.snapshot())
    names: list[str] = []
    lines: list[str] = []
    if new:
        change = hub.publish(Create(**asked(hub.runtime, watch.by, beads=[one.spec() for one in new]))).change
        made = [bead for bead in (change.beads.values() if change else ()) if bead is not None]
        names += [bead.id for bead in made]
        lines += [f"Filed {bead.id}: {bead.title}" for bead in made]
    if over:
        ids = [bead.id for bead in over]
        hub.publish(Close(**asked(hub.runtime, watch.by, ids=ids, reason="It is over", force=True)))
        lines += [f"Closed {bead.id}: it is over ({bead.title})" for bead in over]
    return Done(tuple(names), tuple(lines))


# --- pages ----------------------------------------------------------------------------------------


def _new_board(watch: Watch) -> tuple[str, str] | None:
    """Return path and text of the board, if it is to be published."""
    hub = watch.hub
    path = pages.board_path(hub.settings(hub.snapshot()).board_path)
    text = pages.board_text(hub, path)
    return None if pages.why_no_board(pages.published(hub, path), text, hub.runtime.now()) else (path, text)


def _would_publish(watch: Watch) -> list[str]:
    page = _new_board(watch)
    return [f"publish {page[0]}"] if page else []


def _publish(watch: Watch) -> Done:
    page = _new_board(watch)
    if page is None:
        return Done()
    pages.publish(watch.hub, watch.by, *page)
    return Done((page[0],), (f"Published {page[0]}",))


def _would_sum_up(watch: Watch) -> list[str]:
    day = pages.day_of(watch.hub.runtime.now())
    return [] if pages.is_summed_up(watch.hub, day) else [f"publish {pages.SUMMARY_PATH}: the summary of {day}"]


def _sum_up(watch: Watch) -> Done:
    day = pages.day_of(watch.hub.runtime.now())
    if pages.is_summed_up(watch.hub, day):
        return Done()
    pages.publish(watch.hub, watch.by, pages.SUMMARY_PATH, pages.summary(watch.hub, watch.attention()))
    return Done((pages.SUMMARY_PATH,), (f"Published {pages.SUMMARY_PATH}: the summary of {day}",))


# --- people and chores ----------------------------------------------------------------------------


def _would_keep_house(watch: Watch) -> list[str]:
    due = due_schedules(watch.hub.snapshot(), watch.hub.runtime.now())
    return [
        *(f"create the beads of schedule {name}" for name in due),
        "tell people, and run the chores of this clone that are due",
    ]


def _keep_house(watch: Watch) -> Done:
    stalls = watch.view._replace(snapshot=watch.hub.snapshot()).stalls
    return Done((), (*hooks.tell(watch.hub, watch.by, stalls), *keep_house(watch.hub, watch.by)))


DUTIES = (
    Duty("reassign", "frees stalled claims", _would_reassign, _reassign),
    Duty("rebalance", "moves work from long queues to idle agents", _would_rebalance, _rebalance),
    Duty("roots", "closes roots of plans whose beads are all done", _would_close, _close),
    Duty("file", "files what needs a person", _would_file, _file),
    Duty("house", "tells people, creates the beads of schedules and triggers, and cleans up", _would_keep_house, _keep_house),
    Duty("summary", "publishes a summary of the last day", _would_sum_up, _sum_up),
    Duty("board", "publishes the board", _would_publish, _publish),
)
NAMES = tuple(duty.name for duty in DUTIES)
