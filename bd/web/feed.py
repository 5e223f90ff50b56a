"""The feed: one thread follows the hub for everybody who is connected, and notifies every listener of changes.

Listeners hear that the hub has moved, not what has changed; they read again what they show. `look` makes the thread check at
once, for callers that know that something happened (a write of this process, a webhook).
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from contextlib import closing, contextmanager
from threading import Event, Lock, Thread
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import BdError
from bd.policy.live_notes import reported
from bd.worker.follow import LONGEST_S
from bd.worker.heartbeats import branch_tip
from bd.worker.pacing_state import Peeking
from bd.worker.wakeup import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.core.runtime import Runtime
    from bd.store import Clone

MOVED, SIGNS, STALE, BACK, END = "moved", "signs", "stale", "back", "end"
# How often heartbeats are fetched, and how often the hub is checked by the clock although its files are watched.
_LISTEN_S = 60.0
_WATCHED_S = 10.0
_WAITING_NEWS = 16
_AGAIN_S = 5.0
_GRACE_S = 2.0


class News(NamedTuple):
    """One notification. `kind`: the hub moved, heartbeats came, the data became stale or fresh again, or the server ends.

    `since` is the time at which the data became stale, `text` the reason.
    """

    kind: str
    tip: str
    at: str
    text: str = ""
    since: str = ""


class Feed:
    """The state of the hub: `tip`, `seen_at` when it last answered, `stale_since` and `trouble` while it does not answer."""

    def __init__(self, open_hub: Callable[[], Clone], runtime: Runtime, on_signs: Callable[[], None] | None = None) -> None:
        self._open_hub, self._runtime, self._on_signs = open_hub, runtime, on_signs
        self._listeners: set[Callable[[News], None]] = set()
        self._lock = Lock()
        self._alarm: Alarm | None = None
        self._over = Event()
        self._thread = Thread(target=self._run, name="bd feed", daemon=True)
        self.tip = self.seen_at = self.stale_since = self.trouble = ""

    # --- for listeners ---

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[News]]:
        """Yield a queue for this event loop that receives all news. If the listener is slow, the oldest are dropped."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[News] = asyncio.Queue(_WAITING_NEWS)

        def put(news: News) -> None:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(news)

        def told(news: News) -> None:
            loop.call_soon_threadsafe(put, news)

        with self.told(told):
            yield queue

    @contextmanager
    def told(self, listener: Callable[[News], None]) -> Iterator[None]:
        """Call a function for all news, in the feed's thread; it must return quickly."""
        with self._lock:
            self._listeners.add(listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners.discard(listener)

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def look(self) -> None:
        """Check the hub now. Can be called from any thread."""
        if self._alarm is not None:
            self._alarm.ring()

    # --- life ---

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Notify every listener of the end. It takes locks, so never call it from a signal handler."""
        self._over.set()
        self._tell(END)
        self.look()

    def close(self) -> None:
        self.end()
        if self._thread.is_alive():
            self._thread.join(_GRACE_S)  # the thread may be waiting for a hub that does not answer

    def _tell(self, kind: str, text: str = "") -> None:
        news = News(kind, self.tip, times.time_text(self._runtime.now()), text, self.stale_since)
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(news)
            except RuntimeError:  # the listener's event loop has ended
                continue

    # --- the thread ---

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._attend()
            except (BdError, OSError) as error:  # for example, the clone was deleted
                self._stale(str(error))
            except Exception as error:  # noqa: BLE001  listeners learn of any error, and the thread tries again
                if self._over.is_set():  # the site has already closed the hub
                    return
                traceback.print_exception(error, file=sys.stderr)
                self._stale(f"the hub can't be followed: {error}")
            self._over.wait(_AGAIN_S)

    def _attend(self) -> None:
        with closing(self._open_hub()) as hub, closing(Alarm(hub)) as alarm:
            self._alarm = alarm
            self._follow(hub, alarm)

    def _follow(self, hub: Clone, alarm: Alarm) -> None:
        peeking, heard, listened_s = Peeking(hub, LONGEST_S), "", 0.0
        while not self._over.is_set():
            if self._runtime.monotonic() - listened_s >= _LISTEN_S:
                heard, listened_s = self._listen(hub, heard), self._runtime.monotonic()
            if self._look(hub):
                peeking = Peeking(hub, LONGEST_S)
            pause_s = peeking.next_s()
            if alarm.wait(max(pause_s, _WATCHED_S) if alarm.is_watching and not self.stale_since else pause_s):
                peeking = Peeking(hub, LONGEST_S)

    def _look(self, hub: Clone) -> bool:
        """Check the hub and notify the listeners of a change; return whether it has moved."""
        before = self.tip
        try:
            tip = branch_tip(hub)
            if tip and tip != before:
                hub.fetch()
            if tip:
                hub.catch_up()  # publish a person's change that was made while the hub was unreachable
                tip = hub.published() or tip
        except (BdError, OSError) as error:
            self._stale(str(error))
            return False
        self.seen_at = times.time_text(self._runtime.now())
        self.tip = tip or before
        if self.stale_since:
            self.stale_since = self.trouble = ""
            self._tell(BACK)
        if self.tip != before:
            self._tell(MOVED)
        return self.tip != before

    def _stale(self, trouble: str) -> None:
        if trouble == self.trouble:
            return
        self.trouble = trouble
        self.stale_since = self.stale_since or self.seen_at or times.time_text(self._runtime.now())
        self._tell(STALE, trouble)

    def _listen(self, hub: Clone, heard: str) -> str:
        """Fetch the heartbeats for the reader. Errors are ignored here, because checking the branch reports them."""
        try:
            said = repr((sorted(hub.listen().items()), reported(hub.snapshot())))
        except (BdError, OSError):
            return heard
        if said != heard and self._on_signs:
            self._on_signs()
            self._tell(SIGNS)
        return said
