"""A small cache for pages and for the histories of beads."""

from __future__ import annotations

from collections import OrderedDict

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from datetime import datetime
    from typing import Any, TypeVar

    T = TypeVar("T")

_MOST = 64


class Kept:
    """The most recently used values by key, each with the inputs it was made from."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, tuple[Any, datetime, Any]] = OrderedDict()

    def get(self, key: Hashable, made_of: Any, now: datetime, make: Callable[[], T], lasts_s: float | None = None) -> T:
        """Return the cached value of a key, or make it again if its inputs changed or it is older than `lasts_s`."""
        known = self._values.get(key)
        if known and known[0] == made_of and (lasts_s is None or abs((now - known[1]).total_seconds()) < lasts_s):
            self._values.move_to_end(key)
            return known[2]  # type: ignore[no-any-return]
        value = make()
        self._values[key] = (made_of, now, value)
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value
