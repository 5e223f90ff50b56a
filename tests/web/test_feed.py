"""One source of the hub's changes: everybody hears of each move, and of a hub that is away."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest
from uvicorn import Config

from bd.cli.app import App, Globals
from bd.web.app import application
from bd.web.feed import BACK, END, MOVED, STALE, Feed, News
from bd.web.server import _Server
from bd.web.site import Site
from tests.runtime import RUNTIME
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)


@contextmanager
def followed(own: Clone) -> Iterator[tuple[Feed, Queue[News]]]:
    """A feed of a clone's hub, and what it says from its first look on."""
    feed = Feed(lambda: App(Globals(directory=str(own.path)), RUNTIME).hub, RUNTIME)
    news: Queue[News] = Queue()
    with feed.told(news.put):
        feed.start()
        try:
            yield feed, news
        finally:
            feed.close()
    assert next_of(news, END)


def next_of(news: Queue[News], kind: str) -> News:
    """The next news of a kind; those of others are let go by."""
    while (one := news.get()).kind != kind:
        pass
    return one


def test_a_push_from_elsewhere_is_heard_of(clone: Callable[[str], Clone], hub: Path) -> None:
    own, other = clone("own"), clone("other")
    with followed(own) as (feed, news):
        assert next_of(news, MOVED).tip == tip(hub)
        other.bd("q", "News")
        assert next_of(news, MOVED).tip == tip(hub) == feed.tip


def test_a_hub_without_a_remote_is_followed_too(local_hub: Clone) -> None:
    with followed(local_hub) as (feed, news):
        next_of(news, MOVED)
        local_hub.bd("q", "News")
        assert next_of(news, MOVED).tip == feed.tip == tip(local_hub.path)


def test_a_hub_that_is_away_is_told_once_and_is_followed_again_when_it_is_back(clone: Callable[[str], Clone], hub: Path) -> None:
    own, other = clone("own"), clone("other")
    with followed(own) as (feed, news):
        next_of(news, MOVED)
        away = hub.with_name("away.git")
        hub.rename(away)
        feed.look()
        assert next_of(news, STALE).text
        assert feed.stale_since
        away.rename(hub)
        other.bd("q", "News")
        feed.look()
        next_of(news, BACK)
        assert next_of(news, MOVED).tip == tip(hub)
        assert not feed.stale_since


def test_a_hub_that_was_rewritten_is_told_and_the_clone_stays_as_it_is(clone: Callable[[str], Clone], hub: Path) -> None:
    own = clone("own")
    own.bd("q", "Kept")
    with followed(own) as (feed, news):
        known = next_of(news, MOVED).tip
        other = git(
            hub, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", f"{known}^{{tree}}", "-p", f"{known}~1", "-m", "x"
        )
        git(hub, "update-ref", "refs/heads/main", other)
        feed.look()
        assert "rewritten" in next_of(news, STALE).text
        assert feed.tip == known


def test_a_clone_that_is_gone_is_told_and_ends_at_once(clone: Callable[[str], Clone], capfd: pytest.CaptureFixture[str]) -> None:
    own = clone("own")
    own.path.rename(own.path.with_name("away"))
    with followed(own) as (_, news):
        assert next_of(news, STALE).text
    assert "bd feed" not in [thread.name for thread in threading.enumerate()]
    assert "Traceback" not in capfd.readouterr().err


def test_a_signal_that_comes_as_somebody_begins_to_listen_ends_the_server(clone: Callable[[str], Clone]) -> None:
    """Its handler runs in the thread that it interrupts, whatever locks that has."""
    site = Site(lambda: App(Globals(directory=str(clone("own").path)), RUNTIME).hub, RUNTIME)
    server = _Server(Config(application(site)), site)

    class Interrupted(set[Any]):
        def add(self, listener: Any) -> None:
            server.handle_exit(signal.SIGTERM, None)
            super().add(listener)

    async def listens() -> str:
        site.feed._listeners = Interrupted()
        with site.feed.listening() as news:
            return (await news.get()).kind

    assert asyncio.run(listens()) == END
    assert server.should_exit


@pytest.mark.parametrize("branch", ["main"])
def test_refs_in_one_file_are_followed_too(branch: str, clone: Callable[[str], Clone], hub: Path) -> None:
    own, other = clone("own"), clone("other")
    with followed(own) as (_, news):
        next_of(news, MOVED)
        git(hub, "pack-refs", "--all", "--prune")
        other.bd("q", "News")
        assert next_of(news, MOVED).tip == tip(hub, branch)
