"""Agents that wait at this server for work: each gets an answer as soon as there is some, or when its time is up."""

from __future__ import annotations

import asyncio
import math

from bd import TYPE_CHECKING
from bd.web.feed import END
from bd.web.refusal import Refusal
from bd.worker.long_poll import HELD_S
from bd.worker.wait import offered, turn_in_s

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from bd.web.site import Site, View

# The most that wait at once; other clients poll meanwhile.
AT_ONCE = 200
_waiting: set[object] = set()


async def _stays() -> bool:
    return False


async def held(site: Site, agent: str, timeout_s: float, is_gone: Callable[[], Awaitable[bool]] = _stays) -> dict[str, Any]:
    """Wait until something is ready for the agent, and return the answer. `is_gone`: whether the caller has left.

    Raises Refusal if too many wait.
    """
    if len(_waiting) >= AT_ONCE:
        raise Refusal(503, "too many wait here already")
    one = object()
    _waiting.add(one)
    try:
        return await _until_ready(site, agent, site.runtime.monotonic() + min(timeout_s, HELD_S), is_gone)
    finally:
        _waiting.discard(one)


async def _until_ready(site: Site, agent: str, until_s: float, is_gone: Callable[[], Awaitable[bool]]) -> dict[str, Any]:
    with site.feed.listening() as news:
        while True:
            found, reason, turn_s = await site.read(_look, agent)
            left_s = until_s - site.runtime.monotonic()
            if found or left_s <= 0 or await is_gone():
                return {"agent": agent, "ready": found, **({"reason": reason} if not found else {})}
            if site.feed.stale_since:
                raise Refusal(503, "the hub can't be reached from here")
            try:
                one = await asyncio.wait_for(news.get(), max(0.01, min(left_s, turn_s)))
            except TimeoutError:
                continue
            if one.kind == END:
                raise Refusal(503, "this server ends")


def _look(view: View, agent: str) -> tuple[list[str], str, float]:
    found, reason = offered(view.snapshot, agent, view.now)
    turn_s = turn_in_s(view.snapshot, view.hub.runtime)
    return found, reason, math.inf if turn_s is None else turn_s
