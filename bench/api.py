"""The HTTP API under load: `ready` for many agents while the hub moves, claims at once, and slow clients beside them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from bench import hubs, installed
from bench.rows import Figure, Note
from bench.serve import served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "the HTTP API: 10,000 beads, 200 ready a second for 200 agents, 5 commits a second"
_EXTRAS = ("starlette", "uvicorn", "watchfiles")
RATE, COMMITS = 200, 5
_AGENTS = 200
_CONNECTIONS = 64
_CLAIMS = 32
_SLOW = 1000
P99_LIMIT_MS = 500
_BEAD = "id: {id}\ntitle: From another clone\nstatus: open\npriority: 0\ncreated_at: 2026-02-01T08:00:00Z\n"


class Reply(NamedTuple):
    """One answer: when it was due, sent and there (seconds), its status and the hub's tip that it is of."""

    due_s: float
    sent_s: float
    done_s: float
    status: int
    tip: str
    body: bytes


def measure(machine: Machine) -> list[Row]:
    """Load for some seconds; claims at once; the same with a thousand silent connections."""
    if not all(map(find_spec, _EXTRAS)):
        return [Note("The server is not installed: pip install 'gitbeads[serve]'")]
    for name in _EXTRAS:
        installed.add(Path(machine.python), name)
    ours = machine.hub(hubs.FLAT).own_clone(machine)
    bare, theirs = ours.with_name("hub.git"), ours.with_name("theirs")
    machine.run(["git", "clone", "--quiet", str(bare), str(theirs)])
    tokens = _tokens(ours.with_name("tokens"))
    pushes = ours.with_name("pushes")
    hook = bare / "hooks" / "post-receive"
    hook.write_text(f"#!/bin/sh\necho x >> '{pushes}'\n")
    hook.chmod(0o755)
    seconds = 5 if machine.quick else 20
    made = _commits(machine, theirs, COMMITS * seconds)
    rows: list[Row] = []
    with served(machine, ours, "--token-file", str(tokens)) as (url, pid):
        place = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        asyncio.run(_load(place, 2.0))  # warm
        tips: list[str] = []
        cpu_s = _cpu_s(pid)
        with _pushing(machine, theirs, made, tips):
            replies = asyncio.run(_load(place, seconds))
        rows += _told("ready", replies, tips, seconds)
        words = f"{len(tips)} commits in it; the share of a core that {RATE} a second take, times 5"
        rows.append(Figure("  the server's CPU an answer, ms", 1000 * (_cpu_s(pid) - cpu_s) / len(replies), words))
        pushes.write_text("")
        begun_s, cpu_s = time.perf_counter(), _cpu_s(pid)
        claims = asyncio.run(_at_once(place, "POST", "/api/v1/claim", _CLAIMS))
        won = [json.loads(one.body)[0]["id"] for one in claims if one.status == 200]
        number = len(pushes.read_text().split())
        rows.append(Figure("claims at once: pushes a claim", number / max(1, len(won)), f"{number} for {len(won)}", 0.5, "<="))
        words = f"the server's CPU {_cpu_s(pid) - cpu_s:.1f}"
        rows.append(Figure("  all of them, seconds", time.perf_counter() - begun_s, words))
        rows.append(Figure("  double or lost", _CLAIMS - len(set(won)), f"of {_CLAIMS}", 1))
        with _silent(place, 100 if machine.quick else _SLOW):
            replies = asyncio.run(_load(place, 2.0))
        rows += _told("beside silent clients", replies, [], 2)
    return rows


def _cpu_s(pid: int) -> float:
    """The CPU time of a process and of those of its children that have ended, in seconds; 0 where nothing tells it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _told(what: str, replies: Sequence[Reply], tips: Sequence[str], seconds: float) -> list[Row]:
    waits = sorted(1000 * (one.done_s - one.due_s) for one in replies)
    wrong = sum(one.status != 200 for one in replies)

    def at(share: float) -> float:
        return waits[min(len(waits) - 1, int(share * len(waits)))]

    words = f"of {len(replies)} in {seconds:g} s; median {at(0.5):.0f}, most {waits[-1]:.0f}"
    rows: list[Row] = [Figure(f"{what}: p99, ms", at(0.99), words, P99_LIMIT_MS), Figure("  not 200", wrong, "", 1)]
    if tips:
        rows.append(Figure("  older than a tip seen before", backward(replies, tips), f"{len(tips)} commits", 1))
    return rows


def backward(replies: Sequence[Reply], tips: Sequence[str]) -> int:
    """Count answers of an older tip than one that another answer had shown before the request was sent."""
    order = {tip: number for number, tip in enumerate(tips, 1)}
    ends = sorted((one.done_s, order.get(one.tip, 0)) for one in replies)
    found = newest = place = 0
    for one in sorted(replies, key=lambda reply: reply.sent_s):
        while place < len(ends) and ends[place][0] < one.sent_s:
            newest = max(newest, ends[place][1])
            place += 1
        found += order.get(one.tip, 0) < newest
    return found


def _tokens(path: Path) -> Path:
    path.write_text("".join(f"agent:agent-{number} {_token(number)}\n" for number in range(_AGENTS)))
    path.chmod(0o600)
    return path


def _token(number: int) -> str:
    return f"the-token-of-agent-{number:04}"


def _commits(machine: Machine, theirs: Path, number: int) -> list[str]:
    """Make commits by hand in another clone, one bead each, and return their names: only their pushes belong to the load."""
    tips = []
    for one in range(number):
        bead = f"hub-api{one}"
        (theirs / "beads" / f"{bead}.yaml").write_text(_BEAD.format(id=bead))
        machine.run(["git", "add", f"beads/{bead}.yaml"], cwd=theirs)
        machine.run(["git", "commit", "--quiet", "-m", "by hand"], cwd=theirs)
        tips.append(machine.run(["git", "rev-parse", "HEAD"], cwd=theirs).strip())
    return tips


@contextmanager
def _pushing(machine: Machine, theirs: Path, made: Sequence[str], tips: list[str]) -> Iterator[None]:
    """Push commits of another clone at an even pace; the names of those pushed go into `tips`, in order."""
    over = threading.Event()
    branch = machine.run(["git", "symbolic-ref", "--short", "HEAD"], cwd=theirs).strip()

    def push() -> None:
        begun_s = time.perf_counter()
        for number, commit in enumerate(made):
            if over.wait(max(0.0, begun_s + number / COMMITS - time.perf_counter())):
                return
            tips.append(commit)
            machine.run(["git", "push", "--quiet", "origin", f"{commit}:refs/heads/{branch}"], cwd=theirs)

    thread = threading.Thread(target=push)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def _load(place: tuple[str, int], seconds: float) -> list[Reply]:
    """Send `ready` at an even rate, whatever the answers take: what waits for a connection has begun."""
    replies: list[Reply] = []
    due: asyncio.Queue[tuple[float, int] | None] = asyncio.Queue()

    async def work() -> None:
        connection = await asyncio.open_connection(*place)
        while (one := await due.get()) is not None:
            replies.append(await _ask(connection, "GET", "/api/v1/ready?limit=10", one[1], one[0]))
        connection[1].close()

    workers = [asyncio.create_task(work()) for _ in range(_CONNECTIONS)]
    begun_s = time.perf_counter()
    for number in range(int(RATE * seconds)):
        at_s = begun_s + number / RATE
        await asyncio.sleep(max(0.0, at_s - time.perf_counter()))
        due.put_nowait((at_s, number % _AGENTS))
    for _ in workers:
        due.put_nowait(None)
    await asyncio.gather(*workers)
    return replies


async def _at_once(place: tuple[str, int], method: str, path: str, number: int) -> list[Reply]:
    connections = [await asyncio.open_connection(*place) for _ in range(number)]
    now_s = time.perf_counter()
    return await asyncio.gather(*(_ask(one, method, path, agent, now_s) for agent, one in enumerate(connections)))


async def _ask(
    connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], method: str, path: str, agent: int, due_s: float
) -> Reply:
    reader, writer = connection
    sent_s = time.perf_counter()
    length = "content-length: 0\r\n" if method == "POST" else ""
    writer.write(f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{length}authorization: Bearer {_token(agent)}\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    body = await reader.readexactly(int(headers["content-length"]))
    return Reply(due_s, sent_s, time.perf_counter(), int(head[0].split()[1]), headers.get("bd-tip", ""), body)


@contextmanager
def _silent(place: tuple[str, int], number: int) -> Iterator[None]:
    """Connections that have sent half a request."""
    with ExitStack() as stack:
        for _ in range(number):
            one = stack.enter_context(socket.create_connection(place))
            one.sendall(b"GET /api/v1/ready HTTP/1.1\r\nhost: ")
        yield
