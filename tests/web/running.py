"""`bd serve` as people start it: a process of its own, and the address that it tells."""

from __future__ import annotations

import contextlib
import json
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import urlopen

from tests.running import BD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.running import Clone


class Server(NamedTuple):
    """A running server: its process, its address with a slash at the end, who may write."""

    process: subprocess.Popen[str]
    url: str
    writers: list[str]


@contextlib.contextmanager
def serving(own: Clone, *args: str, errors: Path | None = None) -> Iterator[Server]:
    """A server on any free port, or as the arguments say; it is ended at the end, if it is still there."""
    with contextlib.ExitStack() as stack:
        stderr = stack.enter_context(errors.open("w")) if errors else subprocess.DEVNULL
        process = subprocess.Popen(
            [*BD, "--json", "serve", *(() if "--port" in args else ("--port", "0")), *args],
            cwd=own.path, stdout=subprocess.PIPE, stderr=stderr, text=True,
        )  # fmt: skip
        assert process.stdout
        try:
            first = told(process)
            yield Server(process, first["url"], first["writers"])
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON object that it begins with."""
    assert process.stdout
    text = ""
    for line in process.stdout:
        text += line
        with contextlib.suppress(ValueError):
            return json.loads(text)
    raise AssertionError(f"the server ended: {process.wait()}")


def asked(url: str) -> Any:
    """The answer to a GET, to be read."""
    return urlopen(url)  # noqa: S310  our own server
