"""Which beads a list shows: filters, orders, derived names, and the pools' check lines."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import BD
from tests.truth import tip

if TYPE_CHECKING:
    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(12)

FILTERS = {
    "--status open": "bug epic kid1 kid2 res",
    "-s in_progress": "work",
    "--status in-progress": "work",
    "--status closed": "done",
    "--status closed,cancelled": "done off",
    "--status closed -s open": "bug done epic kid1 kid2 res",
    "--state open": "bug epic kid1 kid2 res",
    "--status deferred": "later",
    "--status all": "bug done epic kid1 kid2 later off res work",
    "--all": "bug done epic kid1 kid2 later off res work",
    "--status ready": "bug epic kid1 res",
    "--ready": "bug epic kid1 res",
    "--status pending": "kid2 later",
    "--status running": "work",
    "--status hooked": "work",
    "--status retrying": "",
    "--status parked": "",
    "--status completed": "done",
    "--type bug": "bug",
    "-t bug,research": "bug res",
    "--exclude-type epic,task": "bug res work",
    "--priority 0": "bug",
    "-p P1 -p 0": "bug epic kid1",
    "--assignee axiom": "res",
    "-a nobody-here": "",
    "--no-assignee": "bug epic kid1 kid2 later",
    "--unassigned": "bug epic kid1 kid2 later",
    "-u": "bug epic kid1 kid2 later",
    "--label merge": "kid1 work",
    "-l merge,web": "kid1",
    "--label-any merge,infra/auth": "bug kid1 work",
    "--exclude-label web": "bug later res work",
    "--parent hub-epic": "kid1 kid2",
    "--parent epic": "kid1 kid2",
    "--no-parent": "bug epic later res work",
    "--title FORM": "kid1 kid2",
    "--title-contains form": "kid1 kid2",
    "--id hub-bug,hub-done": "bug done",
    "--metadata-field team=core": "bug",
    "--metadata-field team=other": "",
    "--created-after 2026-02-21T15:08Z": "later",
    "--created-before 2026-02-21T15:02Z": "epic kid1",
    "--created-after 2d": "bug epic kid1 kid2 later res work",
    "--created-before yesterday": "",
    "--updated-after 2026-02-21T15:12:30Z": "later",
    "--all --closed-after 2026-02-21T15:11Z": "off",
    "--all --closed-before 2026-02-21T15:11Z": "done",
    "--status ready --label merge": "kid1",
    "--include-infra --include-gates --type task": "kid1 kid2 later",
}


def names(board: Clone, *args: str) -> str:
    return " ".join(sorted(bead["id"].removeprefix("hub-") for bead in board.here(*args, "--json").json))


@pytest.mark.parametrize("filters", FILTERS)
def test_list_filters(board: Clone, filters: str) -> None:
    assert names(board, "list", *filters.split()) == FILTERS[filters]


def test_stalled_is_derived(board: Clone, clock: FakeClock) -> None:
    assert names(board, "list", "--status", "stalled") == ""
    clock.move(hours=3, minutes=20)
    assert names(board, "list", "--status", "stalled") == ""  # twice two hours, and the half that clocks may differ by
    clock.move(minutes=10)
    assert names(board, "list", "--status", "stalled") == "work"


def test_a_deferred_bead_whose_time_has_come_is_open(board: Clone, clock: FakeClock) -> None:
    clock.set("2099-03-01T00:00:00Z")
    assert "later" in names(board, "list", "--status", "open")
    assert "later" in names(board, "ready")
    assert names(board, "list", "--status", "deferred") == ""
    assert board.here("show", "hub-later", "--json").json[0]["status"] == "open"


@pytest.mark.parametrize(
    ("flags", "first"),
    [
        ("", ["bug", "epic", "kid1"]),
        ("--sort priority", ["bug", "epic", "kid1"]),
        ("--sort created", ["epic", "kid1", "kid2"]),
        ("--sort oldest", ["epic", "kid1", "kid2"]),
        ("--sort created --reverse", ["later", "work", "res"]),
        ("--sort title", ["res", "kid1", "bug"]),
        ("--sort id", ["bug", "epic", "kid1"]),
        ("--sort type", ["bug", "epic", "res"]),
        ("--sort updated -r", ["later", "work", "res"]),
        ("--sort status", ["later", "work", "bug"]),
        ("--sort assignee", ["res", "work", "bug"]),
    ],
)
def test_orders(board: Clone, flags: str, first: list[str]) -> None:
    shown = [bead["id"].removeprefix("hub-") for bead in board.here("list", *flags.split(), "--json").json]
    assert shown[:3] == first


def test_ready_takes_the_same_filters(board: Clone) -> None:
    assert names(board, "ready", "--label", "merge") == "kid1"
    assert names(board, "ready", "--type", "bug", "--priority", "0") == "bug"
    assert names(board, "ready", "--unassigned") == "bug epic kid1"
    assert names(board, "ready", "--assignee", "axiom") == "res"
    assert names(board, "ready", "--parent", "hub-epic") == "kid1"
    assert names(board, "ready", "--metadata-field", "team=core") == "bug"
    assert board.here("ready", "--sort", "oldest", "--json").json[0]["id"] == "hub-epic"
    assert [bead["id"] for bead in board.here("ready", "--limit", "1", "--json").json] == ["hub-bug"]


def test_ready_for_an_agent_is_what_a_claim_takes(board: Clone) -> None:
    assert names(board, "ready", "--agent", "bob") == "bug kid1"
    assert names(board, "ready", "--agent", "axiom") == "bug kid1 res"
    assert names(board, "ready", "--agent", "bob", "--all") == "bug epic kid1 res"
    assert "do not fit: bd ready --all)" in board.here("ready", "--agent", "bob").out
    first = board.here("ready", "--agent", "bob", "--json").json[0]["id"]
    assert board.here("claim", "--next", "--agent", "bob", "--json").json[0]["id"] == first


def test_search(board: Clone) -> None:
    assert names(board, "search", "proxy") == "bug"
    assert names(board, "search", "FORM", "wire") == "kid2"
    assert names(board, "search", "gh-9") == "bug"
    assert names(board, "search", "pipeline") == ""
    assert names(board, "search", "pipeline", "--status", "all") == "done"
    assert names(board, "search", "infra/auth") == "bug"
    assert names(board, "search", "the", "--type", "epic") == "epic"


def test_an_id_may_be_shortened(board: Clone) -> None:
    for typed in ("hub-bug", "bug", "hub-b", "b"):
        assert board.here("show", typed, "--json").json[0]["id"] == "hub-bug"
    refused = board.here("show", "kid", "--json", code=2)
    assert refused.json["candidates"] == ["hub-kid1", "hub-kid2"]
    assert board.here("show", "ug", "--json", code=4).json["code"] == "no_such_bead", "never by a part in the middle"
    board.here("update", "kid1", "--priority", "0")
    assert board.here("show", "hub-kid1", "--json").json[0]["priority"] == 0


def test_the_queue_as_it_was(board: Clone) -> None:
    """--at takes a commit, a time, or how long ago, on every read."""
    assert names(board, "list", "--at", "2026-02-21T15:03:30Z") == "bug epic kid1 kid2"
    assert names(board, "ready", "--at", "2026-02-21T15:07:30Z") == "bug epic kid1 res work"
    assert names(board, "list", "--at", "70m") == "bug epic kid1 kid2"
    assert names(board, "list", "--at", "HEAD") == names(board, "list")
    assert names(board, "list", "--at", "HEAD~1") == names(board, "list").replace(" later", "")
    assert board.here("count", "--at", "2026-02-21T15:03:30Z", "--json").json["count"] == 4
    assert board.here("show", "hub-work", "--at", "2026-02-21T15:07:30Z", "--json").json[0]["status"] == "open"
    assert board.here("why", "hub-work", "--at", "2026-02-21T15:07:30Z", "--json").json["ready"] is True
    board.here("show", "hub-later", "--at", "2026-02-21T15:03:30Z", code=4)
    assert names(board, "list") == "bug epic kid1 kid2 later res work", "and the present is as it was"


def test_nothing_is_written_in_the_past(board: Clone) -> None:
    before = tip(board.path)
    for args in (
        ("create", "X"),
        ("close", "hub-bug"),
        ("claim", "--next", "--agent", "bob"),
        ("claim", "hub-bug", "--agent", "bob"),
    ):
        assert "--at reads the past" in board.here(*args, "--at", "HEAD~1", code=2).err
    assert tip(board.path) == before


# --- check lines of pools -----------------------------------------------------------------

CHECKS = {
    "bd ready --json | jq length": 4,
    "bd list --label merge --status ready --json | jq length": 1,
    "bd list --status hooked --json | jq length": 1,
    "echo $(( $(bd ready --json | jq length) + $(bd list --status hooked --json | jq length) ))": 5,
}


@pytest.mark.parametrize("line", CHECKS)
def test_check_lines_of_pools(board: Clone, line: str) -> None:
    jq = "jq length" if shutil.which("jq") else f"{sys.executable} -c 'import json,sys; print(len(json.load(sys.stdin)))'"
    script = f'bd() {{ {" ".join(BD)} "$@"; }}; {line.replace("jq length", jq)}'
    run = subprocess.run(["bash", "-c", script], cwd=board.path, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == (str(CHECKS[line]), "")


@pytest.mark.parametrize("line", [line for line in CHECKS if line.startswith("bd")])
def test_check_lines_of_an_empty_hub(local_hub: Clone, line: str) -> None:
    words = line.partition(" | ")[0].split()[1:]
    assert json.loads(local_hub.here(*words).out) == []


def test_what_waits_for_a_person_is_a_list_of_its_own(board: Clone, clock: FakeClock) -> None:
    board.here("wait-human", "hub-bug", "--reason", "Which proxy?")
    clock.move(hours=3)
    board.here("update", "hub-bug", "--status", "blocked", "--priority", "1")  # a change does not make it younger
    assert names(board, "list", "--waiting", "human") == "bug"
    assert names(board, "list", "--waiting", "Human", "-t", "task") == ""
    assert names(board, "list", "--waiting", "vendor") == ""
    assert (
        "hub-bug ● P1 bug Fix CORS in the auth middleware   waits for human, 3h: Which proxy?"
        in board.here("list", "--waiting", "human").out
    )
    assert board.here("list", "--waiting", "human", "--json").json[0]["waiting_since"] == "2026-02-21T16:14:00Z"
    assert "bug" not in names(board, "ready")
    assert names(board, "list", "--status", "stalled") == ""
    board.here("update", "hub-bug", "--status", "open")
    assert names(board, "list", "--waiting", "human") == "", "however it was opened"


def test_a_filter_by_a_bead_that_is_not_there_finds_nothing(board: Clone) -> None:
    for words in ("list", "ready", "blocked", "search Fix", "list --all", "ready --limit 0"):
        ended = board.here(*words.split(), "--parent", "hub-nowhere", "--json")
        assert ended.json == []
        assert "there is no bead hub-nowhere" in ended.err
    assert board.here("count", "--parent", "hub-nowhere", "--json").json["count"] == 0
    assert board.here("list", "--id", "hub-nowhere", "--json").json == []
    assert board.here("children", "hub-nowhere", code=4).out == ""


def test_children_of_a_missing_bead_are_found_by_its_id(local_hub: Clone) -> None:
    row = {"id": "web-b", "title": "Left alone", "priority": 2, "parent": "hub-a"}
    (local_hub.path / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    local_hub.here("import", "a.jsonl")
    assert [bead["id"] for bead in local_hub.here("list", "--parent", "hub-a", "--json").json] == ["web-b"]


def test_beads_made_in_one_second_are_listed_in_the_order_they_were_made(local_hub: Clone, clock: FakeClock) -> None:
    order = []
    for number in range(6):
        clock.move(milliseconds=1)
        order.append(local_hub.here("create", f"Do {number}", "--silent").out.strip())
    plan = "".join(f"- {{title: Part {number}}}\n" for number in range(6))
    (local_hub.path / "beads.yaml").write_text(plan, encoding="utf-8")
    clock.move(milliseconds=1)
    made = local_hub.here("create", "--file", "beads.yaml", "--json").json
    order += list(made["ids"].values()) if isinstance(made, dict) else [bead["id"] for bead in made]
    for words in ("list", "ready", "list --sort created", "list --sort hybrid"):
        assert [bead["id"] for bead in local_hub.here(*words.split(), "--json").json] == order
