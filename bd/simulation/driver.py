"""The product's own writes on the virtual clock: each effect of the transaction is carried out at its simulated time."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BdError

if TYPE_CHECKING:
    from collections.abc import Generator

    from bd.core.operation import Operation
    from bd.simulation.connection import Line
    from bd.simulation.machine import SimulatedRuntime
    from bd.store import Clone, Outcome


class Died(BaseException):
    """The simulated process is killed: nothing of it runs any more."""


def write(
    clone: Clone, runtime: SimulatedRuntime, operation: Operation | None, line: Line, *, dies_before: int | None = None
) -> Generator[float, None, Outcome]:
    """Publish an operation, as `Clone.publish` does, and let its time pass. Yields seconds.

    `dies_before`: the process is killed before the effect with this number, counted from 0. Raises what `publish` raises, and
    Died, whose `args` keep what was under way from being cleaned up.
    """
    steps = clone.writing().steps(operation)
    done = 0
    while True:
        outcome: Outcome | None = None
        error: BdError | None = None
        try:
            effect = next(steps)
        except StopIteration as end:
            outcome = end.value
        except BdError as raised:
            error = raised
        pause_s = runtime.settle()
        lead_s = 0.0 if outcome or error else line.lead_s(effect)
        if pause_s + lead_s:
            yield pause_s + lead_s
        if error:
            raise error
        if outcome:
            return outcome
        if done == dies_before:
            raise Died(steps)
        runtime.lead_s = lead_s
        done += 1
