"""The site: everything a handler works with. One reads, one writes, one follows; nothing else touches the hub.

`await site.read(function, ...)` calls `function(view, ...)` on the hub as this clone has it; `await site.write(person, make)`
publishes the operation that `make(asked)` makes, under the person's name; `site.feed` says when the hub has moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.operations.base import asked
from bd.report.metrics.flow import flow_of
from bd.web.feed import Feed
from bd.web.hub_thread import Room
from bd.web.page_cache import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

    from bd.core.settings import Settings
    from bd.operations.base import Operation
    from bd.report.metrics.flow import Flow
    from bd.store import CachedSnapshot, Clone, Outcome
    from bd.web.authentication import Person

    P = ParamSpec("P")
    R = TypeVar("R")
    Make = Callable[[Mapping[str, Any]], Operation]

    class Helper(Protocol):
        def start(self) -> None: ...
        def close(self) -> None: ...

    from bd.core.runtime import Runtime


class View(NamedTuple):
    """The hub as a reader has it for one answer; it is not readable after that."""

    hub: Clone
    snapshot: CachedSnapshot
    settings: Settings
    now: datetime
    kept: Kept

    @property
    def name(self) -> str:
        return str(self.snapshot.config().get("prefix") or "hub")

    @property
    def tip(self) -> str:
        return self.hub.published() or self.snapshot.commit

    def flow(self) -> Flow:
        """The flow of work up to the tip."""
        return self.kept.get("flow", self.tip, self.now, lambda: flow_of(self.hub, self.tip))


class Done(NamedTuple):
    """What became of a write: the beads it touched, whether the hub has it, notes for who asked."""

    beads: tuple[str, ...]
    published: bool
    notes: tuple[str, ...]


class Site:
    """`people` may change things; without any, nobody may. `names` are the hosts it answers to; empty: to any.

    `pages` and `pasts` are what readers made already; only they may use them.
    """

    def __init__(
        self,
        open_hub: Callable[[], Clone],
        runtime: Runtime,
        people: Iterable[Person] = (),
        names: Iterable[str] = (),
        *,
        is_private: bool = False,
    ) -> None:
        self.people = tuple(people)
        self.names = frozenset(name.lower() for name in names)
        self.is_private = is_private
        self.open_hub = open_hub
        self.runtime = runtime
        self.tell: Callable[[str], None] = lambda _: None  # whoever runs the server
        self.secrets: Mapping[str, str] = {}  # of webhooks, by forge
        self.helpers: Sequence[Helper] = ()  # what runs beside the feed as long as the site is open
        self.pages, self.pasts = Kept(), Kept()
        self._reader, self._writer = Room("bd reader", open_hub), Room("bd writer", open_hub)
        self.feed = Feed(open_hub, runtime, on_signs=self._reader.renew)

    def open(self) -> None:
        self.feed.start()
        for helper in self.helpers:
            helper.start()

    def close(self) -> None:
        self.feed.close()
        for helper in self.helpers:
            helper.close()
        self._reader.close(waits=False)  # a history may take long to read, and nobody waits for it any more
        self._writer.close()

    async def read(self, function: Callable[Concatenate[View, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function makes of the hub as it now is."""
        return await self._reader.do(lambda hub: function(_view(hub, self.pasts), *args, **kwargs))

    async def write(self, person: Person, make: Make) -> Done:
        """Publish an operation in the person's name. Raises what it is refused with."""
        done = await self._writer.do(_write, person.name, make)
        self.feed.look()
        return done

    async def change(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function makes of the writers' hub, in which it may write under a name of its own; then all look."""
        done = await self._writer.do(function, *args, **kwargs)
        self.feed.look()
        return done


def _view(hub: Clone, kept: Kept) -> View:
    snapshot = hub.snapshot()
    return View(hub, snapshot, hub.settings(snapshot), hub.runtime.now(), kept)


def _write(hub: Clone, name: str, make: Make) -> Done:
    own = hub.place
    if name != own.user_name:  # whose commit it is, is not up to who started the server
        hub.place = own._replace(user_name=name, user_mail="")
    try:
        outcome = hub.publish(make(asked(hub.runtime, f"human:{name}")))
    finally:
        hub.place = own  # the next write is somebody else's, or a webhook's
    outcome.acknowledge()
    return Done(outcome.change.touched if outcome.change else (), outcome.published, _notes(outcome))


def _notes(outcome: Outcome) -> tuple[str, ...]:
    return (*outcome.notes, *(outcome.change.notes if outcome.change else ()))
