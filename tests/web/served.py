"""`bd serve` as a process of its own, and requests by http.client."""

from __future__ import annotations

import hmac
import json
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.running import Clone

PAYLOADS = Path(__file__).with_name("payloads")
SECRET = "a-secret-of-the-forge-and-ours"  # noqa: S105


class Server(NamedTuple):
    """A running server by its address."""

    url: str

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Any]:
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port)
        connection.request("POST", path, body, {"content-type": "application/json", **headers})
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, json.loads(said)


@contextmanager
def serving(clone: Clone, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A server on a clone, on any free port."""
    process = clone.start("serve", "--port", "0", "--json", *words, env=env)
    assert process.stdout is not None
    told = ""
    try:
        while not told.rstrip().endswith("}"):
            line = process.stdout.readline().decode()
            assert line, process.stderr.read().decode() if process.stderr else ""
            told += line
        yield Server(json.loads(told)["url"])
    finally:
        process.terminate()
        process.communicate()


def payload(name: str) -> bytes:
    return (PAYLOADS / f"{name}.json").read_bytes()


def github(name: str, event: str, delivery: str = "72d3162e-cc78-11e3-81ab-4c9367dc0958") -> tuple[bytes, dict[str, str]]:
    """A delivery of GitHub, signed."""
    body = payload(name)
    signature = hmac.new(SECRET.encode(), body, "sha256").hexdigest()
    return body, {"x-github-event": event, "x-github-delivery": delivery, "x-hub-signature-256": f"sha256={signature}"}
