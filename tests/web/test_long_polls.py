"""Waiting for work through a server of another machine: held requests, tokens, and a server that goes away."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BadInput
from bd.store.hub_location import locate
from bd.web import waits
from bd.web.feed import STALE
from bd.worker import wait, wakeup
from bd.worker.long_poll import Away, server_of
from tests.running import result_of
from tests.runtime import RUNTIME, open_clone
from tests.truth import tip
from tests.web.conftest import ADA
from tests.web.served import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bd.core.runtime import Runtime
    from tests.running import Clone
    from tests.web.conftest import Served

pytestmark = pytest.mark.one_in(18)


def test_what_is_ready_is_answered_at_once_and_nothing_is_an_answer_too(served: Served, hub: Path) -> None:
    before = tip(hub)
    told = served.client.get("/wait", params={"agent": "bob"}).json()
    assert told == {"agent": "bob", "ready": ["hub-one"]}
    served.clone.bd("claim", "hub-one", "--agent", "ann")
    before = tip(hub)
    told = served.client.get("/wait", params={"agent": "bob", "timeout": "0"}).json()
    assert (told["ready"], told["reason"]) == ([], "nothing is ready")
    assert tip(hub) == before


@pytest.mark.parametrize(("query", "status"), [("agent=No_Name", 400), ("agent=bob&timeout=soon", 400), ("timeout=1", 400)])
def test_what_is_no_question(served: Served, query: str, status: int) -> None:
    assert served.client.get(f"/wait?{query}").status_code == status


def test_only_so_many_may_wait(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "AT_ONCE", 0)
    assert served.client.get("/wait?agent=bob").status_code == 503


def test_a_server_that_is_cut_off_from_the_hub_says_so(served: Served, hub: Path) -> None:
    served.clone.bd("claim", "hub-one", "--agent", "ann")
    stale = threading.Event()
    with served.site.feed.told(lambda news: stale.set() if news.kind == STALE else None):
        hub.rename(hub.with_name("away.git"))
        served.site.feed.look()
        stale.wait()
    assert served.client.get("/wait?agent=bob").status_code == 503, "who asks looks at the hub itself meanwhile"


def test_a_private_site_wants_the_token(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    own, bob = clone("server"), clone("bob")
    own.bd("create", "One", "--id", "hub-a")
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{ADA.name} {ADA.token}\n")
    tokens.chmod(0o600)
    with serving(own, "--private", "--token-file", str(tokens)) as server:
        refused = bob.bd("wait", "--agent", "bob", "--via", server.url, "--json", code=5)
        assert "does not let you wait" in refused.json["error"]
        told = bob.bd("wait", "--agent", "bob", "--via", server.url, "--token-file", str(tokens), "--json")
        assert told.json["ready"] == ["hub-a"]
        told = bob.bd("wait", "--agent", "bob", "--via", server.url, "--json", env={"BD_VIA_TOKEN": ADA.token})
        assert told.json["ready"] == ["hub-a"]
        assert ADA.token not in refused.out + refused.err


def test_a_push_elsewhere_ends_the_wait(clone: Callable[[str], Clone], hub: Path) -> None:
    own, bob, ann = clone("server"), clone("bob"), clone("ann")
    with serving(own) as server:
        held = bob.start("wait", "--agent", "bob", "--via", server.url, "--json")
        ann.bd("create", "One", "--id", "hub-a")
        after = tip(hub)
        assert result_of(held).json["ready"] == ["hub-a"]
        assert bob.bd("wait", "--agent", "bob", "--via", server.url, "--timeout", "1s", "--json").json["ready"] == ["hub-a"]
        ann.bd("claim", "hub-a", "--agent", "ann")
        bob.bd("wait", "--agent", "bob", "--via", server.url, "--timeout", "1s", code=3)
        assert tip(hub) != after


@contextmanager
def dying() -> Iterator[tuple[str, threading.Event]]:
    """A server that takes one request, and is gone; the event says that it was asked."""
    asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            listener.close()
            connection.close()
            asked.set()

        thread = threading.Thread(target=take)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        thread.join()


def test_a_server_that_dies_while_it_holds_the_request_is_no_end_of_the_wait(clone: Callable[[str], Clone]) -> None:
    bob, ann = clone("bob"), clone("ann")
    with dying() as (url, asked):
        waits_on = bob.start("wait", "--agent", "bob", "--via", url, "--json")
        asked.wait()
        ann.bd("create", "One", "--id", "hub-a")
        result = result_of(waits_on)
    assert result.json["ready"] == ["hub-a"]
    assert result.err.count("looking at the hub meanwhile") == 1


class _Server:
    """A server that is away twice."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    def ask(self, agent: str, seconds: float, runtime: Runtime) -> list[str]:
        self.asked.append(RUNTIME.monotonic())
        if len(self.asked) < 3:
            raise Away("gone")
        return ["hub-there"]


def test_it_is_asked_again_ever_more_rarely(clone: Callable[[str], Clone], monkeypatch: pytest.MonkeyPatch) -> None:
    bob, passed = clone("bob"), [0.0]
    bob.here("sync")

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(wakeup, "has_watcher", lambda: False)
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: passed[0])
    monkeypatch.setattr(RUNTIME, "sleep", sleep)
    server = _Server()
    troubles: list[Any] = []
    hub = open_clone(locate(str(bob.path)))
    assert wait.wait(hub, "bob", None, server, troubles.append) == ["hub-there"]
    hub.close()
    first, second, third = server.asked
    assert 4 <= second - first <= 7
    assert 8 <= third - second <= 13
    assert troubles == ["gone; looking at the hub meanwhile"]


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://a b", "http://u:p@x", "x", "http://x?y=1", "http://x:99999"])
def test_what_is_no_server(url: str) -> None:
    with pytest.raises(BadInput):
        server_of(url)


def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{server.server_port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with pytest.raises(Away):
            server_of(f"http://127.0.0.1:{server.server_port}/fleet", ADA.token).ask("bob", 1.0, RUNTIME)
        server.shutdown()
        thread.join()
    assert asked == ["/fleet/wait?agent=bob&timeout=1.000"]
