"""The stream that open pages listen to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bd.web import event_stream
from tests.truth import tip
from tests.web.running import asked, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone
    from tests.web.conftest import Served
    from tests.web.running import Server

pytestmark = pytest.mark.one_in(5)


@pytest.fixture
def server(clone: Callable[[str], Clone]) -> Iterator[Server]:
    with serving(clone("server")) as running:
        yield running


def next_event(stream: Any, *kinds: str) -> dict[str, str]:
    """The data of the next event of one of these kinds."""
    while True:
        line = stream.readline().decode().strip()
        if line.startswith("event: ") and line[7:] in kinds:
            return json.loads(stream.readline().decode().removeprefix("data: "))


def test_every_page_hears_of_every_push(server: Server, clone: Callable[[str], Clone], hub: Path) -> None:
    other = clone("other")
    streams = [asked(f"{server.url}events") for _ in range(5)]
    for stream in streams:
        next_event(stream, "hello")
    for title in ("One", "Two"):
        other.bd("q", title)
        for stream in streams:
            while next_event(stream, "moved")["tip"] != tip(hub):
                pass


def test_a_stream_too_many_ends_and_comes_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "AT_ONCE", 0)
    answer = served.client.get("/events")
    assert (answer.status_code, answer.text) == (200, "retry: 30000\n\n")
    assert served.site.feed.listeners == 0


@pytest.mark.slow
def test_a_page_that_comes_later_is_told_that_what_it_sees_is_stale(server: Server, hub: Path) -> None:
    with asked(f"{server.url}events") as stream:
        next_event(stream, "hello")
        hub.rename(hub.with_name("away.git"))
        first = next_event(stream, "stale")
    assert first["text"]
    with asked(f"{server.url}events") as stream:
        assert next_event(stream, "stale")["since"] == first["since"]
        hub.with_name("away.git").rename(hub)
        next_event(stream, "back")
