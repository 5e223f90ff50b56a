"""A clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bd.clock import time_text

START = datetime(2026, 2, 21, 15, 0, tzinfo=UTC)


class FakeClock:
    """Stands still at `now` until it is set or moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def read(self) -> datetime:
        return self.now

    def set(self, text: str) -> datetime:
        """Go to an instant, written as RFC 3339."""
        self.now = datetime.fromisoformat(text).astimezone(UTC)
        return self.now

    def move(self, **parts: float) -> datetime:
        """Go on by `hours=2`, `seconds=-5`, as timedelta takes them."""
        self.now += timedelta(**parts)
        return self.now

    def text(self, **parts: float) -> str:
        """The canonical text of an instant that far from now."""
        return time_text(self.now + timedelta(**parts))
