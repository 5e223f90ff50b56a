"""Agents on the command line: what is written, what is shown, and that it fits a screen."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import pytest

from bd.cli.commands.ready import _UNFIT
from bd.policy import budget, eligibility
from bd.policy.eligibility import Eligibility
from bd.policy.roles import ROLES
from tests.truth import commit_file, git, tip_file

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)


def record(board: Clone, name: str, **env: Any) -> dict[str, Any]:
    """The record that `agent status NAME` shows."""
    [shown] = board.here("agent", "status", name, "--json", **env).json
    return dict(shown)


def test_an_agents_file_has_what_was_said_and_no_more(board: Clone) -> None:
    board.here(
        "agent", "add", "scribe", "--role", "publisher", "--interval", "45m", "--max", "3", "--skills", "write,post", "--title-word",
        "draft", "--title-prefix", "Publish:", "--label", "site/*", "--type", "review", "--capability", "git", "--capability", "web",
        "--cool-down", "5m", "--fallback", "--budget", "45",
    )  # fmt: skip
    assert (tip_file(board.path, ".beads/agents/scribe.yaml") or b"").decode() == (
        "name: scribe\nrole: publisher\ninterval: 45m\nmax_concurrent: 3\n"
        'skills:\n  title_words: [write, post, draft]\n  title_prefix: ["Publish:"]\n  labels: [site/*]\n  types: [review]\n'
        "capabilities: [git, web]\nbudget_usd: 45.0\ncool_down: 5m\nfallback: true\n"
    ).replace("interval: 45m", 'interval: "45m"').replace("cool_down: 5m", 'cool_down: "5m"')


def test_a_change_keeps_what_a_person_arranged(board: Clone) -> None:
    text = "# does the site\nname: builder\nrole: coding   # for now\nmax_concurrent: 2\n"
    commit_file(board.path, ".beads/agents/builder.yaml", text)
    board.here("agent", "add", "builder", "--max", "5", "--no-fallback")
    assert (tip_file(board.path, ".beads/agents/builder.yaml") or b"").decode() == text.replace("2", "5") + "fallback: false\n"
    board.here("agent", "add", "builder", "--role", "")
    assert b"role" not in (tip_file(board.path, ".beads/agents/builder.yaml") or b"")


def test_the_record_is_as_of_now(board: Clone, clock: FakeClock) -> None:
    board.here("agent", "add", "codemonkey", "--role", "coding", "--max", "2")
    board.here("assign", "hub-bug", "codemonkey")
    shown = record(board, "codemonkey")
    wanted = {
        "agent": "codemonkey",
        "name": "codemonkey",
        "role": "coding",
        "status": "available",
        "presumed_offline": False,
        "current_tasks": 1,
        "max_concurrent": 2,
        "beads": ["hub-work"],
        "pending_count": 1,
        "interval_s": 1800,
        "last_heartbeat": "2026-02-21T15:08:00Z",
        "heartbeat_age_s": 3960,
    }
    assert {key: shown[key] for key in wanted} == wanted
    clock.move(hours=1)
    assert record(board, "codemonkey")["presumed_offline"] is True
    assert "offline?  1/2 hub-work  2h ago" in board.here("agent", "list").out
    assert "open to everyone" in board.here("agent", "status").out
    board.here("claim", "hub-bug", "--agent", "bob")
    assert record(board, "codemonkey")["pending_count"] == 0


def test_status_is_by_rule(board: Clone) -> None:
    board.here("agent", "add", "codemonkey", "--max", "1")
    assert record(board, "codemonkey")["status"] == "busy"
    for verb, status in (("drain", "draining"), ("undrain", "busy"), ("offline", "offline"), ("online", "busy")):
        assert board.here(verb, "codemonkey", "--json").json["status"] == status
        assert record(board, "codemonkey")["status"] == status


def test_what_is_assigned_to_who_is_offline_is_open_and_nothing_new_is(board: Clone) -> None:
    board.here("agent", "add", "axiom")
    assert "routed to axiom" in board.here("claim", "hub-res", "--agent", "bob", code=5).err
    board.here("offline", "axiom")
    for command in (["assign", "hub-bug", "axiom"], ["update", "hub-kid2", "-a", "axiom"], ["create", "New", "-a", "axiom"]):
        refused = board.here(*command, "--json", code=5)
        assert refused.json["code"] == "agent_offline"
        assert "--force" in refused.json["hint"]
        assert board.here(*command, "--force", "--json").code == 0
    board.here("assign", "hub-kid1", "Ada Lovelace")
    assert "hub-res" in board.here("ready", "--agent", "bob").out
    board.here("claim", "hub-res", "--agent", "bob")
    board.here("release", "hub-res", "--reason", "no", "--agent", "bob")
    assert board.here("show", "hub-res", "--json").json[0]["assignee"] == "axiom"


def test_show_says_what_the_role_brings(board: Clone) -> None:
    board.here("agent", "add", "chief", "--role", "overseer", "--budget", "2.5")
    shown = board.here("agent", "show", "chief", "--json").json
    assert (shown["interval_s"], shown["fallback"], shown["skills"], shown["max_concurrent"]) == (900, True, {}, 1)
    assert shown["capacity"]["status"] == "available"
    text = board.here("agent", "show", "chief").out
    for words in (
        "chief overseer: available",
        "interval:     15m",
        "skills:       everything",
        "budget:       $2.5",
        "fallback:",
    ):
        assert words in text


def test_every_role_is_in_the_table(board: Clone) -> None:
    shown = board.here("agent", "roles").out
    assert [role["role"] for role in board.here("agent", "roles", "--json").json] == list(ROLES)
    assert all(f"\n{name} " in shown for name in ROLES)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_role_of_ones_own_brings_nothing_and_that_is_said(board: Clone) -> None:
    assert "did you mean coding?" in board.here("agent", "add", "mona", "--role", "codng").err
    assert "it brings no skills" in board.here("agent", "add", "flora", "--role", "gardening").err
    assert board.here("agent", "add", "cora", "--role", "coding").err == ""
    findings = board.here("doctor", "--json").json["findings"]
    assert [one["where"] for one in findings if one["code"] == "own_role"] == [".beads/agents/mona.yaml"]
    assert board.here("agent", "show", "flora", "--json").json["from_role"] == []


def test_ready_ends_with_a_line_for_each_reason(board: Clone) -> None:
    for words in ("--label infra/x", "--needs rust", "--assignee ann", "-l ui", "-l ui"):
        board.here("create", "Fix " + words.split()[-1] if "ui" not in words else "Paint", *words.split())
    board.here("agent", "add", "cora", "--role", "coding")
    *_, footer = board.here("ready", "--agent", "cora", "--label", "ui").out.partition(
        "Nothing is ready for cora (2 more do not fit"
    )
    assert footer.splitlines()[1].startswith("  2 outside its skills: hub-")
    reasons = board.here("ready", "--agent", "cora").out.partition("ready for cora")[2].splitlines()[1:]
    total = len(board.here("ready", "--json").json)
    fit = len(board.here("ready", "--json", "--agent", "cora").json)
    assert sum(int(line.split()[0]) for line in reasons) == total - fit
    assert {line.split(":")[0].lstrip(" 0123456789") for line in reasons} >= {
        "outside its skills",
        "in need of capabilities that it lacks",
    }


def test_every_reason_not_to_fit_has_words() -> None:
    sources = "".join(
        inspect.getsource(one) for one in (Eligibility.reasons, eligibility._skill_reason, eligibility._fallback_reason, budget)
    )
    assert set(re.findall(r'Reason\("(\w+)"', sources)) == set(_UNFIT)


@pytest.mark.parametrize("command", ["list", "status"])
def test_the_table_fits_80_columns(board: Clone, command: str) -> None:
    for name, role in (("codemonkey", "infrastructure"), ("infra-keeper", "infrastructure"), ("axiom", "overseer")):
        board.here("agent", "add", name, "--role", role, "--max", "12")
    board.here("offline", "infra-keeper")
    for number in range(11):
        board.here("create", f"Bead {number}")
    board.here("claim", "--next", "--count", "11", "--agent", "axiom", check=False)
    lines = board.here("agent", command).lines
    assert lines[0].split() == ["agent", "role", "status", "beads", "heartbeat", "next", "poll"]
    assert len(lines) == 4
    assert max(map(len, lines)) <= 80


def test_status_looks_at_the_hub_unless_told_not_to(shared: Clone, clone: Any) -> None:
    other = clone("bob")
    shared.here("agent", "add", "coder")
    assert other.here("agent", "list", "--json").json == []
    assert other.here("agent", "status", "--no-fetch", "--json").json == []
    assert [shown["name"] for shown in other.here("agent", "status", "--json").json] == ["coder"]
    git(shared.path, "remote", "set-url", "origin", "/nowhere")
    assert "using this clone's last known state" in shared.here("agent", "status", "--json").err


def test_a_hub_without_agents_says_so(local_hub: Clone) -> None:
    assert "`bd agent add NAME" in local_hub.here("agent", "list").out
    assert local_hub.here("agent", "list", "--json").json == []


def test_a_pause_is_seen_wherever_people_look(board: Clone) -> None:
    board.here("pause", "--reason", "moving\nhouse", "--agent", "chief")
    claim = board.here("claim", "--next", "--agent", "bob", "--json", code=3).json
    assert (claim["code"], claim["reason"], claim["retry_after_s"]) == ("agent_busy", "paused", 1800)
    for args in ((), ("stats",), ("agent", "status")):
        assert "The fleet is paused by chief since 2026-02-21T16:14:00Z: moving\\x0ahouse." in board.here(*args).out
    for args in ((), ("stats",)):
        paused = board.here(*args, "--json").json["paused"]
        assert paused == {"by": "agent:chief", "at": "2026-02-21T16:14:00Z", "reason": "moving\nhouse"}
    assert "the fleet is paused" in board.here("why", "hub-bug", "--agent", "bob").out
    board.here("resume")
    assert "paused" not in board.here("stats", "--json").json
    board.here("claim", "--next", "--agent", "bob")


def test_a_pause_that_cannot_be_published_is_none(shared: Clone, hub: Path) -> None:
    git(shared.path, "remote", "set-url", "origin", "/nowhere")
    assert shared.here("pause", "--json", code=6).json["written"] == "no"
    assert "paused" not in shared.here("stats", "--json").json
