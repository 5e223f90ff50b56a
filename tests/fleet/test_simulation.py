"""What a fleet on paper says, against a fleet of real processes on a real hub."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

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


@pytest.mark.slow
def test_a_real_fleet_and_the_one_on_paper_do_the_same_work(clone: Callable[[str], Clone], hub: Path) -> None:
    """How many pushes that takes depends on the machine, and is compared by `python -m bench --only simulation`."""
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
    landed = int(git(hub, "rev-list", "--count", f"{before}..main"))
    assert landed >= real.pushes - real.lost >= 1, real
    assert all(run.pushes - run.lost >= 1 for run in runs), runs
