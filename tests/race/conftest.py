"""Fixtures for races: steps to interleave at, and a watch that every hub is only ever added to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.auditing import assert_sound
from tests.race.history import assert_nothing_twice, assert_one_owner, assert_only_added_to
from tests.race.interleaving import Interleaving, install
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[Interleaving]:
    """`steps.at("push", action)`: the action happens at that step of the next command of this process."""
    made = install(monkeypatch)
    yield made
    assert not made.left, f"never reached: {made.left}"


@pytest.fixture(autouse=True)
def sound_history(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test: the hub branch was only added to, no bead had two owners, nothing took effect twice.

    `bd audit` has to find so, and what git alone shows, looked at without it.
    """
    if "hub" not in request.fixturenames:
        yield
        return
    hub: Path = request.getfixturevalue("hub")
    git(hub, "config", "core.logAllRefUpdates", "true")
    yield
    assert_only_added_to(hub)
    assert_sound(hub)
    assert_one_owner(hub)
    assert_nothing_twice(hub)
