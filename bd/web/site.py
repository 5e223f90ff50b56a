"""The site: everything that a handler works with. One thread reads, one writes, one follows; only they touch the hub.

`await site.read(function, ...)` calls `function(view, ...)` on the hub's state in this clone; `await site.write(person, make)`
publishes the operation that `make(asked)` returns, in the person's name; `site.feed` says when the hub has moved.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.ids import hub_name
from bd.operations.base import asked
from bd.report.metrics.flow import flow_of
from bd.web.api.service import Service
from bd.web.api.verbs import requests
from bd.web.authentication import PERSON
from bd.web.checks import Checks
from bd.web.feed import Feed
from bd.web.host_names import LOCAL
from bd.web.hub_thread import Room
from bd.web.page_cache import Kept
from bd.web.readers import Reader
from bd.web.writers import Writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

    from bd.brief.verbs import Verbs
    from bd.core.settings import Settings
    from bd.operations.base import Operation
    from bd.report.metrics.flow import Flow
    from bd.store import CachedSnapshot, Clone, Outcome
    from bd.web.authentication import Account
    from bd.web.host_names import HostNames

    P = ParamSpec("P")
    R = TypeVar("R")
    Make = Callable[[Mapping[str, Any]], Operation]

    class Helper(Protocol):
        def start(self) -> None: ...
        def close(self) -> None: ...

    from bd.core.runtime import Runtime


class View(NamedTuple):
    """The hub as a handler reads it for one answer; it must not be kept after that. `tip` is the hub's commit that it is of."""

    hub: Clone
    snapshot: CachedSnapshot
    settings: Settings
    now: datetime
    kept: Kept
    tip: str

    @property
    def name(self) -> str:
        return hub_name(self.snapshot.config().get("prefix"))

    def flow(self) -> Flow:
        """Return the flow of work up to the tip."""
        return self.kept.get("flow", self.tip, self.now, lambda: flow_of(self.hub, self.tip))


class Done(NamedTuple):
    """The result of a write: the beads it touched, whether the hub has it, and notes for the caller."""

    beads: tuple[str, ...]
    published: bool
    notes: tuple[str, ...]


class Site:
    """All that a handler needs. `accounts` have tokens; only people among them may write on the pages. `names` are the host
    names that it answers to.

    `pages` and `pasts` are the caches of the reader thread; only that thread may use them.
    """

    def __init__(
        self,
        open_hub: Callable[[], Clone],
        runtime: Runtime,
        accounts: Iterable[Account] | Callable[[], tuple[Account, ...]] = (),
        names: HostNames = LOCAL,
        *,
        is_private: bool = False,
    ) -> None:
        fixed = () if callable(accounts) else tuple(accounts)
        self.accounts: Callable[[], tuple[Account, ...]] = accounts if callable(accounts) else lambda: fixed
        self.names = names
        self.is_private = is_private
        self.open_hub = open_hub
        self.runtime = runtime
        self.tell: Callable[[str], None] = lambda _: None  # to whoever runs the server
        self.verbs: Callable[[str, str], Verbs] = requests  # how briefs say what to call (api/verbs.py)
        self.secrets: Mapping[str, str] = {}  # webhook secrets by forge
        self.helpers: Sequence[Helper] = ()  # threads that run alongside the feed while the site is open
        self.pages, self.pasts = Kept(), Kept()
        self.service = Service(self)
        self._reader, self._writer = Room("bd reader", open_hub), Room("bd writer", open_hub)
        self._views = Reader(self._reader, lambda hub: _view(hub, self.pasts))
        self._writers = Writers(lambda: _without_user(open_hub()))
        self.checks = Checks(lambda: _without_user(open_hub()))
        self.feed = Feed(open_hub, runtime, on_signs=self._reader.renew)

    @property
    def people(self) -> tuple[Account, ...]:
        """The people with a token now."""
        return tuple(account for account in self.accounts() if account.kind == PERSON)

    def open(self) -> None:
        self.feed.start()
        for helper in self.helpers:
            helper.start()

    def close(self) -> None:
        self.feed.close()
        for helper in self.helpers:
            helper.close()
        self._reader.close(waits=False)  # reading a history can take long, and nobody waits for the result any more
        self._writer.close()
        self._writers.close()
        self.checks.close()

    async def read(self, function: Callable[Concatenate[View, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function with a view of the hub's current state, and return its result."""
        return await self._views.do(lambda view: function(view, *args, **kwargs))

    async def write(self, person: Account, make: Make) -> Done:
        """Publish an operation in the person's name. Raises the error if it is refused."""
        done = await self._writer.do(_write, person.name, make)
        self.feed.look()
        return done

    async def write_as_named(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function with a clone that writes under the names that operations have; several run at once."""
        done = await self._writers.do(function, *args, **kwargs)
        self.feed.look()
        return done

    async def change(self, function: Callable[Concatenate[Clone, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function with the writer's clone, where it may write under its own name; then check the hub for changes."""
        done = await self._writer.do(function, *args, **kwargs)
        self.feed.look()
        return done


def _view(hub: Clone, kept: Kept) -> View:
    """Return the hub as it is now. Views of one commit share what they have read of it."""
    now, view, published = hub.runtime.now(), hub.view(), hub.published()
    commit, tip = kept.get("newest", (view, published), now, lambda: hub.newest(view, published))
    fresh = hub.snapshot(commit)
    snapshot = kept.get("snapshot", (hub, commit, fresh.listened_at), now, lambda: fresh)
    return View(hub, snapshot, hub.settings(snapshot), now, kept, tip)


def _without_user(hub: Clone) -> Clone:
    """Return the clone without the name of who started the server: each operation's author is whoever asked.

    Its writers wait for each other all the time, which is no news.
    """
    hub.place = hub.place.replace(user_name="", user_mail="")
    hub.on_wait = None
    return hub


def _write(hub: Clone, name: str, make: Make) -> Done:
    own = hub.place
    if name != own.user_name:  # the author is the person who asked, not who started the server
        hub.place = own.replace(user_name=name, user_mail="")
    try:
        outcome = hub.publish(make(asked(hub.runtime, f"human:{name}")))
    finally:
        hub.place = own  # the next write has another author
    outcome.acknowledge()
    return Done(outcome.change.touched if outcome.change else (), outcome.published, _notes(outcome))


def _notes(outcome: Outcome) -> tuple[str, ...]:
    return (*outcome.notes, *(outcome.change.notes if outcome.change else ()))
