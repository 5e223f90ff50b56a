"""The index of idempotency keys that a server keeps: as of the tip, and for a day."""

from __future__ import annotations

from contextlib import ExitStack, closing
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

import pytest

from bd.cli.app import open_clone
from bd.core import times
from bd.core.operation import Once
from bd.operations.beads import Comment
from bd.operations.create import Create
from bd.store import KeyIndex, locate
from bd.store.group_commit import idempotency
from tests.runtime import RUNTIME, HookedRuntime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from bd.store import Clone as Hub
    from tests.running import Clone


class MovedRuntime(HookedRuntime):
    """A clock that a test moves."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


@pytest.fixture
def hubs(clone: Callable[[str], Clone]) -> Iterator[tuple[Hub, Hub]]:
    """Two clones of a hub with one bead."""
    with ExitStack() as stack:
        places = [locate(str(clone(name).path)) for name in ("first", "second")]
        first, second = (stack.enter_context(closing(open_clone(place, MovedRuntime()))) for place in places)
        at = times.time_text(RUNTIME.now())
        first.publish(Create(by="human:Ada", at=at, runtime=RUNTIME, beads=[{"title": "A", "id": "hub-a"}]))
        second.fetch()
        yield first, second


def comment(hub: Hub, key: str) -> str:
    once, at = Once(key, "body", hub.published() or ""), times.time_text(hub.runtime.now())
    return hub.publish(Comment(by="human:Ada", at=at, runtime=RUNTIME, ids=["hub-a"], text="one", once=once)).commit


def test_it_follows_what_others_wrote(hubs: tuple[Hub, Hub]) -> None:
    (first, second), keys = hubs, KeyIndex(Lock())
    assert keys.find(first, "k1") == (None, first.published())
    commit = comment(second, "k1")
    first.fetch()
    found, tip = keys.find(first, "k1")
    assert found
    assert (found.commit, found.answer["touched"], tip) == (commit, ["hub-a"], first.published())
    comment(first, "k2")
    assert keys.find(first, "k2")[0]
    assert KeyIndex(Lock()).find(first, "k1")[0] == found, "another process reads it from history"


def test_a_key_is_forgotten_after_a_day(hubs: tuple[Hub, Hub]) -> None:
    (first, _), keys = hubs, KeyIndex(Lock())
    comment(first, "k1")
    assert keys.find(first, "k1")[0]
    first.runtime.ahead = idempotency.KEPT * 1.5  # type: ignore[attr-defined]
    comment(first, "k2")
    assert keys.find(first, "k1")[0] is None
    assert keys.find(first, "k2")[0]
