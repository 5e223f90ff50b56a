"""The cache files of a clone, and what is remembered of its place: one each for every version of bd that is in use there.

A version finds its own by the fingerprint of its code: a cache by that of all code that fills it, derivations too; a place
by that of the store alone. Belongs here: names, and when a file goes. Does not belong here: what is in it (database.py,
cache.py).
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from bd.store.cache.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bd.core.queries import Derivation

_UNUSED_S = 14 * 86400
_A_DAY_S = 86400
_ENDINGS = ("", "-wal", "-shm")


def path_of(folder: str, derivations: Sequence[Derivation], now: datetime) -> str:
    """Return the path of this version's cache file in bd's folder of a clone; once a day, drop what no version uses."""
    path = os.path.join(folder, f"cache-{fingerprint(derivations)}.db")
    now_s = now.timestamp()
    with suppress(OSError):
        if not os.path.exists(path) or now_s - os.stat(path).st_mtime > _A_DAY_S:
            for used in (place_path(folder), path):
                with suppress(FileNotFoundError):
                    os.utime(used, (now_s, now_s))
            _drop_unused(folder, now_s)
    return path


def place_path(folder: str) -> str:
    """Return the path of what this version remembers of the clone's settings (hub_location.py)."""
    return os.path.join(folder, f"place-{fingerprint()}")


def all_files(folder: str) -> list[str]:
    """Return the paths of all cache files in bd's folder of a clone, of every version, without SQLite's side files."""
    return [
        os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("cache") and name.endswith(".db")
    ]


def _drop_unused(folder: str, now_s: float) -> None:
    places = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("place")]
    for path in [*all_files(folder), *places]:
        if now_s - os.stat(path).st_mtime > _UNUSED_S:
            for ending in _ENDINGS:
                with suppress(FileNotFoundError):
                    os.unlink(path + ending)
