"""The state machine of a write against the loop that it replaces: the same seeded histories, held side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bd.store.transaction import driver, queue
from bd.store.transaction.machine import driver as machine
from tests.contract.histories import FaultyRemote, History, VirtualRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = 12
# How long anything on the remote takes, in seconds.
ROUND_TRIP_S = 0.05


class Clock(VirtualRuntime):
    """Time passes while something is on its way to the remote and while somebody sleeps, and not by reading clocks."""

    def monotonic(self) -> float:
        return self._passed_s


def slow(runtime: VirtualRuntime, call: Callable[..., Any]) -> Callable[..., Any]:
    def slowed(*args: Any, **more: Any) -> Any:
        runtime.sleep(ROUND_TRIP_S)
        return call(*args, **more)

    return slowed


def told(seed: int, transaction: type[Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Everything that a history leaves: what each author was told, every ref of the server and the clones, and the objects behind them."""
    monkeypatch.setattr(queue, "Transaction", transaction)
    history = History(seed)
    history.runtime = Clock(seed)
    real = FaultyRemote.__init__

    def begin(self: FaultyRemote, *args: Any) -> None:
        real(self, *args)
        for name in ("fetch", "list", "push"):
            setattr(self, name, slow(history.runtime, getattr(self, name)))

    monkeypatch.setattr(FaultyRemote, "__init__", begin)
    try:
        history.run()
    finally:
        monkeypatch.undo()
    return {
        "told": [(one.operation.form(), one.clone, one.what) for one in history.told],
        "server": history.server.repository.refs(""),
        "clones": {name: place.repo.refs("") for name, place in history.places.items()},
        "notes": {
            name: {key: text.replace(place.url, "the server") for key, text in place.shared.notes.items()}
            for name, place in history.places.items()
        },
        "now": history.runtime.now(),
    }


@pytest.mark.parametrize("seed", range(SEEDS))
def test_both_leave_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(seed, machine.Transaction, monkeypatch) == told(seed, driver.Transaction, monkeypatch)
