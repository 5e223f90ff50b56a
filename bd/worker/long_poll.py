"""Waiting for work through a `bd serve` on another machine: one request, which it holds until there is some.

Redirects are not followed. A server that is unreachable, ending or overloaded is no error: the caller polls meanwhile.
"""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlencode

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import BadInput, Refused

if TYPE_CHECKING:
    from typing import Any

    from bd.core.runtime import Runtime

# How long a server holds a request at most, and how much longer its answer may take.
HELD_S = 50.0
_GRACE_S = 10.0
_ANSWER_LIMIT = 256 * 1024
_HASTE_S = 1.0


class Away(Exception):
    """The server gives no answer now; the message says why."""


class Server(NamedTuple):
    """The address of a `bd serve`, and the token to send, if any."""

    url: str
    token: str = ""

    def ask(self, agent: str, seconds: float, runtime: Runtime) -> list[str]:
        """Return the ids that are ready for the agent, waiting up to `seconds`. Raises Away, and the server's refusals."""
        begun_s = runtime.monotonic()
        status, told = self._get(urlencode({"agent": agent, "timeout": f"{seconds:.3f}"}), seconds + _GRACE_S)
        words = str(told.get("error") or status)[:200]
        if status in (400, 404, 421):
            raise BadInput(f"{self.url} does not take this: {words}", hint="is it the address of a `bd serve`?")
        if status in (401, 403):
            raise Refused(f"{self.url} does not let you wait: {words}", hint="BD_VIA_TOKEN, or --token-file FILE, has the token")
        ready = told.get("ready")
        if status != 200 or not isinstance(ready, list):
            raise Away(f"{self.url} answers {words}")
        found = [one for one in ready if isinstance(one, str)]
        if not found and runtime.monotonic() - begun_s < min(seconds, _HASTE_S) * 0.5:
            raise Away(f"{self.url} does not support waiting")
        return found

    def _get(self, query: str, timeout_s: float) -> tuple[int, dict[str, Any]]:
        parts = urls.parsed(self.url)
        assert parts is not None
        make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        try:
            connection = make(parts.host, parts.port_number, timeout=timeout_s)
            try:
                connection.request("GET", f"{parts.rest.rstrip('/')}/wait?{query}", headers=headers)
                answer = connection.getresponse()
                data = answer.read(_ANSWER_LIMIT)
            finally:
                connection.close()
        except (OSError, HTTPException, ValueError) as error:
            raise Away(f"{self.url} can't be reached: {error}") from None
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            told = {}
        return answer.status, told if isinstance(told, dict) else {}


def server_of(url: str, token: str = "") -> Server:
    """Return the server at an address. Raises BadInput."""
    if not urls.is_web(url) or "?" in url or "#" in url:
        raise BadInput(f"{url!r} is not the address of a `bd serve`", hint="such as https://fleet.example.org")
    if not token.isascii() or not token.isprintable():
        raise BadInput("the token has characters that are not allowed in a header")
    return Server(url.rstrip("/"), token)


def token_of(path: str) -> str:
    """Read the token in a file: its one line, possibly after a name and a space. Raises BadInput."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the token can't be read: {error}") from error
    if len(lines) != 1:
        raise BadInput(f"{path} has {len(lines)} lines", hint="expected one line: the token, optionally after a name and a space")
    return lines[0].rpartition(" ")[2]
