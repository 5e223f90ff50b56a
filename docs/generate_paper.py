"""Write paper.md: the claims of the source papers beside what `bd simulate` makes of them. `make paper` runs it.

Every figure is of a run of a scenario in examples/paper; only what the papers themselves say is written here. A new claim is a
scenario file and an entry of CLAIMS.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bd.policy.pacing import interval_s
from bd.simulation.figures import percentile
from bd.simulation.run import Run, run
from bd.simulation.scenario import Dispatch, Scenario
from bd.simulation.scenario_file import read
from bd.simulation.table import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


DOCS = Path(__file__).parent
SCENARIOS = DOCS.parent / "examples" / "paper"
_DAY_S = 86400.0

HEAD = """# The papers' claims, run

The papers that bd builds on argue with numbers: how long beads wait, how often agents are in each other's way, what stealing
saves. Each of these claims has a scenario in `examples/paper`, and this page has what `bd simulate` makes of it
beside the paper's own number. `make paper` runs all of them and writes this page; nothing on the right is written by hand.
[simulation.md](simulation.md) says what of the simulator is bd's own code, and what is assumed.
"""


class Variant(NamedTuple):
    """One run: what is different in it, and what the paper says of it."""

    name: str
    paper: str
    change: Callable[[Scenario], Scenario]


class Claim(NamedTuple):
    """A claim, its scenario, and the figures that show it."""

    file: str
    title: str
    says: str
    varied: str
    variants: Sequence[Variant]
    columns: Sequence[tuple[str, Callable[[Run], str]]]

    @property
    def scenario(self) -> Scenario:
        path = SCENARIOS / self.file
        return read(path.read_bytes(), path.name)


def section(claim: Claim) -> str:
    """Return a claim's part of the page. Runs its scenario once for each variant."""
    rows = [[claim.varied, "the paper", *(name for name, _ in claim.columns)]]
    rows.append(["---"] * len(rows[0]))
    for variant in claim.variants:
        made = run(variant.change(claim.scenario))
        rows.append([variant.name, variant.paper, *(show(made) for _, show in claim.columns)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {claim.title}\n\n{claim.says}\n\n{table}\n\nScenario: [{claim.file}](../examples/paper/{claim.file})\n"


# --- what is varied ---------------------------------------------------------------------------


def _interval(seconds: float, *, cron: bool | None = None) -> Callable[[Scenario], Scenario]:
    def change(scenario: Scenario) -> Scenario:
        groups = [group._replace(interval_s=seconds, cron=group.cron if cron is None else cron) for group in scenario.groups]
        return scenario._replace(groups=tuple(groups))

    return change


def _agents(number: int) -> Callable[[Scenario], Scenario]:
    def change(scenario: Scenario) -> Scenario:
        groups = tuple(group._replace(size=group.size * number) for group in scenario.groups)
        work = tuple(one._replace(rate=one.rate * number, backlog=one.backlog * number) for one in scenario.work)
        return scenario._replace(groups=groups, work=work)

    return change


def _as_it_is(scenario: Scenario) -> Scenario:
    return scenario


@lru_cache(maxsize=8)
def _looks_by_the_rule(base_s: float, within_s: float) -> int:
    """Return the looks of an idle agent by the paper's rule: three at the interval, three at twice that, up to two hours."""
    at_s, looks = 0.0, 0
    while at_s <= within_s:
        looks += 1
        at_s += interval_s(base_s, looks)
    return looks


# --- what is shown ----------------------------------------------------------------------------


def _time(key: str) -> Callable[[Run], str]:
    return lambda made: time_text(getattr(made.figures, key))


def _a_day(key: str) -> Callable[[Run], str]:
    return lambda made: f"{getattr(made.figures, key) * 1440:.0f}"


def _number(key: str) -> Callable[[Run], str]:
    return lambda made: str(getattr(made.figures, key))


def _lost(made: Run) -> str:
    return f"{made.figures.conflict_rate:.0%}"


def _pushes(made: Run) -> str:
    return f"{made.figures.pushes_per_claim:.1f}"


def _wait_of(kind: str) -> Callable[[Run], str]:
    return lambda made: time_text(percentile(sorted(made.hub.tally.waits_by[kind]), 0.5))


_WAITS = (("wait p50", _time("wait_p50_s")), ("mean", _time("wait_mean_s")), ("p95", _time("wait_p95_s")))
_HALF = {900: "15m at most, 7.5m on average", 1800: "30m, 15m", 3600: "60m, 30m"}
_FLEETS = {1: "never", 2: "rare", 4: "rare", 8: "rare", 16: "git alone is not enough", 32: "the same", 64: "the same"}

CLAIMS = (
    Claim(
        "latency.yaml",
        "Beads wait for half the polling interval",
        "With polling alone, a bead waits until the next poll: at most one interval, half of one on average. Agents poll every 15, 30 "
        "and 60 minutes, depending on their role.",
        "interval",
        [Variant(time_text(seconds), words, _interval(seconds)) for seconds, words in _HALF.items()],
        [*_WAITS, ("p99", _time("wait_p99_s"))],
    ),
    Claim(
        "contention.yaml",
        "Conflicts are rare in a small fleet",
        "The fleet has three to five agents, so that two of them hardly ever claim at the same time; optimistic locking with git is called "
        "sufficient below ten. Beyond that, bd lets one writer carry the requests of the others.",
        "agents",
        [Variant(str(number), words, _agents(number)) for number, words in _FLEETS.items()],
        [("pushes lost", _lost), ("pushes a claim", _pushes), ("wait p50", _time("wait_p50_s"))],
    ),
    Claim(
        "race.yaml",
        "Everybody at once",
        "The case that optimistic locking fears: all agents see the same board at the same moment. Retrying one by one needs "
        "half as many pushes a claim as there are agents; `--retry plain` is that, by bd's own code, where a server takes no side refs.",
        "agents",
        [
            Variant(f"{number}{', plain' if is_plain else ''}", words, change)
            for number in (4, 16, 64)
            for is_plain, words, change in (
                (False, "", _agents(number)),
                (True, f"{number / 2:g} pushes a claim", lambda one, number=number: _agents(number)(one)._replace(retry="plain")),
            )
        ],
        [("pushes lost", _lost), ("pushes a claim", _pushes), ("last claim after", _time("wait_p99_s"))],
    ),
    Claim(
        "doubling.yaml",
        "Idle agents look less and less often",
        "After three empty cycles the interval doubles, up to two hours. The paper's rule gives the number of looks in a day; without "
        "it an agent looks once every interval.",
        "interval",
        [
            Variant(
                time_text(seconds), f"{_looks_by_the_rule(seconds, _DAY_S)}; {_DAY_S / seconds:.0f} without", _interval(seconds)
            )
            for seconds in (900.0, 1800.0, 3600.0)
        ],
        [("looks a day", _a_day("looks_per_minute"))],
    ),
    Claim(
        "stalls.yaml",
        "A dead agent is noticed",
        "A bead that is in progress for more than twice its expected time is flagged and given to another agent: the expected time is "
        "20 minutes here, and the overseer looks every 15. With heartbeats, three missed ones are enough; a queue on a database calls it "
        "90 seconds, at one heartbeat every 30.",
        "heartbeat",
        [
            Variant("none", "40m to 55m", lambda one: one._replace(heartbeat_s=0.0)),
            Variant("5m", "", _as_it_is),
            Variant("30s", "90s", lambda one: one._replace(heartbeat_s=30.0)),
        ],
        [("freed", _number("freed")), ("p50", _time("stall_p50_s")), ("at most", _time("stall_max_s"))],
    ),
    Claim(
        "stealing.yaml",
        "Stealing cuts the half hour to minutes",
        "A router that works every 30 minutes leaves an agent that runs out of work idle until the next round. If beads of overloaded "
        "agents are moved every 5 minutes to those that have been idle for 2, it starts again after 5 to 7 minutes.",
        "beads are moved",
        [
            Variant("never", "up to 30m", _as_it_is),
            Variant("every 5m", "5m to 7m", lambda one: one._replace(rebalance_s=300.0)),
            Variant("on each poll", "", lambda one: one._replace(hub_settings={"stealing": {"on_poll": True}})),
        ],
        [
            ("idle p50", _time("idle_p50_s")),
            ("at most", _time("idle_max_s")),
            ("busy", lambda made: f"{made.figures.utilisation:.0%}"),
            ("closed", _number("closes")),
        ],
    ),
    Claim(
        "push-pull.yaml",
        "Pull needs nobody in the middle",
        "A dispatcher acts at once, but is a single point of failure: while it is down, no work is handed out. Agents that pull "
        "need none; they pay with the time until they look.",
        "work is",
        [
            Variant("pulled", "within the interval", _as_it_is),
            Variant("pushed", "at once", lambda one: one._replace(dispatch=Dispatch())),
            Variant(
                "pushed, down for 2h", "nothing while down", lambda one: one._replace(dispatch=Dispatch(away_s=(7200.0, 14400.0)))
            ),
        ],
        [*_WAITS, ("at most", _time("wait_p99_s")), ("looks a day", _a_day("looks_per_minute")), ("pushes a claim", _pushes)],
    ),
    Claim(
        "polls.yaml",
        "What idle polls cost",
        "Agents that cron wakes up find nothing and go back to sleep; each cycle is one fetch and one query, 48 a day for each agent at 30 "
        "minutes. bd asks for the branch first, and starts nothing while it has not moved.",
        "started",
        [
            Variant("by cron every 30m", f"{5 * 48} cycles a day", _interval(1800.0, cron=True)),
            Variant("by cron every 5m", f"{5 * 288} cycles a day", _interval(300.0, cron=True)),
            Variant("once (`bd work`)", "", _interval(1800.0, cron=False)),
        ],
        [
            ("looks a day", _a_day("looks_per_minute")),
            ("of them empty", _number("empty_looks")),
            ("fetches and listings", _a_day("reads_per_minute")),
            ("cost a day", lambda made: f"{made.figures.spent_usd:.2f} USD"),
            ("wait p50", _time("wait_p50_s")),
        ],
    ),
    Claim(
        "fallback.yaml",
        "The coordinator takes what is left",
        "Beads that fit no specialist are taken by the coordinator, once they have been left for two cycles: its own interval is 15 minutes.",
        "beads",
        [Variant("all", "odd ones: 30m and more", _as_it_is)],
        [("wait p50, for a coder", _wait_of("code")), ("wait p50, odd ones", _wait_of("odd"))],
    ),
)


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *map(section, CLAIMS)])


def main() -> None:
    """Write the page, and print it."""
    made = page()
    (DOCS / "paper.md").write_text(made, encoding="utf-8")
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
