"""Gateways hear of each bead once for each time it is ready, whatever they answer, and nothing else does."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BadInput, BdError
from bd.store.hub_location import locate
from bd.store.replica import Replica
from bd.web import gateways
from bd.web.feed import Feed
from bd.web.gateway_body import template_of
from bd.web.gateway_thread import Forwarding
from bd.web.gateways import Gateway, Target, target_of
from tests.runtime import RUNTIME, open_clone
from tests.web.served import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bd.store.snapshot import CachedSnapshot
    from tests.running import Clone

pytestmark = pytest.mark.one_in(9)


class Heard:
    """A gateway that answers what it is told to, and keeps what was posted."""

    def __init__(self) -> None:
        self.posts: Queue[tuple[dict[str, str], dict[str, Any]]] = Queue()
        self.answers: list[int] = []
        self.location = ""
        self.url = ""


@contextmanager
def listening() -> Iterator[Heard]:
    heard = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status = heard.answers.pop(0) if heard.answers else 204
            heard.posts.put(({key.lower(): value for key, value in self.headers.items()}, {**body, "path": self.path}))
            self.send_response(status)
            if heard.location:
                self.send_header("Location", heard.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        heard.url = f"http://127.0.0.1:{server.server_port}/wake?from=bd"
        yield heard
        server.shutdown()
        thread.join()


def posted(heard: Heard) -> list[str]:
    """The ids that came, so far."""
    return [heard.posts.get()[1]["bead"]["id"] for _ in range(heard.posts.qsize())]


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that has passed, in the hands of the test."""
    seconds = [0.0]
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: seconds[0])
    return seconds


def offer(one: Gateway, clone: Clone) -> None:
    hub = open_clone(locate(str(clone.path)))
    one.offer(hub, hub.snapshot())
    hub.close()


def test_each_bead_once_for_each_time_it_is_ready(local_hub: Clone) -> None:
    local_hub.here("create", "One", "--id", "hub-a")
    local_hub.here("create", "Two", "--id", "hub-b", "--deps", "hub-a")
    with listening() as heard:
        target = target_of(f"bob={heard.url}")
        for _ in range(2):
            offer(Gateway(target, "a-token", pytest.fail, RUNTIME), local_hub)  # a new one each time, as after a restart
        [(headers, first)] = [heard.posts.get()]
        assert heard.posts.empty()
        assert (first["event"], first["agent"], first["path"]) == ("ready", "bob", "/wake?from=bd")
        assert first["bead"] == {"id": "hub-a", "title": "One", "type": "task", "priority": 2}
        assert (headers["idempotency-key"], headers["authorization"]) == (first["key"], "Bearer a-token")
        local_hub.here("claim", "hub-a", "--agent", "bob")
        offer(Gateway(target, "", pytest.fail, RUNTIME), local_hub)
        assert posted(heard) == []
        local_hub.here("release", "hub-a", "--reason", "not now", "--agent", "bob")
        offer(Gateway(target, "", pytest.fail, RUNTIME), local_hub)
        _, again = heard.posts.get()
        assert (again["bead"]["id"], again["key"] != first["key"]) == ("hub-a", True)
        local_hub.here("close", "hub-a")
        offer(Gateway(target, "", pytest.fail, RUNTIME), local_hub)
        assert posted(heard) == ["hub-b"]


def test_each_of_two_gateways_of_an_agent_is_told(local_hub: Clone) -> None:
    local_hub.here("create", "One", "--id", "hub-a")
    with listening() as one:
        for address in (one.url, f"{one.url}&second"):
            offer(Gateway(target_of(f"bob={address}"), "", pytest.fail, RUNTIME), local_hub)
        assert posted(one) == ["hub-a", "hub-a"]


def test_trouble_is_tried_again_with_pauses_and_not_for_ever(local_hub: Clone, passed: list[float]) -> None:
    local_hub.here("create", "One", "--id", "hub-a")
    told: list[str] = []
    with listening() as heard:
        one = Gateway(target_of(f"bob={heard.url}"), "", told.append, RUNTIME)
        heard.answers = [500, 429]
        offer(one, local_hub)
        offer(one, local_hub)
        assert (posted(heard), one.rest_s) == (["hub-a"], 2.0)
        passed[0] += 2
        offer(one, local_hub)
        passed[0] += 3
        offer(one, local_hub)
        assert posted(heard) == ["hub-a"]
        passed[0] += 1
        offer(one, local_hub)
        offer(one, local_hub)
        assert (posted(heard), one.rest_s) == (["hub-a"], None)
        local_hub.here("create", "Two", "--id", "hub-b")
        heard.answers = [503] * 20
        for _ in range(20):
            passed[0] += 1000
            offer(one, local_hub)
        assert posted(heard) == ["hub-b"] * gateways.TRIES
        assert "hub-b was not delivered to bob" in told[-1]


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 404, 410])
def test_a_refusal_is_meant_and_a_redirect_is_not_followed(local_hub: Clone, status: int) -> None:
    local_hub.here("create", "One", "--id", "hub-a")
    told: list[str] = []
    with listening() as heard, listening() as elsewhere:
        heard.answers, heard.location = [status], elsewhere.url
        one = Gateway(target_of(f"bob={heard.url}"), "", told.append, RUNTIME)
        offer(one, local_hub)
        offer(one, local_hub)
        assert (posted(heard), posted(elsewhere)) == (["hub-a"], [])
        assert told == [f"hub-a was not delivered to bob: {heard.url} answers {status}"]


def test_a_gateway_gets_the_form_that_it_takes(local_hub: Clone) -> None:
    """Templates are filled in parsed strings: no title adds a key, and a nested one is filled like any other."""
    local_hub.here("create", 'One", "agentId": "root', "--id", "hub-a")
    template = template_of(
        '{"message": "{{.Title}} of {{.Agent}}", "agentId": "{{.Agent}}", "deliver": false, "more": [{"p": "P{{.Priority}}"}]}'
    )
    with listening() as heard:
        offer(Gateway(target_of(f"bob={heard.url}"), "", pytest.fail, RUNTIME, template), local_hub)
        headers, body = heard.posts.get()
    assert body.pop("path")
    assert body == {"message": 'One", "agentId": "root of bob', "agentId": "bob", "deliver": False, "more": [{"p": "P2"}]}
    assert headers["idempotency-key"].startswith("bob/hub-a/")


@pytest.mark.parametrize("text", ["", "{", '{"a": "{{.Secret}}"}', '["{{if .Id}}"]', "[NaN]", "[" * 100_000])
def test_what_is_no_body_is_refused_before_anything_is_served(text: str) -> None:
    with pytest.raises(BadInput):
        template_of(text)


def test_who_is_not_there_is_offered_nothing(local_hub: Clone) -> None:
    local_hub.here("agent", "add", "bob", "--role", "code")
    local_hub.here("create", "One", "--id", "hub-a")
    local_hub.here("offline", "bob")
    with listening() as heard:
        offer(Gateway(target_of(f"bob={heard.url}"), "", pytest.fail, RUNTIME), local_hub)
        assert posted(heard) == []


@pytest.mark.parametrize(
    "text", ["bob", "bob=", "=http://x/", "Bob=http://x/", "bob=ftp://x/", "bob=http://u@x/", "bob=http://x/ y", "bob=http:///x"]
)
def test_what_is_no_gateway(text: str) -> None:
    with pytest.raises(BadInput):
        target_of(text)
    assert target_of("bob=https://x/y") == Target("bob", "https://x/y")


def test_trouble_of_any_kind_is_told_once_and_does_not_end_it(local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    local_hub.here("create", "One", "--id", "hub-a")
    told: Queue[str] = Queue()
    real, failing = Gateway.offer, [RuntimeError("a bug"), RuntimeError("a bug"), BdError("not today")]

    def offer(self: Gateway, hub: Replica, snapshot: CachedSnapshot) -> None:
        if failing:
            forwarding._woken.set()  # something is new meanwhile
            raise failing.pop(0)
        real(self, hub, snapshot)

    monkeypatch.setattr(Gateway, "offer", offer)
    with listening() as heard:
        feed = Feed(lambda: open_clone(locate(str(local_hub.path))), RUNTIME)
        targets = [target_of(f"bob={heard.url}")]
        forwarding = Forwarding(feed, lambda: open_clone(locate(str(local_hub.path))), RUNTIME, targets, told.put)
        forwarding.start()
        assert heard.posts.get()[1]["bead"]["id"] == "hub-a"
        forwarding.close()
    words = [told.get() for _ in range(told.qsize())]
    assert words == ["nothing is forwarded now: a bug", "nothing is forwarded now: not today"]
    assert feed.listeners == 0


def test_it_ends_whenever_it_is_told_to(local_hub: Clone) -> None:
    """Also between its look whether it shall end and its rest."""
    feed, rests = Feed(lambda: open_clone(locate(str(local_hub.path))), RUNTIME), list[float | None]()

    class Late(threading.Event):
        def clear(self) -> None:
            if not forwarding._is_ended:
                closing.start()
                while not self.is_set():
                    time.sleep(0.01)
            super().clear()

        def wait(self, timeout: float | None = None) -> bool:
            rests.append(timeout)
            return super().wait(0)

    forwarding = Forwarding(feed, lambda: open_clone(locate(str(local_hub.path))), RUNTIME, [], pytest.fail)
    forwarding._woken = Late()
    closing = threading.Thread(target=forwarding.close)
    forwarding.start()
    forwarding._thread.join()
    closing.join()
    assert (rests, feed.listeners) == ([], 0)


def test_a_real_server_posts_what_a_push_brings(clone: Callable[[str], Clone]) -> None:
    own, ann = clone("server"), clone("ann")
    own.bd("create", "Before", "--id", "hub-a")
    with listening() as heard:
        with serving(own, "--forward", f"bob={heard.url}", env={"BD_FORWARD_TOKEN": "a-token"}):
            assert heard.posts.get()[1]["bead"]["id"] == "hub-a"
            ann.bd("create", "After", "--id", "hub-b")
            headers, post = heard.posts.get()
            assert (post["bead"]["id"], headers["authorization"]) == ("hub-b", "Bearer a-token")
        with serving(own, "--forward", f"bob={heard.url}"):
            ann.bd("create", "Later", "--id", "hub-c")
            assert heard.posts.get()[1]["bead"]["id"] == "hub-c", "the others were told before the restart"
