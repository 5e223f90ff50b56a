"""One source of the hub's changes: everybody hears of each move, and of a hub that is away."""

from __future__ import annotations

from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING

import pytest

from bd.cli.context import App, Globals
from bd.serve.feed import BACK, END, MOVED, STALE, Feed, News
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone


@contextmanager
def followed(own: Clone) -> Iterator[tuple[Feed, Queue[News]]]:
    """A feed of a clone's hub, and what it says from its first look on."""
    feed = Feed(lambda: App(Globals(directory=str(own.path))).hub)
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
        git(hub, "update-ref", "refs/heads/main", f"{known}~1")
        feed.look()
        assert "rewritten" in next_of(news, STALE).text
        assert feed.tip == known


@pytest.mark.parametrize("branch", ["main"])
def test_refs_in_one_file_are_followed_too(branch: str, clone: Callable[[str], Clone], hub: Path) -> None:
    own, other = clone("own"), clone("other")
    with followed(own) as (_, news):
        next_of(news, MOVED)
        git(hub, "pack-refs", "--all", "--prune")
        other.bd("q", "News")
        assert next_of(news, MOVED).tip == tip(hub, branch)
