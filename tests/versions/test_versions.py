"""What this bd does not know, it leaves alone; and a hub says which bd may write to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bd
from bd.core import versions
from bd.core.operation import UnknownOperation
from bd.operations.registry import from_json
from bd.store.git import commit_message
from tests.runtime import RUNTIME
from tests.truth import commit_file, git, log, tip, tip_bead, tip_file
from tests.versions.sources import layouts, recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(2)

CONFIG = ".beads/config.yaml"
NEWER = "99.0.0"


@pytest.mark.parametrize("name", layouts())
def test_a_layout_changes_only_with_its_version(name: str) -> None:
    """When this fails: has the layout changed? Raise its version in core/versions.py. Then record the checksums."""
    now, before = layouts()[name], recorded().get(name)
    assert before is not None, f"`python -m tests.versions.sources --record` records {name}"
    assert now.checksum == before.checksum or now.version > before.version
    assert now == before, "`python -m tests.versions.sources --record` records the new version"


def test_every_recorded_layout_exists() -> None:
    assert recorded().keys() == layouts().keys()


@given(st.integers(-2, 9), st.integers(1, 5))
def test_a_version_is_read_until_the_one_after_the_next(version: int, current: int) -> None:
    assert versions.is_known(version, current) == (version >= 1 and version in (current - 1, current))


@pytest.mark.parametrize("version", [None, "1", 1.0, True, [1], {}])
def test_what_is_no_version_is_unknown(version: object) -> None:
    assert not versions.is_known(version, 1)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.9.0", "0.10.0"),
        ("0.9.0", "0.10.0.dev0"),
        ("0.9.9", "0.10"),
        ("0.10.0", "0.10.1"),
        ("", "0.1"),
        (None, "0.9.0"),
        ("x", "1"),
    ],
)
def test_versions_are_compared_as_numbers(older: object, newer: object) -> None:
    assert versions.is_older(older, newer)
    assert not versions.is_older(newer, older)


@pytest.mark.parametrize(("one", "other"), [("0.10.0.dev0", "0.10.0"), ("1", "1.0.0"), ("0.10.0rc1", "0.10"), ("x", None)])
def test_these_are_no_older(one: object, other: object) -> None:
    assert not versions.is_older(one, other)
    assert not versions.is_older(other, one)


# --- operations that a newer bd made ----------------------------------------------------------------

FORM = {"verb": "comment", "v": 1, "uid": "01A", "by": "agent:coder", "at": "2026-01-01T00:00:00Z"}
ARGS = {"ids": ["hub-a"], "text": "seen", "author": "coder", "comment_id": "01B"}
OF_THE_FUTURE: dict[str, tuple[dict[str, Any], str]] = {
    "verb": ({"verb": "transmute"}, "the verb 'transmute' is unknown"),
    "version": ({"v": 2}, "version 2 of the verb 'comment' is unknown"),
    "no number": ({"v": "new"}, "version new of the verb 'comment' is unknown"),
    "argument": ({"args": {**ARGS, "colour": "red"}}, "the verb 'comment' has no argument 'colour'"),
}


def form(**changes: Any) -> dict[str, Any]:
    return {**FORM, "args": ARGS, **changes}


def test_a_form_without_a_version_is_the_first() -> None:
    old = {key: value for key, value in form().items() if key != "v"}
    assert from_json(old, RUNTIME).form() == from_json(form(), RUNTIME).form()


@pytest.mark.parametrize("what", OF_THE_FUTURE)
def test_an_operation_of_a_newer_bd_is_not_read(what: str) -> None:
    changes, words = OF_THE_FUTURE[what]
    with pytest.raises(UnknownOperation, match=words):
        from_json(form(**changes), RUNTIME)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("what", OF_THE_FUTURE)
def test_an_unpublished_operation_of_a_newer_bd_is_kept_and_nothing_is_written_before_it(
    what: str, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]
) -> None:
    changes, words = OF_THE_FUTURE[what]
    alice = clone("alice")
    alice.here("create", "A", "--id", "hub-a", "--agent", "chief")
    away = hub.rename(tmp_path / "away.git")
    alice.here("comment", "hub-a", "seen", "--agent", "coder")
    away.rename(hub)
    made = rewrite_view(alice, changes)
    before = tip(hub)

    refused = alice.here("create", "B", "--agent", "chief", "--json", code=7).json
    assert refused["code"] == "newer_operation"
    assert words in refused["error"]
    assert tip(hub) == before
    assert git(alice.path, "rev-parse", "refs/bd/view") == made, "it is still there for a newer bd"
    found = {one["code"]: one for one in alice.here("doctor", "--json", code=7).json["findings"]}
    assert words in found["newer_operation"]["text"]


def rewrite_view(clone: Clone, changes: dict[str, Any]) -> str:
    """Make the clone's unpublished commit that of a newer bd: its operation's form changed."""
    view = git(clone.path, "rev-parse", "refs/bd/view")
    headers, text = commit_message.split_commit(git(clone.path, "cat-file", "commit", view).encode())
    before = commit_message.form_of(text)
    assert before is not None
    args = {**before["args"], **changes.get("args", {})}
    after = text.replace(
        json.dumps(before, separators=(",", ":")), json.dumps({**before, **changes, "args": args}, separators=(",", ":"))
    )
    assert after != text
    made = git(clone.path, "commit-tree", f"{view}^{{tree}}", "-p", headers["parent"][0], "-m", after)
    git(clone.path, "update-ref", "refs/bd/view", made)
    return made


def test_a_request_of_a_newer_bd_is_left_alone_and_named(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "A", "--id", "hub-a", "--agent", "chief")
    request = {"intent": versions.REQUEST + 1, "op": form(), "new": "layout"}
    tree = git(alice.path, "mktree", data=b"")
    made = git(alice.path, "commit-tree", tree, "-m", json.dumps(request))
    git(alice.path, "push", "-q", str(hub), f"{made}:refs/bd/intents/01NEWER")
    for number in range(3):
        alice.here("create", f"B{number}", "--agent", "chief")
    assert git(hub, "rev-parse", "refs/bd/intents/01NEWER") == made
    found = [one for one in alice.here("doctor", "--json").json["findings"] if one["code"] == "newer_request"]
    assert [one["where"] for one in found] == ["refs/bd/intents/01NEWER"]


def test_an_agents_record_of_a_newer_bd_is_not_read(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("agent", "add", "coder", "--role", "coding")
    for version, status in ((versions.AGENT_RECORD + 1, "available"), (versions.AGENT_RECORD, "overloaded")):
        tree = git(alice.path, "mktree", data=b"")
        made = git(
            alice.path,
            "commit-tree",
            tree,
            "-m",
            json.dumps({"v": version, "status": status, "last_heartbeat": "2030-01-01T00:00:00Z"}),
        )
        git(alice.path, "push", "-qf", str(hub), f"{made}:refs/bd/agents/coder")
        record = alice.here("agent", "show", "coder", "--json", "--fetch").json["capacity"]
        assert ("last_heartbeat" in record) == (version == versions.AGENT_RECORD)


# --- which bd may write ---------------------------------------------------------------------------


def plant(hub: Path, tmp_path: Path, changed: dict[str, bytes]) -> str:
    """Publish files with plain git; the new tip."""
    folder = tmp_path / f"by-hand-{len(log(hub))}"
    git(tmp_path, "clone", "--quiet", str(hub), str(folder))
    for path, data in changed.items():
        commit_file(folder, path, data)
    git(folder, "push", "--quiet")
    return tip(hub)


def in_hub(hub: Path, path: str) -> bytes:
    data = tip_file(hub, path)
    assert data is not None
    return data


def require(hub: Path, tmp_path: Path, version: str) -> str:
    return plant(hub, tmp_path, {CONFIG: in_hub(hub, CONFIG) + f"min_version: {version}\n".encode()})


@pytest.mark.one_in(12)
@pytest.mark.parametrize("command", ["create B", "claim --next --agent coder", "sync", "upgrade", "upgrade --force"])
def test_a_hub_that_requires_a_newer_bd_takes_no_write(
    command: str, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]
) -> None:
    alice = clone("alice")
    alice.here("create", "A", "--id", "hub-a", "--agent", "chief")
    (alice.path / "beads" / "hub-a.yaml").write_bytes(in_hub(hub, "beads/hub-a.yaml") + b"notes: by hand\n")
    planted = require(hub, tmp_path, f'"{NEWER}"')
    refused = alice.here(*command.split(), "--json", code=7).json
    assert (refused["code"], refused["min_version"]) == ("bd_too_old", NEWER)
    assert tip(hub) == planted
    assert [bead["id"] for bead in alice.here("list", "--fetch", "--json").json] == ["hub-a"]
    assert git(alice.path, "rev-parse", "refs/bd/view") == planted, "what is read is up to date all the same"
    found = {one["code"]: one["text"] for one in alice.here("doctor", "--json").json["findings"]}
    assert NEWER in found["min_version"]


@pytest.mark.one_in(12)
@pytest.mark.parametrize("odd", ["newest", '""', "-1", "null"])
def test_a_min_version_that_is_none_requires_nothing(odd: str, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    require(hub, tmp_path, odd)
    alice.here("create", "A", "--id", "hub-a", "--agent", "chief")
    assert tip_bead(hub, "hub-a") is not None


def test_upgrade_raises_what_the_hub_requires_once(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "A", "--id", "hub-a", "--agent", "chief")
    alice.here("claim", "hub-a", "--agent", "coder")
    before = tip(hub)
    tried = alice.here("upgrade", "--dry-run", "--json").json
    assert tried["changed"]
    assert tip(hub) == before
    done = alice.here("upgrade", "--json").json
    assert done["changed"]
    assert done["published"]
    assert done["min_version"] == bd.__version__
    coder = next(agent for agent in done["agents"] if agent["agent"] == "coder")
    assert (coder["version"], coder["is_live"], coder["is_older"]) == (bd.__version__, True, False)
    assert f'min_version: "{bd.__version__}"'.encode() in in_hub(hub, CONFIG)
    after = tip(hub)
    assert not alice.here("upgrade", "--json").json["changed"]
    assert tip(hub) == after
    alice.here("close", "hub-a", "--reason", "done", "--agent", "coder")


def test_upgrade_never_lowers_what_is_required(hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    require(hub, tmp_path, f'"{bd.__version__}.1"')
    alice.here("upgrade")
    assert f'min_version: "{bd.__version__}.1"'.encode() in in_hub(hub, CONFIG)


def test_upgrade_waits_for_agents_that_run_an_older_bd(hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "A", "--id", "hub-a", "--agent", "chief")
    alice.here("claim", "hub-a", "--agent", "coder")
    files = (".agent-status/coder.yaml", "beads/hub-a.yaml")
    before = plant(hub, tmp_path, {file: in_hub(hub, file).replace(bd.__version__.encode(), b"0.9.0") for file in files})
    refused = alice.here("upgrade", "--json", code=5).json
    assert (refused["code"], refused["agents"]) == ("older_agents", {"coder": "0.9.0"})
    assert tip(hub) == before
    assert "coder" in alice.here("upgrade", "--dry-run").out
    alice.here("upgrade", "--force")
    assert f'min_version: "{bd.__version__}"'.encode() in in_hub(hub, CONFIG)
