"""Others who act exactly between two steps: a pause, a fold after a withdrawal, a beat, a shallow fetch, a second controller."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

from tests.running import command
from tests.torture import workload
from tests.torture.faults.registry import of_a_call, of_a_round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.torture.calls import Call
    from tests.torture.yard import Yard

STEPS = ("look", "build", "push", "pushed", "look-after-push", "asked", "refs", "keep")


@of_a_call("pause at a step")
def pause(yard: Yard, call: Call) -> None:
    for step in yard.rng.sample(STEPS, k=2):
        seconds = yard.rng.uniform(0.02, 0.3)
        call.do_at(step, lambda seconds=seconds: time.sleep(seconds))  # type: ignore[misc]


@of_a_call("impatience")
def impatience(yard: Yard, call: Call) -> None:
    """Who gives up as soon as somebody was faster, and withdraws what was asked."""
    call.env["BD_RETRY_TIME"] = "0.05"


@of_a_call("overtaken at the push", only=workload.WRITERS)
def overtaken(yard: Yard, call: Call) -> None:
    """Another clone publishes between the decision and the push, so that the operation is asked for."""
    call.do_at("push", another(yard, call, "comment", yard.rng.choice(yard.beads), f"overtakes {yard.mark()}"))


@of_a_call("folded after a withdrawal", only=workload.WRITERS)
def folded_after_withdrawal(yard: Yard, call: Call) -> None:
    """It asks, is about to give up, and another clone carries it out at that moment."""
    overtaken(yard, call)
    call.env["BD_RETRY_TIME"] = "0.01"
    call.do_at("asked", another(yard, call, "comment", yard.rng.choice(yard.beads), f"folds {yard.mark()}"))


@of_a_call("shallow fetch between push and look")
def shallow_fetch(yard: Yard, call: Call) -> None:
    path = yard.path(call.clone)

    def fetch() -> None:
        subprocess.run(["git", "-C", path, "fetch", "--quiet", "--depth", "1", "origin", "main"], capture_output=True)

    for step in ("pushed", "look-after-push"):
        call.do_at(step, fetch)


@of_a_round("a beat between look and reassign", first=True)
def beat_between(yard: Yard) -> Iterator[None]:
    """A holder who seemed gone gives a sign while somebody frees its claim."""
    holder, observer = yard.rng.sample(yard.clones, k=2)
    agent = yard.rng.choice(workload.AGENTS)
    yard.run(workload.beating_claim(yard, holder, agent))
    yard.run(workload.look(yard, observer))
    call = yard.add(workload.reassign(yard, observer))
    beat = another(yard, workload.look(yard, holder), "heartbeat", "--agent", agent, clone=holder)
    call.do_at(yard.rng.choice(["look", "build", "push"]), beat)
    yield


@of_a_round("two controllers", first=True)
def two_controllers(yard: Yard) -> Iterator[None]:
    """Two who free at the same moment what both have seen stalled."""
    clones = yard.rng.sample(yard.clones, k=2)
    yard.run(*[workload.look(yard, clone) for clone in clones])
    for clone in clones:
        yard.add(workload.reassign(yard, clone))
    yield


def another(yard: Yard, call: Call, *words: str, clone: str = "") -> Callable[[], object]:
    """What runs a whole bd process in another clone than the call's, and waits for it."""
    where = clone or yard.rng.choice([name for name in yard.clones if name != call.clone])
    env = {**yard.env, **yard.more_env.get(where, {})}

    def run() -> None:
        subprocess.run([*command(env), *words], cwd=yard.path(where), env=env, capture_output=True, stdin=subprocess.DEVNULL)

    return run
