"""What the tests of the fleet stand on, beside what every test does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fleet.poolhost import Host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.running import Clone


@pytest.fixture
def host(clone: Callable[[str], Clone]) -> Iterator[Host]:
    """A host with a clone of the hub, that may run pools; nobody of them is left running."""
    made = Host(clone("ada"))
    yield made
    made.clear()
