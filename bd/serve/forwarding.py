"""Forwarding: a thread that tells gateways what is ready for their agents, whenever the hub has moved or time has."""

from __future__ import annotations

from contextlib import closing
from threading import Event, Thread

from bd.errors import BdError
from bd.fleet.waiting import turn_in_s
from bd.serve.gateway import Gateway

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bd.serve.feed import Feed, News
    from bd.serve.gateway import Target
    from bd.store.hub import Hub

# What changes without the hub's moving (an agent that is there again) is seen at least so often.
_LOOK_S = 60.0


class Forwarding:
    """Runs beside a feed. Has a hub of its own, which only its thread uses."""

    def __init__(
        self, feed: Feed, open_hub: Callable[[], Hub], targets: Iterable[Target], tell: Callable[[str], None], token: str = ""
    ) -> None:
        self._feed, self._open_hub, self._tell = feed, open_hub, tell
        self._gateways = [Gateway(target, token, tell) for target in targets]
        self._woken, self._is_ended = Event(), False
        self._thread = Thread(target=self._run, name="bd forward", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._is_ended = True
        self._woken.set()

    def _hear(self, news: News) -> None:
        self._woken.set()

    def _run(self) -> None:
        with closing(self._open_hub()) as hub, self._feed.told(self._hear):
            while not self._is_ended:
                self._woken.clear()
                self._woken.wait(max(0.01, self._round(hub)))

    def _round(self, hub: Hub) -> float:
        """Tell every gateway what it has not heard; in how many seconds again."""
        try:
            snapshot = hub.snapshot()
            for gateway in self._gateways:
                if not self._is_ended:
                    gateway.offer(hub, snapshot)
            turn_s = turn_in_s(snapshot)
        except (BdError, OSError) as error:
            self._tell(f"nothing is forwarded now: {error}")
            return _LOOK_S
        rests = [rest for gateway in self._gateways if (rest := gateway.rest_s) is not None]
        return min([_LOOK_S, *rests, *([turn_s] if turn_s is not None else [])])
