"""The reader: calls that wait share a view that is not older than any of them, and each gets its own answer."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from bd.core.errors import BadInput
from bd.web.hub_thread import Room
from bd.web.readers import Reader


class Hub:
    def close(self) -> None:
        pass


class Counting:
    """A reader on hubs of which each view is the next number; `opened` counts the hubs."""

    def __init__(self, *failures: Exception) -> None:
        self.opened, self.views = 0, 0
        self._failures = list(failures)
        self.reader = Reader(Room("test reader", self._open), self._view)

    def _open(self) -> Any:
        self.opened += 1
        if self._failures:
            raise self._failures.pop()
        return Hub()

    def _view(self, hub: Any) -> int:
        self.views += 1
        return self.views


def test_calls_that_wait_share_a_view_and_later_ones_get_another() -> None:
    counting, gate = Counting(), threading.Event()

    async def ask() -> list[int]:
        def first(view: int) -> int:
            gate.wait()
            return view

        busy = asyncio.create_task(counting.reader.do(first))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(counting.reader.do(lambda view: view)) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
        return [await busy, *await asyncio.gather(*waiting), await counting.reader.do(lambda view: view)]

    busy, *waited, last = asyncio.run(ask())
    assert len(set(waited)) == 1
    assert busy <= waited[0] < last
    assert counting.opened == 1


def test_each_gets_its_own_error_and_after_a_bug_another_clone_is_opened() -> None:
    counting = Counting()

    async def ask() -> list[Any]:
        def refuse(view: int) -> int:
            raise BadInput("no")

        calls = [lambda view: view, refuse, lambda view: 1 // 0, lambda view: "well"]
        found = await asyncio.gather(*(counting.reader.do(call) for call in calls), return_exceptions=True)
        await counting.reader.do(lambda view: view)
        return found

    found = asyncio.run(ask())
    assert [type(one) for one in found] == [int, BadInput, ZeroDivisionError, str]
    assert counting.opened == 2


def test_a_hub_that_cannot_be_opened_is_told_to_all_and_tried_again() -> None:
    counting = Counting(OSError("gone"))

    async def ask() -> int:
        for one in await asyncio.gather(*(counting.reader.do(lambda view: view) for _ in range(3)), return_exceptions=True):
            assert isinstance(one, OSError)
        return await counting.reader.do(lambda view: view)

    assert asyncio.run(ask()) == 1


def test_a_caller_that_goes_keeps_nobody_waiting() -> None:
    counting = Counting()

    async def ask() -> int:
        gone = asyncio.create_task(counting.reader.do(lambda view: view))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await counting.reader.do(lambda view: view)

    assert asyncio.run(ask()) >= 1
