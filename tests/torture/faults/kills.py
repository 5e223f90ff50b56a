"""kill -9, at every named step and at any moment."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from tests.torture import workload
from tests.torture.faults import answers, timing
from tests.torture.faults.registry import of_a_call

if TYPE_CHECKING:
    from tests.torture.calls import Call
    from tests.torture.yard import Yard

WITH_ITS_GIT = "kill -9 with its git"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _register(step: str) -> None:
    @of_a_call(f"kill -9 at {step}")
    def killed_at(yard: Yard, call: Call) -> None:
        call.do_at(step, die, nth=yard.rng.choice([1, 1, 1, 2]))


for _step in ("look", "build", "push", "pushed", "refs"):
    _register(_step)


@of_a_call("kill -9 at look-after-push")
def killed_at_look_after_push(yard: Yard, call: Call) -> None:
    """Which is reached by who got no answer."""
    answers.answer_lost(yard, call)
    call.do_at("look-after-push", die)


@of_a_call("kill -9 at asked", only=workload.WRITERS)
def killed_at_asked(yard: Yard, call: Call) -> None:
    """Which is reached by who was overtaken."""
    timing.overtaken(yard, call)
    call.do_at("asked", die)


@of_a_call("kill -9 at keep", only=("comment", "create", "notes"))
def killed_at_keep(yard: Yard, call: Call) -> None:
    """Which is reached by who can't reach the remote."""
    answers.wrap(yard, call, "fetch", answers.AWAY, once=False)
    call.env["BD_FRESH_TIME"] = "0"
    call.do_at("keep", die)


@of_a_call("kill -9 at any time")
def killed_any_time(yard: Yard, call: Call) -> None:
    """bd alone: the git it has started goes on."""
    call.kill_after_s = yard.rng.uniform(0.01, 0.25)


@of_a_call(WITH_ITS_GIT)
def killed_with_git(yard: Yard, call: Call) -> None:
    call.kill_after_s, call.is_group = yard.rng.uniform(0.01, 0.25), True
