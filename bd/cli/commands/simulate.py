"""bd simulate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.cli.output import progress_bar
from bd.cli.simulate_options import SCENARIO, SWEEP, scenario_of
from bd.cli.spec import DURATION, Command, Option, real_number
from bd.simulation import table
from bd.simulation.run import simulate
from bd.simulation.sweep import Bounds, held

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.simulation.scenario import Scenario
    from bd.simulation.sweep import Sweep


SPEC = Command(
    "simulate",
    *SCENARIO,
    Option("--push-limit", kind=real_number(0), help="Pushes a minute that the host allows."),
    Option("--max-wait", kind=DURATION, help="How long 95% of the beads may wait at most."),
    Option(
        "--sweep",
        kind=SWEEP,
        metavar="NAME=LOW..HIGH",
        help="Double a number from run to run, and report up to where the bounds hold.",
    ),
    help="""Simulate a fleet: waits, lost pushes, pushes per minute.

    Agents pace themselves as real ones do; every push is a race for the hub branch. Needs no hub and changes nothing.
    """,
    examples=[
        "bd simulate --agents 20 --arrivals 30/h --service 20m",
        "bd simulate --interval 15m,30m,60m --cron --push-time 0.3s --json",
        "bd simulate --load 0.7 --duration 2h --push-limit 60 --sweep agents=1..64",
    ],
)


def run(app: App, push_limit: float | None, max_wait: float | None, sweep: Sweep | None, **typed: Any) -> None:
    """Simulate a fleet: waits, lost pushes, pushes per minute."""
    scenario = scenario_of(**typed)
    bounds = Bounds(push_limit, max_wait)
    if sweep is not None:
        _sweep(app, scenario, bounds, sweep)
        return
    figures = simulate(scenario)
    verdict = bounds.verdict(figures)
    if app.out.is_json:
        app.out.object({"scenario": scenario.as_json(), "verdict": verdict, **figures.as_json()})
        return
    app.out.line(table.heading(scenario))
    app.out.table(["", f"in {table.time_text(figures.simulated_s)}"], table.figure_rows(figures))
    app.out.line(table.verdict_words(verdict, figures))


def _sweep(app: App, scenario: Scenario, bounds: Bounds, sweep: Sweep) -> None:
    """Run the sweep, with a progress bar on a terminal; then print the table, and how far the bounds hold."""
    advance = progress_bar("simulating")
    runs = sweep.runs(scenario, bounds, lambda value: advance(0, 0, f"{sweep.name} {value:g}") if advance else None)
    if advance:
        advance(1, 1, "")
    ends = held(runs)
    if app.out.is_json:
        app.out.object(
            {
                "scenario": scenario.as_json(),
                "sweep": sweep.name,
                "holds": {"from": ends[0], "to": ends[1]} if ends else None,
                "runs": [run.as_json() for run in runs],
            }
        )
        return
    app.out.table([sweep.name, *table.SWEEP_COLUMNS], [table.sweep_row(sweep.name, run) for run in runs])
    app.out.line(table.sweep_words(sweep.name, runs))
