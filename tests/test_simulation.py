"""A simulated fleet: what has to hold of every run, what queueing theory knows, and what was measured on real clones."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.policy.pacing import interval_s
from bd.simulation import run as running
from bd.simulation.figures import percentile
from bd.simulation.loop import Events
from bd.simulation.run import simulate
from bd.simulation.scenario import RETRIES, SERVICE_TIMES, Scenario
from bd.simulation.sweep import FALLS_BEHIND, HOLDS, OVER_LIMIT, WAITS_LONG, Bounds, Run, Sweep, held
from bd.simulation.table import sweep_words, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.one_in(30)

HOUR = 3600.0
# Nothing but claims and closes: all beads are there at once, and nobody gives signs.
AT_ONCE = Scenario(arrivals=0.0, peek_s=0.0, heartbeat_s=0.0, intervals_s=(0.2,), duration_s=600.0)

scenarios = st.builds(
    Scenario,
    agents=st.integers(1, 12),
    intervals_s=st.lists(st.sampled_from([30.0, 600.0, 1800.0]), min_size=1, max_size=3).map(tuple),
    cron=st.booleans(),
    peek_s=st.sampled_from([0.0, 1.0, 30.0]),
    starts_s=st.sampled_from([None, 0.0, 5.0]),
    arrivals=st.sampled_from([0.0, 12 / HOUR, 0.1]),
    load=st.just(0.0),
    burst=st.integers(1, 5),
    backlog=st.integers(0, 30),
    service_s=st.sampled_from([1.0, 60.0, 1200.0]),
    service_times=st.sampled_from(SERVICE_TIMES),
    fetch_s=st.sampled_from([0.01, 0.5]),
    push_s=st.sampled_from([0.02, 1.0, 3.0]),
    retry=st.sampled_from(RETRIES),
    fresh_s=st.sampled_from([0.0, 2.0]),
    retry_time_s=st.sampled_from([1.0, 60.0]),
    heartbeat_s=st.sampled_from([0.0, 30.0]),
    duration_s=st.sampled_from([60.0, 600.0]),
    seed=st.integers(0, 99),
)


# --- time ---


def test_processes_go_on_in_the_order_of_time() -> None:
    events, seen = Events(), []

    def process(name: str, *rests: float) -> Iterator[float]:
        for rest_s in rests:
            yield rest_s
            seen.append((events.now_s, name))
            if name == "a":
                events.start(process("b", 0.5))

    events.start(process("a", 1, 1, 5))
    events.start(process("c", 1.25), after_s=0.5)
    events.run(3)
    assert seen == [(1, "a"), (1.5, "b"), (1.75, "c"), (2, "a"), (2.5, "b")]
    assert events.now_s == 3


# --- every run ---


@given(scenarios)
@settings(max_examples=12, deadline=None)
def test_the_books_balance(scenario: Scenario) -> None:
    figures = simulate(scenario)
    assert figures.beads == figures.claims + figures.waiting
    assert 0 <= figures.claims - figures.closes <= scenario.agents
    assert 0 <= figures.lost <= figures.pushes
    assert 0 <= figures.utilisation <= 1 + 1e-9
    assert figures.wait_p50_s <= figures.wait_p95_s <= figures.wait_p99_s <= scenario.duration_s
    assert (figures.asks > 0) <= (scenario.retry == "combining")
    assert (figures.signs > 0) <= (scenario.heartbeat_s > 0)
    # By Little's law: the sum over time of those who wait is the sum over beads of how long each waited.
    if not figures.waiting:
        assert figures.waiting_mean * scenario.duration_s == pytest.approx(figures.wait_mean_s * figures.claims)


@given(scenarios)
@settings(max_examples=3, deadline=None)
def test_the_same_seed_gives_the_same_run(scenario: Scenario) -> None:
    assert simulate(scenario) == simulate(scenario)


def test_another_seed_gives_another_run() -> None:
    assert simulate(Scenario(seed=1)) != simulate(Scenario(seed=2))


# --- what theory knows ---


@pytest.mark.parametrize("retry", RETRIES)
def test_nobody_is_in_a_lone_agents_way(retry: str) -> None:
    """One push claims the first bead, and each bead's close claims the next."""
    figures = simulate(AT_ONCE._replace(agents=1, backlog=20, service_s=5.0, retry=retry))
    assert (figures.closes, figures.pushes, figures.lost, figures.asks) == (20, 21, 0, 0)
    assert figures.pushes_per_claim == 21 / 20


@pytest.mark.parametrize(("agents", "load", "mean_wait"), [(1, 0.5, 1.0), (2, 0.5, 1 / 3), (3, 0.6, 0.296)])
@pytest.mark.slow
def test_without_latencies_a_fleet_is_the_queue_of_the_textbooks(agents: int, load: float, mean_wait: float) -> None:
    """M/M/c: the mean wait in service times, by Erlang's formula."""
    quick = Scenario(agents=agents, load=load, peek_s=1.0, service_s=300.0, fetch_s=0.01, push_s=0.01, heartbeat_s=0.0)
    waits = [simulate(quick._replace(seed=seed, duration_s=60 * HOUR)).wait_mean_s / 300 for seed in range(8)]
    assert mean(waits) == pytest.approx(mean_wait, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_agents_that_keep_up_are_busy_for_as_long_as_the_work_takes(load: float) -> None:
    figures = simulate(Scenario(agents=10, load=load, service_s=600.0, service_times="uniform", duration_s=10 * HOUR))
    assert figures.is_steady
    assert figures.utilisation == pytest.approx(load, rel=0.12)


def test_more_work_than_the_agents_can_do_falls_behind() -> None:
    figures = simulate(Scenario(agents=5, load=1.5, duration_s=20 * HOUR))
    assert not figures.is_steady
    assert figures.waiting > 10


def test_an_agent_without_work_looks_as_its_pace_says() -> None:
    """Three looks at the base, three at twice that, and then every two hours."""
    figures = simulate(Scenario(agents=1, arrivals=0.0, peek_s=0.0, duration_s=24 * HOUR))
    needed_s, looks = 0.0, 0
    while needed_s < 24 * HOUR - 1800:
        looks += 1
        needed_s += interval_s(1800, looks)
    assert abs(round(figures.looks_per_minute * 24 * 60) - looks) <= 1


def test_a_waiting_agent_that_peeks_finds_work_sooner() -> None:
    fleet = Scenario(agents=4, arrivals=2 / HOUR, duration_s=50 * HOUR)
    assert simulate(fleet).wait_p50_s < simulate(fleet._replace(cron=True)).wait_p50_s


def test_the_more_agents_race_the_more_pushes_are_lost() -> None:
    race = AT_ONCE._replace(backlog=60, service_s=10.0, service_times="uniform")
    lost = [mean(simulate(race._replace(agents=agents, seed=seed)).lost for seed in range(2)) for agents in (1, 3, 12)]
    assert lost == sorted(lost)
    assert lost[0] == 0 < lost[1]


@pytest.mark.slow
def test_a_fleet_that_only_loses_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain retries of a crowd collapse; the run ends before its time and says so."""
    monkeypatch.setattr(running, "LOST_LIMIT", 500)
    crowd = Scenario(agents=60, load=0.7, service_s=60.0, push_s=2.0, retry="plain")
    figures = simulate(crowd)
    assert figures.simulated_s < crowd.duration_s
    assert not figures.is_steady
    assert figures.utilisation <= 1
    assert simulate(crowd._replace(retry="combining", duration_s=600.0)).conflict_rate < figures.conflict_rate


# --- what was measured on real clones, 32 claims at once ---


@pytest.mark.parametrize(
    ("retry", "push_s", "pushes"), [("plain", 0.3, 8.0), ("plain", 1.0, 11.3), ("combining", 0.3, 2.15), ("combining", 1.0, 2.15)]
)
def test_pushes_a_claim_of_32_at_once_are_as_measured(retry: str, push_s: float, pushes: float) -> None:
    """The latencies of the measured pushes were added to what git itself takes."""
    crowd = AT_ONCE._replace(
        agents=32, backlog=32, service_s=4000.0, service_times="fixed", push_s=push_s, fetch_s=0.15, fresh_s=0.0, retry=retry
    )._replace(duration_s=120.0)
    runs = [simulate(crowd._replace(seed=seed)) for seed in range(2)]
    assert {run.claims for run in runs} == {32}
    assert mean(run.pushes_per_claim for run in runs) == pytest.approx(pushes, rel=0.15)


# --- figures, bounds and sweeps ---


@pytest.mark.parametrize(("part", "value"), [(0.0, 1), (0.5, 2), (0.75, 3), (0.95, 4), (1.0, 4)])
def test_percentiles_are_values_that_occurred(part: float, value: float) -> None:
    assert percentile([1, 2, 3, 4], part) == value
    assert percentile([], part) == 0


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, HOLDS),
        ({"is_steady": False}, FALLS_BEHIND),
        ({"pushes_per_minute_p95": 7.0}, OVER_LIMIT),
        ({"wait_p95_s": 301.0}, WAITS_LONG),
        ({"pushes_per_minute_p95": 6.0, "wait_p95_s": 300.0}, HOLDS),
    ],
)
def test_a_run_holds_within_its_bounds(changed: dict[str, float], verdict: str) -> None:
    base = simulate(AT_ONCE)._replace(is_steady=True)
    assert Bounds(6, 300.0).verdict(base._replace(**changed)) == verdict
    assert Bounds().verdict(base._replace(wait_p95_s=1e9, pushes_per_minute_p95=1e9)) == HOLDS


@pytest.mark.slow
def test_a_sweep_doubles_and_then_looks_closer() -> None:
    fleet = Scenario(load=0.7, service_s=300.0, duration_s=600.0)
    tried: list[float] = []
    runs = Sweep("agents", 1, 1000).runs(fleet, Bounds(pushes_per_minute=15), tried.append)
    assert tried[:4] == [1, 2, 4, 8]
    ends = held(runs)
    assert ends is not None
    beyond = min(run.value for run in runs if run.value > ends[1])
    assert {run.verdict for run in runs if run.value >= beyond} == {OVER_LIMIT}
    assert beyond / ends[1] < 2**0.25, "closer than by doubling"
    assert [run.value for run in runs] == sorted(tried)
    assert f"It holds for agents 1 to {ends[1]}; at {beyond}: over limit." == sweep_words("agents", runs)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([HOLDS, HOLDS], "It holds for agents 1 to 2; more was not tried."),
        ([FALLS_BEHIND, HOLDS], "It holds for agents 2; more was not tried."),
        ([FALLS_BEHIND, OVER_LIMIT], "It holds for none of these: over limit at agents 2."),
    ],
)
def test_a_sweep_says_how_far_it_holds(verdicts: list[str], words: str) -> None:
    figures = simulate(AT_ONCE)
    assert sweep_words("agents", [Run(value, figures, verdict) for value, verdict in enumerate(verdicts, 1)]) == words


def test_a_sweep_of_arrivals_wins_over_the_load() -> None:
    """The load alone would make half as many; forty agents keep up with those that come."""
    [run] = Sweep("arrivals", 1 / 60, 1 / 60).runs(Scenario(agents=40, load=0.25, duration_s=6 * HOUR), Bounds(), [].append)
    assert run.figures.beads == pytest.approx(360, rel=0.15)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.254, "0.25s"), (9.96, "10s"), (119, "119s"), (125, "2.1m"), (7000, "117m"), (8000, "2.2h")],
)
def test_times_have_two_digits(seconds: float, text: str) -> None:
    assert time_text(seconds) == text
