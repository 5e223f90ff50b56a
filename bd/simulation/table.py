"""The figures of runs as rows of words."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.simulation.figures import percentile
from bd.simulation.sweep import FALLS_BEHIND, HOLDS, OVER_LIMIT, WAITS_LONG, WHOLE, held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bd.simulation.figures import Figures
    from bd.simulation.fit import Need
    from bd.simulation.scenario import Scenario
    from bd.simulation.sweep import Run
    from bd.simulation.tally import Happened

FIT_COLUMNS = ["role", "beads/day", "each", "failed", "agents", "needed", "busy", "wait p95", "USD/day", ""]
SWEEP_COLUMNS = ["wait p50", "p95", "p99", "busy", "claims", "lost", "/claim", "/min", "p95", ""]
_RATES = ("arrivals",)
_NUMBERS = ("load",)


def heading(scenario: Scenario) -> str:
    """The scenario in a sentence."""
    if scenario.groups:
        groups = ", ".join(f"{'pool' if one.is_pool else one.size} {one.name}" for one in scenario.groups)
        return f"{groups}; {rate_text(scenario.rate)} beads an hour; {scenario.retry} retries"
    intervals = ", ".join(time_text(seconds) for seconds in scenario.intervals_s)
    start = f"cron every {intervals}" if scenario.cron else f"looking every {intervals}"
    return (
        f"{scenario.agents} agents {start}; {rate_text(scenario.rate)} beads an hour, {time_text(scenario.service_s)} each; "
        f"{scenario.retry} retries"
    )


def figure_rows(figures: Figures) -> list[list[str]]:
    """One run: what, and how much."""
    f = figures
    waits = f"p50 {time_text(f.wait_p50_s)}, p95 {time_text(f.wait_p95_s)}, p99 {time_text(f.wait_p99_s)}"
    return [
        ["wait, ready to claimed", waits],
        ["agents busy", f"{f.utilisation:.0%} of the time"],
        ["beads", f"{f.beads} made, {f.claims} claimed, {f.closes} closed, {f.waiting} waiting at the end"],
        ["pushes to the branch", f"{f.pushes}, {f.lost} of them lost to a faster one ({f.conflict_rate:.0%})"],
        ["pushes to side refs", f"{f.asks} intents, {f.signs} heartbeats"],
        ["pushes a claim", f"{f.pushes_per_claim:.2f} for claiming and closing"],
        ["pushes a minute", f"{f.pushes_per_minute:.1f}; in 95% of the minutes at most {f.pushes_per_minute_p95:g}"],
        ["looks a minute", f"{f.looks_per_minute:.1f} for work, {f.reads_per_minute:.1f} fetches and listings"],
        *_more_rows(f),
    ]


def _more_rows(f: Figures) -> list[list[str]]:
    """Return what only some scenarios have."""
    rows: list[list[str]] = []
    if f.failures or f.given_up:
        rows.append(["failed attempts", f"{f.failures}, {f.given_up} beads given up"])
    if f.freed:
        noticed = f"p50 {time_text(f.stall_p50_s)}, at most {time_text(f.stall_max_s)} after the death"
        rows.append(["stalled claims", f"{f.freed} freed, {noticed}"])
    if f.spent_usd:
        a_bead = f" {f.spent_usd / f.closes:.2f} a closed bead," if f.closes else ""
        rows.append(["cost", f"{f.spent_usd:.2f} USD;{a_bead} {f.empty_looks} looks found nothing"])
    return rows


def wait_rows(waits_by: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """Return the waits of each kind of work."""
    return [
        [name, str(len(waits)), *(time_text(percentile(sorted(waits), part)) for part in (0.5, 0.95, 0.99))]
        for name, waits in sorted(waits_by.items())
    ]


def fit_row(need: Need) -> list[str]:
    """Return what one role needs."""
    return [
        need.role,
        f"{need.beads_per_day:.3g}",
        time_text(need.service_s),
        f"{need.fails:.0%}",
        str(need.agents_now),
        str(need.agents),
        f"{need.utilisation:.0%}",
        time_text(need.wait_p95_s),
        f"{need.usd_per_day:.2f}",
        "" if need.holds else "waits long",
    ]


def fit_words(needs: Sequence[Need], wait_s: float) -> str:
    """Return the answer in a sentence."""
    usd = sum(need.usd_per_day for need in needs)
    fleet = ", ".join(f"{need.agents} {need.role}" for need in needs)
    cost = f"; {usd:.2f} USD a day" if usd else ""
    if all(need.holds for need in needs):
        return f"With {fleet}, 95% of the beads wait no longer than {time_text(wait_s)}{cost}."
    return (
        f"Even with {fleet} beads wait longer than {time_text(wait_s)}: agents look too rarely, or the hub takes too few pushes."
    )


def timeline_rows(told: Sequence[Happened]) -> list[list[str]]:
    """Return what happened to a bead."""
    return [[clock_text(one.at_s), one.what, one.agent] for one in told]


def clock_text(seconds: float) -> str:
    """Return a time of the simulated clock, `1:02:03`."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def sweep_row(name: str, run: Run) -> list[str]:
    """One run of a sweep."""
    f = run.figures
    waits = [time_text(f.wait_p50_s), time_text(f.wait_p95_s), time_text(f.wait_p99_s)]
    pushes = [f"{f.pushes_per_claim:.2f}", f"{f.pushes_per_minute:.1f}", f"{f.pushes_per_minute_p95:g}"]
    return [
        value_text(name, run.value),
        *waits,
        f"{f.utilisation:.0%}",
        str(f.claims),
        f"{f.conflict_rate:.0%}",
        *pushes,
        run.verdict,
    ]


def verdict_words(verdict: str, figures: Figures) -> str:
    """What a run's verdict means."""
    behind = f"It falls behind: {figures.waiting} beads wait at the end, and they become more."
    if figures.lost > figures.pushes / 2:
        behind = "It falls behind: the writers are in each other's way, and most pushes are lost."
    return {
        HOLDS: "It holds.",
        FALLS_BEHIND: behind,
        OVER_LIMIT: "More pushes a minute than the host allows.",
        WAITS_LONG: "Beads wait longer than they may.",
    }[verdict]


def sweep_words(name: str, runs: list[Run]) -> str:
    """How far it holds, and why no further."""
    ends = held(runs)
    if ends is None:
        return f"It holds for none of these: {runs[-1].verdict} at {name} {value_text(name, runs[-1].value)}."
    low, high = (value_text(name, value) for value in ends)
    words = f"It holds for {name} {low} to {high}" if low != high else f"It holds for {name} {low}"
    beyond = next((run for run in runs if run.value > ends[1]), None)
    if beyond is None:
        return f"{words}; more was not tried."
    return f"{words}; at {value_text(name, beyond.value)}: {beyond.verdict}."


def value_text(name: str, value: float) -> str:
    """A number of a sweep as it would be typed."""
    if name in WHOLE or name in _NUMBERS:
        return f"{value:g}"
    return f"{rate_text(value)}/h" if name in _RATES else time_text(value)


def rate_text(per_second: float) -> str:
    """Beads an hour."""
    return _two_digits(per_second * 3600)


def time_text(seconds: float) -> str:
    """About how long, to two digits: `0.25s`, `45s`, `6m`, `1.5h`."""
    for unit, size, most in (("s", 1, 120), ("m", 60, 7200)):
        if seconds < most:
            return f"{_two_digits(seconds / size)}{unit}"
    return f"{_two_digits(seconds / 3600)}h"


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 9.95 else f"{number:.2g}"
