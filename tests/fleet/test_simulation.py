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
    """Within a quarter. Tried again plainly, as where the server takes no intents, it would be far from that."""
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
    assert 0.75 < mean(run.pushes + run.asks for run in runs) / (real.pushes + real.asks) < 1.25, said
    assert 0.75 < mean(run.lost for run in runs) / real.lost < 1.25, said
    plain = course.on_paper(real, retry="plain")
    assert mean(run.lost for run in plain) / real.lost > 1.25, f"this could not fail: {plain}"
