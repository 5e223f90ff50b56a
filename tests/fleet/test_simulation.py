"""What a fleet on paper says, against a fleet of real processes on a real hub: pushes, and how many of them are lost."""

from __future__ import annotations

from random import Random
from statistics import mean
from typing import TYPE_CHECKING

from bd.report.paper.scenario import Scenario
from bd.report.paper.simulation import simulate
from tests.fleet import real_fleet
from tests.race.seeds import seed
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.report.paper.figures import Figures
    from tests.fleet.real_fleet import Course
    from tests.running import Clone

AGENTS, BEADS = 5, 30
SERVICE_S, PUSH_S = 0.8, 0.3
RUNS = 20


def on_paper(course: Course, *, push_s: float) -> list[Figures]:
    """The same fleet, with the times that were measured in its run; several times, since a run is one of many."""
    scenario = Scenario(
        agents=AGENTS,
        intervals_s=(max(0.01, course.starts_s),),
        peek_s=0.0,
        arrivals=0.0,
        backlog=BEADS,
        service_s=course.service_s,
        service_times="uniform",
        fetch_s=course.fetch_s,
        push_s=push_s,
        retry="plain",
        heartbeat_s=0.0,
        duration_s=600.0,
    )
    return [simulate(scenario._replace(seed=number)) for number in range(RUNS)]


def test_the_pushes_of_a_real_fleet_are_those_on_paper(clone: Callable[[str], Clone], hub: Path) -> None:
    """Within a quarter. With another push time than the real one it would be far from that."""
    writer, *agents = [clone(name) for name in ("writer", *(f"a{number}" for number in range(AGENTS)))]
    ids = seed(writer, *real_fleet.commands(BEADS, SERVICE_S, Random(1)))
    before = int(git(hub, "rev-list", "--count", "main"))
    course = real_fleet.run(hub, [agent.path for agent in agents], PUSH_S)
    commits = int(git(hub, "rev-list", "--count", "main")) - before
    assert course.pushes - course.lost == commits == AGENTS + len(ids), "each claims one, and each bead is closed"

    runs = on_paper(course, push_s=course.push_s)
    assert {(run.claims, run.closes) for run in runs} == {(BEADS, BEADS)}
    said = f"{course}; on paper {[(run.pushes, run.lost) for run in runs]}"
    assert 0.75 < mean(run.pushes for run in runs) / course.pushes < 1.25, said
    assert 0.75 < mean(run.lost for run in runs) / course.lost < 1.25, said
    slower = on_paper(course, push_s=3 * course.push_s)
    assert mean(run.pushes for run in slower) / course.pushes > 1.25, "this could not fail"
