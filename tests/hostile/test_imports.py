"""Imports and plans that somebody else wrote: lines that are none are told, the others come in, and nothing else happens."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.hostile.planting import FORBIDDEN, everything_goes_on, harmless
from tests.truth import git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones

EVIL = "\x1b]52;c;aGk=\x07\x1b[2J\u202e\u200b\x9b31m\x00"


def issue(**fields: Any) -> str:
    return json.dumps(
        {"id": "imp-1", "title": "Imported", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", **fields}
    )


# A line each, and whether it comes in as a bead.
LINES: dict[str, tuple[str | bytes, bool]] = {
    "path": (issue(id="../../owned"), False),
    "absolute": (issue(id="/etc/passwd"), False),
    "option": (issue(id="-rf"), False),
    "windows": (issue(id="con"), False),
    "colon": (issue(id="a:b"), False),
    "dots": (issue(id="a..b"), False),
    "escape": (issue(id="\x1b[2J"), False),
    "override": (issue(id="imp-\u202e"), False),
    "long": (issue(id="x" * 5000), False),
    "number": (issue(id=7), True),
    "list": (issue(id=[1]), False),
    "deep": ('{"id": "imp-1", "title": "t", "metadata": ' + "[" * 100_000 + "]" * 100_000 + "}", False),
    "deeper than a file": (issue(metadata={"a": json.loads("[" * 60 + "]" * 60)}), False),
    "nan": ('{"id": "imp-1", "title": "t", "temperature": NaN}', False),
    "infinity": ('{"id": "imp-1", "title": "t", "temperature": -Infinity}', False),
    "overflow": ('{"id": "imp-1", "title": "t", "temperature": 1e999}', False),
    "digits": ('{"id": "imp-1", "title": "t", "estimated_minutes": ' + "9" * 5000 + "}", False),
    "half a character": ('{"id": "imp-1", "title": "\\ud800"}', False),
    "half a character in a key": ('{"id": "imp-1", "title": "t", "\\udfff": 1}', False),
    "latin-1": (b'{"id": "imp-1", "title": "caf\xe9"}', False),
    "nul": ('{"id": "imp-1", "title": "a\\u0000b"}', True),
    "no title": (issue(title=""), False),
    "long title": (issue(title="x" * 501), False),
    "a time": (issue(created_at="99999-01-01T00:00:00Z"), False),
    "a time of no day": (issue(created_at="2026-02-31T00:00:00Z"), False),
    "first year": (issue(created_at="0001-01-01T00:00:00+23:59"), True),
    "foreign fields that are none": (issue(foreign_fields=[5]), False),
    "object for a text": (issue(description={"a": "b"}), False),
    "a claim": (issue(status="in_progress", claim={"agent": "../../owned", "token": "../../owned"}), True),  # without it
    "claims": (issue(claims=[{"agent": "../x", "token": "y"}]), False),
    "evil texts": (
        issue(
            title=EVIL,
            description=EVIL,
            labels=[EVIL],
            assignee=EVIL,
            metadata={EVIL: EVIL},
            comments=[{"text": EVIL, "author": EVIL}],
        ),
        True,
    ),
    "evil keys": (issue(**{EVIL: EVIL, "<<": "x", "&a": "b", "!!python/object:os.system": "x", "": "y", "- a": "b"}), True),
    "evil edges": (issue(dependencies=[{"depends_on_id": "../x", "type": EVIL}, {"depends_on_id": "-rf"}, 7, {}]), False),
    "prototype": (issue(__proto__={"x": 1}, constructor=1, __class__="x"), True),
    "not an object": ("[1, 2]", False),
    "not json": ("{nope", False),
    "escapes": (EVIL, False),
}


@pytest.mark.parametrize("what", LINES)
def test_a_line(what: str, local_hub: Clone, tmp_path: Path) -> None:
    line, comes_in = LINES[what]
    data = line if isinstance(line, bytes) else line.encode()
    good = b'{"id": "hub-good", "title": "A bead like any other"}\n'
    (tmp_path / "in.jsonl").write_bytes(good + data + b"\n")
    for args in (("--dry-run",), ()):
        said = harmless(local_hub.here("import", str(tmp_path / "in.jsonl"), *args, check=False), 0, 2, 7)
    assert comes_in or said.err, said
    beads = local_hub.here("list", "--all", "--json").json
    assert len(beads) == (2 if comes_in else 1), beads
    everything_goes_on(local_hub)
    for path in git(local_hub.path, "ls-tree", "-r", "--name-only", "-z", "main").split("\0"):
        assert path.startswith((".beads/", "beads/")) or path == "", path
        assert path.isascii()
    assert not list(tmp_path.rglob("owned*"))


def test_a_dump_of_nothing_but_harm(local_hub: Clone, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "issues.jsonl").write_text(issue(id="imp-1") + "\n" + issue(id="../x") + "\n")
    rows = [
        {"issue_id": "imp-1"},
        {"issue_id": "../x"},
        {"issue_id": EVIL},
        [],
        7,
        None,
        {"issue_id": {"a": 1}},
        {"issue_id": "imp-1", "label": {"a": 1}},
    ]
    for name in ("labels", "dependencies", "comments", "config", "events"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + EVIL + "\n" + "[" * 50_000 + "\n")
    harmless(local_hub.here("import", str(folder), check=False), 0, 2, 7)
    everything_goes_on_without_good(local_hub)


def everything_goes_on_without_good(clone: Clone) -> None:
    for args in (("list", "--all"), ("doctor",), ("stats",)):
        harmless(clone.here(*args, check=False), 0, 7)


PLANS: dict[str, str | bytes] = {
    "laughs": "a: &a [x]\nb: [*a, *a]\ntitle: t\n",
    "object": "title: !!python/object/apply:os.system ['touch owned']\n",
    "deep": "title: t\ntasks: " + "[" * 30_000 + "]" * 30_000 + "\n",
    "deep json": '{"title": "t", "tasks": ' + "[" * 60_000 + "]" * 60_000 + "}",
    "deep json maps": '{"a": ' * 60_000 + "1" + "}" * 60_000,
    "circle": "title: t\ntasks:\n- {name: a, title: a, depends_on: [b]}\n- {name: b, title: b, depends_on: [a]}\n",
    "itself": "title: t\ntasks:\n- {name: a, title: a, depends_on: [a]}\n",
    "path": "title: t\nid: ../../hub-owned\n",
    "option": "title: t\nid: --hub-owned\n",
    "windows": "title: t\nid: con-\n",
    "names": 'title: t\ntasks:\n- {name: "../x", title: a}\n- {name: "\\e[2J", title: b, depends_on: ["../x"]}\n',
    "parent": "title: t\nparent: ../../x\n",
    "numbers": "title: t\nbase_priority: 1e400\n",
    "nan": "title: t\nbudget_ceiling_usd: .nan\n",
    "digits": f"title: t\nmax_attempts: {'9' * 5000}\n",
    "time": "title: t\ndeadline: 99999-01-01\n",
    "twice": "title: t\ntitle: u\n",
    "nul": "title: a\0b\n",
    "escape": "title: a\x1b[2Jb\n",
    "edges": '{"nodes": [{"key": "a", "title": "a"}], "edges": [{"from": "\\u001b[2J", "to": "../x"}, 7]}',
    "lists": '[[[{"title": "t"}]]]',
    "agent": "agent: {name: ../x}\n",
    "half": '{"title": "\\ud800"}',
    "empty": "",
    "binary": bytes(range(256)),
    "claim": "title: t\nclaim: {agent: ../x, token: y}\nstatus: in_progress\n",
}


@pytest.mark.parametrize("what", PLANS)
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_plan(what: str, suffix: str, local_hub: Clone, tmp_path: Path) -> None:
    plan = PLANS[what]
    (tmp_path / f"plan.{suffix}").write_bytes(plan if isinstance(plan, bytes) else plan.encode())
    before = git(local_hub.path, "rev-parse", "main")
    for args in (("--dry-run",), ()):
        made = harmless(local_hub.here("create", "--file", str(tmp_path / f"plan.{suffix}"), *args, check=False), 0, 2, 4, 5)
    assert made.code == 0 or git(local_hub.path, "rev-parse", "main") == before
    everything_goes_on_without_good(local_hub)
    assert not list(tmp_path.rglob("*owned*"))


def test_the_export_of_a_checkout_is_not_read_through_a_link(local_hub: Clone, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(issue(id="imp-secret") + "\n")
    (local_hub.path / ".beads" / "issues.jsonl").symlink_to(tmp_path / "secret.json")
    harmless(local_hub.here("import", check=False), 2, 4)
    assert local_hub.here("list", "--all", "--json").json == []


def test_an_export_carries_everything_and_obeys_nothing(local_hub: Clone, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(issue(title=EVIL, description=EVIL, labels=[EVIL]) + "\n")
    local_hub.here("import", str(tmp_path / "in.jsonl"))
    for args in (("export",), ("list", "--all", "--json"), ("show", "imp-1", "--json")):
        shown = local_hub.here(*args).out
        assert not set(shown) & set(FORBIDDEN), args
        value = json.loads(shown)
        assert (value[0] if isinstance(value, list) else value)["title"] == EVIL
    local_hub.here("export", "-o", os.fspath(tmp_path / "out.jsonl"))
    assert json.loads((tmp_path / "out.jsonl").read_text())["title"] == EVIL
