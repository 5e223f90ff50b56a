"""The stream that open pages listen to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

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


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A token file that nobody else may read, still empty."""
    path = tmp_path / "tokens"
    path.touch(mode=0o600)
    return path


def next_event(stream: Any, *kinds: str) -> dict[str, str]:
    """The data of the next event of one of these kinds."""
    while True:
        line = stream.readline().decode().strip()
        if line.startswith("event: ") and line[7:] in kinds:
            return json.loads(stream.readline().decode().removeprefix("data: "))


def assert_ends_without(stream: Any, tip: str) -> None:
    """The stream ends, and does not tell of this tip."""
    for line in stream:
        assert tip.encode() not in line


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


def test_a_stream_ends_with_the_token_that_it_was_asked_with(token_file: Path, clone: Callable[[str], Clone], hub: Path) -> None:
    own, other = clone("server"), clone("other")
    other.bd("create", "One", "--id", "hub-a")
    claim = other.bd("claim", "hub-a", "--agent", "bob", "--json").json[0]["claim"]["token"]
    own.bd("sync")
    lines = {
        "Ada": "Ada token-of-ada-0123456789",
        "Ben": "Ben token-of-ben-0123456789",
        "bob": f"claim:hub-a:{claim} token-of-bob-0123456789",
    }
    token_file.write_text("\n".join(lines.values()))
    with serving(own, "--private", "--token-file", str(token_file)) as running:

        def listening(name: str, path: str = "api/v1/events") -> Any:
            token = lines[name].rpartition(" ")[2]
            stream = urlopen(Request(f"{running.url}{path}", headers={"authorization": f"Bearer {token}"}))  # noqa: S310  our own server
            next_event(stream, "hello")
            return stream

        ada, ben, page, bob = listening("Ada"), listening("Ben"), listening("Ben", "events"), listening("bob")
        token_file.write_text(f"{lines['Ada']}\n{lines['bob']}\n")
        other.bd("q", "Two")
        next_event(bob, "moved")
        for stream in (ben, page):
            assert_ends_without(stream, tip(hub))
        other.bd("close", "hub-a", "--agent", "bob")
        assert_ends_without(bob, tip(hub))
        while next_event(ada, "moved")["tip"] != tip(hub):
            pass
