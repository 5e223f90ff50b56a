"""Clocks that tests set: one of this process, and one of a process of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bd.core.times import time_text
from tests.running import HOOKED

if TYPE_CHECKING:
    from pathlib import Path

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


def bd_ahead(file: Path) -> tuple[str, ...]:
    """How to start a bd whose clocks the test moves while it runs, by `move_ahead` of the same file."""
    return (*HOOKED[:-1], f"--ahead={file}", HOOKED[-1])


def move_ahead(file: Path, seconds: float) -> None:
    """Move the clocks of the processes that were started with this file; they see it whole or not at all."""
    new = file.with_suffix(".new")
    new.write_text(str(seconds), encoding="utf-8")
    new.replace(file)
