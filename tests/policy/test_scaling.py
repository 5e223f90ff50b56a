"""Pools: names, what a member goes by, how many there should be, whom to start, drain and end."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import AgentBusy, NothingReady
from bd.core.pools import Pool, file_of, pool_of, template_of
from bd.core.schema import CONFIG_PATH, agent_path
from bd.core.times import time_text
from bd.operations.claims import Claim
from bd.policy import capacity
from bd.policy.eligibility import Eligibility
from bd.policy.scaling import Member, Memory, Plan, awaited, demand, plan
from tests.clocks import START
from tests.memory import MemorySnapshot, MemoryStore, held, make_bead
from tests.operations.asking import by


def hub(*beads: Any, **pools: Any) -> MemorySnapshot:
    return MemorySnapshot(beads, {agent_path(name): {"name": name, **file} for name, file in pools.items()})


@pytest.mark.parametrize(
    ("settings", "least", "names"),
    [
        (None, 1, ["worker"]),
        ({}, 0, ["worker"]),
        ({"max": 1, "min": 1}, 1, ["worker"]),
        ({"max": 3}, 0, ["worker-1", "worker-2", "worker-3"]),
        ({"max": 3, "names": ["toast", "furiosa"]}, 0, ["toast", "furiosa", "worker-3"]),
        ({"max": 1, "names": ["toast", "furiosa"]}, 0, ["toast"]),
        ({"max": 2, "min": 5}, 2, ["worker-1", "worker-2"]),
        ({"max": 0}, 0, []),
        ({"max": 3, "names": ["../../etc", "Toast", "toast", 7, "con"]}, 0, ["toast", "7", "worker-3"]),
    ],
)
def test_names_and_limits(settings: Any, least: int, names: list[str]) -> None:
    pool = pool_of("worker", {} if settings is None else {"pool": settings})
    assert (pool.min, pool.members) == (least, names)


@pytest.mark.parametrize(
    ("settings", "flaw"),
    [
        ("ten", "`pool` is not a mapping, and is ignored"),
        ({"chekc": "echo 1"}, "`chekc` is not a pool setting: did you mean `check`?"),
        ({"max": "ten"}, "`max: ten` is not a number of 0 or more, and is ignored"),
        ({"min": -1}, "`min: -1` is not a number of 0 or more, and is ignored"),
        ({"max": True}, "`max: True` is not a number of 0 or more, and is ignored"),
        ({"max": 1_000_000}, "`max: 1000000` is more than 1000, which holds"),
        ({"min": 5, "max": 2}, "`min: 5` is more than `max`, 2, which is used for both"),
        ({"max": 2, "size": 3}, "`size: 3` is not within 0..2; 2 holds"),
        ({"drain_timeout": "soon"}, "`drain_timeout: soon` is not a duration, and is ignored"),
        ({"names": "toast"}, "`names` is not a list, and is ignored"),
        ({"names": ["a/b"], "max": 2}, "'a/b' in `names` is not a valid agent name, and is ignored"),
        ({"provider": "cloud"}, "`provider: cloud` is not one of child, tmux, systemd: no members are started"),
    ],
)
def test_what_can_not_be_is_told(settings: Any, flaw: str) -> None:
    assert pool_of("worker", {"pool": settings}).flaws == (flaw,)


def test_what_can_be_is_no_flaw() -> None:
    given = {"min": 0, "max": 10, "max_claims": 6, "names": ["toast"], "provider": "cloud", "alive": "true", "cooldown_up": "0s"}
    assert pool_of("worker", {"pool": given}).flaws == ()


def test_defaults_of_the_source() -> None:
    pool = pool_of("worker", {"pool": {"max": 10, "check": "bd ready --json | jq length", "idle_timeout": "10m"}})
    assert (pool.drain_timeout_s, pool.idle_timeout_s, pool.check) == (900.0, 600.0, "bd ready --json | jq length")


def test_a_member_goes_by_its_template() -> None:
    file = {"max_concurrent": 2, "capabilities": ["gpu"], "pool": {"max": 3, "names": ["toast"]}}
    snapshot = hub(worker=file, other={"role": "coding"})
    for name in ("worker-2", "worker-9", "toast"):
        assert template_of(name, snapshot) == "worker"
        assert file_of(name, snapshot) == {**file, "name": name}
        assert capacity.limit_of(name, snapshot) == 2
        assert not Eligibility(snapshot, name, START).reasons(make_bead(needs=["gpu"]))
    assert template_of("other-1", snapshot) is None, "no pool"
    assert template_of("worker-x", snapshot) is None


def test_all_members_together_hold_no_more_than_the_pool_may() -> None:
    file = {"max_concurrent": 5, "pool": {"max": 6, "max_claims": 2}}
    one = hub(held("hub-a", "worker-1"), worker=file)
    assert capacity.room("worker-2", one, START) == 1
    both = hub(held("hub-a", "worker-1"), held("hub-b", "worker-2", "t2"), held("hub-c", "other", "t3"), worker=file)
    reason = Eligibility(both, "worker-3", START).idle()
    assert reason is not None
    assert reason.code == "pool_full"
    assert Eligibility(both, "other", START).idle() is None


def test_without_a_check_what_is_ready_and_in_work_counts() -> None:
    beads = [
        make_bead("hub-a"),
        make_bead("hub-b", needs=["gpu"]),
        make_bead("hub-c", assignee="worker-2"),
        make_bead("hub-d", assignee="ada"),
        make_bead("hub-e", depends_on=["hub-a"]),
        held("hub-f", "worker-1"),
        held("hub-g", "other", "t2"),
    ]
    snapshot = hub(*beads, worker={"pool": {"max": 3}})
    assert demand(pool_of("worker", snapshot.agent("worker") or {}), snapshot, START) == 3


def test_nobody_is_wanted_for_what_nobody_may_claim() -> None:
    beads = [
        *(make_bead(f"hub-{letter}") for letter in "abcd"),
        held("hub-h", "worker-1"),
        make_bead("hub-q", assignee="worker-1"),
    ]
    pool = {"pool": {"max": 9, "max_claims": 3}}
    snapshot = hub(*beads, worker=pool)
    assert demand(pool_of("worker", pool), snapshot, START) == 3, "one in work, and room for two"
    free = {"pool": {"max": 9}}
    assert demand(pool_of("worker", free), hub(*beads, worker=free), START) == 5, "what waits for a busy member waits"
    paused = MemorySnapshot(beads, {agent_path("worker"): free, CONFIG_PATH: {"paused": {"by": "human:ada"}}})
    assert demand(pool_of("worker", free), paused, START) == 1


FIELDS = st.fixed_dictionaries(
    {
        "assignee": st.sampled_from([None, None, None, "worker-1", "worker-2", "worker-3", "ada"]),
        "needs": st.sampled_from([None, None, ["gpu"]]),
        "title": st.sampled_from(["Fix it", "Write it"]),
        "depends_on": st.sampled_from([None, None, ["hub-0"]]),
        "exclusive": st.sampled_from([None, None, "repo"]),
    }
)
FILES = st.fixed_dictionaries(
    {"role": st.sampled_from([None, "coding"]), "capabilities": st.sampled_from([None, ["gpu"]]), "max_claims": st.sampled_from([None, 1, 2])}
)  # fmt: skip


@given(st.lists(FIELDS, max_size=4), st.sets(st.integers(1, 3)), FILES, st.booleans())
def test_more_is_wanted_exactly_when_a_member_that_is_free_can_claim(
    drawn: list[dict[str, Any]], busy: set[int], given_file: dict[str, Any], is_paused: bool
) -> None:
    """The number a pool goes by, what `ready` lists, and what a claim takes: one and the same answer."""
    most = given_file.pop("max_claims")
    file = {key: value for key, value in given_file.items() if value}
    file["pool"] = {"max": 4, **({"max_claims": most} if most else {})}
    beads = [make_bead(f"hub-{number}", **fields) for number, fields in enumerate(drawn)]
    beads += [held(f"hub-h{number}", f"worker-{number}", f"t{number}") for number in busy]
    config = {CONFIG_PATH: {"paused": {"by": "human:ada"}}} if is_paused else {}
    snapshot = MemorySnapshot(beads, {agent_path("worker"): {"name": "worker", **file}, **config})
    pool = pool_of("worker", file)
    free = [name for name in pool.members if int(name[-1]) not in busy]
    able = [name for name in free if can_claim(name, snapshot)]
    assert (demand(pool, snapshot, START) > len(busy)) == bool(able)
    may = [name for name in free if not Eligibility(snapshot, name, START).idle()]
    assert able == [name for name in may if any(Eligibility(snapshot, name, START).beads())]
    first = awaited(pool, snapshot, START)
    does = plan(
        pool, demand(pool, snapshot, START), there(*(f"worker-{number}" for number in busy)), Memory(), 1000.0, first=first
    )
    if able:
        assert set(able).intersection(does.start), "who is started finds something"


def can_claim(name: str, snapshot: MemorySnapshot) -> bool:
    store = MemoryStore()
    store.tip = snapshot
    with contextlib.suppress(NothingReady, AgentBusy):
        return bool(store.publish(Claim(**{**by(name), "at": time_text(START), "next": True, "count": 1, "agent": name})).touched)
    return False


def test_who_is_waited_for_is_started_first_and_nobody_in_a_pause() -> None:
    assert plan(POOL, 2, [], Memory(), 1000.0, first={"w-3"}).start == ("w-3", "w-1")
    pool = POOL.replace(min=1)
    assert plan(pool, 3, [], Memory(), 1000.0, halt="the fleet is paused") == Plan(3, start=("w-1",), waits="the fleet is paused")


# --- plans ------------------------------------------------------------------------------------

POOL = Pool("w", min=0, max=4, cooldown_up_s=60, cooldown_down_s=300, is_explicit=True)


def there(*names: str, **extra: Any) -> list[Member]:
    return [Member(name, 0.0, **extra) for name in names]


@pytest.mark.parametrize(
    ("wanted", "running", "memory", "does"),
    [
        (2, [], Memory(), Plan(2, start=("w-1", "w-2"))),
        (9, there("w-2"), Memory(), Plan(4, start=("w-1", "w-3", "w-4"))),
        (None, there("w-1", "w-2"), Memory(), Plan(2)),
        (None, [], Memory(), Plan(0)),
        (3, there("w-1"), Memory(up_s=990.0), Plan(3, waits="it grew a moment ago")),
        (3, there("w-1"), Memory(up_s=900.0), Plan(3, start=("w-2", "w-3"))),
        (3, [], Memory(fails=3, failed_s=985.0), Plan(3, waits="its members end as soon as they are started")),
        (1, there("w-1", drained_s=900.0), Memory(), Plan(1, start=("w-2",))),
        (0, there("w-1"), Memory(up_s=800.0), Plan(0, waits="it changed a moment ago")),
        (0, there("w-1"), Memory(up_s=700.0), Plan(0, drain=(("w-1", "fewer are needed"),))),
        (0, there("w-1", drained_s=99.0), Memory(), Plan(0, kill=(("w-1", "it did not end in time"),))),
        (0, there("w-7"), Memory(), Plan(0, drain=(("w-7", "the pool has no member of this name"),))),
    ],
)
def test_what_is_done(wanted: int | None, running: list[Member], memory: Memory, does: Plan) -> None:
    assert plan(POOL, wanted, running, memory, 1000.0) == does


def test_the_least_recently_active_go_first_and_who_works_last() -> None:
    running = [Member("w-1", 900.0), Member("w-2", 10.0, idle=False), Member("w-3", 500.0)]
    assert [name for name, _ in plan(POOL, 1, running, Memory(), 1000.0).drain] == ["w-3", "w-1"]


def test_who_is_idle_for_long_does_not_wait_for_the_cooldown() -> None:
    running = [Member("w-1", 900.0), Member("w-2", 300.0)]
    pool = POOL.replace(idle_timeout_s=600.0)
    assert plan(pool, 0, running, Memory(up_s=900.0), 1000.0).drain == (("w-2", "idle for too long"),)
    assert plan(pool, 2, running, Memory(up_s=900.0), 1000.0).drain == ()


@given(
    st.none() | st.integers(-3, 20),
    st.lists(st.tuples(st.integers(1, 6), st.floats(0, 1000), st.booleans(), st.none() | st.floats(0, 1000)), unique_by=lambda m: m[0]),
    st.builds(Memory, st.none() | st.floats(0, 1000), st.none() | st.floats(0, 1000), st.integers(0, 9), st.none() | st.floats(0, 1000)),
    st.tuples(st.integers(0, 4), st.integers(2, 5)),
)  # fmt: skip
def test_any_plan_keeps_the_limits(wanted: int | None, drawn: list[Any], memory: Memory, limits: tuple[int, int]) -> None:
    pool = POOL.replace(min=min(limits), max=max(limits))
    running = [Member(f"w-{number}", *rest) for number, *rest in drawn]
    does = plan(pool, wanted, running, memory, 1000.0)
    names, drained = {one.name for one in running}, {name for name, _ in does.drain}
    ours = [one for one in running if one.name in pool.members]
    at_work = {one.name for one in ours if one.drained_s is None}
    assert pool.min <= does.desired <= pool.max
    assert not names.intersection(does.start), "nobody is started twice"
    assert set(does.start) <= set(pool.members)
    assert not (does.start and drained & at_work), "no growing and shrinking at once"
    assert len(at_work | set(does.start)) <= max(len(at_work), does.desired)
    assert len(at_work - drained) >= min(len(at_work), pool.min)
    assert {name for name, _ in does.kill} == {
        one.name for one in running if one.drained_s is not None and 1000.0 - one.drained_s >= pool.drain_timeout_s
    }
    if wanted is None and pool.min <= len(at_work) <= pool.max:
        assert not does.start
        assert not drained & at_work, "what can't be known changes nothing"
