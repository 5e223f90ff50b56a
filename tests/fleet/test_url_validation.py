"""A URL of a hub is asked only where this machine may be sent, and the hub learns no more than whether it was reached."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from base64 import b64decode
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from bd.policy.url_access import AllowList, allow_list
from bd.store.hub_location import locate
from bd.worker import url_fetch, validation
from tests.memory import make_bead
from tests.runtime import RUNTIME, open_clone
from tests.truth import tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(8)

HOME = allow_list(["127.0.0.1"])


class Web:
    """A server on every address of this machine. It answers each path as it was told, and keeps what was asked of it."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str]] = {}
        self.asked: list[tuple[str, str]] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.asked.append((self.connection.getsockname()[0], self.path))
                status, location = web.answers.get(self.path, (200, ""))
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("0.0.0.0", 0), Handler)  # noqa: S104  a test is about all of its addresses
        self.port: int = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.server.shutdown()
    made.server.server_close()


def status(url: str, allowed: AllowList = HOME, limit_s: float = 30.0) -> int:
    return url_fetch.status_of(url, allowed, limit_s, RUNTIME)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """Hosts by name: the addresses that each look-up finds, one after the other. Who asks once too often is told nothing."""
    known: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def looked_up(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        found = known[host].pop(0) if host in known else [host]
        return [entry for address in found for entry in real(address, port, *args, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    return known


@pytest.mark.parametrize(
    "host",
    "127.0.0.1 localhost 127.1 2130706433 0x7f000001 0177.0.0.1 0.0.0.0 [::ffff:127.0.0.1] [::ffff:7f00:1] 127.0.0.2 LOCALHOST".split(),
)
def test_a_host_that_is_not_public_is_not_asked(host: str, web: Web) -> None:
    with pytest.raises(url_fetch.NotAllowed):
        status(web.url(host), AllowList())
    assert web.asked == []


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_judged_as_the_url_was(code: int, web: Web) -> None:
    web.answers = {"/in": (code, web.url("127.0.0.1", "/to")), "/out": (code, web.url("127.0.0.2", "/secret"))}
    assert status(web.url("127.0.0.1", "/in")) == 200
    with pytest.raises(url_fetch.NotAllowed):
        status(web.url("127.0.0.1", "/out"))
    assert [path for _, path in web.asked] == ["/in", "/to", "/out"]


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://127.0.0.1/", "//", "http://u:p@127.0.0.1/", "gopher://x", "/again"]
)
def test_a_redirect_to_what_is_no_web_address_is_no_answer(location: str, web: Web) -> None:
    web.answers = {"/": (302, location), "/again": (302, "/again")}
    with pytest.raises((OSError, ValueError)):
        status(web.url("127.0.0.1"))


def test_a_name_is_looked_up_once_and_asked_where_it_was_found(web: Web, names: dict[str, list[list[str]]]) -> None:
    names["rebound.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    assert status(web.url("rebound.example")) == 200
    assert web.asked == [("127.0.0.1", "/")]
    assert names["rebound.example"] == [["127.0.0.2"]]


def test_of_several_addresses_only_those_that_are_allowed_are_asked(web: Web, names: dict[str, list[list[str]]]) -> None:
    names["mixed.example"] = [["127.0.0.2", "127.0.0.1"], ["127.0.0.2", "127.0.0.3"]]
    assert status(web.url("mixed.example")) == 200
    assert web.asked == [("127.0.0.1", "/")]
    with pytest.raises(url_fetch.NotAllowed):
        status(web.url("mixed.example"))


def test_a_host_that_was_named_is_asked_wherever_it_is_but_for_credentials(web: Web, names: dict[str, list[list[str]]]) -> None:
    names["ci.example"] = [["127.0.0.5"], ["169.254.169.254"], ["fd00:ec2::254"]]
    allowed = allow_list(["ci.example"])
    assert status(web.url("ci.example"), allowed) == 200
    for _ in range(2):
        with pytest.raises(url_fetch.NotAllowed):
            status(web.url("ci.example"), allowed)


def test_a_proxy_decides_what_may_be_asked(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://ada:pw@127.0.0.1:{web.port}")
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", _only("127.0.0.1", web.port))
        assert status("http://10.0.0.1/x?y#z", AllowList()) == 200
    assert web.asked == [("127.0.0.1", "http://10.0.0.1/x?y")]
    monkeypatch.setenv("no_proxy", "10.0.0.1")
    with pytest.raises(url_fetch.NotAllowed):
        status("http://10.0.0.1/x", AllowList())
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(ValueError, match="proxy"):
        status("https://example.org/", AllowList())


@pytest.mark.parametrize(
    ("proxy", "credentials"),
    [
        ("http://ada:p%40w%3A1@proxy:3128", "ada:p@w:1"),
        ("ada:pw@proxy:3128", "ada:pw"),
        ("http://%C3%A9@proxy:3128", "é:"),
        ("proxy:3128", ""),
    ],
)
def test_a_proxy_gets_the_credentials_of_its_address(proxy: str, credentials: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    connection, _, headers = url_fetch._connection("http://example.org/", AllowList(), 1)
    assert (connection.host, connection.port) == ("proxy", 3128)
    sent = headers.get("Proxy-Authorization", "").removeprefix("Basic ")
    assert b64decode(sent).decode() == credentials


@pytest.mark.parametrize(("url", "port"), [("http://[2001:db8::1]/x", 80), ("https://[2001:db8::1]", 443)])
def test_an_ipv6_address_needs_no_port(url: str, port: int) -> None:
    connection, _, _ = url_fetch._connection(url, AllowList(), 1)
    assert (connection.host, connection.port) == ("2001:db8::1", port)


def _only(host: str, port: int) -> Callable[..., Any]:
    """Looking up names, where nothing but this is known."""
    real = socket.getaddrinfo

    def looked_up(asked: Any, asked_port: Any, *args: Any, **more: Any) -> Any:
        assert (asked, asked_port) == (host, port)
        return real(asked, asked_port, *args, **more)

    return looked_up


def test_a_server_that_never_comes_to_an_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            held, _ = server.accept()
            with closing(held):
                try:
                    held.sendall(b"HTTP/1.1 200 OK\r\n")
                    while not ended.wait(0.01):
                        held.sendall(b"X: y\r\n" if not ended.is_set() else b"")
                except OSError:
                    pass

        ended = threading.Event()
        monkeypatch.setattr("http.client._MAXHEADERS", 10**9)
        thread = threading.Thread(target=trickle, daemon=True)
        thread.start()
        try:
            with pytest.raises(OSError):
                status(f"http://127.0.0.1:{server.getsockname()[1]}/", limit_s=0.5)
        finally:
            ended.set()
            thread.join()


def test_a_certificate_has_to_be_the_named_hosts(
    tmp_path: Path, names: dict[str, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path, "named.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    web = Web()
    web.server.socket = context.wrap_socket(web.server.socket, server_side=True)
    try:
        names.update({"named.example": [["127.0.0.1"]], "other.example": [["127.0.0.1"]]})
        assert status(f"https://named.example:{web.port}/") == 200
        with pytest.raises(ssl.SSLError):
            status(f"https://other.example:{web.port}/")
    finally:
        web.server.shutdown()
        web.server.server_close()


def _certificate(folder: Path, name: str) -> Path:
    """A certificate of a host that vouches for itself, with its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    path = folder / "certificate.pem"
    plain = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(plain + made.public_bytes(pem))
    return path


# --- as a bead's validation ------------------------------------------------------------------


def allow(clone: Clone, *entries: str) -> None:
    folder = clone.path / ".git" / "bd"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(json.dumps({"url_allow": [*entries]}) + "\n")


def verdict(clone: Clone, **output: Any) -> validation.Verdict:
    with closing(open_clone(locate(str(clone.path)))) as hub:
        return validation.check(hub, make_bead(output={"validation": "url", **output}))


def test_neither_the_hub_nor_the_environment_says_what_may_be_asked(
    local_hub: Clone, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BD_URL_ALLOW", "127.0.0.1")
    config = local_hub.path / ".beads" / "config.yaml"
    config.write_text(f"{config.read_text()}url_allow: [127.0.0.1]\ndefaults: {{url_allow: 127.0.0.1}}\n")
    local_hub.here("sync")
    assert local_hub.here("config", "get", "url_allow").out == "\n"
    assert verdict(local_hub, data=web.url("127.0.0.1")).is_for_person
    assert web.asked == []
    assert "a matter of each machine" in local_hub.here("config", "set", "url_allow", "127.0.0.1", code=2).err
    assert "is not a host" in local_hub.here("config", "set", "url_allow", "http://x", "--clone", code=2).err
    local_hub.here("config", "set", "url_allow", "ci.example.org, 127.0.0.1", "--clone")
    assert verdict(local_hub, data=web.url("127.0.0.1")).passed


def test_the_hub_learns_only_whether_it_was_reached(local_hub: Clone, web: Web, names: dict[str, list[list[str]]]) -> None:
    allow(local_hub, "127.0.0.1")
    loop, away = web.url("127.0.0.1", "/loop"), web.url("127.0.0.1", "/away")
    web.answers = {"/404": (404, ""), "/500": (500, ""), "/loop": (302, loop), "/file": (302, "file:///etc/passwd")}
    names["nowhere.example"] = [[]]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    asked = [web.url("127.0.0.1", path) for path in ("/404", "/500", "/loop", "/file")]
    words = set()
    for url in [*asked, f"http://127.0.0.1:{port}/", "http://nowhere.example/", "http://127.0.0.1:0/"]:
        found = verdict(local_hub, validation_schema={"url": url, "tries": 1})
        assert found.passed is False
        assert found.told_here.startswith(f"{url} ")
        words.add(found.words.replace(url, "URL"))
    assert words == {"URL is not reachable (asked 1 times)"}
    web.answers["/away"] = (302, web.url("127.0.0.9", "/secret"))
    refused = verdict(local_hub, validation_schema=away)
    assert refused.is_for_person
    assert "127.0.0.9" in refused.told_here
    assert "127.0.0.9" not in refused.words


def test_a_check_has_an_end_whatever_the_bead_asks_for(local_hub: Clone, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(local_hub, "127.0.0.1")
    web.answers = dict.fromkeys((f"/{number}" for number in range(50)), (503, ""))
    waited: list[float] = []
    monkeypatch.setattr(RUNTIME, "sleep", waited.append)
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: sum(waited))
    urls = [web.url("127.0.0.1", f"/{number}") for number in range(50)]
    found = verdict(local_hub, validation_schema={"tries": 60, "pause": "1h"}, artifacts=urls)
    assert found.passed is False
    assert 0 < sum(waited) <= validation.URLS_LIMIT_S


def test_a_url_that_may_not_be_asked_waits_for_a_person_and_costs_no_attempt(clone: Clones, hub: Path, web: Web) -> None:
    one = clone("one")
    one.here("create", "Make a page", "--id", "hub-a")
    path = one.path / "beads" / "hub-a.yaml"
    rule = {"validation": "url", "validation_schema": web.url("localhost", "/page")}
    path.write_text(f"{path.read_text()}output: {json.dumps(rule)}\n")
    one.here("sync")
    assert one.here("close", "hub-a", "--json", code=5).json["code"] == "url_not_allowed"
    before = tip_bead(hub, "hub-a")
    assert before is not None
    assert before.status == "open", "whoever does not hold it parks nothing"
    one.here("claim", "hub-a", "--agent", "coder")
    refused = one.here("close", "hub-a", "--agent", "coder", code=5)
    assert "url_allow" in refused.err
    _waits(hub)
    one.here("answer", "hub-a", "it may not yet")
    told = one.bd("work", "--agent", "coder", "--once", "--max-tasks", "1", "--json", "--", "true")
    assert [entry["outcome"] for entry in told.json] == ["waiting"]
    assert "127.0.0.1" in told.err
    _waits(hub)
    assert b"127.0.0.1" not in (tip_file(hub, "beads/hub-a.yaml") or b"")
    assert web.asked == []
    allow(one, "localhost")
    one.here("answer", "hub-a", "now it may")
    assert [
        entry["outcome"]
        for entry in one.bd("work", "--agent", "coder", "--once", "--max-tasks", "1", "--json", "--", "true").json
    ] == ["done"]
    assert "every change kept the rules" in one.here("audit").out


def _waits(hub: Path) -> None:
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("waiting_on"), bead.attempts_counted, bead.get("failures")) == ("blocked", "human", 0, None)
    assert "url_allow" in bead.get("status_reason")
