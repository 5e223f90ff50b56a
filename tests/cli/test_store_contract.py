"""What a program asks that keeps its own beads in bd: BEADS_DIR on every call, both streams read as one.

It takes the JSON from the first bracket on, so nothing that is said before it may hold one.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.running import BD, run_here
from tests.truth import git

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = ("--all", "--include-infra", "--include-gates", "--limit", "0")


class Store:
    """The store's calls: each a process, its streams one pipe, started anywhere but in the hub."""

    def __init__(self, folder: Path, elsewhere: Path) -> None:
        self._folder = folder
        self._elsewhere = elsewhere

    def run(self, *args: str, fails: bool = False) -> str:
        environment = {**os.environ, "BEADS_DIR": str(self._folder / ".beads")}
        done = subprocess.run(
            [*BD, *args], cwd=self._elsewhere, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert bool(done.returncode) is fails, done.stdout
        return done.stdout

    def ask(self, *args: str) -> Any:
        said = self.run(*args)
        start = min(said.index(bracket) for bracket in "[{" if bracket in said)
        return json.loads(said[start:])

    def create(self, title: str, *args: str) -> Any:
        """A new bead, as it is read back."""
        made = self.ask("create", "--json", title, "-t", "task", *args)
        assert {"id", "title", "status", "issue_type", "created_at"} <= set(made)
        (shown,) = self.ask("show", "--json", made["id"])
        assert shown["title"] == title
        return shown

    def listed(self, *args: str) -> list[str]:
        return [bead["id"] for bead in self.ask("list", "--json", *args, *EVERYTHING)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    git(tmp_path, "init", "--quiet", "place")
    run_here("init", "-p", "ct", "--skip-hooks", "-q", cwd=tmp_path / "place")
    again = ("--server", "-p", "ct", "--skip-hooks", "--skip-agents", "--server-host", "h", "--server-port", "1", "-q")
    run_here("init", *again, cwd=tmp_path / "place")
    return Store(tmp_path / "place", tmp_path)


@pytest.mark.slow
def test_every_way_to_create_is_read_back(store: Store, tmp_path: Path) -> None:
    plain = store.create("Plain")
    assert (plain["status"], plain["issue_type"], plain["priority"]) == ("open", "task", 2)
    assert store.create("Labels", "--labels", "a,b")["labels"] == ["a", "b"]
    assert store.create("Metadata", "--metadata", '{"k": "", "n": 1}')["metadata"] == {"k": "", "n": 1}
    child = store.create("Child", "--parent", plain["id"])
    assert child["parent"] == plain["id"]
    assert store.create("Assigned", "--assignee", "al")["assignee"] == "al"
    assert store.create("Urgent", "--priority", "0")["priority"] == 0
    assert store.create("Told", "--description", "in words")["description"] == "in words"
    waits = store.create("Waits", "--deps", plain["id"])
    assert [edge["id"] for edge in waits["dependencies"]] == [plain["id"]]
    second = store.create("Second child", "--parent", plain["id"])
    assert set(store.listed("--parent", plain["id"])) == {child["id"], second["id"]}
    graph = tmp_path / "graph.json"
    nodes = [{"key": "root", "title": "Root", "type": "epic"}, {"key": "leaf", "title": "Leaf", "parent_key": "root"}]
    edges = [{"from_key": "leaf", "to_key": "root", "type": "related"}]
    graph.write_text(json.dumps({"nodes": nodes, "edges": edges}), encoding="utf-8")
    ids = store.ask("create", "--graph", str(graph), "--json")["ids"]
    (leaf,) = store.ask("show", "--json", ids["leaf"])
    assert (leaf["title"], leaf["parent"]) == ("Leaf", ids["root"])


@pytest.mark.slow
def test_lists_and_ready_by_what_beads_carry(store: Store) -> None:
    plain = store.create("Plain")["id"]
    rich = store.create("Rich", "--labels", "a,b", "--assignee", "al", "--metadata", '{"n": 1}')["id"]
    assert store.listed("--label=a") == [rich]
    assert store.listed("--assignee=al") == [rich]
    assert store.listed("--metadata-field", "n=1") == [rich]
    assert set(store.listed("--status=open", "--type=task")) == {plain, rich}
    ready = ("ready", "--json", "--limit", "0")
    assert {bead["id"] for bead in store.ask(*ready)} == {plain, rich}
    assert [bead["id"] for bead in store.ask(*ready, "--label=b")] == [rich]
    assert [bead["id"] for bead in store.ask(*ready, "--label=b", "--unassigned")] == []
    assert [bead["id"] for bead in store.ask("ready", "--json", "--unassigned", "--limit=1")] == [plain]
    assert store.run("ready", "--unassigned").splitlines()[0].split()[1] == plain
    store.run("close", plain, rich)
    assert store.listed("--status=open") == []
    assert set(store.listed()) == {plain, rich}


@pytest.mark.slow
def test_updates_are_read_back(store: Store) -> None:
    bead = store.create("Plain", "--labels", "a")["id"]

    def updated(*args: str) -> Any:
        store.ask("update", "--json", bead, *args)
        return store.ask("show", "--json", bead)[0]

    assert updated("--status", "in_progress")["status"] == "in_progress"
    assert updated("--status", "open", "--assignee", "bo")["assignee"] == "bo"
    assert "assignee" not in updated("--assignee", "")
    assert updated("--add-label", "b", "--add-label", "c", "--remove-label", "a")["labels"] == ["b", "c"]
    assert updated("--set-metadata", "k=", "--set-metadata", "n=v")["metadata"] == {"k": "", "n": "v"}
    assert updated("--unset-metadata", "n")["metadata"] == {"k": ""}
    changed = updated("--title", "Better", "--description", "d", "--priority", "1", "--type", "bug", "--persistent")
    assert (changed["title"], changed["description"], changed["priority"], changed["issue_type"]) == ("Better", "d", 1, "bug")
    parent = store.create("Parent")["id"]
    assert updated("--parent", parent)["parent"] == parent
    assert store.ask("update", "--json", bead, "--claim", "--actor=al")[0]["assignee"] == "al"
    assert "already claimed by al" in store.run("update", bead, "--claim", "--actor=bo", fails=True)


@pytest.mark.slow
def test_ends(store: Store) -> None:
    one, two, three = (store.create(title)["id"] for title in ("One", "Two", "Three"))
    assert [bead["status"] for bead in store.ask("close", "--json", one)] == ["closed"]
    assert [bead["status"] for bead in store.ask("close", "--json", one)] == ["closed"]
    assert {bead["id"]: bead["status"] for bead in store.ask("close", "--json", two, three)} == {two: "closed", three: "closed"}
    store.run("comment", one, "said")
    assert [entry["text"] for entry in store.ask("comments", one, "--json")] == ["said"]
    assert [bead["status"] for bead in store.ask("reopen", one, "--json")] == ["open"]
    assert store.ask("delete", "--force", "--json", three)["deleted"] == three
    assert "no issue found" in store.run("show", "--json", three, fails=True)
    assert store.ask("purge", "--json", "--dry-run").get("purged_count", 0) == 0
    for args in (("show", "--json"), ("update", "--json", "--title", "x"), ("close", "--json"), ("delete", "--force", "--json")):
        said = store.run(*args, "nonexistent-999", fails=True)
        assert "no issue found" in said or "not found" in said


@pytest.mark.slow
def test_settings_and_edges(store: Store) -> None:
    store.run("config", "set", "issue_prefix", "ct")
    store.run("config", "set", "types.custom", "molecule,convoy,message,event,gate,merge-request,agent,role,rig,session,spec")
    assert "convoy" in store.ask("config", "get", "--json", "types.custom")["value"]
    assert store.ask("config", "get", "--json", "no.such.key")["value"] == ""
    assert store.ask("create", "--json", "A convoy", "-t", "convoy")["issue_type"] == "convoy"
    one, two = (store.create(title)["id"] for title in ("One", "Two"))
    assert store.ask("dep", "list", two, "--json") == []
    store.run("dep", "add", two, one, "--type", "blocks")
    assert [(edge["id"], edge["dependency_type"]) for edge in store.ask("dep", "list", two, "--json")] == [(one, "blocks")]
    upwards = store.ask("dep", "list", one, "--json", "--direction=up", "--type=blocks")
    assert [edge["id"] for edge in upwards] == [two]
    assert store.ask("dep", "list", one, two, "--json")[0]["depends_on_id"] == one
    assert [bead["id"] for bead in store.ask("ready", "--json", "--limit", "0", "--type=task")] == [one]
    store.run("dep", "remove", two, one)
    assert store.ask("dep", "list", two, "--json") == []
