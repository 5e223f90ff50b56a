"""Which beads move to whom: the source's scenario, each rule as a case, and any fleet at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.schema import CONFIG_PATH, agent_path, capacity_path
from bd.operations.work_stealing import Rebalance
from bd.policy.capacity import is_away
from bd.policy.eligibility import Eligibility
from bd.policy.priority import base_priority
from bd.policy.readiness import status_now
from bd.policy.stealing import Cycle, Rules, cycle, is_allowed_to_polls, queues, rules_of
from tests.clocks import START, FakeClock
from tests.memory import MemorySnapshot, MemoryStore, held, make_bead
from tests.operations.asking import by

if TYPE_CHECKING:
    from bd.core.model import Bead

AGO = FakeClock().text


def idle(minutes: float = 10, said: float = 1, **extra: Any) -> dict[str, Any]:
    """The record of an agent that is idle since so many minutes, and said so `said` minutes ago."""
    return {"idle": True, "idle_since": AGO(minutes=-minutes), "last_heartbeat": AGO(minutes=-said), **extra}


def at_work(said: float = 1) -> dict[str, Any]:
    return {"idle": False, "last_heartbeat": AGO(minutes=-said)}


def fleet(
    *beads: Bead,
    files: dict[str, dict[str, Any]] | None = None,
    config: dict[str, Any] | None = None,
    **records: dict[str, Any],
) -> MemorySnapshot:
    """Agents with these capacity records; their files match everything where `files` says nothing else."""
    made: dict[str, dict[str, Any]] = {CONFIG_PATH: {"format": 1, "prefix": "hub", **(config or {})}}
    for name, record in records.items():
        made[capacity_path(name)] = {"agent": name, **record}
        made[agent_path(name)] = {"name": name, "max_concurrent": 2, **(files or {}).get(name, {})}
    return MemorySnapshot(beads, made)


def queue(name: str, count: int, **fields: Any) -> list[Bead]:
    return [make_bead(f"hub-{name}{number:02}", assignee=name, **fields) for number in range(count)]


def moved(found: Cycle) -> list[tuple[str, str, str]]:
    return [(move.id, move.source, move.to) for move in found.moves]


def test_the_scenario_of_the_source() -> None:
    """Loom emptied its queue and sits idle while 12 wait for iris: one cycle gives it 3 of them, and 9 stay."""
    snapshot = fleet(*queue("iris", 12), loom=idle(), iris=at_work())
    found = cycle(snapshot, START)
    assert [(move.source, move.to) for move in found.moves] == [("iris", "loom")] * 3
    assert len({move.id for move in found.moves}) == 3
    assert (found.idle, found.busy, dict(found.pending)) == (("loom",), ("iris",), {"iris": 12})
    assert set(found.kept.values()) == {"the caps of this cycle are reached"}
    assert found.not_idle == {"iris": "12 wait in its own queue"}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (idle(2), ""),
        (idle(1.9), "it is idle for less than 2m"),
        (idle(-5), "it is idle for less than 2m"),
        (at_work(), "it has not said that it is idle"),
        ({"idle": True, "last_heartbeat": AGO()}, "it has not said that it is idle"),
        (idle(600, 95), ""),
        (idle(600, 200), "no heartbeat for 3h"),
        ({"idle": True, "idle_since": AGO(minutes=-9)}, "it never sent a heartbeat"),
        (idle(status="draining"), "loom is draining"),
        (idle(status="offline"), "loom is offline"),
        (idle(recent=["failed", "failed"], overloaded_at=AGO()), "loom is overloaded"),
    ],
)
def test_who_gets_work(record: dict[str, Any], why: str) -> None:
    found = cycle(fleet(*queue("iris", 9), loom=record, iris=at_work()), START)
    assert found.not_idle.get("loom", "").startswith(why)
    assert bool(found.moves) == (not why)


def test_who_works_or_has_a_queue_of_its_own_gets_nothing() -> None:
    working = fleet(*queue("iris", 9), held("hub-h", "loom"), loom=idle(), iris=at_work())
    assert cycle(working, START).not_idle["loom"] == "it works on hub-h"
    waiting = fleet(*queue("iris", 9), *queue("loom", 1), loom=idle(), iris=at_work())
    assert cycle(waiting, START).not_idle["loom"] == "1 waits in its own queue"
    paused = fleet(*queue("iris", 9), loom=idle(), iris=at_work(), config={"paused": {"by": "human:ada"}})
    assert not cycle(paused, START).moves


@pytest.mark.parametrize(("waiting", "moves"), [(5, 0), (6, 1), (7, 2), (8, 3), (40, 3)])
def test_a_queue_is_never_brought_below_the_threshold(waiting: int, moves: int) -> None:
    assert len(cycle(fleet(*queue("iris", waiting), loom=idle(), iris=at_work()), START).moves) == moves


@pytest.mark.parametrize("record", [at_work(said=600), {**at_work(), "status": "offline"}])
def test_a_source_that_is_away_gives_at_any_length(record: dict[str, Any]) -> None:
    found = cycle(fleet(*queue("iris", 2), loom=idle(), iris=record), START)
    assert len(found.moves) == 2


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, ""),
        ({"priority": 1}, "its base priority 20 is more urgent than 50"),
        ({"base_priority": 49.5}, "its base priority 49.5 is more urgent than 50"),
        ({"base_priority": 50}, ""),
        ({"labels": ["stolen"]}, "it was moved before"),
        ({"depends_on": ["hub-first"]}, "it is not ready"),
        ({"needs": ["gpu"]}, "it needs gpu, which loom does not have"),
        ({"title": "Write the paper"}, "it matches none of loom's skills"),
        ({"title": "Write the paper", "priority": 4}, ""),
        ({"title": "Write the paper", "priority": 4, "labels": ["paper"]}, "it matches none of loom's skills"),
        ({"title": "Write the paper", "base_priority": 79}, "it matches none of loom's skills"),
        ({"title": "Write the paper", "base_priority": 80}, ""),
        ({"prefer_agent": "iris", "prefer_until": AGO(hours=1)}, "it is kept for iris"),
    ],
)
def test_which_beads_may_move(fields: dict[str, Any], why: str) -> None:
    beads = queue("iris", 6, **{"title": "Fix the build", **fields})
    first = make_bead("hub-first", title="Fix it", priority=0)
    files = {"loom": {"role": "coding"}}
    found = cycle(fleet(first, *beads, loom=idle(), iris=at_work(), files=files), START)
    assert bool(found.moves) == (not why), found
    if why:
        assert all(words.startswith(why) for words in found.kept.values())


def test_the_least_urgent_of_the_busiest_goes_first() -> None:
    beads = [
        *queue("iris", 7),
        *queue("forge", 9),
        make_bead("hub-last", assignee="forge", priority=4),
        make_bead("hub-young", assignee="forge", created_at=AGO()),
    ]
    found = cycle(fleet(*beads, loom=idle(), iris=at_work(), forge=at_work()), START)
    assert [move.id for move in found.moves][:2] == ["hub-last", "hub-young"]
    assert {move.source for move in found.moves} == {"forge"}


def test_what_the_busiest_has_not_another_may_have() -> None:
    beads = [*queue("iris", 9, title="Write"), *queue("forge", 7, title="Fix it")]
    files = {"loom": {"role": "coding"}}
    found = cycle(fleet(*beads, loom=idle(), iris=at_work(), forge=at_work(), files=files), START)
    assert {move.source for move in found.moves} == {"forge"}


def test_idle_agents_take_turns_and_a_cycle_ends_at_ten() -> None:
    names = [f"loom{number}" for number in range(6)]
    found = cycle(fleet(*queue("iris", 60), iris=at_work(), **{name: idle() for name in names}), START)
    got = [[move.to for move in found.moves].count(name) for name in names]
    assert (sum(got), max(got), min(got)) == (10, 2, 1)


def test_the_queue_of_a_person_is_nobodys_to_move() -> None:
    assert not cycle(fleet(*queue("ada", 12), loom=idle()), START).moves


def test_the_hub_may_have_figures_of_its_own() -> None:
    given = {"stealing": {"idle": "30m", "pending": 1, "per_agent": "2", "base": "much", "per_cycle": -4}}
    snapshot = fleet(*queue("iris", 4), loom=idle(31), iris=at_work(), config=given)
    assert rules_of(snapshot) == Rules(idle_s=1800.0, pending=1, per_agent=2)
    assert len(cycle(snapshot, START).moves) == 2
    assert rules_of(fleet(config={"stealing": "often"})) == Rules()
    assert rules_of(fleet(config={"stealing": {"pending": 10**400, "per_agent": float("inf")}})) == Rules()


def test_a_stolen_bead_says_whence_and_when_and_never_moves_again() -> None:
    snapshot = fleet(*queue("iris", 12, metadata={"pr": "7"}), loom=idle(), iris=at_work())
    store = MemoryStore()
    store.tip = snapshot
    change = store.publish(Rebalance(**by()))
    assert store.subjects == ["rebalance: 3 beads by coder"]
    for bead_id in change.touched:
        bead = store.bead(bead_id)
        assert (bead.assignee, bead.labels, bead.status) == ("loom", ["stolen"], "open")
        assert bead.get("metadata") == {"pr": "7", "stolen_from": "iris", "stolen_at": bead.updated_at}
        assert not Eligibility(store.tip, "loom", START).reasons(bead), "who got it may take it"


# --- any fleet --------------------------------------------------------------------------------

NAMES = ("ann", "ben", "cat", "dan")
RECORDS = st.sampled_from(
    [
        *(idle(minutes, said) for minutes in (2, 10, 500) for said in (0, 1, 5)),
        *(idle(0), idle(1), idle(10, 80), idle(500, 200), idle(status="draining")),
        *(at_work(0), at_work(200)),
    ]
)
FILES = st.sampled_from(
    [{}, {"role": "coding"}, {"role": "overseer"}, {"skills": {"labels": ["x"]}}, {"capabilities": ["gpu"]}, {"interval": "5m"}]
)
BEADS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    assignee=st.integers(min_value=0, max_value=9),
    base_priority=st.sampled_from([50, 60, 79, 80, 100, 50, 60, 79, 80, 5, 49]),
    title=st.sampled_from(["Fix it", "Write it"]),
    labels=st.sampled_from([None, None, None, ["x"], ["x"], ["stolen"]]),
    needs=st.sampled_from([None, None, None, ["gpu"]]),
    depends_on=st.sampled_from([None, None, None, ["hub-00"]]),
    status=st.sampled_from(["open", "open", "open", "open", "deferred", "in_progress"]),
)


# Whose queues the beads are in, two of ten in nobody's and a person's: who has none of them may be idle.
OWNERS = st.sampled_from([("ann",) * 8, ("ann",) * 8, ("ann", "ben") * 4, NAMES * 2]).map(lambda names: (*names, "ada", None))


@given(st.lists(BEADS, min_size=15, max_size=30), OWNERS, st.tuples(*[RECORDS] * 4), st.tuples(*[FILES] * 4))
def test_no_fleet_makes_a_cycle_break_a_rule(
    drawn: list[dict[str, Any]],
    owners: tuple[str | None, ...],
    records: tuple[dict[str, Any], ...],
    files: tuple[dict[str, Any], ...],
) -> None:
    beads = []
    for number, chosen in enumerate(drawn):
        bead_id, name = f"hub-{number:02}", owners[chosen["assignee"]]
        fields = {**chosen, "assignee": name}
        if fields["status"] == "in_progress":
            beads.append(held(bead_id, name or "ann", f"t{number}", **{**fields, "assignee": name or "ann"}))
        else:
            beads.append(make_bead(bead_id, **fields))
    store = MemoryStore()
    store.tip = fleet(*beads, files=dict(zip(NAMES, files, strict=True)), **dict(zip(NAMES, records, strict=True)))
    moves_of: dict[str, int] = {}
    for number in range(4):
        before, waiting = store.tip, queues(store.tip, START)
        found = cycle(before, START)
        change = store.publish(Rebalance(**{**by(), "at": AGO(seconds=number)}))
        assert sorted(change.touched) == sorted(move.id for move in found.moves)
        assert len(found.moves) <= 10
        for move in found.moves:
            moves_of[move.id] = moves_of.get(move.id, 0) + 1
            assert_legal(before, move.id, move.source, move.to)
        for name in NAMES:
            assert sum(move.to == name for move in found.moves) <= 3
            given_away = sum(move.source == name for move in found.moves)
            if given_away and not is_away(name, before, START):
                assert len(waiting[name]) - given_away >= 5
        changed = {bead.id for bead in store.tip.every() if bead != before.head(bead.id)}
        assert changed == {move.id for move in found.moves}, "nothing else is touched"
    assert all(count == 1 for count in moves_of.values()), "no bead moves twice"


def assert_legal(before: MemorySnapshot, bead_id: str, source: str, to: str) -> None:
    """What may be said of every move, read off the beads and records themselves."""
    bead, record = before.bead(bead_id), before.capacity(to)
    assert bead is not None
    assert record is not None
    assert bead.assignee == source
    assert source != to
    assert bead.claim is None
    assert status_now(bead, START) == "open"
    assert base_priority(bead) >= 50
    assert "stolen" not in bead.labels
    assert record["idle"]
    assert record["idle_since"] <= AGO(minutes=-2)
    assert record.get("status") != "draining"
    assert not is_away(to, before, START)
    assert not [one for one in before.every() if one.assignee == to and (one.claim or status_now(one, START) == "open")]
    reasons = {reason.code for reason in Eligibility(before, to, START).reasons(bead.evolve(assignee=None))}
    is_simple = base_priority(bead) >= 80 and not bead.labels
    assert reasons <= ({"skills", "prefix"} if is_simple else set())


# --- an agent that asks -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "config", "expected"),
    [
        (None, {}, 3),
        ({"idle": False}, {}, 3),
        (idle(minutes=0), {}, 3),
        ({"status": "draining"}, {}, 0),
        ({}, {"paused": {"by": "human:ada"}}, 0),
    ],
)
def test_an_agent_that_asks_need_not_have_been_idle(record: dict[str, Any] | None, config: dict[str, Any], expected: int) -> None:
    snapshot = fleet(*queue("iris", 12), config=config, iris=at_work(), **({} if record is None else {"loom": record}))
    found = cycle(snapshot, START, to="loom")
    assert [move.to for move in found.moves] == ["loom"] * expected


def test_an_agent_that_asks_gets_nothing_while_it_has_work_of_its_own() -> None:
    for own in (held("hub-x", "loom"), make_bead("hub-x", assignee="loom")):
        assert cycle(fleet(*queue("iris", 12), own, iris=at_work(), loom=idle()), START, to="loom").moves == ()


def test_what_one_agent_asks_for_moves_to_it_alone() -> None:
    store = MemoryStore()
    store.tip = fleet(*queue("iris", 12), iris=at_work(), loom=idle(), spark=idle())
    change = store.publish(Rebalance(to="spark", **by("spark")))
    assert {bead.assignee for bead in change.beads.values() if bead} == {"spark"}
    assert len(change.touched) == 3


@pytest.mark.parametrize(
    ("stealing", "allowed"), [(None, False), ({}, False), ({"on_poll": True}, True), ({"on_poll": False}, False)]
)
def test_polls_may_steal_only_where_the_hub_says_so(stealing: Any, allowed: bool) -> None:
    assert is_allowed_to_polls(fleet(config={"stealing": stealing})) is allowed
