"""Where faults are known by name. A fault is one function, in a module of faults/ after what it breaks:

    @of_a_call("answer lost")              changes one call before it starts
    def answer_lost(yard: Yard, call: Call) -> None: ...

    @of_a_round("remote down")             what is before `yield` happens at some moment of a round, or before its calls
    def remote_down(yard: Yard) -> Iterator[None]: ...           with `first=True`; what is after it when they have ended

    @of_a_history("hidden refs")           holds from the beginning on
    def hidden_refs(yard: Yard) -> None: ...

Every choice comes from `yard.rng`, so that the seed decides it. What a process does at a step of its own runs in that
process (`call.do_at`). A fault that adds calls says `yard.add(call)`. That is all: the histories, the table of the bench
and the tests take every name from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.torture.calls import Call
    from tests.torture.yard import Yard

    CallFault = Callable[[Yard, Call], None]
    RoundFault = Callable[[Yard], Iterator[None]]
    HistoryFault = Callable[[Yard], None]


class OfARound(NamedTuple):
    """A fault of a round; `first`: before its calls start, else in the middle of them."""

    begin: RoundFault
    first: bool


OF_A_CALL: dict[str, CallFault] = {}
OF_A_ROUND: dict[str, OfARound] = {}
OF_A_HISTORY: dict[str, HistoryFault] = {}
# For which verbs a call's fault is made; every other one fits all that write.
ONLY: dict[str, tuple[str, ...]] = {}


def of_a_call(name: str, *, only: tuple[str, ...] = ()) -> Callable[[CallFault], CallFault]:
    def register(fault: CallFault) -> CallFault:
        OF_A_CALL[name] = fault
        ONLY[name] = only
        return fault

    return register


def of_a_round(name: str, *, first: bool = False) -> Callable[[RoundFault], RoundFault]:
    def register(fault: RoundFault) -> RoundFault:
        OF_A_ROUND[name] = OfARound(fault, first)
        return fault

    return register


def of_a_history(name: str) -> Callable[[HistoryFault], HistoryFault]:
    def register(fault: HistoryFault) -> HistoryFault:
        OF_A_HISTORY[name] = fault
        return fault

    return register


def names() -> list[str]:
    """Every fault there is."""
    return [*OF_A_CALL, *OF_A_ROUND, *OF_A_HISTORY]
