"""File names in bd's folder of a clone: the cache and the cached place of each version of bd in use there.

A version finds its files by a fingerprint of its code: its cache by all code that fills it, including derivations; its place by
the store alone. This module names files and decides when they are dropped; database.py and cache.py fill them.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.store.cache.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bd.core.queries import Derivation

_UNUSED_S = 14 * 86400
_A_DAY_S = 86400
_ENDINGS = ("", "-wal", "-shm")


def path_of(folder: str, derivations: Sequence[Derivation], now: datetime) -> str:
    """Return the path of this version's cache file in bd's folder of a clone. Once a day, also delete unused files."""
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
    """Return the path of this version's cached place (hub_location.py)."""
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
