"""The cache files of a clone, and what is remembered of its place: one each for every version of bd that is in use there.

A version finds its own by the fingerprint of its code. Belongs here: names, and when a file goes. Does not belong
here: what is in it (database.py, cache.py).
"""

from __future__ import annotations

import os

from bd.core.light import suppress
from bd.store.cache.fingerprint import fingerprint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

_UNUSED_S = 14 * 86400
_A_DAY_S = 86400
_ENDINGS = ("", "-wal", "-shm")


def path_of(folder: str, now: datetime) -> str:
    """Return the path of this version's cache file in bd's folder of a clone; once a day, drop what no version uses."""
    path = os.path.join(folder, f"cache-{fingerprint()}.db")
    now_s = now.timestamp()
    with suppress(OSError):
        if not os.path.exists(path) or now_s - os.stat(path).st_mtime > _A_DAY_S:
            _drop_unused(folder, now_s)
            os.utime(path, (now_s, now_s))
    return path


def place_path(folder: str) -> str:
    """Return the path of what this version remembers of the clone's settings (hub_location.py); it goes with the cache file."""
    return os.path.join(folder, f"place-{fingerprint()}")


def all_files(folder: str) -> list[str]:
    """Return the paths of all cache files in bd's folder of a clone, of every version, without SQLite's side files."""
    return [
        os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("cache") and name.endswith(".db")
    ]


def _drop_unused(folder: str, now_s: float) -> None:
    for path in all_files(folder):
        if now_s - os.stat(path).st_mtime > _UNUSED_S:
            name = os.path.basename(path)
            place = os.path.join(folder, name.replace("cache", "place", 1).removesuffix(".db"))
            for gone in (*(path + ending for ending in _ENDINGS), place):
                with suppress(FileNotFoundError):
                    os.unlink(gone)
