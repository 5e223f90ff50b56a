"""Fuzzing: whatever the bytes, a reader gives fields or its one error, and two readers of one text agree.

`TARGETS` are what is fuzzed; the tests run each for a moment, `python -m bench --only fuzz` for
`BENCH_FUZZ_MINUTES` (default 2) minutes in all. With the extra `fuzz` (atheris) inputs are guided by coverage;
without it seeds of our own are mutated at random.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bd.cli.output import escaped, json_safe
from bd.compat import jsonl_import, plan_files
from bd.core import signers
from bd.core.errors import BadInput, Damaged, NotFound, WouldCycle
from bd.core.ids import check_agent, check_bead_id
from bd.core.schema import BEAD_FIELDS
from bd.core.times import canonical_time, duration_s, typed_time
from bd.store.git import commit_message, porcelain
from bd.store.heartbeat import agent_records
from bd.store.hub_location import check_branch
from bd.store.trust import signatures
from bd.store.yaml import codec, plain_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.machine import Machine
    from bench.rows import Row

TITLE = "fuzzing: inputs a second, and what they broke"
NOW = datetime(2026, 2, 21, tzinfo=UTC)
_OID = b"0123456789abcdef0123456789abcdef01234567"
_OP = b'Bd-Op: {"verb":"claim","uid":"U","by":"agent:bob","at":"x","args":{}}'

SEEDS: dict[str, list[bytes]] = {
    "codec": [
        b'id: hub-x\nuid: "01M8FWCNY45SMB78EPVCQT3N7Y"\ntitle: Fix it\nstatus: open\npriority: 1\nlabels: [a, b]\n',
        b"# ours\nid: hub-x\ntitle: 'it''s'  # why\ndeadline: 2026-01-01\nnotes: |\n  a\n\n  b\nmetadata:\n  a: {b: [1, 1e3, null]}\n",
        b"id: hub-x\ntitle: t\nclaim:\n  agent: bob\n  token: T1\n  attempt: 1\ncomments:\n- {id: A, author: b, at: 2026-01-01T00:00:00Z, text: c}\n",
        b"{id: hub-x, title: t, labels: [repo:site, 'a b'], priority: P1}\n",
        b"id: hub-x\ntitle: t\nnotes: |\n  a\n  b",
        b"---\nid: hub-x\r\ntitle: >-\r\n  a\r\n  b\r\n...\r\n",
    ],
    "ids": [b"hub-7k3q", b"hub-7k3q.ab12", b"codemonkey", b"con.x", b"feature/x", b"-rf", b"../x"],
    "imports": [
        b'{"id": "a-1", "title": "t", "dependencies": [{"depends_on_id": "a-2", "type": "blocks"}], "labels": ["x"], "priority": 0}\n',
        b'[{"id": "a-1", "title": "t", "comments": [{"id": 1, "text": "c"}], "metadata": "{}", "created_at": "2026-01-01T00:00:00+02:00"}]',
    ],
    "plans": [
        b"title: t\nbase_priority: 30\ntasks:\n- {name: a, title: a}\n- {name: b, title: b, depends_on: [a]}\n",
        b'{"nodes": [{"key": "a", "title": "a"}], "edges": [{"from": "a", "to": "hub-1"}]}',
        b"dag:\n  title: t\n  tasks:\n  - {id: task_01, title: x, expected: 2h}\n",
        b"dag:\n  tasks: []\n",
    ],
    "answers": [
        b"100644 blob " + _OID + b"\tbeads/hub-x.yaml\0120000 blob " + _OID + b"\tb\xff\n\0",
        b":100644 000000 " + _OID + b" " + b"0" * 40 + b" D\0beads/x.yaml\0",
        _OID + b"\trefs/bd/agents/bob\n" + _OID + b"\trefs/x:y\n" + _OID + b" HEAD\n",
        b"To x\n=\trefs/heads/main:refs/heads/main\t[up to date]\n!\t:refs/bd/x\t[rejected] (stale info)\nDone\n",
        b"worktree /a\nHEAD " + _OID + b"\nbranch refs/heads/main\n\nworktree /b\ndetached\n\n",
        _OID + b" blob 12\n",
    ],
    "messages": [
        b"tree x\nauthor Ada <a@b> 1700000000 +0000\n\nclaim: hub-x by bob\n\n%s\nBd-Token: T\n" % _OP,
    ],
    "times": [
        b"2026-02-21T15:00:00.5+02:00",
        b"2026-02-21",
        b"1h30m",
        b"+2d",
        b"tomorrow",
        b"0001-01-01T00:00:00+14:00",
        b"9999-12-31",
    ],
    "records": [
        b'{"agent": "bob", "beads": ["hub-x"], "interval_s": 30, "progress": [{"at": "2026-01-01T00:00:00Z", "text": "x"}]}'
    ],
    "signatures": [
        (
            b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
            b"author coder <c@h> 1795885707 +0000\n"
            b"committer coder <c@h> 1795885707 +0000\n"
            b"gpgsig -----BEGIN SSH SIGNATURE-----\n"
            b" U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgSlUJigHjFPULWfb2MsGE703xcs\n"
            b" FK7qMdidS2TAhaTnQAAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5\n"
            b" AAAAQME6xee3w4Bp31ZBNHYcTi2lGbzs0KKhSuIBpQ9MZMrz75Yx1HAm2aSFMzDAue/4t6\n"
            b" D7HDKKg89t2gao0++i0g4=\n"
            b" -----END SSH SIGNATURE-----\n"
            b"\n"
            b"one\n"
        ),
        b'coder,bob namespaces="git,file",valid-after="20260101Z",valid-before="202612312359" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEpVCYoB4xT1C1n29jLBhO9N8XLBSu6jHYnUtkwIWk50 words\n',
    ],
    "words": ["a\x1b[2J\u202e\u200d🚀\x9b é".encode()],
}
# What mutations put in: signs that mean something to one of the readers.
_SIGNS = [
    *(
        sign.encode()
        for sign in "\n \t : - # & * ! | > ' \" { } [ ] , ? % @ ` \\ \r \x85 \u2028 \ufeff \0 << --- ... ~ null 1e999 .nan 0x1 -0".split(
            " "
        )
    ),
    *(
        b" ",
        b"\n  ",
        b": ",
        b"- ",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"[" * 60,
        b"{a: " * 60,
        b"9" * 5000,
        b"!!python/name:os",
        b"<<: *a",
    ),
]


def _codec(data: bytes) -> None:
    try:
        parsed = codec.parse_bead(data, "hub-x")
    except codec.Unreadable:
        return
    fields = parsed.fields
    given = codec.parse(data, BEAD_FIELDS).fields
    plain = plain_reader.read(codec.text_of(data))
    if plain is not None:
        library = codec._read(codec.text_of(data)).root  # noqa: SLF001  the other reader of the same text
        assert plain[0] == library, "the fast reader and the library differ"
    for changes in ({"title": "Another: one"}, {"notes": "a\n b\n"}, {"labels": None}):
        new = {key: value for key, value in {**given, **changes}.items() if value is not None}
        try:
            text = codec.rewrite(data, given, new, BEAD_FIELDS, is_simple=parsed.is_simple)
        except BadInput:
            continue
        assert codec.parse(text.encode(), BEAD_FIELDS).fields == new, f"rewritten for {changes}, it says something else"
    try:
        again = codec.parse(codec.dump(fields, BEAD_FIELDS).encode(), BEAD_FIELDS).fields
    except BadInput:
        return
    assert again == fields, "written anew, it says something else"


def _ids(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for check in (check_bead_id, check_agent, check_branch):
        try:
            name = check(text)
        except BadInput:
            continue
        assert name.isprintable() and name[0] not in "-./" and ".." not in name, name  # noqa: PT018
        assert check is check_branch or "/" not in name


def _imports(data: bytes) -> None:
    rows, unread = jsonl_import.rows_of(data)
    batch = jsonl_import.gather("fuzz", rows, unread)
    for bead in batch.beads:
        if bead.get("id"):
            check_bead_id(bead["id"])


def _plans(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        Path(file.name).write_bytes(data)
        try:
            plan_files.read_plan(file.name)
        except (BadInput, NotFound, WouldCycle):
            pass


def _answers(data: bytes) -> None:
    for read in (porcelain.tree_entries, porcelain.difference, porcelain.size_in):
        try:
            read(data)  # type: ignore[operator]
        except (Damaged, EOFError):
            pass
    porcelain.local_refs(data)
    porcelain.push_lines(data)
    list(porcelain.worktrees(data))
    for ref in porcelain.remote_refs(data):
        assert not set(ref) & set(": \n~^?*[\\") and ".." not in ref  # noqa: PT018


def _messages(data: bytes) -> None:
    headers, text = commit_message.split_commit(data)
    commit_message.parse(text)
    form = commit_message.form_of(text)
    assert form is None or (isinstance(form["verb"], str) and isinstance(form["uid"], str))
    _, at_s = commit_message.signed_by(headers)
    datetime.fromtimestamp(at_s, UTC)


def _times(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        once = canonical_time(text)
        assert canonical_time(once) == once, "a canonical time is its own"
    except ValueError:
        pass
    for read in (duration_s, lambda word: typed_time(word, NOW)):
        try:
            read(text)
        except BadInput:
            pass


def _records(data: bytes) -> None:
    import json

    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        return
    record = agent_records.record_of(said)
    assert agent_records.record_of(record) == record


def _signatures(data: bytes) -> None:
    found, real = signatures.of_commit(data), signatures.of_commit(SEEDS["signatures"][0])
    if found is not None:
        is_real = real is not None and (found.key, found.payload) == (real.key, real.payload)
        assert is_real or not signatures.is_good_at_once(found), "a forgery"
    for signer in signers.read(data.decode("utf-8", "replace").splitlines()):
        assert signers.key_of(signer.key) == signer.key


def _words(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for shown in (escaped(text), escaped(text, one_line=False), json_safe(text)):
        assert not set(shown) & set("\x7f\x9b\u202e\u2066\u200b\u2028\ufeff")
        shown.encode()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "codec": _codec,
    "ids": _ids,
    "imports": _imports,
    "plans": _plans,
    "answers": _answers,
    "messages": _messages,
    "times": _times,
    "records": _records,
    "signatures": _signatures,
    "words": _words,
}


def mutants(name: str, rng: random.Random) -> Iterator[bytes]:
    """Inputs for a target, for ever: seeds cut, joined, turned and sprinkled with signs."""
    seeds = SEEDS[name]
    while True:
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 2, 4, 8))):
            place, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
            turn = rng.randrange(6)
            if turn == 0:
                data[place:place] = rng.choice(_SIGNS)
            elif turn == 1:
                del data[place : min(end, place + 20)]
            elif turn == 2 and data:
                data[place - 1] = rng.randrange(256)
            elif turn == 3:
                data[place:place] = data[place:end]
            elif turn == 4:
                data[place:end] = rng.choice(seeds)[place:end]
            else:
                data[place:place] = rng.choice(_SIGNS) + b"\n"
        yield bytes(data[:20_000])


def broken_by(name: str, data: bytes) -> str | None:
    """What an input breaks; None for nothing."""
    try:
        TARGETS[name](data)
    except Exception as error:  # noqa: BLE001  finding them is the purpose
        return f"{type(error).__name__}: {error}"[:200]
    return None


def run(name: str, seconds: float, seed: int) -> tuple[int, dict[str, bytes]]:
    """Fuzz a target for so long: how many inputs, and one input for each thing that broke."""
    found: dict[str, bytes] = {}
    count = 0
    until = time.perf_counter() + seconds
    for data in mutants(name, random.Random(seed)):
        count += 1
        words = broken_by(name, data)
        if words:
            found.setdefault(words, data)
        if time.perf_counter() > until:
            return count, found
    return count, found


def guided(name: str, seconds: int) -> None:
    """The same guided by coverage, in this process, which ends with it: `python -m bench.fuzz codec 600`. Needs atheris."""
    import sys

    import atheris

    atheris.instrument_all()
    with tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(SEEDS[name]):
            (Path(corpus) / str(number)).write_bytes(data)
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=20000", corpus], TARGETS[name])
        atheris.Fuzz()


def measure(machine: Machine) -> list[Row]:
    """Fuzz every target, each for its share of the minutes. What broke is printed with the input that did it."""
    from bench.rows import Figure

    minutes = 0.02 * len(TARGETS) if machine.quick else float(os.environ.get("BENCH_FUZZ_MINUTES", "2"))
    rows: list[Row] = []
    for name in TARGETS:
        share_s = minutes * 60 / len(TARGETS)
        count, found = run(name, share_s, seed=time.time_ns())
        for words, data in found.items():
            print(f"  {name}: {words}\n    {data!r}")
        rows.append(Figure(f"{name}: inputs", count / share_s, "/s"))
        rows.append(Figure(f"{name}: broken", float(len(found)), "", 1, "<"))
    return rows


if __name__ == "__main__":
    import sys

    guided(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60)
