"""Hubs for the suite: each test runs on git and in memory, and neither knows which it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli import app
from bd.operations.init import Init
from bd.store.hub_location import locate
from bd.store.memory.place import MemoryPlace
from bd.store.memory.server import MemoryServer
from tests.runtime import RUNTIME, HookedRuntime
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bd.operations.base import Operation
    from bd.store import Clone


AT = "2026-02-21T15:00:00Z"


class SteppedRuntime(HookedRuntime):
    """`stepped` hears the steps of a write, once it is set."""

    stepped: Callable[[str], None] | None = None

    def on_step(self, name: str) -> None:
        if self.stepped:
            self.stepped(name)


def stepping(clone: Clone) -> SteppedRuntime:
    """The Runtime of a clone that the suite has opened."""
    assert isinstance(clone.runtime, SteppedRuntime)
    return clone.runtime


class Hub:
    """A server, and whatever clones a test wants. `hub.clone("alice")` opens a process of her clone: again, another one."""

    def __init__(
        self,
        place_of: Callable[[str], Any],
        server_ref: Callable[[str], str | None],
        run_killed: Callable[[Callable[[], Clone], str, Operation], None],
    ) -> None:
        self._place_of = place_of
        self._run_killed = run_killed
        self._places: dict[str, Any] = {}
        self.server_ref = server_ref
        self.opened: list[Clone] = []

    def clone(self, name: str = "alice", *, on_step: Callable[[str], None] | None = None) -> Clone:
        """Another process of the clone of this name."""
        if name not in self._places:
            self._places[name] = self._place_of(name)
        made = self.process(name)
        stepping(made).stepped = on_step
        self.opened.append(made)
        return made

    def process(self, name: str = "alice") -> Clone:
        """The same of a clone that is there, for a thread, which closes it itself."""
        return app.open_clone(self._places[name], SteppedRuntime())

    def kill_at(self, step: str, operation: Operation, name: str = "alice") -> None:
        """A process of a clone publishes an operation, and is killed at a step."""
        self.clone(name)

        self._run_killed(lambda: self.process(name), step, operation)


class Killed(BaseException):
    """What kill -9 is to a process of which there is none: nothing after it runs."""


def killed_in_memory(make: Callable[[], Clone], step: str, operation: Operation) -> None:
    def stop(name: str) -> None:
        if name == step:
            raise Killed

    clone = make()
    stepping(clone).stepped = stop
    with pytest.raises(Killed):
        clone.publish(operation)
    clone.local.die()  # type: ignore[attr-defined]


def killed_on_git(make: Callable[[], Clone], step: str, operation: Operation) -> None:
    child = os.fork()
    if not child:
        try:
            clone = make()
            stepping(clone).stepped = lambda name: os._exit(137) if name == step else None
            clone.publish(operation)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 137


def on_git(tmp_path: Path, hub: Path) -> Hub:
    def place_of(name: str) -> Any:
        git(tmp_path, "clone", "--quiet", str(hub), str(tmp_path / name))
        return locate(str(tmp_path / name))

    def server_ref(name: str) -> str | None:
        return git(hub, "for-each-ref", "--format=%(objectname)", name) or None

    return Hub(place_of, server_ref, killed_on_git)


def in_memory(tmp_path: Path, hub: Path) -> Hub:
    server = MemoryServer()
    made = Hub(lambda name: MemoryPlace(server), server.repository.ref, killed_in_memory)
    made.clone("maker").create_hub(Init(by="human:Ada", at=AT, runtime=RUNTIME, prefix="hub", fields={}, ignored=[]))
    return made


@pytest.fixture(params=[on_git, in_memory], ids=lambda make: make.__name__)
def shared(request: pytest.FixtureRequest, tmp_path: Path, hub: Path) -> Iterator[Hub]:
    """A hub with the prefix `hub` and no beads."""
    made: Hub = request.param(tmp_path, hub)
    yield made
    for clone in made.opened:
        clone.close()
