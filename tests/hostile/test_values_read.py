"""Values of a hub that become paths, refs, lines or words of commands: they are checked where they are read, not only where typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import BadInput
from bd.core.ids import hub_name, is_bead_id, is_prefix
from bd.core.model import Change
from bd.operations.claims import Claim
from bd.store.git import commit_message
from bd.store.hub_location import locate
from tests.hostile.planting import plant
from tests.running import Clone as Checkout
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(20)

ODD = [
    "a/b",
    "../x",
    "-o",
    "x y",
    "x\x1b]0;hi\x07",
    "x{clone}",
    "x';touch owned;'",
    "x\n[Service]\nExecStartPre=touch owned",
    ".",
    "a..b",
    "é",
    "x" * 104,
]
AT = "2026-11-29T10:00:00Z"


@pytest.fixture
def alice(hub: Path, clone: Callable[[str], Clone]) -> Clone:
    alice = clone("alice")
    alice.here("create", "There already", "--id", "hub-there")
    return alice


def with_prefix(hub: Path, prefix: str) -> None:
    plant(hub, {".beads/config.yaml": f"format: 2\nprefix: {json.dumps(prefix)}\n"})


@pytest.mark.one_in(16)
@pytest.mark.parametrize("prefix", ODD)
def test_an_odd_prefix_stops_new_ids_and_nothing_else(alice: Clone, hub: Path, tmp_path: Path, prefix: str) -> None:
    with_prefix(hub, prefix)
    alice.here("sync")
    before = tip(hub)
    for words in (("create", "New"), ("import", "-")):
        refused = alice.here(*words, input='{"title": "New"}', code=7)
        assert "prefix" in refused.err
        assert "bd config set prefix" in refused.err
    assert tip(hub) == before
    assert [bead["id"] for bead in alice.here("list", "--json").json] == ["hub-there"]
    [found] = [one for one in alice.here("doctor", "--json", code=7).json["findings"] if one["code"] == "setting"]
    assert found["where"] == ".beads/config.yaml"
    alice.here("claim", "hub-there", "--agent", "coder")
    alice.here("create", "A child", "--parent", "hub-there")
    alice.here("close", "hub-there", "--agent", "coder", "--force", "--reason", "done")
    alice.here("config", "set", "prefix", "new")
    made = alice.here("create", "New", "--json").json["id"]
    git(tmp_path, "clone", "-q", str(hub), "fresh")
    fresh = Checkout(tmp_path / "fresh")
    assert made in {bead["id"] for bead in fresh.here("list", "--all", "--json", "--strict").json}


def test_names_made_of_a_prefix_are_names() -> None:
    """The name of a hub is part of paths, sessions, units and commands; whatever ids can begin with is one."""
    assert [prefix for prefix in ODD if is_prefix(prefix) or hub_name(prefix) != "hub"] == []
    for prefix in ("hub", "my-cool_hub", "my.app", "B", "7"):
        assert hub_name(prefix) == prefix
        assert is_bead_id(f"{prefix}-7k3q")
    assert hub_name(None) == hub_name(7) == hub_name("") == "hub"


@pytest.mark.parametrize("prefix", ODD)
def test_units_of_systemd_have_no_line_from_the_hub(alice: Clone, hub: Path, prefix: str) -> None:
    with_prefix(hub, prefix)
    alice.here("sync")
    shown = alice.here("cron", "show", "--systemd", "--agent", "coder", "--", "true").out
    assert "Description=bd: coder works on the hub hub\n" in shown
    assert "owned" not in shown


def test_a_child_far_down_has_an_id_that_every_clone_reads(alice: Clone) -> None:
    parent = "hub-there"
    for depth in range(30):
        parent = alice.here("create", f"Depth {depth}", "--parent", parent, "--json").json["id"]
        assert is_bead_id(parent), parent
    assert alice.here("list", "--json", "--strict").json


@pytest.mark.parametrize(
    "path", [".beads/agents/a/b.yaml", ".agent-status/a/b.yaml", ".beads/triggers/a/b.yaml", ".beads/agents/x/y/z.yaml"]
)
def test_files_in_folders_of_folders_are_nobody(alice: Clone, hub: Path, path: str) -> None:
    """Their names would have a slash in them, and lead out of wherever an agent's files are kept."""
    plant(hub, {path: "name: b\non: 'dag:hub-there'\nplan: [{title: x, name: root}]\npool: {min: 1, start: 'touch owned'}\n"})
    alice.here("sync")
    assert path in alice.here("doctor", "--json", code=7).out
    assert not [one for one in alice.here("pool", "list", "--json").json if "/" in one["name"]]
    assert "/" not in "".join(one["name"] for one in alice.here("trigger", "list", "--json").json)


@pytest.mark.parametrize("agent", ["a/b", "../../beads/x", "-o", "A", "a\nb", "con", ""])
def test_what_another_clone_asks_for_makes_no_file_that_nobody_could_read(alice: Clone, hub: Path, agent: str) -> None:
    """A request beside the branch is any JSON: its agent was typed nowhere."""
    before = tip(hub)
    opened = open_clone(locate(str(alice.path)))
    try:
        with pytest.raises(BadInput):
            opened.publish(Claim(by=f"agent:{agent}", at=AT, runtime=RUNTIME, agent=agent, ids=["hub-there"]))
    finally:
        opened.close()
    assert tip(hub) == before
    bead = tip_bead(hub, "hub-there")
    assert bead is not None
    assert bead.status == "open"
    assert not [path for path in tip_paths(hub) if path.startswith(".agent-status")]


def test_a_name_begins_no_line_of_a_commit() -> None:
    form = {
        "verb": "release",
        "uid": "U\nBd-Uid: V",
        "by": "agent:x\nBd-Op: {}",
        "at": AT,
        "args": {},
        "tokens": {"a": "T\nBd-Token: S"},
    }
    text = commit_message.compose(Change({}, "release: a\n\nBd-Op: {}", touched=("a\nBd-Bead: b",)), form, tries=1)
    assert {key: len(values) for key, values in commit_message.parse(text).items()} == dict.fromkeys(
        ("Bd-Op", "Bd-Bead", "Bd-Agent", "Bd-Token", "Bd-Uid", "Bd-Tries"), 1
    )
    assert commit_message.form_of(text) == form
