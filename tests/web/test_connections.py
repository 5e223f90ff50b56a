"""Slow and silent clients: they are ended, and keep nobody else out."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route as Place

from bd.web import connections
from bd.web.connections import Connection
from bd.web.refusal import Refusal
from bd.web.request_guard import body_of
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request


async def echo(request: Request) -> PlainTextResponse:
    try:
        return PlainTextResponse(f"{len(await body_of(request, 100_000))} bytes")
    except Refusal as refusal:
        return PlainTextResponse(refusal.message, refusal.status)


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """A server with our connections, and an application that reads bodies."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(Starlette(routes=[Place("/", echo, methods=["GET", "POST"])]), http=Connection, log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    until(lambda: server.started)
    yield listener.getsockname()
    server.should_exit = True
    thread.join()
    listener.close()


def opened(address: tuple[str, int], text: bytes = b"") -> socket.socket:
    made = socket.create_connection(address)
    made.sendall(text)
    return made


def answer(address: tuple[str, int], text: bytes = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n") -> bytes:
    with contextlib.closing(opened(address, text)) as made:
        return all_of(made)


def all_of(made: socket.socket) -> bytes:
    """Everything that comes until the other side ends."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := made.recv(65536):
            found += part
    return found


HALVES = {
    "nothing": b"",
    "half a line": b"GET / HT",
    "half a head": b"GET / HTTP/1.1\r\nhost: x\r\n",
    "half a body": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345",
    "half a chunk": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n123",
}


@pytest.mark.parametrize("half", HALVES)
def test_a_request_has_to_arrive(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, half: str) -> None:
    monkeypatch.setattr(connections, "PATIENCE_S", 0.05)
    assert answer(address, HALVES[half]) == b""
    assert answer(address).endswith(b"0 bytes")


def test_also_a_second_request_on_a_connection(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE_S", 0.05)
    with contextlib.closing(opened(address, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")) as made:
        found = b""
        while not found.endswith(b"0 bytes"):
            found += made.recv(65536)
        made.sendall(b"GET / HT")
        assert all_of(made) == b""


def test_who_goes_on_sending_is_waited_for(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE_S", 0.5)
    monkeypatch.setattr(connections, "STEP", 1000)
    with contextlib.closing(
        opened(address, b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 9000\r\n\r\n")
    ) as made:
        pause = threading.Event()
        for _ in range(9):
            pause.wait(0.1)
            made.sendall(b"x" * 1000)
        assert all_of(made).endswith(b"9000 bytes")


def test_of_too_many_the_one_that_waits_longest_goes(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 5)
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(contextlib.closing(opened(address, b"GET"))) for _ in range(5)]
        assert answer(address).endswith(b"0 bytes")
        waiting[-1].sendall(b" / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert all_of(waiting[-1]).endswith(b"0 bytes")
        assert all_of(waiting[0]) == b""


FIRST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.mark.parametrize("more", [b"", b"GET"], ids=["nothing", "half a line"])
def test_whoever_was_answered_once_keeps_nobody_out(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, more: bytes
) -> None:
    monkeypatch.setattr(connections, "MOST", 5)
    with contextlib.ExitStack() as stack:
        for made in [stack.enter_context(contextlib.closing(opened(address, FIRST))) for _ in range(5)]:
            found = b""
            while not found.endswith(b"0 bytes"):
                found += made.recv(65536)
            made.sendall(more)
        assert answer(address).endswith(b"0 bytes")


@pytest.mark.parametrize("length", [b"content-length: 100000000", b"transfer-encoding: chunked"])
def test_a_body_without_end_is_answered_and_cut_off(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, length: bytes
) -> None:
    monkeypatch.setattr(connections, "_LINGER_S", 0.1)
    with contextlib.closing(opened(address, b"POST / HTTP/1.1\r\nhost: x\r\n" + length + b"\r\n\r\n")) as made:
        sent = [0]

        def send() -> None:
            with contextlib.suppress(OSError):
                while sent[0] < 2_000_000_000:
                    made.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                    sent[0] += 65536

        sender: Any = threading.Thread(target=send)
        sender.start()
        assert made.recv(65536).startswith(b"HTTP/1.1 413")
        sender.join()
        assert sent[0] < 2_000_000_000
