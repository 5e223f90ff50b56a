"""The calls that existing clients of the Go tool make, word for word, in the order they make them.

Belongs here: argv and what each client reads from the answer.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import assert_issue, assert_no_nulls
from tests.cli.test_commands import leaves
from tests.running import BD, Clone, run_here
from tests.truth import git

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.one_in(2)

LINKED = {"id", "title", "status", "priority", "issue_type", "created_at", "updated_at", "dependency_type"}


# Every flag that the clients send, by command.
FLAGS = {
    "create": "-t --type -p --priority -d --description --notes --design --acceptance --external-ref -a --assignee --assign "
    "-l --labels --label --deps --id --parent --metadata --silent --title --graph",
    "list": "--status -s --priority -p --type -t --assignee -a --label -l --label-any --title --no-assignee --limit -n --all "
    "--include-infra --include-gates --parent --metadata-field --tree",
    "ready": "--limit -n --type --priority --assignee --unassigned -u --label --label-any --sort --parent --metadata-field",
    "blocked": "--parent",
    "update": "--claim --status --priority --type --title --description --design --acceptance --acceptance-criteria --notes "
    "--assignee --external-ref --parent --set-metadata --unset-metadata --add-label --remove-label",
    "close": "--reason -r --force -f",
    "reopen": "--reason",
    "delete": "--force",
    "show": "--include-dependents --include-comments",
    "dep add": "--type -t",
    "dep list": "--direction --type",
    "comment": "--author -a",
    "comments": "--author -a",
    "export": "-o",
}


@pytest.mark.parametrize("typed", FLAGS)
def test_every_flag_of_the_clients_is_known(typed: str) -> None:
    name, _, sub = typed.partition(" ")
    command = dict(leaves(name))[f"{name} {sub}".strip()]
    known = {flag for option in command.params for flag in option.opts}
    assert set(FLAGS[typed].split()) <= known


def test_the_version_is_one_that_the_mcp_server_takes() -> None:
    """It asks for 0.9.0 or more."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", run_here("version").out)
    assert found
    assert tuple(map(int, found.groups())) >= (0, 9, 0)


@pytest.fixture
def place(tmp_path: Path) -> Clone:
    """An empty repository, as a client finds it before its first call."""
    git(tmp_path, "init", "--quiet", "place")
    return Clone(tmp_path / "place")


# --- the MCP server: --actor and --json last, every field at once -------------------------


def test_the_calls_of_the_mcp_server(place: Clone) -> None:
    def call(line: str) -> Any:
        result = place.here(*shlex.split(line))
        return result.json if "--json" in line else result.out

    assert re.search(r"(\d+)\.(\d+)\.(\d+)", call("version"))
    call("init --prefix tt")
    assert (place.path / ".beads" / "metadata.json").exists()
    epic = call("create 'Epic A' -p 1 -t epic -d d --assignee al -l x -l y --json")
    assert (epic["title"], epic["priority"], epic["issue_type"], epic["assignee"], epic["labels"]) == (
        "Epic A",
        1,
        "epic",
        "al",
        ["x", "y"],
    )
    task = call("create 'Task B' -p 2 -t task --design ds --acceptance ac --external-ref gh-9 --json")
    assert (task["design"], task["acceptance_criteria"], task["external_ref"]) == ("ds", "ac", "gh-9")
    other = call(f"create 'Task C' -p 2 -t task --deps {task['id']} --json")
    for bead in (epic, task, other):
        assert_issue(bead)
        assert bead["id"].startswith("tt-")
    call(f"dep add {task['id']} {epic['id']} --type parent-child")
    assert {bead["id"] for bead in call("ready --limit 10 --json")} == {epic["id"], task["id"]}
    assert [
        bead["id"]
        for bead in call("ready --limit 5 --type epic --priority 1 --assignee al --label x --label-any y --sort oldest --json")
    ] == [epic["id"]]
    assert len(call("list --status open --title task --no-assignee --limit 3 --json")) == 2
    blocked = call("blocked --json")
    assert [(bead["id"], bead["blocked_by"]) for bead in blocked] == [(other["id"], [task["id"]])]
    shown = call(f"show {task['id']} --json")[0]
    assert {entry["id"] for entry in shown["dependencies"]} == {epic["id"]}
    assert {entry["id"] for entry in shown["dependents"]} == {other["id"]}
    for entry in (*shown["dependencies"], *shown["dependents"]):
        assert set(entry) >= LINKED
    claimed = call(f"update {task['id']} --claim --json")[0]
    assert claimed["status"] == "in_progress"
    changed = call(
        f"update {other['id']} --priority 0 --assignee bo --title T --description D --design E --acceptance A --notes N"
        " --external-ref gh-8 --json"
    )[0]
    assert (changed["priority"], changed["assignee"], changed["title"], changed["notes"]) == (0, "bo", "T", "N")
    call(f"comment {task['id']} hello")
    assert [(entry["text"], type(entry["id"])) for entry in call(f"comments {task['id']} --json")] == [("hello", str)]
    call(f"note {task['id']} more")
    assert call(f"close {task['id']} --reason done --json")[0]["close_reason"] == "done"
    assert call(f"reopen {task['id']} --reason again --json")[0]["status"] == "open"
    summary = call("stats --json")["summary"]
    assert {"total_issues", "open_issues", "in_progress_issues", "closed_issues", "blocked_issues", "ready_issues"} <= set(
        summary
    )
    assert "average_lead_time_hours" in summary
    assert call("doctor --check=pollution --json")["healthy"] is True
    assert call("doctor --check=validate --json")["healthy"] is True
    for line in ("list --json", f"show {task['id']} --json"):
        assert_no_nulls(call(line))
    assert call("list --no-auto-flush --no-auto-import --actor al --json")


# --- the browser UI: --sandbox first ------------------------------------------------------


def test_the_calls_of_the_browser_ui(board: Clone) -> None:
    def call(*args: str) -> Any:
        result = board.here("--sandbox", *args)
        assert result.err == "" or "now ready" in result.err, "a warning on stderr is an error message to the client"
        return result.json if "--json" in args else result.out

    stamp = board.path / ".beads" / ".stamp"
    before = stamp.stat().st_mtime_ns
    assert len(call("list", "--json", "--tree=false")) == 7
    assert call("epic", "status", "--json")[0]["epic"]["id"] == "hub-epic"
    assert len(call("ready", "--limit", "1000", "--json")) == 4
    assert [bead["id"] for bead in call("list", "--json", "--tree=false", "--status", "in_progress")] == ["hub-work"]
    assert [bead["id"] for bead in call("blocked", "--json")] == ["hub-kid2"]
    assert [bead["id"] for bead in call("list", "--json", "--tree=false", "--status", "closed", "--limit", "1000")] == [
        "hub-done"
    ]
    assert call("list", "--json", "--tree=false", "--status", "blocked", "--limit", "0") == []
    for more in ((), ("--include-dependents",)):
        shown = call("show", "hub-epic", "--json", *more)[0]
        assert [(entry["id"], entry["dependency_type"]) for entry in shown["dependents"]] == [
            ("hub-kid1", "parent-child"),
            ("hub-kid2", "parent-child"),
        ]
    assert stamp.stat().st_mtime_ns == before, "reads touch nothing in the folder that the UI watches"
    watched = sorted(path.name for path in (board.path / ".beads").iterdir())
    call("create", "From the browser", "-t", "bug", "-p", "1", "-d", "text")
    assert stamp.stat().st_mtime_ns != before, "a write touches a file there"
    assert sorted(path.name for path in (board.path / ".beads").iterdir()) == watched
    for flag, value in (
        ("--status", "blocked"),
        ("--status", "open"),
        ("--priority", "3"),
        ("--assignee", "bob"),
        ("--assignee", ""),
        ("--title", "New title"),
        ("--description", ""),
        ("--acceptance-criteria", "it works"),
        ("--notes", "n"),
        ("--design", "d"),
        ("--type", "task"),
    ):
        call("update", "hub-bug", flag, value)
        call("show", "hub-bug", "--json")
    call("dep", "add", "hub-bug", "hub-kid1")
    call("dep", "remove", "hub-bug", "hub-kid1")
    call("label", "add", "hub-bug", "seen")
    call("label", "remove", "hub-bug", "seen")
    call("comment", "hub-bug", "hello", "--author", "Ada")
    call("comments", "add", "hub-bug", "again", "--author", "Ada")
    assert [entry["author"] for entry in call("comments", "hub-bug", "--json")] == ["Ada", "Ada", "Ada"]
    call("delete", "hub-bug", "--force")
    refused = board.here("--sandbox", "show", "hub-bug", "--json", code=4)
    assert "no issue found" in refused.err


def test_metadata_lets_the_ui_recognise_a_workspace(board: Clone) -> None:
    metadata = json.loads((board.path / ".beads" / "metadata.json").read_text())
    assert metadata["backend"] not in ("dolt", "sqlite")
    assert not list((board.path / ".beads").glob("*.db"))


# --- shell scripts of a fleet's hub: jq over the answers ----------------------------------


def test_the_calls_of_hub_scripts(place: Clone) -> None:
    place.here("init", "--prefix", "beads-hub")
    script = """
    set -e
    printf '7\\tFirst\\n8\\tSecond\\n' | while IFS="$(printf '\\t')" read -r number title; do
      bd create "$title" --notes "https://example.org/issues/$number" --external-ref "gh-$number" --labels research --json
    done
    """
    shell = f'bd() {{ {" ".join(BD)} "$@"; }}\n'
    run = subprocess.run(["bash", "-c", shell + script], cwd=place.path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    beads = place.here("list", "--json").json
    assert {bead["notes"].rpartition("/")[2] for bead in beads} == {"7", "8"}
    for bead in beads:
        assert {"id", "title", "status", "priority", "updated_at", "created_at", "issue_type", "notes"} <= set(bead)
        assert bead["id"].startswith("beads-hub-")
        assert bead["id"].removeprefix("beads-hub-").isalnum()
    assigned = place.here("create", "T", "-p", "2", "--assign", "axiom", "--json").json
    assert assigned["assignee"] == "axiom"
    place.here("close", assigned["id"], "--reason", "R")
    place.here("update", beads[0]["id"], "--claim")
    assert place.here("show", beads[0]["id"], "--json").json[0]["owner"] == "test-person@beads-hub"
    place.here("update", beads[1]["id"], "--status", "blocked")
    place.here("update", beads[1]["id"], "--priority", "0")


def test_a_board_is_made_of_what_jq_reads(board: Clone) -> None:
    if not shutil.which("jq"):
        pytest.skip("jq is not installed")
    fields = "id title status priority owner updated_at created_at issue_type notes".split()
    asked = (
        f"bd list --json | jq -r '.[] | [{', '.join(f'.{name}' for name in fields)}] | @tsv'; bd dolt pull 2> /dev/null || true"
    )
    run = subprocess.run(
        ["bash", "-c", f'bd() {{ {" ".join(BD)} "$@"; }}; {asked}'], cwd=board.path, capture_output=True, text=True
    )
    rows = [line.split("\t") for line in run.stdout.splitlines() if "\t" in line]
    assert {row[0] for row in rows} == {bead["id"] for bead in board.here("list", "--json").json}
    assert all(row[2] and row[3] in "01234" and row[5] and row[6] and row[7] for row in rows), run.stdout


# --- the terminal viewer ------------------------------------------------------------------


def test_the_calls_of_the_viewer(board: Clone, tmp_path: Path) -> None:
    target = tmp_path / "issues.jsonl"
    exported = board.here("export", "-o", str(target))
    assert exported.out == ""
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert {line["id"] for line in lines} >= {"hub-bug", "hub-done"}
    for line in lines:
        assert line["title"]
        assert isinstance(line["priority"], int)
        assert line["updated_at"] >= line["created_at"][:-1]
        assert_no_nulls(line)
    database = ("--db", str(board.path / ".beads"))
    assert run_here(*database, "show", "--json", "--", "hub-bug", cwd=tmp_path).json[0]["id"] == "hub-bug"
    assert run_here(*database, "update", "--json", "--add-label=V", "--", "hub-bug", cwd=tmp_path).json[0]["labels"][0] == "V"
    assert run_here(*database, "dep", "add", "--json", "--type", "related", "--", "hub-bug", "hub-kid1", cwd=tmp_path).json[
        "status"
    ]
    assert run_here(*database, "update", "--json", "--claim", "--", "hub-bug", cwd=tmp_path).json[0]["status"] == "in_progress"
