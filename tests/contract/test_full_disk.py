"""What the author of a write is told when the clone's disk is full, whichever of its writes fails; in memory."""

from __future__ import annotations

import errno
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bd.cli import app
from bd.core.errors import BdError, InterruptedWrite, TryAgain
from bd.operations.beads import Update
from bd.operations.close import Close
from bd.operations.create import Create
from bd.store.group_commit.requests import VALID_S
from bd.store.memory.local_state import MemoryEntry
from bd.store.memory.place import MemoryPlace
from tests.contract.machine import Faults, FaultyRemote
from tests.contract.test_recovery import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.store.contract import PushAnswer, Remote, SideRef


class Disk:
    """The disk of one process. Its write number `full_at` fails, with `stays_full` every later one, too, until it has room."""

    def __init__(self, scene: Scene, patch: pytest.MonkeyPatch, full_at: int, *, stays_full: bool) -> None:
        self.writes: list[str] = []
        self.has_room = False
        self._full_at = full_at
        self._stays_full = stays_full
        repo: Any = scene.place.repo
        local: Any = scene.clone.local
        full = OSError(errno.ENOSPC, "No space left on device")
        told = TryAgain("the disk is full")
        # By the contracts: what git writes fails with TryAgain, a plain file with an OSError.
        for owner, name, error in (
            (repo, "write_commits", told),
            (repo, "update_refs", told),
            (repo, "set_private_refs", full),
            (repo, "write_object", full),
            (local, "write", full),
        ):
            patch.setattr(owner, name, self._limited(name, getattr(owner, name), error))
        write, sync = MemoryEntry.write, MemoryEntry.sync

        def limited_write(entry: MemoryEntry, *, durably: bool = True, **changes: Any) -> None:
            entry.data.update(changes)  # as on a disk: the step is known before it is written
            if entry._state is local:
                self._take("entry.write", full)
            write(entry, durably=durably, **changes)

        def limited_sync(entry: MemoryEntry) -> None:
            if entry._state is local:
                self._take("entry.sync", full)
            sync(entry)

        patch.setattr(MemoryEntry, "write", limited_write)
        patch.setattr(MemoryEntry, "sync", limited_sync)

    @property
    def was_full(self) -> bool:
        return len(self.writes) > self._full_at

    def _take(self, name: str, error: Exception) -> None:
        if self.has_room:
            return
        number = len(self.writes)
        self.writes.append(name)
        if number == self._full_at or (self._stays_full and number > self._full_at):
            raise error

    def _limited(self, name: str, real: Callable[..., Any], error: Exception) -> Callable[..., Any]:
        def limited(*args: Any, **more: Any) -> Any:
            self._take(name, error)
            return real(*args, **more)

        return limited


class Sending(FaultyRemote):
    """A connection that knows whether anything was sent, and before whose first pushes other clones write."""

    def __init__(self, real: Remote, faults: Faults, overtake: Callable[[], object], times: int) -> None:
        super().__init__(real, faults)
        self._overtake = overtake
        self._left = times
        self.has_sent = False

    def push(self, commit: str | None, base: str | None, sides: Sequence[SideRef] = (), **more: Any) -> PushAnswer:
        if commit and self._left:
            self._left -= 1
            self._overtake()
        self._refuse_away()
        self.has_sent = True
        return super().push(commit, base, sides, **more)


def create(scene: Scene) -> Any:
    return scene.operation(Create, "human:Ada", beads=[{"title": "more"}])


def held(scene: Scene) -> dict[str, str]:
    """The token of the bead, claimed now."""
    change = scene.clone.publish(scene.claim()).change
    assert change is not None
    return {bead_id: token for token, bead_id in change.tokens}


class Case(NamedTuple):
    """What happens to a write besides the full disk. `pushes` as in `Faults`."""

    pushes: tuple[str, ...] = ()
    overtaken: int = 0
    is_away: bool = False
    is_fresh: bool = False
    is_locked: bool = False
    has_queued: bool = False


PLAIN = {
    "fetches first": Case(),
    "pushes first": Case(is_fresh=True),
    "away": Case(is_away=True),
    "the answer is lost": Case(pushes=("lost",)),
}
CASES = {
    **PLAIN,
    "locked": Case(is_locked=True),
    "the push is lost": Case(pushes=("cut",)),
    "overtaken": Case(overtaken=1),
    "overtaken, and the answer is lost": Case(pushes=("", "lost"), overtaken=1),
    "declined": Case(pushes=("declined",)),
    "declined, then taken one by one": Case(pushes=("declined",), has_queued=True),
    "declined one by one": Case(pushes=("declined", "declined", "declined"), has_queued=True),
    "declined, and of one the answer is lost": Case(pushes=("declined", "", "lost"), has_queued=True),
    "declined, and one is lost": Case(pushes=("declined", "", "cut"), has_queued=True),
}
KINDS: dict[str, Callable[[Scene], Any]] = {
    "comment": Scene.comment,
    "create": create,
    "update": lambda scene: scene.operation(Update, ids=[scene.bead], set={"priority": 0}),
    "claim": Scene.claim,
    "close": lambda scene: scene.operation(Close, ids=[scene.bead], tokens=held(scene), reason="done"),
}


def overtake(scene: Scene) -> None:
    place: Any = MemoryPlace(scene.server)
    app.open_clone(place, scene.runtime).publish(create(scene))


def where_it_is(scene: Scene, uid: str) -> str:
    """Where an operation is: on the `hub`, `kept` in the clone, or `nowhere`."""
    if any(uid in message for _, message in scene.server.repository.messages(scene.tip, [])):
        return "hub"
    return "kept" if any(one.uid == uid for one in scene.clone.kept()) else "nowhere"


def told_truly(kind: str, case: Case, disk_of: Callable[[Scene], Disk]) -> bool:
    """Whether the disk got full; what the author was told of the operation is true."""
    scene = Scene()
    operation = KINDS[kind](scene)
    scene.clone.looked.raced()
    if case.has_queued:
        scene.clone.__dict__["remote"] = FaultyRemote(scene.place.connect(scene.runtime), Faults(is_away=True))
        scene.clone.publish(create(scene))
    if case.is_fresh:
        scene.clone.local.drop("raced")
        scene.clone.looked.now()
    scene.clone.__dict__.pop("sides", None)  # it knows the connection, too
    real, faults = scene.place.connect(scene.runtime), Faults(pushes=case.pushes, is_away=case.is_away)
    remote = scene.clone.__dict__["remote"] = Sending(real, faults, lambda: overtake(scene), case.overtaken)
    neighbour = app.open_clone(scene.place, scene.runtime).lock()
    if case.is_locked:
        assert neighbour.try_enter()
    disk = disk_of(scene)
    try:
        told = "yes" if scene.clone.publish(operation).published else "local"
    except BdError as error:
        told = error.data.get("written", "no")
    at_once = where_it_is(scene, operation.uid)
    scene.clone.local.die()  # type: ignore[attr-defined]
    neighbour.__exit__()
    disk.has_room = True
    scene.runtime.sleep(VALID_S + 1)
    scene.clone = app.open_clone(scene.place, scene.runtime)
    for _ in range(2):  # the first one's push decides about one that got no answer
        scene.clone.publish(create(scene))
    found = where_it_is(scene, operation.uid)
    about = f"full at {disk.writes}: told {told}, it was {at_once}, it is {found}"
    allowed = {"yes": {"hub"}, "no": {"nowhere"}, "local": {"hub", "kept"}, "unknown": {"hub", "kept"}}[told]
    if kind == "claim" and told == "unknown":
        allowed.add("nowhere")  # it lapses
    assert found in allowed, about
    assert told != "yes" or at_once == "hub", about
    assert told != "unknown" or remote.has_sent, about
    return disk.was_full


def check(kind: str, case: Case, *, stays_full: bool) -> None:
    """At each of the writes."""
    full_at, was_full = 0, True
    while was_full:
        with pytest.MonkeyPatch.context() as patch:
            was_full = told_truly(kind, case, partial(Disk, patch=patch, full_at=full_at, stays_full=stays_full))
        full_at += 1


@pytest.mark.parametrize("case", PLAIN)
@pytest.mark.parametrize("kind", KINDS)
def test_whichever_write_a_disk_has_no_room_for_its_author_is_told_the_truth(kind: str, case: str) -> None:
    check(kind, PLAIN[case], stays_full=True)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("stays_full", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_so_it_is_whatever_else_happens_to_the_write(case: str, stays_full: bool) -> None:
    check("comment", CASES[case], stays_full=stays_full)


@pytest.mark.parametrize(
    "stops", [OSError(errno.EMFILE, "Too many open files"), KeyboardInterrupt()], ids=lambda one: type(one).__name__
)
def test_who_was_taken_along_by_a_neighbour_is_not_told_that_nothing_was_written(stops: BaseException) -> None:
    scene = Scene()
    operation, neighbour = scene.comment(), app.open_clone(scene.place, scene.runtime)
    lock = neighbour.lock()
    assert lock.try_enter()

    def taken(_: float) -> None:
        assert neighbour.journal.take(lambda _: True, 1)
        lock.__exit__()
        scene.clone.looked.raced()

    def fails() -> None:
        raise stops

    scene.runtime.sleep = taken  # type: ignore[method-assign, assignment]
    scene.clone.__dict__["remote"] = remote = FaultyRemote(scene.place.connect(scene.runtime), Faults())
    remote.begin_fetch = fails  # type: ignore[method-assign]
    with pytest.raises((TryAgain, InterruptedWrite), match="took over the write" if isinstance(stops, OSError) else None) as told:
        scene.clone.publish(operation)
    assert not isinstance(told.value, BdError) or told.value.data["written"] == "unknown"
    scene.clone.local.die()  # type: ignore[attr-defined]
    neighbour.local.die()  # type: ignore[attr-defined]
    scene.runtime = type(scene.runtime)(1)
    scene.clone = app.open_clone(scene.place, scene.runtime)
    scene.clone.publish(create(scene))
    assert where_it_is(scene, operation.uid) == "kept"
