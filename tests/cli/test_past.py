"""What was: history, and taking the last write back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.cli.app import SIGNS
from bd.cli.table import COMMANDS, PAST
from tests.truth import commit_file, git, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(18)


def test_history_tells_who_changed_what_and_when(board: Clone) -> None:
    board.here("release", "hub-work", "--reason", "tired", "--agent", "codemonkey")
    events = board.here("history", "hub-work", "--json").json
    assert [(event["verb"], event["by"], event["at"]) for event in events] == [
        ("create", "Test Person", "2026-02-21T15:07:00Z"),
        ("claim", "codemonkey", "2026-02-21T15:08:00Z"),
        ("release", "codemonkey", "2026-02-21T16:14:00Z"),
    ]
    assert events[1]["changes"]["status"] == {"old": "open", "new": "in_progress"}
    assert events[2]["changes"]["status_reason"] == {"new": "tired"}
    assert "old" not in events[0]["changes"]["title"]
    assert all(len(event["commit"]) == 40 for event in events)
    text = board.here("history", "hub-work", "--limit", "1")
    assert "release" in text.out
    assert "claim  " not in text.out


def test_history_of_hand_edits_and_deleted_beads(board: Clone) -> None:
    text = (board.path / "beads" / "hub-bug.yaml").read_text()
    commit_file(board.path, "beads/hub-bug.yaml", text.replace("priority: 0", "priority: 3"), "by hand")
    board.here("delete", "hub-bug", "--force")
    events = board.here("history", "hub-bug", "--json").json
    assert [event["verb"] for event in events][-2:] == ["by hand", "delete"]
    assert events[-2]["changes"]["priority"] == {"old": 0, "new": 3}


def test_history_as_it_was(board: Clone) -> None:
    assert [event["verb"] for event in board.here("history", "hub-work", "--at", "2026-02-21T15:07:30Z", "--json").json] == [
        "create"
    ]


def test_history_says_who_and_what_became_of_claims(board: Clone) -> None:
    board.here("release", "hub-work", "--reason", "tired", "--agent", "codemonkey")
    board.here("claim", "hub-work", "--agent", "bob", "--reserve")
    board.here("start", "hub-work", "--agent", "bob")
    board.here("claim", "hub-work", "--agent", "bob", "--resume")
    board.here("close", "hub-work", "--force", "--reason", "bob is gone", "--agent", "ann")
    text = (board.path / "beads/hub-work.yaml").read_text(encoding="utf-8")
    commit_file(board.path, "beads/hub-work.yaml", text.replace("priority: 2", "priority: 3"), "by hand")
    events = board.here("history", "hub-work", "--json").json
    assert [(event["kind"], event["claims"]) for event in events] == [
        ("human", []),
        ("agent", ["claimed by codemonkey, attempt 1"]),
        ("agent", ["the claim of codemonkey ended: given back"]),
        ("agent", ["reserved by bob, attempt 2"]),
        ("agent", ["bob began the work"]),
        ("agent", ["bob took its claim over under a new token"]),
        ("agent", ["the claim of bob ended: closed, by force: bob is gone"]),
        ("hand", []),
    ]
    told = board.here("history", "hub-work")
    assert "  codemonkey (agent)  claim\n    claimed by codemonkey, attempt 1\n    status: open -> in_progress\n" in told.out
    assert told.lines[-2].endswith("  Test Person (hand)  by hand")
    assert told.lines[-1] == "    priority: 2 -> 3"
    assert "claim: " not in told.out
    assert all(len(line) <= 80 for line in told.lines)


def test_history_goes_on_through_the_archive_and_back(board: Clone, clock: FakeClock) -> None:
    clock.move(days=400)
    board.here("archive")
    archived = board.here("history", "hub-done", "--json").json[-1]
    there = "beads/archive/2026-02-001.yaml/hub-done.yaml"
    assert (archived["verb"], archived["changes"]) == ("archive", {"file": {"old": "beads/hub-done.yaml", "new": there}})
    board.here("reopen", "hub-done", "hub-off")
    verbs = [event["verb"] for event in board.here("history", "hub-done", "--json").json]
    assert verbs == ["create", "close", "archive", "reopen"], "although that folder of the archive is gone"
    assert board.here("history", "hub-done", "--json").json[-1]["changes"]["status"] == {"old": "closed", "new": "open"}


def test_history_goes_on_where_a_file_got_another_id(board: Clone) -> None:
    git(board.path, "mv", "beads/hub-bug.yaml", "beads/hub-cors.yaml")
    text = (board.path / "beads/hub-cors.yaml").read_text(encoding="utf-8")
    commit_file(board.path, "beads/hub-cors.yaml", text.replace("id: hub-bug", "id: hub-cors"), "another id")
    board.here("update", "hub-cors", "--priority", "3")
    verbs = [event["verb"] for event in board.here("history", "hub-cors", "--json").json]
    assert verbs == ["create", "update", "comment", "by hand", "update"]


def test_history_since(board: Clone) -> None:
    start = tip(board.path)
    board.here("update", "hub-bug", "--priority", "3")
    for since in (start, "30m"):
        assert [event["verb"] for event in board.here("history", "hub-bug", "--since", since, "--json").json] == ["update"]
    assert board.here("history", "hub-kid1", "--since", start).out == "hub-kid1 has no history here since then.\n"
    assert len(board.here("history", "hub-bug", "--since", "2020-01-01", "--json").json) == 4


def test_history_is_cut_to_the_width_and_shows_both_ends(board: Clone) -> None:
    board.here("update", "hub-bug", "--description", "long " * 40)
    line = board.here("history", "hub-bug").lines[-1]
    assert line.startswith("    description: It fails. -> long long")
    assert len(line) <= 80


# --- the queue as it was ------------------------------------------------------------------

THEN = "2026-02-21T15:07:30Z"  # hub-bug, hub-epic, hub-kid1, hub-kid2, hub-res and hub-work were there
# Every command that answers as of the past, and what it has to show and must not.
READS = {
    "list": ("list --all", "hub-work", "hub-done"),
    "ready": ("ready", "hub-work", "hub-done"),
    "show": ("show hub-work", "ready", "in progress"),
    "brief": ("brief hub-bug", "the cause is the proxy", "hub-done"),
    "recall": ("recall", "Nothing is remembered", "hub-"),
    "memories": ("memories", "Nothing is remembered", "hub-"),
    "search": ("search the --status all", "hub-bug", "hub-later"),
    "count": ("count", "6", "9"),
    "children": ("children hub-epic", "hub-kid1", "hub-off"),
    "why": ("why hub-work", "hub-work is ready", "in progress"),
    "blocked": ("blocked", "hub-kid2", "hub-later"),
    "comments": ("comments hub-bug", "the cause is the proxy", "nothing"),
    "label": ("label list-all", "merge", "nothing"),
    "dep": ("dep list hub-kid2", "hub-kid1", "hub-done"),
    "history": ("history hub-work", "create", "claim"),
    "log": ("log", "created      hub-work", "claimed"),
    "board": ("board", "`hub-work`", "hub-done"),
    "metrics": ("metrics", "2026-02-21T15:07:30Z", "codemonkey"),
    "stats": ("stats", "6", "in progress: 1"),
    "epic": ("epic status", "hub-epic", "hub-done"),
    "dlq": ("dlq list", "No dead letters", "hub-work"),
    "agent": ("agent list", "", "codemonkey"),
    "audit": ("audit", "✓ 9 commits", "codemonkey"),
    "cost": ("cost hub-work", "hub-work", "hub-done"),
    "dag": ("dag show hub-epic", "hub-kid2", "hub-later"),
    "export": ("export --all", '"hub-work"', '"hub-done"'),
    "stale": ("stale --days 0", "hub-work", "hub-done"),
    "friction": ("friction", "Nothing fails too often", "hub-"),
    "schedule": ("schedule list", "o schedule", "hub-"),
    "trigger": ("trigger list", "o trigger", "hub-"),
    "config": ("config get prefix", "hub", "other"),
    "identity": ("identity list", "Nobody may sign here yet", "allowed"),
    "attention": ("attention", "Nothing needs a person", "hub-"),
    "stalled": ("stalled", "Nothing has stalled", "hub-"),
    "prime": ("prime --agent codemonkey", "3 beads are ready for you", "You hold"),
    "info": ("info", "6 beads", "9 beads"),
    "pool": ("pool status", "No pools", "codemonkey"),
    "plan": ("plan export hub-epic", "Draw the form", "Rewrite"),
    "context": ("context hub-work", "has no context_refs", "codemonkey"),
    "rebalance": ("rebalance status", "Nothing would move", "codemonkey"),
    "repair-deps": ("repair-deps", "Every edge leads to a bead", "hub-"),
}


def test_every_command_either_looks_at_the_past_or_refuses() -> None:
    assert READS.keys() == PAST
    assert COMMANDS.keys() >= PAST


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", READS)
def test_a_read_answers_as_of_then(board: Clone, name: str) -> None:
    typed, shown, hidden = READS[name]
    told = board.here(*typed.split(), "--at", THEN)
    assert shown in told.out, told
    assert hidden not in told.out, told
    board.here(*typed.split(), "--at", THEN, "--json")


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - PAST))
def test_what_is_about_now_or_changes_things_refuses_the_past(board: Clone, name: str) -> None:
    before = tip(board.path)
    words = [name, "hub-bug", "--agent", "bob"] if name in ("claim", "close") else [name]
    refused = board.here(*words, "--at", THEN, "--json", code=2)
    assert (refused.json["code"], tip(board.path)) == ("bad_input", before)
    assert "--at reads the past" in refused.err
    board.here(name, "--help", "--at", THEN)


@pytest.mark.parametrize(
    "args",
    [
        *("dep add hub-res hub-bug", "label add hub-bug x", "comments add hub-bug x", "agent remove codemonkey"),
        *("config set agent bob --clone", "config set agent bob --user", "config set prefix x", "friction --create"),
        *("schedule run", "trigger run", "trigger fire x -", "identity init", "identity allow", "identity revoke bob"),
        *("stalled --reassign", "plan apply -", "rebalance", "pool run --once", "pool scale codemonkey 2", "context"),
    ],
)
def test_what_changes_things_beside_a_read_refuses_the_past(board: Clone, args: str) -> None:
    before = tip(board.path)
    assert "--at reads the past" in board.here(*args.split(), "--at", "HEAD", code=2).err
    assert tip(board.path) == before


def test_settings_schedules_and_triggers_are_as_they_were(board: Clone, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("title: Nightly\ntasks: [{name: a, title: Do it}]\n")
    before = tip(board.path)
    board.here("config", "set", "claim_ttl", "77m")
    board.here("schedule", "add", "nightly", "--cron", "0 3 * * *", "--title", "Nightly")
    board.here("trigger", "add", "after", "--on", "dag:hub-epic", "--plan", str(tmp_path / "plan.yaml"))
    for words, now in ((["config", "show"], "77m"), (["schedule", "list"], "nightly"), (["trigger", "list"], "after")):
        assert now in board.here(*words).out
        assert now not in board.here(*words, "--at", before).out


def test_what_time_decides_is_as_it_was(board: Clone, clock: FakeClock) -> None:
    board.here("defer", "hub-bug", "--until", "2026-02-21T18:00:00Z")
    then = tip(board.path)
    clock.move(days=1)
    assert board.here("why", "hub-bug", "--json").json["ready"] is True
    for at in (then, "23h"):
        assert board.here("why", "hub-bug", "--at", at, "--json").json["ready"] is False
    assert "hub-bug" not in board.here("ready", "--at", then).out
    assert board.here("why", "hub-bug", "--at", "2026-02-21T19:00:00Z", "--json").json["ready"] is True


def test_what_had_stalled_is_told_by_the_files_of_then(board: Clone, clock: FakeClock) -> None:
    claimed = tip(board.path)
    clock.move(days=2)
    board.here("close", "hub-work", "--force", "--reason", "it was done")
    assert board.here("stalled", "--json").json == []
    told = board.here("stalled", "--at", "1d", "--json")
    [one] = told.json
    assert (one["id"], one["owner"].partition("@")[0], one["why"]) == ("hub-work", "codemonkey", "overdue")
    assert one["left_out"] == [SIGNS]
    assert told.err == f"as of that time, without data that exists only now: {SIGNS}\n"
    assert board.here("stalled", "--at", claimed, "--json").json == [], "at that moment it had not"
    assert board.here("attention", "--at", "1d", "--json").json["stalled"][0]["id"] == "hub-work"
    assert board.here("attention", "--json").json["stalled"] == []


def test_a_look_at_the_past_needs_no_hub_and_is_no_look(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    alice.here("create", "One", "--id", "hub-a")
    alice.here("claim", "hub-a", "--agent", "bob")
    hub.rename(hub.with_name("away.git"))
    for words in ("stalled", "attention", "rebalance status", "pool status", "agent status"):
        told = alice.here(*words.split(), "--at", "HEAD")
        assert "warning" not in told.err, told
        assert SIGNS in told.err
    assert not (alice.path / ".git" / "bd" / "looks.json").exists()


def test_what_a_clone_keeps_is_of_this_moment(clone: Callable[[str], Clone]) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.here("create", "One", "--id", "hub-a")
    bob.here("sync")
    for own, title in ((alice, "By Alice"), (bob, "By Bob")):
        text = (own.path / "beads" / "hub-a.yaml").read_text()
        commit_file(own.path, "beads/hub-a.yaml", text.replace("title: One", f"title: {title}"), "by hand")
        own.here("sync", check=False)
    now, then = bob.here("attention", "--json").json, bob.here("attention", "--at", "HEAD", "--json").json
    assert len(now["refused"]) == 1
    assert (then["refused"], then["total"]) == ([], 0)
    assert then["left_out"] == [SIGNS, "this clone's writes that are not on the hub"]
    assert "left_out" not in now


def test_pools_are_told_by_the_files_of_then(board: Clone) -> None:
    file = board.path / ".beads" / "agents" / "coder.yaml"
    file.parent.mkdir(exist_ok=True)
    commit_file(board.path, ".beads/agents/coder.yaml", "role: coding\npool: {min: 1, max: 3}\n", "a pool")
    board.here("claim", "hub-bug", "--agent", "coder-2")
    board.here("drain", "coder-2")
    then = tip(board.path)
    board.here("release", "hub-bug", "--reason", "tired", "--force")
    [pool] = board.here("pool", "status", "--at", then, "--json").json
    assert (pool["name"], pool["running"], pool["draining"], pool["left_out"][0]) == ("coder", [], ["coder-2"], SIGNS)
    assert pool["wanted"] >= 1
    assert board.here("pool", "status", "--json").json[0]["draining"] == [], "nothing runs on this host"
    assert board.here("pool", "status", "--at", f"{then}~3").out == "No pools.\n"


def test_bd_alone_shows_where_you_were(board: Clone) -> None:
    told = board.here("--at", THEN)
    assert told.lines[-1].startswith("5 ready, ")
    assert "Next:" not in told.out
    assert told.err.endswith("what to do next\n")
    shown = board.here("--at", THEN, "--json").json
    assert (sum(shown["phases"].values()), shown["commit"]) == (6, git(board.path, "rev-list", "-1", f"--before={THEN}", "HEAD"))


def test_undo_takes_the_last_write_back(board: Clone) -> None:
    board.here("update", "hub-bug", "--priority", "3", "--title", "Renamed")
    before = tip_bead(board.path, "hub-bug")
    answer = board.here("undo", "--json").json
    after = tip_bead(board.path, "hub-bug")
    assert before is not None
    assert after is not None
    assert (answer[0]["id"], answer[0]["priority"]) == ("hub-bug", 0)
    assert (after.title, after.priority) == ("Fix CORS in the auth middleware", 0)
    assert after.updated_at > before.updated_at
    assert git(board.path, "log", "-1", "--format=%s") == "undo: hub-bug by Test Person"


def test_undo_of_every_kind(board: Clone) -> None:
    def state() -> dict[str, str]:
        found = {}
        for bead in board.here("list", "--all", "--json").json:
            found[bead["id"]] = f"{bead['status']} {bead.get('assignee')} {bead.get('labels')} {bead.get('close_reason')}"
        return found

    before = state()
    for args in (
        ("create", "New"),
        ("close", "hub-bug", "hub-res"),
        ("delete", "hub-kid1", "--force"),
        ("label", "add", "hub-bug", "x"),
        ("cancel", "hub-epic", "--cascade"),
        ("defer", "hub-bug"),
        ("assign", "hub-bug", "bob"),
        ("claim", "hub-bug", "--agent", "bob"),
        ("reopen", "hub-done"),
    ):
        board.here(*args)
        assert state() != before, args
        who = args[args.index("--agent") :] if "--agent" in args else ()
        assert board.here("undo", *who).out.startswith("✓ Undone: "), args
        assert state() == before, args


def test_an_undone_claim_stays_counted_and_is_forgiven(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    refused = board.here("undo", code=5).err  # not anybody's to take back
    assert "is claimed by bob@hub" in refused
    assert "`bd undo --agent bob`" in refused
    board.here("undo", "--agent", "bob")
    bead = tip_bead(board.path, "hub-bug")
    assert bead is not None
    assert bead.claim is None
    assert (bead.attempts, bead.get("attempts_forgiven")) == (1, 1)


def test_undo_is_refused_when_somebody_built_on_it(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead_id = alice.here("q", "Shared").out.strip()
    alice.here("update", bead_id, "--priority", "0")
    bob.here("comment", bead_id, "seen")
    before = tip(hub)
    refused = alice.here("undo", "--json", code=5)
    assert refused.json["code"] == "wrong_state"
    assert "was changed since" in refused.err
    assert tip(hub) == before


def test_undo_of_something_else_meanwhile_is_fine(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead_id = alice.here("q", "Mine").out.strip()
    alice.here("update", bead_id, "--priority", "0")
    other = bob.here("q", "Another").out.strip()
    alice.here("undo")
    assert tip_bead(hub, bead_id).priority == 2
    assert tip_bead(hub, other) is not None


def test_nothing_to_undo(local_hub: Clone) -> None:
    refused = local_hub.here("undo", "--json", check=False)
    assert refused.code in (4, 5)
    assert refused.err.startswith("Error: ")
    local_hub.here("config", "set", "max_attempts", "5")
    assert "changed no bead" in local_hub.here("undo", code=5).err
