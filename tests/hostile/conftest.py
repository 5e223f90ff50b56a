"""Fixtures of hubs that somebody hostile pushed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hostile.planting import GOOD, GOOD_PATH, plant

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone


@pytest.fixture
def alice(hub: Path, clone: Callable[[str], Clone]) -> Clone:
    """A clone of a hub with one bead, and with the checkout that goes with it."""
    plant(hub, {GOOD_PATH: GOOD})
    alice = clone("alice")
    alice.here("list")
    return alice
