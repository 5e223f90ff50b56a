"""What a write asks of the server, in which order, and what it leaves in the clone; in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.cli import app
from bd.core import versions
from bd.core.errors import (
    BdError,
    Damaged,
    HubRewritten,
    Interrupted,
    InterruptedWrite,
    NewerFormat,
    RemoteUnreachable,
    ServerRefused,
    TryAgain,
)
from bd.operations.beads import Comment
from bd.operations.claims import Claim, Release
from bd.operations.create import Create
from bd.operations.heartbeat import Reassign
from bd.store.contract import VIEW, Draft, PushAnswer
from bd.store.group_commit import local
from bd.store.memory.place import MemoryPlace
from tests.contract.machine import Faults, FaultyRemote
from tests.contract.test_recovery import Scene, asked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.store.contract import Fetched, Remote, SideRef


class Recorder(FaultyRemote):
    """A connection of which every call is written down; `before_push` happens before the first push of the branch arrives."""

    def __init__(self, real: Remote, calls: list[str], *, before_push: Callable[[], Any] | None = None) -> None:
        super().__init__(real, Faults())
        self._calls = calls
        self._before_push = before_push

    def fetch(self) -> Fetched:
        self._calls.append("fetch")
        return super().fetch()

    def list(self, *prefixes: str) -> dict[str, str]:
        self._calls.append("list")
        return super().list(*prefixes)

    def push(self, commit: str | None, base: str | None, sides: Sequence[SideRef] = (), **more: Any) -> PushAnswer:
        self._calls.append("push" if commit else "ask")
        before, self._before_push = self._before_push, None
        if commit and before:
            before()
        return super().push(commit, base, sides, **more)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def recorded(scene: Scene, **more: Any) -> list[str]:
    """The calls that the clone makes from now on."""
    calls: list[str] = []
    scene.clone.__dict__.pop("sides", None)  # it knows the connection, too
    scene.clone.__dict__["remote"] = Recorder(scene.place.connect(scene.runtime), calls, **more)
    return calls


def is_fresh(scene: Scene) -> None:
    """The hub was looked at a moment ago."""
    scene.clone.looked.now()


def create(scene: Scene, **more: Any) -> Any:
    return scene.operation(Create, "human:Ada", beads=[{"title": "more"}], **more)


def overtake(scene: Scene) -> None:
    """Another clone writes."""
    place: Any = MemoryPlace(scene.server)
    app.open_clone(place, scene.runtime).publish(create(scene))


@pytest.mark.parametrize("more", [{}, {"force": True}])
def test_who_has_just_looked_pushes_first(scene: Scene, more: dict[str, Any]) -> None:
    """Also with a `force` that ends nobody's claim."""
    is_fresh(scene)
    calls = recorded(scene)
    scene.clone.publish(create(scene, **more))
    assert calls == ["push"]


def test_who_has_not_looks_first(scene: Scene) -> None:
    scene.clone.looked.raced()
    calls = recorded(scene)
    scene.clone.publish(create(scene))
    assert calls == ["fetch", "push"]


def test_who_needs_heartbeats_lists_them_before_it_fetches(scene: Scene) -> None:
    is_fresh(scene)
    calls = recorded(scene)
    scene.clone.publish(scene.operation(Reassign, stalls=[]))
    assert calls[:2] == ["list", "fetch"]


def test_a_heartbeat_that_landed_is_known_also_if_the_rest_of_its_batch_is_declined(scene: Scene) -> None:
    won = scene.clone.publish(scene.operation(Claim, agent="coder", ids=[scene.bead], heartbeat={"interval_s": 30, "by": "ref"}))
    [(token, _)] = won.change.tokens
    assert scene.clone.sides.last_beat(token)
    connected = scene.clone.remote
    scene.clone.looked.raced()
    scene.clone.__dict__["remote"] = FaultyRemote(connected, Faults(is_away=True))
    with pytest.raises(TryAgain, match="kept in this clone"):
        scene.clone.publish(scene.operation(Release, tokens={scene.bead: token}, ids=[scene.bead], reason="enough"))
    scene.clone.__dict__["remote"] = FaultyRemote(connected, Faults(pushes=("declined", "", "declined")))
    with pytest.raises(ServerRefused):
        scene.clone.publish(create(scene))
    assert scene.clone.sides.beats() == {}
    assert scene.clone.sides.last_beat(token) is None


def test_who_was_overtaken_on_an_old_tip_goes_on_without_asking_anybody(scene: Scene) -> None:
    is_fresh(scene)
    calls = recorded(scene, before_push=lambda: overtake(scene))
    outcome = scene.clone.publish(create(scene))
    assert outcome.tries == 2
    assert calls[0] == "push"
    assert calls[-1] == "push"


def test_who_has_lost_a_race_looks_first_for_a_while(scene: Scene) -> None:
    is_fresh(scene)
    recorded(scene, before_push=lambda: overtake(scene))
    scene.clone.publish(create(scene))
    calls = recorded(scene)
    scene.clone.publish(create(scene))
    assert calls == ["fetch", "push"]


def test_what_is_kept_here_is_published_after_a_look(scene: Scene) -> None:
    scene.clone.__dict__["remote"] = FaultyRemote(scene.place.connect(scene.runtime), Faults(is_away=True))
    scene.clone.looked.raced()
    kept = scene.clone.publish(create(scene))
    assert not kept.published
    is_fresh(scene)
    calls = recorded(scene)
    outcome = scene.clone.publish(create(scene))
    assert (calls, outcome.replayed) == (["fetch", "push"], 1)
    assert scene.clone.repo.ref(VIEW) == scene.tip


def test_one_operation_notes_no_answers_for_others(scene: Scene) -> None:
    seen: list[Any] = []

    def step(name: str) -> None:
        if name == "push":
            seen.extend(record.data()["batch"] for record in scene.place.shared.records.values())

    scene.runtime.on_step = step  # type: ignore[method-assign]
    scene.clone.publish(create(scene))
    assert seen == [{}]


def test_what_a_dead_neighbour_may_still_bring_is_unknown_while_the_remote_is_away(scene: Scene) -> None:
    operation = scene.operation(Comment, ids=[scene.bead], text="words")
    scene.left("01A", state="pushing", base=scene.tip, commits=["f" * 40], batch={operation.uid: {}})
    scene.clone.looked.raced()
    scene.clone.__dict__["remote"] = FaultyRemote(scene.place.connect(scene.runtime), Faults(is_away=True))
    with pytest.raises(RemoteUnreachable) as refused:
        scene.clone.publish(operation)
    assert refused.value.data["written"] == "unknown"
    left = scene.place.shared.records[operation.uid].data()
    assert (left["state"], left["base"], left["commits"]) == ("unknown", scene.tip, ["f" * 40])


def test_while_the_remote_is_away_what_nobody_may_bring_is_kept(scene: Scene) -> None:
    scene.left("01A", state="pushing", base=scene.tip, commits=["f" * 40], batch={"01B": {}})
    scene.clone.looked.raced()
    scene.clone.__dict__["remote"] = FaultyRemote(scene.place.connect(scene.runtime), Faults(is_away=True))
    assert not scene.clone.publish(create(scene)).published


def test_a_hub_of_a_newer_format_takes_no_write(scene: Scene) -> None:
    config = b"format: 99\nprefix: hub\n"
    [commit] = scene.place.repo.write_commits(scene.tip, [Draft("newer", "a <a@b>", 0, {".beads/config.yaml": config})])
    scene.place.connect(scene.runtime).push(commit, scene.tip)
    for _ in range(2):
        with pytest.raises(NewerFormat):
            scene.clone.publish(create(scene))
    assert scene.tip == commit


@pytest.mark.parametrize("number", [1, 3])
def test_pauses_after_lost_races_are_a_random_part_of_a_time_that_doubles(scene: Scene, number: int) -> None:
    """Nobody can be asked: the server takes no side refs."""
    scene.clone.sides.give_up("no", scene.runtime.now())
    slept: list[float] = []
    left, inside = [*range(number)], [False]

    def step(name: str) -> None:
        if name == "push" and left and not inside[0]:
            left.pop()
            inside[0] = True
            overtake(scene)
            inside[0] = False

    scene.clone.looked.raced()
    scene.runtime.sleep = slept.append  # type: ignore[method-assign, assignment]
    scene.runtime.random = lambda: 0.5  # type: ignore[method-assign]
    scene.runtime.on_step = step  # type: ignore[method-assign]
    scene.clone.publish(create(scene))
    assert slept == [0.5 * 0.05 * 2**tries for tries in range(1, number + 1)]


def test_an_error_of_the_disk_while_it_decides_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise TryAgain("the disk is full", written="no")

    monkeypatch.setattr(scene.place.repo, "write_commits", full)
    with pytest.raises(TryAgain, match="the disk is full"):
        scene.clone.publish(create(scene))
    assert scene.entries == []


class Watchful(Comment):
    """A comment that has to see heartbeats."""

    @property
    def needs_heartbeats(self) -> bool:
        return True


def test_who_needs_heartbeats_lists_and_fetches_again_after_a_loss(scene: Scene) -> None:
    calls = recorded(scene, before_push=lambda: overtake(scene))
    scene.clone.publish(scene.operation(Watchful, ids=[scene.bead], text="words"))
    assert calls[:3] == ["list", "fetch", "push"]
    assert calls[-3:] == ["list", "fetch", "push"]


def test_who_loses_a_race_asks_the_others(scene: Scene) -> None:
    scene.clone.looked.raced()
    calls = recorded(scene, before_push=lambda: overtake(scene))
    scene.clone.publish(create(scene))
    assert calls[:2] == ["fetch", "push"]
    assert "ask" in calls
    assert scene.server.repository.refs("refs/bd/intents/") == {}


def test_where_nobody_is_asked_any_more_the_requests_of_the_dead_are_removed(scene: Scene) -> None:
    operation, base = scene.comment(), scene.tip
    asked(scene, operation, base=base)
    scene.clone.sides.give_up("no", scene.runtime.now())
    scene.clone.publish(create(scene))
    assert scene.server.repository.refs("refs/bd/intents/") == {}


def test_a_crash_while_it_is_decided_leaves_nothing_in_the_journal(scene: Scene) -> None:
    class Broken(Comment):
        def decide(self, *_: Any) -> Any:
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        scene.clone.publish(scene.operation(Broken, ids=[scene.bead], text="words"))
    assert scene.entries == []


def test_what_a_dead_neighbour_has_carried_out_is_not_done_again(scene: Scene) -> None:
    operation, place = scene.comment(), MemoryPlace(scene.server)
    done = app.open_clone(place, scene.runtime).publish(operation)
    scene.clone.fetch()
    scene.left(
        "01A", state="pushing", base="e" * 40, commits=[done.commit], batch={operation.uid: {"subject": "told by the dead"}}
    )
    scene.clone.looked.raced()
    calls = recorded(scene)
    outcome = scene.clone.publish(operation)
    assert calls == ["fetch"]
    assert outcome.change is not None
    assert outcome.change.subject == "told by the dead"


@pytest.mark.parametrize(
    "change",
    [
        {"verb": "divine"},
        {"v": 99},
        {"args": {"colour": "red"}},
        {"args": None},
        {"args": []},
        {"once": {"huh": 1}},
        {"by": None},
    ],
    ids=str,
)
def test_a_waiting_operation_that_the_holder_does_not_know_is_left_to_its_author(scene: Scene, change: dict[str, Any]) -> None:
    """As that of a newer bd, while a clone is being updated."""
    author, operation = app.open_clone(scene.place, scene.runtime), scene.comment()
    waiting = author.journal.begin(operation.uid)
    form = {key: value for key, value in {**operation.form(), **change}.items() if value is not None}
    waiting.write(state="waiting", form=form, kin=local.kin(scene.clone), rules=versions.rules())
    scene.clone.looked.raced()
    scene.clone.publish(create(scene))
    assert author.journal.answered(waiting) is None
    assert author.journal.withdraw(waiting)


@pytest.mark.parametrize(
    ("ends_with", "code"), [(HubRewritten("it is gone"), "hub_rewritten"), (Damaged("git"), "damaged"), (KeyboardInterrupt(), "")]
)
def test_whatever_ends_a_write_in_doubt_says_that_nobody_knows(scene: Scene, ends_with: BaseException, code: str) -> None:
    """The push got no answer, and what comes next is no question of trying again."""
    is_fresh(scene)
    remote = FaultyRemote(scene.place.connect(scene.runtime), Faults(pushes=("cut",)))
    scene.clone.__dict__["remote"] = remote
    remote.fetch = lambda: (_ for _ in ()).throw(ends_with)  # type: ignore[method-assign]
    operation = scene.comment()
    with pytest.raises((BdError, InterruptedWrite)) as told:
        scene.clone.publish(operation)
    shown = told.value if isinstance(told.value, BdError) else Interrupted.by(told.value)
    assert (shown.code, shown.data["written"]) == (code or "interrupted", "unknown")
    assert "next command finds out" in (shown.hint or "")
    assert scene.entries == [operation.uid]


@pytest.mark.parametrize("ends_with", [HubRewritten("it is gone"), KeyboardInterrupt()])
def test_what_ends_a_write_before_its_push_raises_no_doubt(scene: Scene, ends_with: BaseException) -> None:
    scene.clone.looked.raced()
    remote = FaultyRemote(scene.place.connect(scene.runtime), Faults())
    scene.clone.__dict__["remote"] = remote
    remote.fetch = lambda: (_ for _ in ()).throw(ends_with)  # type: ignore[method-assign]
    with pytest.raises(type(ends_with)) as told:
        scene.clone.publish(scene.comment())
    assert told.value is ends_with
    assert "written" not in getattr(ends_with, "data", {})


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("is_claim", [True, False])
def test_a_hub_that_goes_away_before_the_push_begins_leaves_no_doubt(scene: Scene, is_claim: bool, is_sent: bool) -> None:
    """As if it had been away at the fetch: a claim is not made, and anything else is kept."""
    scene.clone.looked.raced()
    scene.clone.__dict__["remote"] = remote = FaultyRemote(scene.place.connect(scene.runtime), Faults())
    words = "fatal: the remote end hung up" if is_sent else "fatal: unable to access 'u': Failed to connect: Connection refused"

    def push(*_: Any, **__: Any) -> PushAnswer:
        remote._faults = Faults(is_away=True)
        return PushAnswer({}, words)

    remote.push = push  # type: ignore[method-assign]
    if is_sent or is_claim:
        with pytest.raises(RemoteUnreachable) as refused:
            scene.clone.publish(scene.claim() if is_claim else create(scene))
        assert refused.value.data["written"] == ("unknown" if is_sent else "no")
    else:
        assert not scene.clone.publish(create(scene)).published
    assert len(scene.entries) == is_sent


@pytest.mark.parametrize(("first", "is_kept"), [("cut", True), ("lost", False), ("stuck", False)])
def test_a_push_without_an_answer_stays_in_the_journal_beside_the_next(scene: Scene, first: str, is_kept: bool) -> None:
    scene.clone.looked.raced()
    scene.clone.__dict__["remote"] = FaultyRemote(scene.place.connect(scene.runtime), Faults(pushes=(first,)))
    seen: list[Any] = []

    def step(name: str) -> None:
        if name == "push":
            seen.extend(record.data() for record in scene.place.shared.records.values())

    scene.runtime.on_step = step  # type: ignore[method-assign]
    scene.clone.publish(create(scene))
    assert [entry["earlier"] for entry in seen[1:]] == [[{"commits": seen[0]["commits"], "batch": {}}] * is_kept] * (
        first != "lost"
    )
