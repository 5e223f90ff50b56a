"""bd simulate."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.cli.output import progress_bar
from bd.cli.simulate_options import SCENARIO, SWEEP, refuse_with, scenario_of
from bd.cli.spec import DURATION, PATH, Command, Flag, Option, real_number
from bd.core.errors import BadInput, NotFound
from bd.simulation import fit as fitting
from bd.simulation import scenario_file, table
from bd.simulation.chart import draw
from bd.simulation.run import run as simulated
from bd.simulation.sweep import Bounds, held

if TYPE_CHECKING:
    from typing import Any

    from bd.cli.app import App
    from bd.simulation.run import Run
    from bd.simulation.scenario import Scenario
    from bd.simulation.sweep import Sweep
    from bd.simulation.tally import Happened


_HISTORY_S = 30 * 86400.0

SPEC = Command(
    "simulate",
    Option("--scenario", kind=PATH, metavar="FILE", help="A scenario file: groups of agents, kinds of work, failures, pools."),
    *SCENARIO,
    Option("--push-limit", kind=real_number(0), help="Pushes a minute that the host allows."),
    Option("--max-wait", kind=DURATION, help="How long 95% of the beads may wait at most."),
    Option(
        "--sweep",
        kind=SWEEP,
        metavar="NAME=LOW..HIGH",
        help="Double a number from run to run, and report up to where the bounds hold.",
    ),
    Option("--timeline", metavar="BEAD", help="Show what happened to one bead: its id, or 1 for the first that was made."),
    Option("--chart", kind=PATH, metavar="FILE", help="Draw the run as an SVG file."),
    Flag("--fit", help="In a hub: how many agents its own past needs, so that 95% of the beads wait no longer than --max-wait."),
    Option("--history", kind=DURATION, help="How far --fit looks back (30d)."),
    Flag("--schema", help="Print the JSON Schema of a scenario file."),
    help="""Simulate a fleet: waits, lost pushes, pushes per minute.

    Runs bd's own code for every agent on a hub in memory and a virtual clock. Needs no hub, except for --fit, and changes nothing.
    """,
    examples=[
        "bd simulate --agents 20 --arrivals 30/h --service 20m",
        "bd simulate --interval 15m,30m,60m --cron --push-time 0.3s --json",
        "bd simulate --load 0.7 --duration 2h --push-limit 60 --sweep agents=1..16",
    ],
)


def run(
    app: App,
    scenario: str | None,
    push_limit: float | None,
    max_wait: float | None,
    sweep: Sweep | None,
    timeline: str | None,
    chart: str | None,
    schema: bool,
    fit: bool,
    history: float | None,
    **typed: Any,
) -> None:
    """Simulate a fleet: waits, lost pushes, pushes per minute."""
    if schema:
        app.out.json(scenario_file.schema())
        return
    if fit:
        given = {"--scenario": scenario, "--sweep": sweep, "--timeline": timeline, "--chart": chart, "--push-limit": push_limit}
        given["--duration"] = typed["duration"]
        refuse_with("--fit", "the fleet and its work are those of the hub", given, typed)
    asked = scenario_of(scenario, **typed)
    bounds = Bounds(push_limit, max_wait)
    if fit:
        _fit(app, asked, max_wait, history or _HISTORY_S)
        return
    if sweep is None:
        _once(app, asked, bounds, timeline, chart)
        return
    if timeline or chart:
        raise BadInput("--timeline and --chart are about one run, --sweep makes several", hint="leave --sweep out")
    _sweep(app, asked, bounds, sweep)


def _fit(app: App, scenario: Scenario, wait_s: float | None, within_s: float) -> None:
    """Find a fleet for what the hub did lately, and print what each role needs."""
    if wait_s is None:
        raise BadInput("--fit has to know how long beads may wait", hint="bd simulate --fit --max-wait 30m")
    kinds, roles = fitting.history_of(app.snapshot(), app.runtime.now(), within_s)
    advance = progress_bar("simulating")
    needs = fitting.fitted(kinds, roles, scenario, wait_s, lambda words: advance(0, 0, words) if advance else None)
    if advance:
        advance(1, 1, "")
    if app.out.is_json:
        shown = [{**kind._asdict(), "beads_per_day": round(kind.rate * 86400, 3)} for kind in kinds]
        app.out.object({"max_wait_s": wait_s, "needs": [need.as_json() for need in needs], "history": shown})
        return
    app.out.table(table.FIT_COLUMNS, [table.fit_row(need) for need in needs])
    app.out.line(table.fit_words(needs, wait_s))


def _once(app: App, scenario: Scenario, bounds: Bounds, timeline: str | None, drawn: str | None) -> None:
    """Run the scenario, and print its figures."""
    made = simulated(scenario)
    told = _history(made, timeline) if timeline else None
    if drawn:
        draw(drawn, table.heading(scenario), made.hub.tally.samples)
    verdict, waits_by = bounds.verdict(made.figures), made.hub.tally.waits_by
    if app.out.is_json:
        more = {"timeline": [one._asdict() for one in told]} if told is not None else {}
        app.out.object({"scenario": scenario.as_json(), "verdict": verdict, **made.figures.as_json(), **more})
        return
    app.out.line(table.heading(scenario))
    app.out.table(["", f"in {table.time_text(made.figures.simulated_s)}"], table.figure_rows(made.figures))
    if len(scenario.work) > 1:
        app.out.table(["work", "claims", "wait p50", "p95", "p99"], table.wait_rows(waits_by))
    if told is not None:
        app.out.table(["at", "what", "agent"], table.timeline_rows(told))
    app.out.line(table.verdict_words(verdict, made.figures))


def _history(made: Run, bead: str) -> list[Happened]:
    """Return what happened to a bead. Raises NotFound."""
    histories = made.hub.tally.histories
    names = list(histories)
    number = int(bead) if bead.isdigit() else 0
    name = names[number - 1] if 0 < number <= len(names) else bead
    if name not in histories:
        raise NotFound(f"no bead {bead} was made in this run", hint=f"it made {len(names)}; 1 is the first")
    return histories[name]


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
