"""What a fleet on paper says, against a fleet of real processes on a real hub: pushes, and how many of them are lost."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from statistics import mean
from typing import TYPE_CHECKING

from bench import course
from tests.hub.hooks import hook
from tests.race.seeds import seed
from tests.running import BD, run_process
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

AGENTS, BEADS = 4, 24
SERVICE_S, PUSH_S = 0.4, 0.2


def test_the_pushes_of_a_real_fleet_are_those_on_paper(clone: Callable[[str], Clone], hub: Path) -> None:
    """As near as runs on paper are to one another. Tried again plainly, as where the server takes no intents, it would be far off."""
    writer, *agents = [clone(name) for name in ("writer", *(f"a{number}" for number in range(AGENTS)))]
    seed(writer, *course.work_ids(BEADS, SERVICE_S, Random(1)))
    for number, agent in enumerate(agents):
        run_process("poll", "--agent", f"a{number}", cwd=agent.path)  # finds out about the refs, which takes a push
    before = git(hub, "rev-parse", "main")
    hook(hub, "pre-receive", f"sleep {PUSH_S}")
    real = course.run(BD, [agent.path for agent in agents], os.environ, Path(os.environ["GIT_CONFIG_GLOBAL"]), BEADS)
    subjects = git(hub, "log", "--format=%s", f"{before}..main").splitlines()
    claims, closes = sum("claim" in subject for subject in subjects), sum("close" in subject for subject in subjects)

    runs = course.on_paper(real)
    assert {(run.claims, run.closes) for run in runs} == {(claims, closes)} == {(BEADS, BEADS)}
    said = f"{real}; on paper {[(run.pushes, run.lost, run.asks) for run in runs]}"
    assert is_among([run.pushes + run.asks for run in runs], real.pushes + real.asks), said
    lost = [run.lost for run in runs]
    assert is_among(lost, real.lost), said
    plain = course.on_paper(real, retry="plain")
    assert not is_among(lost, mean(run.lost for run in plain)), f"this could not fail: {plain}"


def is_among(numbers: list[int], number: float) -> bool:
    """Whether a number is one of these, give or take a quarter: the machine's load is no part of what is on paper."""
    return 0.75 * min(numbers) < number < 1.25 * max(numbers)
