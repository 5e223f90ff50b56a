"""What one look says of an operation that a dead process had begun, by what its journal entry holds; in memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli import app
from bd.core import ids
from bd.operations.beads import Comment
from bd.operations.claims import Claim
from bd.operations.create import Create
from bd.operations.init import Init
from bd.store.contract import SideRef
from bd.store.group_commit import local, requests
from bd.store.group_commit.member import Member
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryServer
from bd.store.rejected import PREFIX
from bd.store.transaction import recovery
from bd.store.transaction.findings import Findings, Recovered, hand_over
from tests.contract.machine import AT, VirtualRuntime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bd.store import Clone


class Scene:
    """A clone in memory with a bead, and the entries of dead processes that a test leaves in it."""

    def __init__(self) -> None:
        self.runtime = VirtualRuntime(0)
        self.server = MemoryServer()
        self.place: Any = MemoryPlace(self.server)
        self.clone: Clone = app.open_clone(self.place, self.runtime)
        self.clone.create_hub(Init(by="human:Ada", at=AT, runtime=self.runtime, prefix="hub", fields={}, ignored=[]))
        self.clone.sides.probe(self.runtime.now())
        made = self.clone.publish(self.operation(Create, "human:Ada", beads=[{"title": "one"}]))
        assert made.change is not None
        [self.bead] = made.change.touched
        self.told: list[str] = []

    def operation(self, kind: Any, by: str = "agent:coder", **more: Any) -> Any:
        return kind(by=by, at=AT, runtime=self.runtime, **more)

    def claim(self) -> Any:
        return self.operation(Claim, agent="coder", ids=[self.bead])

    def comment(self) -> Any:
        return self.operation(Comment, ids=[self.bead], text="words")

    def left(self, uid: str, **data: Any) -> str:
        """An entry of a process that died."""
        dead = app.open_clone(self.place, self.runtime)
        dead.journal.begin(uid, verb="claim").write(**data)
        dead.local.die()  # type: ignore[attr-defined]
        return uid

    def look(self, *members: Member, known: Findings | None = None) -> Recovered:
        tip = self.tip
        self.clone.finish_fetch()
        snapshot = self.clone.snapshot(tip)
        return recovery.settle(self.clone, tip, snapshot, members, known or Findings(), self.told.append)

    @property
    def tip(self) -> str:
        return self.server.repository.ref("refs/heads/main") or ""

    @property
    def entries(self) -> list[str]:
        return sorted(self.place.shared.records)

    def request(self, operation: Any, base: str) -> str:
        """A request of this clone on the remote, its object."""
        text = requests.text_of(operation.form(), author="a <a@b>", base=base, at=self.runtime.now(), tries=1)
        commit = self.clone.sides.commit(text, "bd <intent@bd>", self.runtime.now())
        assert self.clone.sides.create([SideRef(requests.INTENTS + operation.uid, commit, None)]) == "made"
        return commit


@pytest.fixture
def scene() -> Scene:
    return Scene()


def uid() -> str:
    return ids.ulid(0, b"0123456789")


def test_what_was_only_begun_is_nothing(scene: Scene) -> None:
    scene.left(uid(), state="begun")
    found = scene.look()
    assert (scene.entries, scene.told) == ([], [])
    assert found == Recovered(Findings(looks=1), (), is_unsure=False)


def test_where_nothing_is_left_a_look_counts_all_the_same(scene: Scene) -> None:
    assert scene.look(known=Findings(looks=2, landed=("c",))) == Recovered(Findings(looks=3, landed=("c",)), (), is_unsure=False)


def test_a_push_that_may_still_land_is_waited_for(scene: Scene) -> None:
    operation = scene.claim()
    scene.left(operation.uid, state="pushing", base=scene.tip, commits=["f" * 40], batch={operation.uid: {}, "b": {}})
    found = scene.look()
    pushed = {"base": scene.tip, "commits": ["f" * 40]}
    assert found.findings.may_land == {operation.uid: pushed, "b": pushed}
    assert scene.entries == [operation.uid]
    assert recovery.suspects(scene.clone) == {operation.uid: pushed, "b": pushed}


def test_a_push_in_whose_place_another_commit_stands_has_lost(scene: Scene) -> None:
    scene.left(scene.claim().uid, state="pushing", base="e" * 40, commits=["f" * 40])
    scene.look()
    assert scene.entries == []


def test_a_neighbours_operation_that_is_still_on_its_way_stays(scene: Scene) -> None:
    """Its holder died after the push; its author has died, too."""
    holder, author = "01A", "01B"
    scene.left(holder, state="pushing", base=scene.tip, commits=["f" * 40], batch={holder: {}, author: {}})
    scene.left(author, state="begun")
    scene.look()
    assert scene.entries == [holder, author]


def test_what_has_landed_is_told_to_those_it_was_carried_out_for(scene: Scene) -> None:
    scene.left("01A", state="pushing", base="e" * 40, commits=[scene.tip], batch={"01B": {"subject": "done"}})
    found = scene.look().findings
    assert found.landed == (scene.tip,)
    assert {name: (one.commit, one.answer) for name, one in found.heard.items()} == {"01B": (scene.tip, {"subject": "done"})}
    assert scene.entries == []


def test_a_settled_entry_stays_while_a_request_for_a_neighbour_may_arrive_and_hands_no_claim_on(scene: Scene) -> None:
    """Its own claim has ended since, so that no token of it may be taken over."""
    now_s = int(scene.runtime.now().timestamp())
    asked = {"asked_on": "e" * 40, "intents": {"01A": "d" * 40, "01B": "f" * 40}, "gone": True, "unanswered_since_s": now_s}
    scene.left(
        "01A", state="unknown", base="e" * 40, commits=[scene.tip], agent="coder", ids=[scene.bead], tokens=["T1"], **asked
    )
    operation = scene.claim()
    for _ in range(2):
        found = scene.look(Member(operation))
        assert "01B" in found.findings.may_land
        assert scene.entries == ["01A"]
        assert found.members[0].operation is operation
    scene.runtime.sleep(requests.VALID_S + 1)
    assert scene.look().findings.may_land == {}
    assert scene.entries == []


def test_the_first_of_two_pushes_without_an_answer_may_be_the_one_that_landed(scene: Scene) -> None:
    """Both were made on the same base, so only one of them can land."""
    first = {"commits": [scene.tip], "batch": {"01B": {"subject": "done"}, "01C": {"subject": "only then"}}}
    last = {"commits": ["f" * 40], "batch": {"01B": {"subject": "another way"}}}
    scene.left("01A", state="pushing", base="e" * 40, earlier=[first], **last)
    found = scene.look().findings
    assert found.landed == (scene.tip,)
    assert {name: (one.commit, one.answer["subject"]) for name, one in found.heard.items()} == {
        "01B": (scene.tip, "done"),
        "01C": (scene.tip, "only then"),
    }
    assert scene.entries == []


def test_what_only_an_earlier_push_carried_may_land_too(scene: Scene) -> None:
    earlier = [{"commits": ["d" * 40], "batch": {"01C": {}}}]
    scene.left("01A", state="pushing", base=scene.tip, commits=["f" * 40], batch={"01B": {}}, earlier=earlier)
    assert {*scene.look().findings.may_land} == {"01B", "01C"}
    assert {*recovery.suspects(scene.clone)} == {"01B", "01C"}


def test_a_claim_that_was_won_is_kept_for_its_agent_or_taken_over(scene: Scene) -> None:
    won = scene.clone.publish(scene.claim())
    assert won.change is not None
    [(token, _)] = won.change.tokens
    assert won.entry is not None
    won.entry.remove()
    state = {
        "state": "pushing",
        "base": "e" * 40,
        "commits": [won.commit],
        "tokens": [token],
        "agent": "coder",
        "ids": [scene.bead],
    }
    scene.left("01A", **state)
    scene.look()
    assert scene.place.shared.records["01A"].data()["state"] == "won"
    scene.look()
    assert scene.entries == ["01A"], "told to nobody yet"
    heir = Member(scene.claim())
    found = scene.look(heir)
    assert scene.entries == []
    assert (found.findings.inherited, found.findings.heirs) == (frozenset({token}), frozenset({heir.uid}))
    assert token in str(found.members[0].operation.form())


def test_an_heir_takes_over_one_claim(scene: Scene) -> None:
    won = scene.clone.publish(scene.claim())
    assert won.change is not None
    assert won.entry is not None
    won.entry.remove()
    [(token, _)] = won.change.tokens
    heir = Member(scene.claim())
    scene.left("01A", state="won", commits=[won.commit], tokens=[token], agent="coder", ids=[scene.bead])
    found = scene.look(heir, known=Findings(heirs=frozenset({heir.uid})))
    assert scene.entries == ["01A"]
    assert found.findings.inherited == frozenset()


def test_an_operation_that_the_dead_have_carried_out_takes_over_no_claim(scene: Scene) -> None:
    """Its author is told of its own result, and the claim of the dead process waits for another one."""
    won = scene.clone.publish(scene.claim())
    assert won.change is not None
    assert won.entry is not None
    won.entry.remove()
    [(token, _)] = won.change.tokens
    neighbour = Member(scene.claim())
    batch = {"01A": {"subject": "claimed"}, neighbour.uid: {"subject": "claimed"}}
    more = {"tokens": [token], "agent": "coder", "ids": [scene.bead]}
    scene.left("01A", state="pushing", base="e" * 40, commits=[won.commit], batch=batch, **more)
    found = scene.look(neighbour)
    assert neighbour.uid in found.findings.heard
    assert (found.findings.inherited, scene.entries) == (frozenset(), ["01A"])
    assert scene.place.shared.records["01A"].data()["state"] == "won"


def test_a_claim_is_handed_out_until_somebody_has_heard_of_it(scene: Scene) -> None:
    """Whoever takes it over may die as well, at any moment."""
    won = scene.clone.publish(scene.claim())
    assert won.change is not None
    assert won.entry is not None
    won.entry.close()
    for _ in range(3):
        process = app.open_clone(scene.place, scene.runtime)
        again = process.publish(scene.operation(Claim, agent="coder", next=True))
        assert again.change is not None
        assert again.change.tokens == won.change.tokens
        process.local.die()  # type: ignore[attr-defined]
        assert len(scene.entries) == 1
    scene.clone.publish(scene.operation(Claim, agent="coder", next=True)).acknowledge()
    assert scene.entries == []


def test_an_author_who_gets_the_operation_back_is_not_told_that_nobody_knows(scene: Scene) -> None:
    """Its holder was busy when the author first gave up, died, and the next one put the operation back."""
    entry = scene.clone.journal.begin("01A", verb="comment")
    entry.write(state="waiting", form={}, kin="same")
    holder = app.open_clone(scene.place, scene.runtime)
    assert holder.journal.take(lambda _: True, 1)
    assert not local.withdraw(scene.clone.journal, entry)
    assert entry.data["state"] == "unknown"
    holder.journal.put_back()
    assert local.withdraw(scene.clone.journal, entry)
    assert entry.data["state"] == "waiting"


def test_the_operation_that_is_carried_out_now_is_nobodys_left_over(scene: Scene) -> None:
    operation = scene.claim()
    scene.left(operation.uid, state="pushing", base="e" * 40, commits=["f" * 40])
    scene.look(Member(operation))
    assert scene.entries == [operation.uid]


def asked(scene: Scene, operation: Any, *, base: str, there: bool = True, **more: Any) -> str:
    """An entry of a dead process that had asked other clones; its request on the remote if it is `there`."""
    oid = scene.request(operation, base) if there else "f" * 40
    scene.left(operation.uid, state="asked", asked_on=base, intents={operation.uid: oid}, **more)
    return oid


def test_a_request_that_is_there_is_left_to_whoever_takes_it_over(scene: Scene) -> None:
    operation, base = scene.claim(), scene.tip
    oid = asked(scene, operation, base=base)
    found = scene.look()
    assert not found.is_unsure
    assert {name: side.old for name, side in found.findings.left.items()} == {operation.uid: oid}
    assert found.findings.asked_on == {operation.uid: base}
    assert scene.entries == [operation.uid]
    (member,), rest = hand_over([Member(operation)], found.findings)
    assert (member.request, member.asked_on, rest.left) == (oid, base, {})


def test_another_request_of_that_name_is_not_its_own(scene: Scene) -> None:
    operation = scene.claim()
    scene.request(operation, scene.tip)
    asked(scene, operation, base=scene.tip, there=False)
    found = scene.look()
    assert (found.findings.left, found.is_unsure) == ({}, True)


def test_a_request_that_is_gone_is_looked_for_twice(scene: Scene) -> None:
    operation = scene.comment()
    oid = asked(scene, operation, base=scene.tip)
    assert scene.clone.sides.move([SideRef(requests.INTENTS + operation.uid, None, oid)])
    once = scene.look()
    assert (once.is_unsure, scene.entries, scene.told) == (True, [operation.uid], [])
    twice = scene.look(known=once.findings)
    assert (twice.is_unsure, scene.entries) == (False, [])
    assert "it is kept" in scene.told[0]
    assert scene.clone.repo.ref(PREFIX + operation.uid) == oid


@pytest.mark.parametrize(("ago_s", "waits"), [(0, True), (89, True), (91, False), (-91, False), (None, False)])
def test_an_ask_without_an_answer_may_arrive_for_a_while(scene: Scene, ago_s: int | None, waits: bool) -> None:
    operation, base = scene.claim(), scene.tip
    now_s = int(scene.runtime.now().timestamp())
    since_s = None if ago_s is None else now_s - ago_s
    asked(scene, operation, base=base, there=False, gone=True, unanswered_since_s=since_s)
    found = scene.look()
    expected = {"asked_on": base, "intents": {operation.uid: "f" * 40}, "unanswered_since_s": since_s}
    assert found.findings.may_land == ({operation.uid: expected} if waits else {})
    assert scene.entries == ([operation.uid] if waits else [])


def test_what_somebody_else_has_carried_out_is_done(scene: Scene) -> None:
    operation, base = scene.comment(), scene.tip
    asked(scene, operation, base=base, there=False)
    scene.left("01Z", state="asked", asked_on=base, intents={"01Z": "f" * 40})
    app.open_clone(MemoryPlace(scene.server), scene.runtime).publish(operation)
    found = scene.look()
    assert list(found.findings.heard) == [operation.uid]
    assert scene.entries == ["01Z"], "of the other one nobody knows yet"
    assert found.is_unsure


def test_words_that_were_refused_are_kept_and_told_and_a_claim_lapses(scene: Scene) -> None:
    words, claim = scene.comment(), scene.claim()
    for operation in (words, claim):
        answer = {"code": "not_found", "message": "no such bead"}
        scene.left(operation.uid, state="unknown", form=operation.form(), since=scene.tip)
        scene.place.shared.records[operation.uid].suffix = ".taken"
        scene.clone.journal.answer_for_the_dead(operation.uid, {"answer": answer})
    scene.look()
    assert scene.entries == []
    assert [words.uid in line for line in scene.told] == [True], "nobody is told of the claim: its agent was refused"
    assert scene.clone.repo.ref(PREFIX + words.uid)
    assert scene.clone.repo.ref(PREFIX + claim.uid) is None


def waiting(scene: Scene) -> str:
    """An operation that a holder took and did not live to answer, whose author lives."""
    author = app.open_clone(scene.place, scene.runtime)
    entry = author.journal.begin("01W", verb="claim")
    entry.write(state="waiting")
    scene.place.shared.records["01W"].suffix = ".taken"
    return "01W"


@pytest.mark.parametrize(("looks", "is_back"), [(0, True), (1, False)])
def test_what_a_dead_holder_had_taken_is_put_back_at_the_first_look(scene: Scene, looks: int, is_back: bool) -> None:
    name = waiting(scene)
    scene.look(known=Findings(looks=looks))
    assert (scene.place.shared.records[name].suffix == ".json") == is_back


def test_what_is_heard_stays_heard(scene: Scene) -> None:
    scene.left("01A", state="pushing", base="e" * 40, commits=[scene.tip], batch={"01B": {"subject": "done"}})
    first = scene.look().findings
    again = scene.look(known=first).findings
    assert (again.heard, again.landed, again.looks) == (first.heard, first.landed, 2)


def names(members: Sequence[Member]) -> list[str]:
    return [member.uid for member in members]


def test_members_come_back_in_their_order(scene: Scene) -> None:
    members = [Member(scene.claim()), Member(scene.comment(), path="p")]
    assert names(scene.look(*members).members) == names(members)


@pytest.mark.parametrize(
    ("data", "undone"),
    [
        ({"base": "e" * 40, "commits": ["f" * 40]}, [("e" * 40, "f" * 40)]),
        ({"base": "e" * 40}, []),
        ({"commits": ["f" * 40]}, []),
    ],
)
def test_files_of_a_move_that_broke_off_are_put_back(scene: Scene, data: dict[str, Any], undone: list[tuple[str, str]]) -> None:
    seen: list[tuple[str, str]] = []
    scene.clone.__dict__["worktree"] = SimpleNamespace(undo_half=lambda base, commit: seen.append((base, commit)))
    scene.left("01A", state="pushing", **data)
    scene.look()
    assert seen == undone


def test_words_that_have_landed_are_not_kept_a_second_time(scene: Scene) -> None:
    operation = scene.comment()
    done = scene.clone.publish(operation)
    scene.left(operation.uid, state="pushing", commits=[done.commit])
    scene.look()
    assert (scene.entries, scene.told) == ([], [])
    assert scene.clone.repo.ref(PREFIX + operation.uid) is None
