"""The live pages: from the end of another clone's push until an open page is told, and until it has what is new."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import Request, urlopen

from bench import hubs, installed
from bench.rows import Note, Ratio
from bench.stopwatch import Times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "live pages on a hub that is a path: from a push until they show it, against that git push"
_EXTRAS = ("starlette", "uvicorn", "watchfiles")
# A bead as somebody writes it by hand.
_BEAD = "id: {id}\ntitle: From another clone\nstatus: open\npriority: 0\ncreated_at: 2026-02-01T08:00:00Z\n"
# The server is idle for so long before a push.
_IDLE_S = 0.5


def measure(machine: Machine) -> list[Row]:
    """In a small hub and in one of 3,000 active beads: until the event, until the board, until the bead's own page."""
    if not all(map(find_spec, _EXTRAS)):
        return [Note("The server is not installed: pip install 'gitbeads[serve]'")]
    for name in _EXTRAS:
        installed.add(Path(machine.python), name)
    rows: list[Row] = []
    for shape in machine.shapes(hubs.SMALL, hubs.LARGE):
        pushes, told, shown, own = _waits(machine, machine.hub(shape).own_clone(machine), machine.rounds(15))
        for what, waits in (("told", told), ("has the board", shown), ("has the bead's page", own)):
            rows.append(Ratio(f"{shape.label}: an open page {what}", waits, pushes, against="push"))
    return rows


def _waits(machine: Machine, ours: Path, rounds: int) -> tuple[Times, Times, Times, Times]:
    """The pushes, and from their ends: until the event, until the board is there, until a bead's page is."""
    theirs = ours.with_name("theirs")
    machine.run(["git", "clone", "--quiet", str(ours.with_name("hub.git")), str(theirs)])
    found: list[tuple[float, float, float, float]] = []
    with served(machine, ours) as (url, _), _opened(f"{url}events") as stream:
        _text(url)
        for number in range(rounds):
            bead = f"hub-page{number}"
            (theirs / "beads" / f"{bead}.yaml").write_text(_BEAD.format(id=bead))
            machine.run(["git", "add", "beads"], cwd=theirs)
            machine.run(["git", "commit", "--quiet", "-m", "by hand"], cwd=theirs)
            tip = machine.run(["git", "rev-parse", "HEAD"], cwd=theirs).strip()
            time.sleep(_IDLE_S)
            begun = time.perf_counter()
            machine.run(["git", "push", "--quiet"], cwd=theirs)
            pushed = time.perf_counter()
            _await(stream, tip)
            told = time.perf_counter()
            if tip not in _text(url):
                raise SystemExit(f"the board is not of {tip}")
            shown = time.perf_counter()
            if "From another clone" not in _text(f"{url}beads/{bead}"):
                raise SystemExit(f"{bead} has no page")
            own = time.perf_counter()
            found.append((pushed - begun, told - pushed, shown - pushed, own - shown + told - pushed))
    pushes, told_s, shown_s, own_s = (Times(tuple(1000 * one for one in column)) for column in zip(*found, strict=True))
    return pushes, told_s, shown_s, own_s


class Served(NamedTuple):
    """A running server: its address and its process."""

    url: str
    pid: int


@contextmanager
def served(machine: Machine, ours: Path, *words: str) -> Iterator[Served]:
    """A server on a clone."""
    argv = [*machine.bd, "serve", "--port", "0", "--json", *words]
    server = subprocess.Popen(argv, cwd=ours, env=machine.environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        text = ""
        for line in server.stdout:
            text += line
            if line.rstrip() == "}":
                break
        yield Served(json.loads(text)["url"], server.pid)
    finally:
        server.terminate()
        server.wait()


def _await(stream: Any, tip: str) -> None:
    """Until the stream says that the hub has this tip."""
    for line in stream:
        if line.startswith(b"data: ") and json.loads(line[6:]).get("tip") == tip:
            return
    raise SystemExit("the server has ended")


def _opened(url: str) -> Any:
    return urlopen(Request(url, headers={"accept": "text/html, text/event-stream"}))  # noqa: S310  our own server


def _text(url: str) -> str:
    with _opened(url) as answer:
        return str(answer.read().decode())
