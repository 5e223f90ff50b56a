"""The options of `bd simulate`, from which a scenario is made."""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.cli.spec import DURATION, INTEGER, Flag, Kind, Option, list_option, one_of, real_number, whole_number
from bd.core.errors import BadInput
from bd.core.times import duration_s
from bd.simulation.scenario import RETRIES, SERVICE_TIMES, Scenario
from bd.simulation.scenario_file import MOST, rate_of, read
from bd.simulation.sweep import SWEPT, WHOLE, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_NUMBER = re.compile(r"\d+(?:\.\d+)?\Z", re.ASCII)
_NUMBERS = (*WHOLE, "load")
_DEFAULT = Scenario()


def sweep_of(text: str) -> Sweep:
    """Parse a sweep. Raises BadInput."""
    name, equals, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    if name not in SWEPT or not equals or not dots:
        hint = f"write NAME=LOW..HIGH, such as agents=1..1024; NAME is one of {', '.join(SWEPT)}"
        raise BadInput(f"{text!r} is not something to sweep", hint=hint)
    found = Sweep(name, _number_of(name, low), _number_of(name, high))
    if not 0 < found.low <= found.high:
        raise BadInput(f"{text!r} has no numbers from LOW up to HIGH", hint="LOW is more than 0 and no more than HIGH")
    return found


def _number_of(name: str, text: str) -> float:
    if name == "arrivals":
        return rate_of(text)
    if name not in _NUMBERS:
        return duration_s(text)
    if not _NUMBER.match(text):
        raise BadInput(f"{text!r} is not a number")
    return int(float(text)) if name in WHOLE else float(text)


RATE = Kind("rate", rate_of)  # beads per second, from `12/h`, `3/m`, `0.5/s`, `100/d`
SWEEP = Kind("sweep", sweep_of)  # a number to change, `NAME=LOW..HIGH`
_COUNT = whole_number(1, MOST)
# The fleet, its work, and the connection to the hub.
SCENARIO = (
    Option("--agents", kind=_COUNT, default=_DEFAULT.agents, help="The number of agents; default: 20."),
    list_option("--interval", name="intervals", help="How often agents look when idle (30m); several go round the agents."),
    Flag("--cron", help="Agents are started by cron every interval, and do not wait in between."),
    Option("--peek", kind=DURATION, help="How soon a waiting agent first peeks at the hub (30s); 0s: never."),
    Option("--arrivals", kind=RATE, help="How many beads are made, such as 12/h (30/h)."),
    Option(
        "--load",
        kind=real_number(0, 10, is_above_low=True),
        help="Instead: the part of the time that the work keeps agents busy, such as 0.7.",
    ),
    Option("--burst", kind=_COUNT, default=1, help="How many beads are made at once (1)."),
    Option("--backlog", kind=whole_number(0, MOST), default=0, help="How many beads are there at the start (0)."),
    Option("--service", kind=DURATION, help="How long a bead takes on average (20m)."),
    Option("--service-times", kind=one_of(*SERVICE_TIMES), help="How these times are spread (exponential)."),
    Option("--fetch-time", kind=DURATION, help="From asking the hub until it is decided what to write (0.5s)."),
    Option("--push-time", kind=DURATION, help="From then until the hub has it (1s)."),
    Option("--retry", kind=one_of(*RETRIES), help="How lost pushes are tried again (combining: with others)."),
    Option("--heartbeat", kind=DURATION, help="The interval of heartbeats of working agents (5m); 0s: none."),
    Option("--duration", kind=DURATION, help="How long it goes on, in simulated time (8h)."),
    Option("--seed", kind=INTEGER, default=1, help="The same seed gives the same run; default: 1."),
)


# What a scenario file says itself: these options are for a fleet of equals.
_OF_EQUALS = ("agents", "intervals", "cron", "arrivals", "load", "burst", "backlog", "service", "service_times")


def scenario_of(file: str | None, **typed: Any) -> Scenario:
    """Return the scenario that was typed, or that of a file with what was typed in its place. Raises BadInput."""
    if file is not None:
        return _from_file(file, typed)
    if typed["arrivals"] is not None and typed["load"]:
        raise BadInput("--arrivals and --load together", hint="--load determines the arrivals")
    intervals_s = tuple(duration_s(text) for texts in typed.pop("intervals") for text in texts)
    scenario = Scenario(**_named(typed))
    if intervals_s:
        scenario = scenario._replace(intervals_s=intervals_s)
    return _checked(scenario)


def refuse_with(option: str, hint: str, others: Mapping[str, Any], typed: Mapping[str, Any]) -> None:
    """Refuse an option beside others that it leaves without effect, and beside those of a fleet of equals. Raises BadInput."""
    flags = {option.name: option.flags[0] for option in SCENARIO}
    found = {**others, **{flags[name]: value for name, value in _given(typed).items() if name in _OF_EQUALS}}
    odd = next((flag for flag, value in found.items() if value is not None), None)
    if odd is not None:
        raise BadInput(f"{odd} and {option} together", hint=hint)


def _given(typed: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {option.name: option.default for option in SCENARIO}
    return {name: value for name, value in typed.items() if value not in (None, defaults[name]) and value != ()}


def _from_file(file: str, typed: Mapping[str, Any]) -> Scenario:
    refuse_with("--scenario", "write it into the file", {}, typed)
    given = _given(typed)
    try:
        with open(file, "rb") as opened:
            data = opened.read()
    except OSError as error:
        raise BadInput(f"{file} can't be read: {error.strerror}") from None
    return _checked(read(data, file)._replace(**_named(given)))


def _named(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was typed by the names of the scenario's fields."""
    names = {name.replace("-", "_"): key for name, key in SWEPT.items()} | {"duration": "duration_s"}
    return {names.get(name, name): value for name, value in typed.items() if value is not None}


def _checked(scenario: Scenario) -> Scenario:
    zeros = [name for name in ("service_s", "push_s", "fetch_s", "duration_s") if not getattr(scenario, name)]
    if zeros or not all(scenario.intervals_s):
        raise BadInput("times must be positive", hint="times and intervals are more than 0s")
    return scenario
