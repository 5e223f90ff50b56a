"""Reads and writes of clones, above whichever implementation: nothing here knows which one it is."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BdError, Refused, RemoteUnreachable
from bd.operations.beads import Comment
from bd.operations.claims import Claim, Release
from bd.operations.close import Close
from bd.operations.create import Create
from bd.store import rejected
from tests.clocks import START
from tests.contract.conftest import AT
from tests.runtime import RUNTIME
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.store import Clone
    from bd.store.contract import Journal
    from tests.contract.conftest import Hub

pytestmark = pytest.mark.one_in(2)


def asked(by: str = "agent:coder", **more: Any) -> dict[str, Any]:
    return {"by": by, "at": AT, "runtime": RUNTIME, **more}


def create(clone: Clone, *titles: str) -> list[str]:
    outcome = clone.publish(Create(**asked("human:Ada"), beads=[{"title": title} for title in titles]))
    assert outcome.change is not None
    return list(outcome.change.touched)


def claim(agent: str, *ids: str, **more: Any) -> Claim:
    return Claim(**asked(f"agent:{agent}"), agent=agent, ids=list(ids), next=not ids, **more)


def owners(clone: Clone) -> dict[str, list[str]]:
    clone.fetch()
    return {bead.id: [one["agent"] for one in bead.claims] for bead in clone.snapshot().every()}


def test_a_bead_has_one_owner_whoever_asks(shared: Hub) -> None:
    alice, bob = shared.clone("alice"), shared.clone("bob")
    [bead_id] = create(alice, "one")
    won = alice.publish(claim("a", bead_id))
    assert won.published
    with pytest.raises(Refused) as refused:
        bob.publish(claim("b", bead_id))
    assert refused.value.code == "already_claimed"
    assert owners(bob) == owners(alice) == {bead_id: ["a"]}


def test_who_loses_a_race_decides_again(shared: Hub) -> None:
    bob = shared.clone("bob")
    first, second = create(bob, "one", "two")
    seen: list[str] = []

    def step(name: str) -> None:
        if name == "push" and not seen:
            seen.append(name)
            bob.publish(claim("b"))

    alice = shared.clone("alice", on_step=step)
    alice.fetch()
    outcome = alice.publish(claim("a"))
    assert outcome.tries == 2
    assert sorted(agents[0] for agents in owners(bob).values()) == ["a", "b"]
    assert set(owners(alice)) == {first, second}


def test_a_whole_cycle_from_two_clones(shared: Hub) -> None:
    alice, bob = shared.clone("alice"), shared.clone("bob")
    [bead_id] = create(alice, "one")
    won = bob.publish(claim("b", bead_id))
    assert won.change is not None
    [(token, _)] = won.change.tokens
    alice.publish(Comment(**asked("human:Ada"), ids=[bead_id], text="hello"))
    with pytest.raises(BdError) as refused:
        alice.publish(Close(**asked("agent:a"), ids=[bead_id], reason="mine"))
    assert refused.value.exit_code == 5
    done = bob.publish(Close(**asked("agent:b", tokens={bead_id: token}), ids=[bead_id], reason="done"))
    assert done.published
    alice.fetch()
    bead = alice.snapshot().bead(bead_id)
    assert bead is not None
    assert (bead.status, bead.get("close_reason"), len(bead.get("comments"))) == ("closed", "done", 1)
    assert alice.view() == bob.view() == shared.server_ref(alice.branch)


def test_processes_of_one_clone_write_in_one_push(shared: Hub) -> None:
    """Who finds the lock held waits, and whoever holds it carries its operation out."""
    create(shared.clone(), "one", "two")
    outcomes, watching = {}, shared.clone().journal

    def second() -> None:
        with closing(shared.process()) as own:
            outcomes["b"] = own.publish(claim("b"))

    thread = threading.Thread(target=second)

    def step(name: str) -> None:
        if name == "look" and not thread.is_alive() and "b" not in outcomes:
            thread.start()
            until(lambda: "waiting" in states(watching), every_s=0.001)

    outcomes["a"] = shared.clone(on_step=step).publish(claim("a"))
    thread.join()
    tokens = [outcome.change.tokens for outcome in outcomes.values()]
    assert len({bead_id for pairs in tokens for _, bead_id in pairs}) == 2
    assert outcomes["a"].commit == outcomes["b"].commit


def states(journal: Journal) -> list[str]:
    """The states of the entries whose processes live."""
    found: list[str] = []

    def look(data: Mapping[str, Any]) -> bool:
        found.append(data["state"])
        return False  # it is not taken

    journal.take(look, 9)
    return found


@pytest.mark.parametrize("step", ["look", "build", "push", "pushed", "refs"])
def test_what_a_killed_process_had_begun_is_found_out(shared: Hub, step: str) -> None:
    """Nothing it did is lost or done twice, wherever it stops; its agent is told what it won."""
    [bead_id] = create(shared.clone(), "one")
    shared.kill_at(step, claim("a", bead_id))
    landed = owners(shared.clone("bob")) == {bead_id: ["a"]}
    assert landed == (step in ("pushed", "refs"))
    again = shared.clone().publish(claim("a", bead_id))
    assert again.change is not None
    assert [bead for _, bead in again.change.tokens] == [bead_id]
    assert owners(shared.clone("bob")) == {bead_id: ["a"]}
    again.acknowledge()
    create(shared.clone(), "something else")  # a push that got no answer can't land any more where another stands
    assert shared.clone().journal.is_empty()


def test_a_claim_that_beats_beside_the_branch(shared: Hub) -> None:
    alice, bob = shared.clone("alice"), shared.clone("bob")
    [bead_id] = create(alice, "one")
    assert alice.sides.probe(START)
    bob.fetch()
    assert bob.sides.usable(), "one probe does for everybody"
    won = alice.publish(claim("a", bead_id, heartbeat={"interval_s": 30, "by": "ref"}))
    assert won.change is not None
    [(token, _)] = won.change.tokens
    assert bob.listen() == {token: alice.sides.last_beat(token)}
    alice.publish(Release(**asked("agent:a", tokens={bead_id: token}), ids=[bead_id], reason="enough"))
    assert bob.listen() == {}


def test_clones_ask_each_other(shared: Hub) -> None:
    """Two that lose to each other end in one push: one carries out what the other has asked for."""
    maker = shared.clone("maker")
    create(maker, "one", "two", "three")
    maker.sides.probe(START)
    results: dict[str, Any] = {}

    def work(name: str) -> None:
        with closing(shared.process(name)) as own:
            own.fetch()
            ready.wait(60)
            results[name] = own.publish(claim(name))

    for name in ("x", "y", "z"):
        shared.clone(name)
    ready = threading.Barrier(3)
    threads = [threading.Thread(target=work, args=(name,)) for name in ("x", "y", "z")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [bead_id for outcome in results.values() for _, bead_id in outcome.change.tokens]
    assert len(set(won)) == 3
    held = owners(maker)
    assert sorted(agents[0] for agents in held.values()) == ["x", "y", "z"]
    assert maker.remote.list("refs/bd/intents/") == {}, "nobody leaves a request behind"


@pytest.mark.parametrize("lands", [True, False])
def test_a_push_without_an_answer_is_never_a_refusal(shared: Hub, lands: bool) -> None:
    """Whatever the remote is called: what bd says of silence are no words of a server."""
    clone = shared.clone()
    create(clone, "one")
    real, tries = clone.remote, []

    class Silent:
        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

        def push(self, commit: str | None, *args: Any, **more: Any) -> Any:
            tries.append(commit)
            if len(tries) > 1:
                return real.push(commit, *args, **more)
            if lands:
                real.push(commit, *args, **more)
            raise RemoteUnreachable("the remote permission-denied does not answer: git push took longer than 60 s")

    clone.__dict__["remote"] = Silent()
    [bead_id] = create(clone, "two")
    assert len(tries) == (1 if lands else 2)
    assert set(owners(shared.clone("bob"))) >= {bead_id}
    assert clone.journal.is_empty()


def test_reasons_of_published_writes_go_unless_somebody_writes(shared: Hub) -> None:
    reader, writer = shared.clone(), shared.clone()
    with writer.lock():
        rejected.note_reason(writer, "01GONE", "a hook refused it")
        assert reader.kept() == []
        assert rejected.may_keep(reader), "somebody writes, perhaps another reason"
    assert reader.kept() == []
    assert not rejected.may_keep(reader)


@pytest.mark.parametrize("step", ["note_json", "update_refs"])
def test_what_is_kept_has_a_reason_also_if_its_writer_dies(shared: Hub, step: str) -> None:
    """A ref without a reason would be named by no write, and recovery would not keep it again."""
    clone = shared.clone()
    create(clone, "one")

    def die(*_: Any) -> None:
        raise SystemExit

    tip = clone.view()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clone if step == "note_json" else clone.repo, step, die)
        with pytest.raises(SystemExit):
            rejected.keep(clone, "01KEPT", tip, "a hook refused it")
    assert [one.error for one in clone.kept()] == []


def test_a_dismissal_leaves_the_reasons_alone_while_somebody_writes(shared: Hub) -> None:
    reader, writer = shared.clone(), shared.clone()
    create(writer, "one")
    with writer.lock():
        rejected.keep(writer, "01OLD", writer.view(), "a hook refused it")
        assert rejected.dismiss(reader, "01OLD")
        assert rejected.may_keep(reader), "somebody writes, perhaps another reason"
    assert reader.kept() == []
    assert not rejected.may_keep(reader)
