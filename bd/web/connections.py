"""Connections: clients that are slow, or silent, keep nobody else out.

A request has to arrive: each `STEP` bytes of it within `PATIENCE_S`. There are `MOST` connections at once; of more, one ends that
has been answered and is silent since, or else the one that has waited longest for its request. A connection whose request was
answered before it was all there (413) ends soon after.
"""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from typing import Any

PATIENCE_S = 20.0
STEP = 32 * 1024
MOST = 1024
# So long is a body read and thrown away after the answer, so that the client can read why.
_LINGER_S = 2.0


class Connection(H11Protocol):
    """One connection of uvicorn's server."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._arrived = 0
        self._is_ending = False

    @property
    def is_waiting(self) -> bool:
        """Return whether no request is being answered, and the next one, or the rest of it, is to come."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(PATIENCE_S)
        if len(self.connections) > MOST:
            waiting = [one for one in self.connections if isinstance(one, Connection) and one.is_waiting]
            oldest = min(waiting, key=lambda one: one.until_s, default=self)
            oldest.transport.abort()

    @property
    def until_s(self) -> float:
        """The time, on the loop's clock, until which a request is waited for; 0 if none has begun since the last answer."""
        return self._timer.when() if self._timer else 0.0

    def data_received(self, data: bytes) -> None:
        self._arrived += len(data)
        if self._arrived >= STEP and not self._is_ending:
            self._arrived = 0
            self._wait(PATIENCE_S)
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._timer is None:
                self._wait(PATIENCE_S)
        else:
            self._stop()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._is_ending = True
            self._wait(_LINGER_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _wait(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
