"""The browser interface's server, and its page without a browser."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.clients.conftest import installed, node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.clients.conftest import Workspace

LISTS = {
    "tab:issues": "all-issues",
    "tab:epics": "epics",
    "ready": "ready-issues",
    "in-progress": "in-progress-issues",
    "blocked": "blocked-issues",
    "closed": "closed-issues",
}
_TRIES = 5


@contextlib.contextmanager
def running(workspace: Workspace) -> Iterator[int]:
    """The server in a workspace; its port."""
    server, port = _started(workspace)
    try:
        yield port
    finally:
        server.terminate()
        server.wait()


def _started(workspace: Workspace) -> tuple[subprocess.Popen[str], int]:
    """It takes no port of the system's choice: one that is free, and another one where somebody was faster."""
    program = installed("ui/node_modules/beads-ui/server/index.js")
    said: list[str] = []
    for _ in range(_TRIES):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {**workspace.environment, "BD_BIN": str(workspace.bd), "PORT": str(port)}
        server = subprocess.Popen(
            [node(), str(program)],
            cwd=workspace.path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert server.stdout
        for line in server.stdout:
            said.append(line)
            if "listening" in line:
                return server, port
        server.wait()
    raise AssertionError(f"the server ended: {''.join(said)}")


class Page:
    """A page: `ask` sends a message and waits for its answer, `until` waits for a push."""

    def __init__(self, port: int) -> None:
        script = Path(__file__).with_name("page.mjs")
        self._process = subprocess.Popen(
            [node(), str(script), str(installed("ui")), str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._number = 0
        self.seen: dict[str, dict[str, Any]] = {}
        self.gone: set[str] = set()
        assert self._next()["type"] == "open"

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def ask(self, message: str, /, *, fails: bool = False, **payload: Any) -> Any:
        self._number += 1
        wanted = f"r{self._number}"
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"id": wanted, "type": message, "payload": payload}) + "\n")
        self._process.stdin.flush()
        while True:
            answer = self._next()
            if answer.get("id") == wanted:
                assert answer["ok"] is not fails, f"{message} {payload}: {answer}"
                return answer.get("payload") or answer.get("error")

    def until(self, is_there: Callable[[Page], bool]) -> None:
        """Take pushes until something can be seen; page.mjs ends by itself where it never is."""
        while not is_there(self):
            self._next()

    def by_title(self, title: str) -> dict[str, Any] | None:
        return next((bead for bead in self.seen.values() if bead["title"] == title), None)

    def _next(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the page lost its server"
        message: dict[str, Any] = json.loads(line)
        payload = message.get("payload") or {}
        if message["type"] in ("snapshot", "upsert"):
            for bead in [*payload.get("issues", []), *([payload["issue"]] if "issue" in payload else [])]:
                self.seen[bead["id"]] = bead
        elif message["type"] == "delete":
            self.gone.add(payload.get("issue_id", ""))
        return message
