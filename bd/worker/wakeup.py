"""An alarm: a wait that ends early when the hub's own files change, or when somebody rings.

Files are watched if the hub is a path on this machine and watchfiles is installed; otherwise only time and `ring` end a wait. A
change between two waits ends the next one, so nothing is missed.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from threading import Event, Thread

from bd import TYPE_CHECKING
from bd.core import urls
from bd.store.git.porcelain import is_ref

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.store import Clone

# How long files have to be quiet to count as changed, and how often the watcher checks whether to end.
_STEP_MS = 20
_MOST_MS = 200


class Alarm:
    """Call `close` when nobody waits any more. `on_ring` is called by the thread that rings."""

    def __init__(self, hub: Clone, on_ring: Callable[[], None] | None = None) -> None:
        self._rung, self._ended = Event(), Event()
        self._on_ring = on_ring
        folders = ref_folders(hub)
        self.is_watching = bool(folders) and has_watcher()
        if self.is_watching:
            Thread(target=self._watch, args=(folders,), name="hub files", daemon=True).start()

    def ring(self) -> None:
        """End the current wait, or the next one. May be called by any thread."""
        self._rung.set()
        if self._on_ring is not None and not self._ended.is_set():
            self._on_ring()

    def wait(self, seconds: float) -> bool:
        """Wait up to this long. Return whether it rang."""
        rang = self._rung.wait(max(0.0, seconds))
        if rang:  # clear only then: a ring at this very moment ends the next wait
            self._rung.clear()
        return rang

    def close(self) -> None:
        self._ended.set()
        self._rung.set()

    def _watch(self, folders: Sequence[str]) -> None:
        import watchfiles  # noqa: PLC0415  an optional extra

        try:
            for _ in watchfiles.watch(
                *folders, watch_filter=None, step=_STEP_MS, debounce=_MOST_MS, stop_event=self._ended, raise_interrupt=False
            ):
                self.ring()
        except (OSError, RuntimeError):  # no watch possible, or the folder is gone: time still ends the wait
            pass
        self.is_watching = False
        self.ring()


def has_watcher() -> bool:
    """Return whether files can be watched here."""
    return find_spec("watchfiles") is not None


def ref_folders(hub: Clone) -> list[str]:
    """Return the folders whose files change when the hub's branch moves; none if the hub is not a path on this machine."""
    git_dir = _git_dir(hub)
    if not git_dir or not is_ref(hub.branch):
        return []
    kept = os.path.join(git_dir, "reftable")
    if os.path.isdir(kept):
        return [kept]
    heads = os.path.join(git_dir, "refs", "heads")
    return [heads] if os.path.isdir(heads) else []


def _git_dir(hub: Clone) -> str:
    """Return the git folder that has the hub's branch; "" if it is on another machine."""
    if not hub.remote_name:
        return hub.repo.common_dir
    named = urls.local_path(hub.place.url or "")
    if not named:
        return ""
    path = os.path.join(hub.repo.work_tree or hub.repo.git_dir, os.path.expanduser(named))
    found = [
        folder for folder in (path, os.path.join(path, ".git"), f"{path}.git") if os.path.isfile(os.path.join(folder, "HEAD"))
    ]
    return found[0] if found else ""
