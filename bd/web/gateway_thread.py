"""Forwarding: a thread that posts ready beads to gateways, whenever the hub has moved or a time is reached."""

from __future__ import annotations

import sys
import traceback
from contextlib import closing
from threading import Event, Thread

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.web.gateways import Gateway
from bd.worker.wait import turn_in_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from bd.core.runtime import Runtime
    from bd.store import Clone
    from bd.web.feed import Feed, News
    from bd.web.gateways import Target

# The longest time until changes are seen that don't move the hub, such as an agent that is available again.
_LOOK_S = 60.0
_GRACE_S = 2.0


class Forwarding:
    """Runs alongside a feed, with a clone that only its thread uses."""

    def __init__(
        self,
        feed: Feed,
        open_hub: Callable[[], Clone],
        runtime: Runtime,
        targets: Iterable[Target],
        tell: Callable[[str], None],
        token: str = "",
        template: Any = None,
    ) -> None:
        self._feed, self._open_hub, self._tell = feed, open_hub, tell
        self._gateways = [Gateway(target, token, tell, runtime, template) for target in targets]
        self._woken, self._is_ended, self._trouble = Event(), False, ""
        self._thread = Thread(target=self._run, name="bd forward", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._is_ended = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_GRACE_S)  # the thread may be posting to a gateway that does not answer

    def _hear(self, news: News) -> None:
        self._woken.set()

    def _run(self) -> None:
        with self._feed.told(self._hear):
            while self._goes_on():
                try:
                    with closing(self._open_hub()) as hub:
                        while self._goes_on():
                            self._woken.wait(max(0.01, self._round(hub)))
                except Exception as error:  # noqa: BLE001  any error is reported, and the thread tries again
                    self._doubt(error)
                    self._woken.wait(_LOOK_S)

    def _goes_on(self) -> bool:
        """Return whether to go on. Clears the wake flag first, so a wake-up from here on ends the next wait."""
        self._woken.clear()
        return not self._is_ended

    def _round(self, hub: Clone) -> float:
        """Post to every gateway what it has not received; return the seconds until the next round."""
        snapshot = hub.snapshot()
        for gateway in self._gateways:
            if not self._is_ended:
                gateway.offer(hub, snapshot)
        self._trouble = ""
        rests = [rest for gateway in self._gateways if (rest := gateway.rest_s) is not None]
        turn_s = turn_in_s(snapshot, hub.runtime)
        return min([_LOOK_S, *rests, *([turn_s] if turn_s is not None else [])])

    def _doubt(self, error: Exception) -> None:
        """Report an error, once."""
        if str(error) == self._trouble:
            return
        self._trouble = str(error)
        if not isinstance(error, BdError | OSError):
            traceback.print_exception(error, file=sys.stderr)
        self._tell(f"nothing is forwarded now: {error}")
