"""Words of the Go tool: what is taken and ignored, what is refused with a word, and its other ways to say things."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest

from bd.cli.click_commands import RefusedFlag, bd
from bd.cli.table import COMMANDS
from bd.compat.go_options import IGNORED_FLAGS, REFUSED_COMMANDS, REFUSED_FLAGS
from tests.running import run_here
from tests.truth import git, tip, tip_bead

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone


def command_of(typed: str) -> click.Command:
    name, _, sub = typed.partition(" ")
    found = bd.get_command(click.Context(bd), name)
    if isinstance(found, click.Group):
        found = found.commands[sub]
    assert found is not None
    return found


# --- the tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("typed", IGNORED_FLAGS)
def test_ignored_flags_are_known_and_hidden(typed: str) -> None:
    command = command_of(typed)
    options = {name: param for param in command.params if isinstance(param, click.Option) for name in param.opts}
    for flag in IGNORED_FLAGS[typed].split():
        option = options[flag.rstrip("=")]
        assert option.hidden, f"{flag} does something: it belongs to its command, not into the table"
        assert not option.expose_value, f"{flag} does something: it belongs to its command, not into the table"
        assert option.is_flag is not flag.endswith("=")


@pytest.mark.parametrize("typed", REFUSED_FLAGS)
def test_refused_flags_say_what_to_do(typed: str) -> None:
    for flag, instead in REFUSED_FLAGS[typed].items():
        name = flag.rstrip("=")
        assert any(isinstance(param, RefusedFlag) and name in param.opts for param in command_of(typed).params)
        refused = run_here(*typed.split(), "x", name, *(["x"] if flag.endswith("=") else []), code=2)
        assert refused.err == f"Error: {name} is not supported\nHint: {instead}\n"


@pytest.mark.parametrize("name", REFUSED_COMMANDS)
def test_refused_commands_say_what_to_do(name: str) -> None:
    group, _, sub = name.partition(" ")
    known = bd.get_command(click.Context(bd), group)
    assert known is None or (isinstance(known, click.Group) and sub and sub not in known.commands)
    refused = run_here(*name.split(), "anything", "--json", code=2)
    assert refused.json["code"] == "bad_input"
    assert refused.json["hint"] == REFUSED_COMMANDS[name]
    first = REFUSED_COMMANDS[name].partition("bd ")[2].split(" ")[0].rstrip(",:;")
    assert first in {"", "-C", *COMMANDS}, "the hint names a command that is there"


# --- other ways to say things -----------------------------------------------------------------


def test_statuses_may_come_with_the_go_tools_category(board: Clone) -> None:
    board.here("config", "set", "status.custom", "review:active,parked:frozen")
    board.here("update", "hub-bug", "--status", "review")
    assert board.here("show", "hub-bug", "--json").json[0]["status"] == "review"
    board.here("config", "unset", "status.custom")
    assert board.here("config", "get", "status.custom", "--json").json["value"] == ""


def test_a_dependency_said_from_the_other_end(board: Clone) -> None:
    board.here("dep", "hub-bug", "--blocks", "hub-later")
    waiting = tip_bead(board.path, "hub-later")
    assert waiting is not None
    assert list(waiting.depends_on) == ["hub-bug"]


def test_a_tree_upwards_of_one_status_and_as_a_diagram(board: Clone) -> None:
    up = [node["id"] for node in board.here("dep", "tree", "hub-kid1", "--reverse", "--json").json]
    assert up == ["hub-kid1", "hub-kid2"]
    board.here("update", "hub-kid1", "--status", "blocked")
    assert len(board.here("dep", "tree", "hub-kid2", "--status", "open", "--json").json) == 1
    assert len(board.here("dep", "tree", "hub-kid2", "--status", "blocked", "--json").json) == 2
    diagram = board.here("dep", "tree", "hub-kid2", "--format", "mermaid").lines
    assert diagram[0] == "flowchart TD"
    assert "  hub-kid2 --> hub-kid1" in diagram
    assert '  hub-kid1["hub-kid1: Draw the form"]' in diagram


def test_epics_whose_children_are_done_are_closed_at_once(board: Clone) -> None:
    assert board.here("epic", "close-eligible").lines == ["No epic has all its children done."]
    board.here("close", "hub-kid1", "hub-kid2", "--force")
    assert board.here("epic", "close-eligible", "--dry-run").lines == ["Would close hub-epic"]
    assert board.here("epic", "close-eligible", "--json").json["closed"] == ["hub-epic"]
    epic = tip_bead(board.path, "hub-epic")
    assert epic is not None
    assert epic.status == "closed"


def test_ready_can_claim_and_say_what_waits(board: Clone) -> None:
    explained = board.here("ready", "--explain", "--json").json
    assert [bead["id"] for bead in explained["blocked"]] == ["hub-kid2"]
    assert explained["summary"] == {"total_ready": 4, "total_blocked": 1}
    assert "    waits on hub-kid1" in board.here("ready", "--explain").out
    assert board.here("ready", "--claim", "--label", "no-such", "--json").json == []
    (claimed,) = board.here("ready", "--claim", "--label", "merge", "--actor", "bob", "--json").json
    assert (claimed["id"], claimed["status"], claimed["assignee"]) == ("hub-kid1", "in_progress", "bob")


def test_the_go_tools_filters(board: Clone) -> None:
    def listed(*flags: str) -> list[str]:
        return sorted(bead["id"] for bead in board.here("list", "--json", *flags).json)

    board.here("note", "hub-res", "Seen at NIGHT")
    assert listed("--desc-contains", "fails") == ["hub-bug"]
    assert listed("--notes-contains", "night") == ["hub-res"]
    assert listed("--priority-max", "1") == ["hub-bug", "hub-epic", "hub-kid1"]
    assert listed("--priority-min", "1", "--priority-max", "1") == ["hub-epic", "hub-kid1"]
    assert listed("--priority", "0", "--priority-min", "1") == []
    assert listed("--no-labels", "--no-parent") == ["hub-later", "hub-res"]


def test_long_texts_come_from_files_and_stdin(board: Clone, tmp_path: Path) -> None:
    (tmp_path / "design.md").write_text("Draw it first.\n")
    made = board.here("create", "T", "--design-file", str(tmp_path / "design.md"), "--stdin", "--json", input="Long.\n").json
    assert (made["design"], made["description"]) == ("Draw it first.\n", "Long.\n")
    changed = board.here("update", "hub-bug", "--stdin", "--json", input="Longer.\n").json[0]
    assert changed["description"] == "Longer.\n"
    board.here("note", "hub-bug", "--stdin", input="from a pipe")
    assert board.here("show", "--id", "hub-bug", "--json").json[0]["notes"] == "from a pipe"


# --- scripts and hooks ------------------------------------------------------------------------


def test_a_commit_goes_on_where_hooks_call_bd(board: Clone) -> None:
    hooks = board.path / ".beads" / "hooks"
    hooks.mkdir()
    from tests.running import BD

    for name in ("pre-commit", "prepare-commit-msg", "post-checkout", "post-merge", "pre-push"):
        (hooks / name).write_text(f'#!/bin/sh\nexec {" ".join(BD)} hooks run {name} "$@"\n')
        (hooks / name).chmod(0o755)
    git(board.path, "config", "core.hooksPath", ".beads/hooks")
    (board.path / "README").write_text("hello\n")
    git(board.path, "add", "README")
    git(board.path, "commit", "--quiet", "-m", "A readme")
    git(board.path, "switch", "--quiet", "-c", "aside")
    assert git(board.path, "log", "-1", "--format=%s") == "A readme"


def test_a_graph_answers_with_ids_by_key(board: Clone, tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps({"title": "Root", "tasks": [{"name": "one", "title": "One"}]}))
    answer = board.here("create", "--graph", str(tmp_path / "graph.json"), "--json").json
    assert answer["ids"]["one"] in answer["created"]


def test_upkeep_writes_nothing(board: Clone) -> None:
    before = tip(board.path)
    for args in ("purge --force", "repair-deps --fix", "hooks install", "dolt commit", "dolt pull"):
        board.here(*args.split())
    assert tip(board.path) == before


def test_the_json_help_lists_every_command_with_its_flags() -> None:
    shown = run_here("help", "--json").json
    by_name = {entry["name"]: entry for entry in shown["commands"]}
    assert {name.partition(" ")[0] for name in by_name} == set(COMMANDS)
    assert "--json" in shown["global_options"]
    claim = {flag for option in by_name["claim"]["options"] for flag in option["flags"]}
    assert "--next" in claim
    assert by_name["hooks run"]["hidden"]
    assert "--sandbox" not in claim
    for entry in by_name.values():
        assert entry["help"].endswith((".", "nothing.")), entry["name"]
        for option in entry["options"]:
            assert option["help"], f"{entry['name']} {option['flags']}"
