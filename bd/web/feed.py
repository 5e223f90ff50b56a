"""The feed: one thread follows the hub for all who look, and tells every listener when something is new.

A listener is told that the hub has moved, not what has changed: it reads what it shows anew. `look` makes the thread look
at once, for those who know that something happened (a write of this process, a webhook).
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from contextlib import closing, contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from bd.core import times
from bd.core.errors import BdError
from bd.worker.follow import LONGEST_S
from bd.worker.heartbeats import branch_tip
from bd.worker.pacing_state import Peeking
from bd.worker.wakeup import Alarm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.core.runtime import Runtime
    from bd.store import Clone

MOVED, SIGNS, STALE, BACK, END = "moved", "signs", "stale", "back", "end"
# How often what agents say beside the branch is listened to; a watched hub is looked at by the clock, too.
_LISTEN_S = 60.0
_WATCHED_S = 10.0
_WAITING_NEWS = 16
_AGAIN_S = 5.0
_GRACE_S = 2.0


class News(NamedTuple):
    """`kind`: the hub has moved, agents gave signs of life, what is shown is stale, or no longer; the server ends.

    `since` is when what is shown began to be stale, `text` why.
    """

    kind: str
    tip: str
    at: str
    text: str = ""
    since: str = ""


class Feed:
    """What is known of the hub: `tip`, `seen_at` when it last answered, `stale_since` and `trouble` while it does not."""

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
        """A queue of this event loop that gets all news; who is slow gets the newest."""
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
        """The same for any function; it is called in the feed's thread, and has to be quick."""
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
        """Look at the hub now. May be called by any thread."""
        if self._alarm is not None:
            self._alarm.ring()

    # --- life ---

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Tell every listener that it is over. Not for signal handlers: it takes locks."""
        self._over.set()
        self._tell(END)
        self.look()

    def close(self) -> None:
        self.end()
        if self._thread.is_alive():
            self._thread.join(_GRACE_S)  # it may be asking a hub that does not answer

    def _tell(self, kind: str, text: str = "") -> None:
        news = News(kind, self.tip, times.time_text(self._runtime.now()), text, self.stale_since)
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(news)
            except RuntimeError:  # its event loop has ended
                continue

    # --- the thread ---

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._attend()
            except (BdError, OSError) as error:  # a clone that is gone, say
                self._stale(str(error))
            except Exception as error:  # noqa: BLE001  whatever it is, those who look are told, and it is tried again
                if self._over.is_set():  # the site has closed what it works with
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
        """Whether the hub has moved, and everybody was told."""
        before = self.tip
        try:
            tip = branch_tip(hub)
            if tip and tip != before:
                hub.fetch()
            if tip:
                hub.catch_up()  # a person's change that was made while the hub was away
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
        """What agents said beside the branch, brought in for the reader; the branch says what is wrong with the hub."""
        try:
            said = repr(sorted(hub.listen().items()))
        except (BdError, OSError):
            return heard
        if said != heard and self._on_signs:
            self._on_signs()
            self._tell(SIGNS)
        return said
