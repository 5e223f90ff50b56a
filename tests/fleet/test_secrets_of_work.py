"""Secrets that a command says never get into the hub by bd itself; what somebody types is kept, with a warning."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(54)

OF_ENVIRONMENT = "correct horse battery"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *["MIIEow" + "x" * 58] * 60, "abc=", "-----END RSA PRIVATE KEY-----"])
SECRET = (OF_ENVIRONMENT, TOKEN, "hunter22", "MIIEow")
SAID = f"no access with {OF_ENVIRONMENT} and {TOKEN} at https://ada:hunter22@example.org/x"

# What a command does (said.txt has the words), and which fields of its bead they end in.
WAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "close reason": ("cat said.txt", ("close_reason",)),
    "failure": ("cat said.txt >&2; exit 1", ("failures",)),
    "end of a key": ("cat key.txt; exit 1", ("failures",)),
    "given back": ("cat said.txt; exit 75", ("status_reason",)),
    "a very long line": ("printf '%04480d' 0; cat said.txt; exit 1", ()),
    "killed": ("cat said.txt; kill -9 $$", ("failures",)),
    "took too long": ("cat said.txt; sleep 1000", ("failures",)),
    "result text": ("cp done.json $BD_RESULT_FILE", ("close_reason", "output")),
    "failed by result": ("cp failed.json $BD_RESULT_FILE", ("failures",)),
    "validator": ("true", ("failures",)),
}


def prepared(one: Clone, way: str) -> None:
    validators = {"tests": "cat said.txt; exit 1"}
    (one.path / ".git" / "bd").mkdir(exist_ok=True)
    (one.path / ".git" / "bd" / "config.yaml").write_text(json.dumps({"validators": validators}))
    (one.path / "said.txt").write_text(f"{SAID}\n")
    (one.path / "key.txt").write_text(f"{KEY}\n")
    told = {"text": SAID, "output": {"log": [SAID, {"n": 1}]}, "artifacts": [{"name": "site", "ref": f"https://x.org/{TOKEN}"}]}
    (one.path / "done.json").write_text(json.dumps({"outcome": "done", **told}))
    (one.path / "failed.json").write_text(json.dumps({"outcome": "failed", "text": SAID}))
    task = {
        "name": "a",
        "id": "hub-a",
        "title": "Try",
        "max_attempts": 1,
        "spec": {"max_duration": "1s" if "long" in way else "1h"},
    }
    if way == "validator":
        task["output"] = {"validation": "test-pass"}
    one.here("plan", "apply", "-", input=json.dumps({"title": "All", "tasks": [task]}))


@pytest.mark.one_in(18)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_command_says_comes_into_the_hub_without_its_secrets(way: str, clone: Clones, hub: Path) -> None:
    one = clone("one")
    prepared(one, way)
    script, fields = WAYS[way]
    one.bd("work", "--agent", "coder", "--max-tasks", "1", "--", "sh", "-c", script, env={"DEPLOY_TOKEN": OF_ENVIRONMENT})
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    for field in fields:
        assert "[redacted" in json.dumps(bead.get(field)), bead.fields
    artifacts = (bead.get("output") or {}).get("artifacts") or []
    assert [one["ref"] for one in artifacts] == ([f"https://x.org/{TOKEN}"] if way == "result text" else [])
    history = git(hub, "log", "-p", "--all", "--format=%B").replace(f"https://x.org/{TOKEN}", "")
    assert [secret for secret in SECRET if secret in history] == []
    assert "every change kept the rules" in one.here("audit", "--fetch").out


@pytest.mark.parametrize(
    "args",
    [
        ("create", "T", "--description", SAID),
        ("update", "hub-a", "--notes", SAID),
        ("comment", "hub-a", SAID),
        ("note", "hub-a", SAID),
        ("close", "hub-a", "--reason", SAID),
        ("wait-human", "hub-a", "--reason", SAID),
        ("close", "hub-a", "--output", "said.txt"),
        ("close", "hub-a", "--output", "large.txt"),
        ("handoff", "hub-a", "--to", "new:T", "--note", SAID),
        ("update", "hub-a", "--prompt", SAID),
        ("config", "set", "validators.tests", SAID),
    ],
    ids=lambda args: " ".join(args)[:24],
)
def test_what_is_typed_is_kept_with_a_warning(args: tuple[str, ...], local_hub: Clone) -> None:
    (local_hub.path / "said.txt").write_text(SAID)
    (local_hub.path / "large.txt").write_text(SAID + "\n" + "x" * 20_000)
    local_hub.here("create", "T", "--id", "hub-a")
    done = local_hub.here(*args, "--json", env={"DEPLOY_TOKEN": OF_ENVIRONMENT})
    assert "warning: this text seems to hold a secret (DEPLOY_TOKEN, password, GitHub token)" in done.err
    assert SAID not in done.err
    assert done.json
    assert SAID in git(local_hub.path, "log", "-p", "--format=")


def test_ordinary_words_warn_of_nothing(local_hub: Clone) -> None:
    assert local_hub.here("create", "T", "--id", "hub-a", "--description", "the ghp_ prefix, at commit " + "0a" * 20).err == ""
    assert local_hub.here("close", "hub-a", "--reason", "merged; https://example.org:80/x@y").err == ""


def test_what_a_clone_keeps_is_its_owners_alone(clone: Clones, tmp_path: Path) -> None:
    """Whatever the umask lets others see."""
    before = os.umask(0)
    try:
        one = clone("one")
        one.here("config", "set", "agent", "coder", "--clone")
        one.here("create", "T", "--id", "hub-a")
        one.here("create", "U", "--id", "hub-b")
        one.here("claim", "hub-a")
        one.here("progress", "hub-a", "half of it")
        listed = tmp_path / "listed"
        script = f"ls -l $(dirname $BD_BEAD_FILE) > {listed}"
        one.bd("work", "--agent", "bob", "--max-tasks", "1", "--prompt", "--", "sh", "-c", script)
        one.here("list", "--fetch")
        one.bd("comment", "hub-a", "kept in the journal", env={"BD_TEST_STOP_AT": "pushed"}, check=False)
    finally:
        os.umask(before)
    assert len(lines := listed.read_text().splitlines()[1:]) == 2  # the bead and its brief
    assert all(line.startswith("-rw------- ") for line in lines)
    files = [path for path in (one.path / ".git" / "bd").rglob("*") if path.is_file() and path.stat().st_size]
    assert {"hub-a", "config.yaml"} <= {path.name for path in files}
    assert any(path.parent.name == "journal" for path in files)
    assert any(path.parent.name == "progress" for path in files)
    assert any(path.name.startswith("cache") for path in files)
    assert [path.name for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_a_token_file_stays_private_when_a_line_of_it_goes(local_hub: Clone) -> None:
    local_hub.here("create", "T", "--id", "hub-a")
    local_hub.here("claim", "hub-a", "--agent", "coder")
    kept = local_hub.path / ".git" / "bd" / "tokens" / "hub-a"
    kept.write_text(f"01KB6ZZZZZZZZZZZZZZZZZZZA1 coder -\n{kept.read_text()}")
    local_hub.here("release", "hub-a", "--reason", "no", env={"BD_TOKEN": kept.read_text().splitlines()[-1].split()[0]})
    assert len(kept.read_text().splitlines()) == 1
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "ending",
    [("release", "--reason", "no"), ("wait-human", "--reason", "?"), ("spawn", "Part of it", "--wait")],
    ids=lambda words: words[0],
)
def test_notes_of_progress_ride_along_with_every_end(ending: tuple[str, ...], local_hub: Clone) -> None:
    local_hub.here("create", "T", "--id", "hub-a")
    local_hub.here("claim", "hub-a", "--agent", "coder")
    local_hub.here("progress", "hub-a", "half of it", "--agent", "coder")
    local_hub.here(ending[0], "hub-a", *ending[1:], "--agent", "coder")
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert "half of it" in json.dumps(bead.fields)


def test_notes_of_progress_ride_along_with_a_failure(local_hub: Clone) -> None:
    local_hub.here("create", "T", "--id", "hub-a")
    script = f"{sys.executable} -m bd progress $BD_BEAD_ID 'half of it'; exit 1"
    local_hub.bd("work", "--agent", "coder", "--max-tasks", "1", "--", "sh", "-c", script)
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert [entry["reason"] for entry in bead.get("failures")] == ["other"]
    assert "half of it" in json.dumps(bead.fields)
