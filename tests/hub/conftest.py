"""Fixtures for a hub's mishaps: the interleaving of tests/race, and its watch over history."""

from __future__ import annotations

from tests.race.conftest import sound_history, steps

__all__ = ["sound_history", "steps"]
