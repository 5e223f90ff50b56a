"""Looking back: an audit of 10,000 commits, one bead's history among them, and a read as of then."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench import installed, signed
from bench.hubs import LARGE, MIDDLE
from bench.rows import Figure, Ratio
from bench.stopwatch import Program, interleaved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "looking back over 10,000 commits, against git log of the same"
COMMITS, QUICK = 10_000, 1000
LIMIT_S = 20.0
AGAIN_LIMIT_S = 2.0
_AT = "2026-02-01T08:00:00Z"


class Commit(NamedTuple):
    """What a commit of the made history says and writes."""

    verb: str
    bead: str
    text: str
    token: str
    agent: str


def _story(number: int) -> Iterator[Commit]:
    """A bead from its making to its end: created, claimed, commented on, closed."""
    bead, token, agent = f"hub-past{number}", f"01TOKEN{number:019d}", f"agent-{number % 16}"
    head = [f"id: {bead}", f'uid: "01PAST{number:020d}"', f'title: "Look back ({number})"', "type: task"]
    body = ["description: |", *("  The page shows yesterday's numbers until it is loaded again." for _ in range(4))]
    made = [f"created_at: {_AT}", "created_by: human:Ada", f"updated_at: {_AT}"]
    held = [f"assignee: {agent}", f"owner: {agent}@hub"]
    claim = ["claim:", f"  agent: {agent}", f'  token: "{token}"', f"  started_at: {_AT}", "  attempt: 1", f"  claimed_at: {_AT}"]
    said = ["comments:", f'  - id: "01SAID{number:020d}"', f"    author: {agent}", f"    at: {_AT}", "    text: halfway"]
    ended = [f"closed_at: {_AT}", f"closed_by: agent:{agent}", "close_reason: done"]

    def text(*parts: list[str]) -> str:
        return "\n".join(line for part in parts for line in part) + "\n"

    yield Commit("create", bead, text(head, ["status: open"], body, made), "", agent)
    working = [head, ["status: in_progress"], held, body, claim, ["attempts: 1"], made]
    yield Commit("claim", bead, text(*working), token, agent)
    yield Commit("comment", bead, text(*working, said), "", agent)
    yield Commit("close", bead, text(head, ["status: closed"], held, body, ["attempts: 1"], made, ended, said), token, agent)


def _stream(count: int, *, has_parent: bool = False) -> Iterator[bytes]:
    """The history as git's fast-import reads it, on top of main, or of what the stream made before."""
    made = (commit for number in range(count // 4 + 1) for commit in _story(number))
    for place, commit in zip(range(count), made, strict=False):
        uid = f"01UID{place:021d}"
        form = {"verb": commit.verb, "uid": uid, "by": f"agent:{commit.agent}", "at": _AT, "args": {"ids": [commit.bead]}}
        lines = [f"{commit.verb}: {commit.bead} by bench", "", f"Bd-Op: {json.dumps(form)}", "Bd-Agent: bench", f"Bd-Uid: {uid}"]
        message = "\n".join([*lines, *([f"Bd-Token: {commit.token}"] if commit.token else []), ""]).encode()
        data, path = commit.text.encode(), f"beads/{commit.bead}.yaml"
        yield b"commit refs/heads/main\ncommitter bench <bench@hub> %d +0000\n" % (1_790_000_100 + place)
        yield b"data %d\n%s\n" % (len(message), message)
        if place == 0 and not has_parent:
            yield b"from refs/heads/main^0\n"
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)


def _requiring(machine: Machine, bare: Path, public: str) -> Iterator[bytes]:
    """A commit by which a hub requires the signatures of one key, which is everybody's."""
    config = machine.run(["git", "-C", str(bare), "show", "main:.beads/config.yaml"]) + "require_signed: true\n"
    line = f'{",".join(["bench", *(f"agent-{number}" for number in range(16))])} namespaces="git" {public}\n'
    yield b"commit refs/heads/main\ncommitter bench <bench@hub> 1790000099 +0000\ndata 6\nsigned\nfrom refs/heads/main^0\n"
    for path, text in ((".beads/config.yaml", config), (".beads/allowed_signers", line)):
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text.encode()), text.encode())


def _hub(machine: Machine, count: int, *, is_signed: bool = False) -> Path:
    """A clone of a hub with that many commits, packed as a server keeps it."""
    shape = MIDDLE if machine.quick else LARGE
    bare, folder = machine.fresh("past-hub").with_name("hub.git"), machine.fresh("past")
    shutil.copytree(machine.hub(shape).bare, bare)
    importing = ["git", "-C", str(bare), "fast-import", "--quiet"]
    start = machine.run(["git", "-C", str(bare), "rev-parse", "main"]).strip()
    key = signed.new_key() if is_signed else None
    opening = list(_requiring(machine, bare, signed.public_line(key))) if key else []
    data = b"".join([*opening, *_stream(count, has_parent=bool(opening))])
    subprocess.run(importing, input=data, env=machine.environment, check=True)
    if key:
        signed.sign_all(bare, start, key)
    machine.run(["git", "-C", str(bare), "gc", "--quiet"])
    machine.run(["git", "clone", "--quiet", str(bare), str(folder)])
    return folder


def measure(machine: Machine) -> list[Row]:
    """Whole processes; the audit's target is in seconds, for it is a promise to people."""
    count = QUICK if machine.quick else COMMITS
    folder = _hub(machine, count)
    log = ["git", "log", "--raw", "--format=%H", "main"]
    programs = {
        "audit": Program([*machine.bd, "audit", "--since", f"main~{count}"], folder),
        "since": Program([*machine.bd, "audit", "--since", "main~100"], folder),
        "history": Program([*machine.bd, "history", "hub-past7"], folder),
        "log": Program(log, folder),
        "log of one": Program([*log, "--", "beads/hub-past7.yaml"], folder),
    }
    metrics = [*machine.bd, "metrics", "--json"]
    forgetting = ["sh", "-c", 'rm -f "$(git rev-parse --git-common-dir)/bd/flow.json"; exec "$@"', "sh"]
    programs["metrics, all read"] = Program([*forgetting, *metrics], folder)
    programs["metrics again"] = Program(metrics, folder)
    found = interleaved(machine, programs, rounds=machine.rounds(5))
    return [
        *_signed(machine, count),
        Figure(f"audit of {count:,} commits", found["audit"].least / 1000, "s", LIMIT_S),
        Ratio("audit", found["audit"], found["log"], against="git log"),
        Ratio("audit --since 100 commits ago", found["since"], found["log"], against="git log"),
        Figure(f"metrics of {count:,} commits, all read", found["metrics, all read"].least / 1000, "s"),
        Figure(f"metrics of {count:,} commits, again", found["metrics again"].least / 1000, "s", AGAIN_LIMIT_S),
        Ratio("history of one bead", found["history"], found["log of one"], against="git log"),
    ]


def _signed(machine: Machine, count: int) -> list[Row]:
    """The audit where each commit is signed, by a clone that has checked none, and by one that remembers."""
    folder = _hub(machine, count, is_signed=True)
    installed.add(Path(machine.python), "cryptography")
    audit = [*machine.bd, "audit", "--since", f"main~{count}"]
    forgetting = ["sh", "-c", 'rm -f "$(git rev-parse --git-common-dir)/bd/signatures"; exec "$@"', "sh"]
    programs = {"first": Program([*forgetting, *audit], folder), "again": Program(audit, folder)}
    found = interleaved(machine, programs, rounds=machine.rounds(3))
    return [
        Figure(f"audit of {count:,} signed commits, first", found["first"].least / 1000, "s", LIMIT_S),
        Figure(f"audit of {count:,} signed commits, again", found["again"].least / 1000, "s", LIMIT_S),
    ]
