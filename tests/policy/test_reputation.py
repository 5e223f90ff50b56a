"""What an agent's record is, and what it changes in its order of work where a hub asks for that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.schema import CONFIG_PATH, agent_path
from bd.policy.eligibility import Eligibility
from bd.policy.reputation import Record, records_of
from bd.policy.work_queue import ready_beads
from tests.clocks import START
from tests.memory import MemorySnapshot, make_bead

if TYPE_CHECKING:
    from bd.core.model import Bead
    from tests.running import Clone

AGENTS = {agent_path("ann"): {}, agent_path("crew"): {"pool": {"max": 3, "names": ["toast"]}}}


def done(bead_id: str, agent: str, kind: str = "code", **fields: Any) -> Bead:
    return make_bead(bead_id, type=kind, status="closed", attempts=1, closed_by=f"agent:{agent}", **fields)


def failed(bead_id: str, agent: str, kind: str = "code", reason: str = "crash") -> Bead:
    """A bead that the agent failed, in nobody's hands now and not to be tried again."""
    failure = {"attempt": 1, "agent": agent, "reason": reason}
    return make_bead(bead_id, type=kind, status="dead_letter", attempts=1, failures=[failure])


def hub(*beads: Bead, **config: Any) -> MemorySnapshot:
    return MemorySnapshot(beads, {CONFIG_PATH: {"prefix": "hub", **config}, **AGENTS})


@pytest.mark.parametrize(
    ("beads", "expected"),
    [
        ([], {}),
        ([done("hub-a", "ann"), done("hub-b", "ann")], {"code": Record(2, 0)}),
        ([done("hub-a", "ann"), failed("hub-b", "ann"), failed("hub-c", "ben")], {"code": Record(1, 1)}),
        ([done("hub-a", "ann", "review"), failed("hub-b", "ann")], {"code": Record(0, 1), "review": Record(1, 0)}),
        ([failed("hub-a", "ann", reason="lost"), failed("hub-b", "ann", reason="cancelled")], {}),
        ([done("hub-a", "ann", failures=[{"attempt": 1, "agent": "ann", "reason": "timeout"}])], {"code": Record(1, 1)}),
        ([make_bead("hub-a", type="code", status="closed", closed_by="agent:ann")], {}),
    ],
)
def test_the_record_of_an_agent(beads: list[Bead], expected: dict[str, Record]) -> None:
    assert records_of("ann", hub(*beads)) == expected


@pytest.mark.parametrize("member", ["crew-1", "crew-7", "toast", "crew"])
def test_members_of_a_pool_share_a_record(member: str) -> None:
    assert records_of(member, hub(done("hub-a", "crew-2"), failed("hub-b", "toast"), done("hub-c", "crewman"))) == {
        "code": Record(1, 1)
    }


GOOD = [done(f"hub-g{number}", "ann", "review") for number in range(8)]
BAD = [failed(f"hub-f{number}", "ann", "code") for number in range(8)]


def order(snapshot: MemorySnapshot, agent: str = "ann") -> list[str]:
    return [bead.id for bead in Eligibility(snapshot, agent, START).beads()]


@pytest.mark.parametrize(
    ("points", "agent", "expected"),
    [
        (0, "ann", ["hub-c", "hub-r"]),
        (10, "ann", ["hub-r", "hub-c"]),
        (10, "ben", ["hub-c", "hub-r"]),
        (1, "ann", ["hub-c", "hub-r"]),
    ],
)
def test_what_an_agent_does_well_comes_earlier_where_the_hub_wants_it(points: float, agent: str, expected: list[str]) -> None:
    two = [make_bead("hub-c", type="code", base_priority=40), make_bead("hub-r", type="review", base_priority=50)]
    assert order(hub(*two, *GOOD, *BAD, reputation_points=points), agent) == expected


@given(
    st.lists(st.tuples(st.sampled_from(["code", "review", "task"]), st.integers(0, 100)), max_size=8),
    st.sampled_from([0, 5, 10_000]),
)
def test_no_record_moves_a_bead_before_a_critical_one_or_hides_one(made: list[tuple[str, int]], points: float) -> None:
    beads = [make_bead(f"hub-{number}", type=kind, base_priority=base) for number, (kind, base) in enumerate(made)]
    snapshot = hub(*beads, *GOOD, *BAD, reputation_points=points)
    found = order(snapshot)
    assert sorted(found) == sorted(bead.id for bead in ready_beads(snapshot, START))
    bases = {bead.id: bead.get("base_priority") for bead in beads}
    critical = [bases[bead_id] < 10 for bead_id in found]
    assert critical == sorted(critical, reverse=True)


def test_show_has_the_record(local_hub: Clone) -> None:
    local_hub.here("agent", "add", "ann")
    local_hub.here("create", "Do it", "--id", "hub-a", "--type", "code")
    assert "success" not in local_hub.here("agent", "show", "ann").out
    local_hub.here("claim", "hub-a", "--agent", "ann")
    local_hub.here("fail", "hub-a", "--agent", "ann", "--reason", "timeout", "--error", "slow")
    assert "success:      code 0 of 1" in local_hub.here("agent", "show", "ann").out
    shown = local_hub.here("agent", "show", "ann", "--json").json
    assert shown["reputation"] == {"code": {"done": 0, "failed": 1, "rate": 0.333}}
