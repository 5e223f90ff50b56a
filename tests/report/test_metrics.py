"""The fleet in numbers: against the audit, against hand-made histories, and read bit by bit or all at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.report.audit.audit import examine
from bd.report.log import read
from bd.report.metrics import charts, prometheus
from bd.report.metrics.flow import Flow, flow_of
from bd.report.metrics.metrics import BARS, Window, bars, spread
from bd.store.hub_location import locate
from tests.runtime import open_clone
from tests.truth import tip

if TYPE_CHECKING:
    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session, which holds what it claims."""
    monkeypatch.setenv("BD_SESSION", "test")


@pytest.fixture
def worked(local_hub: Clone, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Clone:
    """Two agents at work: hub-a closed, hub-b (waits for it) failed and closed, hub-c stays in hand, hub-d is given up."""
    here = local_hub.here
    clock.set("2026-02-21T12:00:00Z")

    def at(minute: int, *words: str) -> None:
        clock.set(f"2026-02-21T12:{minute:02}:00Z")
        here(*words)

    at(0, "agent", "add", "ann")
    at(1, "create", "A", "--id", "hub-a", "-t", "bug", "-p", "0")
    at(1, "create", "B", "--id", "hub-b", "--deps", "hub-a")
    at(5, "claim", "hub-a", "--agent", "ann")
    at(15, "close", "hub-a", "--reason", "done", "--agent", "ann")
    at(20, "claim", "hub-b", "--agent", "bob")
    at(25, "fail", "hub-b", "--reason", "crash", "--error", "boom", "--cost", "0.5", "--agent", "bob")
    at(40, "claim", "hub-b", "--agent", "ann")
    at(41, "claim", "hub-b", "--agent", "ann", "--resume")
    at(45, "close", "hub-b", "--force", "--reason", "done", "--agent", "ann")
    at(45, "create", "C", "--id", "hub-c")
    at(45, "create", "D", "--id", "hub-d")
    at(50, "claim", "hub-c", "--agent", "bob")
    at(51, "claim", "hub-d", "--agent", "ann")
    at(52, "fail", "hub-d", "--reason", "budget_exceeded", "--error", "revoked", "--agent", "ann")
    clock.set("2026-02-21T13:00:00Z")
    return local_hub


def measured(clone: Clone, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = clone.here("metrics", "--json", *words).json
    return found


def test_the_numbers_of_a_small_history(worked: Clone) -> None:
    numbers = measured(worked)
    assert (numbers["since"], numbers["until"]) == ("2026-02-21T12:01:00Z", "2026-02-21T13:00:00Z")
    assert numbers["queue"] == [
        {"phase": "dead_lettered", "tier": "normal", "beads": 1},
        {"phase": "running", "tier": "normal", "beads": 1},
    ]
    # a: ready at 1, claimed at 5. b: at 15 (a was closed), 20; tried again soon after 25, 40. c and d: 45, 50 and 51.
    waits = numbers["wait_s"]
    assert (waits["count"], waits["p50"]) == (5, 300)
    assert 14 * 60 <= waits["max"] <= 15 * 60
    assert numbers["work_s"] == {"count": 2, "mean": 450.0, "p50": 300, "p95": 600, "p99": 600, "max": 600}
    assert (numbers["throughput"]["created"], numbers["throughput"]["closed"]) == (4, 2)
    assert numbers["throughput"]["by_type"] == {"bug": 1, "task": 1}
    assert numbers["attempts"] == {
        "succeeded": 2,
        "failed": 2,
        "given_back": 0,
        "by_reason": {"budget_exceeded": 1, "crash": 1},
    }
    assert numbers["dead_letters"] == {"now": 1, "made": 1}
    assert numbers["cost"]["usd"] == 0.5
    ann, bob = numbers["agents"]
    assert (ann["claims"], ann["closed"], ann["failed"], ann["success_rate"]) == (3, 2, 1, round(2 / 3, 4))
    assert ann["utilisation"] == round((10 + 5 + 1) / 59, 4)
    assert (bob["success_rate"], bob["utilisation"], bob["cost_usd"]) == (0.0, round((5 + 10) / 59, 4), 0.5)


def test_a_stretch_of_time(worked: Clone) -> None:
    numbers = measured(worked, "--since", "20m")
    assert (numbers["throughput"]["closed"], numbers["throughput"]["created"]) == (1, 2)
    assert [agent["utilisation"] for agent in numbers["agents"]] == [round((5 + 1) / 20, 4), round(10 / 20, 4)]


def test_claims_and_pushes_are_the_audit_s(worked: Clone) -> None:
    hub = open_clone(locate(str(worked.path)))
    audit, contention = examine(hub.repo, hub.view()), measured(worked)["contention"]
    assert contention["claims"] + 1 == audit.claims, "a claim that was resumed is counted twice by the audit: two tokens"
    assert contention["pushes"] + 1 == audit.pushes


def test_what_is_kept_says_the_same_as_reading_all_of_it(worked: Clone) -> None:
    hub = open_clone(locate(str(worked.path)))
    names = [one.commit for one in read(hub.repo, hub.view())]
    whole = flow_of(hub, hub.view(), keeps=False).as_json()
    for commit in [*names[::3], hub.view()]:
        bit_by_bit = flow_of(hub, commit).as_json()
    assert bit_by_bit == whole
    earlier = flow_of(hub, names[4], keeps=False).as_json()
    assert len(earlier["rows"]) < len(whole["rows"])
    assert hub.noted_json("flow.json")["tip"] == tip(worked.path), "a look at the past keeps nothing"
    hub.note_json("flow.json", {"format": 1, "tip": "0" * 40})
    assert flow_of(hub, hub.view()).as_json() == whole, "notes of another history are not used"


def test_a_bead_of_many_claims_and_none_known() -> None:
    flow = Flow()
    flow.take([])
    assert flow.as_json() == {"rows": [], "begun": {}, "opened": {}, "ended": {}}


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=300))
def test_quantiles_are_values_that_were_there_in_their_order(values: list[int]) -> None:
    found = spread(values)
    assert min(values) <= found["p50"] <= found["p95"] <= found["p99"] <= found["max"] == max(values)
    for part in (50, 95, 99):
        reached = sum(value <= found[f"p{part}"] for value in values)
        assert found[f"p{part}"] in values
        assert reached * 100 >= part * len(values)
        assert sum(value < found[f"p{part}"] for value in values) * 100 < part * len(values)


@given(st.integers(0, 10**9), st.integers(0, 10**8), st.lists(st.floats(0, 1), max_size=30))
def test_every_close_is_in_one_bar(start: int, length: int, places: list[float]) -> None:
    window = Window(start, start + length)
    found = bars([start + int(length * place) for place in places], window)
    assert sum(bar["closed"] for bar in found) == len(places)
    assert len(found) <= BARS + 1
    assert [bar["at"] for bar in found] == sorted(bar["at"] for bar in found)


SAMPLE = re.compile(r'[a-z_]+(\{[a-z_]+="([^"\\\n]|\\["\\n])*"(,[a-z_]+="([^"\\\n]|\\["\\n])*")*\})? -?[0-9.e+-]+')


def test_prometheus_reads_every_line(worked: Clone) -> None:
    told = worked.here("metrics", "--prometheus")
    samples = [line for line in told.lines if not line.startswith("#")]
    assert [line for line in samples if not SAMPLE.fullmatch(line)] == []
    for line in (
        'task_queue_depth{status="running",priority_tier="normal"} 1',
        'tasks_completed_total{type="bug"} 1',
        'tasks_failed_total{reason="crash"} 1',
        "tasks_dead_lettered_total 1",
        'task_queue_wait_seconds{quantile="0.5"} 300',
        'agent_claim_success_rate{agent_id="bob"} 0',
        "daily_spend_usd 0.5",
    ):
        assert line in samples
    typed = [line.split()[2] for line in told.lines if line.startswith("# TYPE")]
    assert len(typed) == len(set(typed))


@given(st.text())
def test_any_text_is_one_label(text: str) -> None:
    numbers = {"queue": [{"phase": text, "tier": "low", "beads": 1}]}
    made = "".join(prometheus._metric("x", "gauge", "X.", prometheus._depths(numbers["queue"])))
    (sample,) = made.split("\n")[2:-1]
    assert SAMPLE.fullmatch(sample)


def test_drawn(worked: Clone, local_hub: Clone) -> None:
    plotted = worked.here("metrics", "--plot")
    assert "closed, 2 in all" in plotted.out
    assert "█" in plotted.out
    page = worked.here("metrics", "--html").out
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "http://" not in page.replace("http-equiv", "")


@given(st.floats(0, 1), st.integers(1, 80))
def test_a_bar_is_as_long_as_its_share(share: float, width: int) -> None:
    drawn = charts.bar(share, width)
    assert abs(len(drawn) - share * width) <= 1
    assert len(drawn) <= width


def test_nothing_happened_yet(local_hub: Clone) -> None:
    numbers = measured(local_hub)
    assert (numbers["queue"], numbers["agents"], numbers["wait_s"]) == ([], [], {"count": 0})
    assert "0 in all" in local_hub.here("metrics", "--plot").out
    assert "created" in local_hub.here("metrics").out
