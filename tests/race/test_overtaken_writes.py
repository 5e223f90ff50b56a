"""Every verb that writes, overtaken: another writer changes the hub between the decision and the push.

A new verb joins here: with a row in `WRITES`, and with rows in `CONTESTED` for what the other
writer can do to its bead. A verb that only reads is named in `READS`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bd.cli.table import COMMANDS
from bd.core.schema import volume_path
from bd.core.times import instant_of, time_text
from tests.race.history import subjects
from tests.race.seeds import limit, seed
from tests.runtime import RUNTIME
from tests.truth import all_beads, bead_files, git, tip, tip_bead, tip_file, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.core.model import Bead
    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(40)

READS = {
    "ready", "why", "whoami", "list", "show", "search", "count", "children", "history", "blocked", "stats", "epic", "doctor", "dag",
    "export", "version", "attention", "audit", "simulate", "help", "hooks", "info", "where", "context", "ping", "types",
    "log", "metrics", "schema", "statuses", "stale", "purge", "repair-deps", "quickstart", "human",
    "prime", "onboard", "setup", "completion", "brief", "recall", "memories",
}  # fmt: skip
# Verbs that write only into this clone, or make a hub of their own.
# What cron writes is what online and offline do, what dolt pull and push do is what sync does.
# What migrate does is what init and import do.
CLONE_ONLY = {"trust", "clone", "demo", "cron", "dolt", "migrate", "token", "workspace"}
# What moves only refs beside the branch, and what runs over time by claim, close, fail and reassign: tests/fleet.
BESIDE = {"heartbeat", "progress"}
OVER_TIME = {"work", "poll", "wait", "overseer", "stalled", "rebalance", "pool", "serve", "mcp"}


class Write(NamedTuple):
    """A command of alice's, what was done before it, and what hub-a then has."""

    typed: str
    has: dict[str, Any]
    before: tuple[str, ...] = ()


GIVEN_UP = ("claim hub-a --agent coder", "fail hub-a --reason budget_exceeded --error revoked --agent coder")
WRITES = {
    "upgrade": Write("upgrade", {}),
    "create": Write("create Another --id hub-new --deps hub-a", {}),
    "q": Write("q Another", {}),
    "board": Write("board --publish", {}),
    "update": Write("update hub-a --title Renamed --add-label x", {"title": "Renamed", "labels": ["x"]}),
    "update --append-notes": Write("update hub-a --append-notes once", {"notes": "once"}),
    "update --metadata": Write("update hub-a --set-metadata pr=12", {"metadata": {"pr": "12"}}),
    "update --status": Write("update hub-a --status blocked --reason waiting", {"status": "blocked", "status_reason": "waiting"}),
    "update --claim": Write("update hub-a --claim --agent coder", {"status": "in_progress", "assignee": "coder", "attempts": 1}),
    "edit": Write("edit hub-a", {"notes": "edited"}),
    "comment": Write("comment hub-a mine", {}),
    "comments": Write("comments add hub-a mine", {}),
    "heat": Write("heat hub-a +25", {}),
    "priority": Write("priority hub-a 0", {"priority": 0}),
    "tag": Write("tag hub-a x", {"labels": ["x"]}),
    "cost": Write(
        "cost hub-a --usd 0.5 --attempt 1 --agent bob", {}, ("claim hub-a --agent bob", "release hub-a --reason x --agent bob")
    ),
    "note": Write("note hub-a once", {"notes": "once"}),
    "label": Write("label add hub-a x", {"labels": ["x"]}),
    "label remove": Write("label remove hub-a x", {"labels": ["y"]}, ("label add hub-a x", "label add hub-a y")),
    "dep": Write("dep add hub-a hub-b", {"depends_on": ["hub-b"]}),
    "dep remove": Write("dep remove hub-a hub-b", {"depends_on": None}, ("dep add hub-a hub-b",)),
    "dep add -t related": Write("dep add hub-a hub-b -t related", {}),
    "assign": Write("assign hub-a ada", {"assignee": "ada"}),
    "defer": Write("defer hub-a --until 2090-01-01T00:00:00Z", {"status": "deferred", "defer_until": "2090-01-01T00:00:00Z"}),
    "undefer": Write("undefer hub-a", {"status": "open", "defer_until": None}, ("defer hub-a --until 2090-01-01",)),
    "reopen": Write("reopen hub-a", {"status": "open", "closed_at": None}, ("close hub-a --reason done",)),
    "cancel": Write("cancel hub-a --reason unwanted", {"status": "cancelled", "close_reason": "unwanted"}),
    "claim": Write("claim hub-a --agent coder", {"status": "in_progress", "assignee": "coder", "attempts": 1}),
    "claim --next": Write("claim --next --agent coder", {"status": "in_progress", "assignee": "coder", "attempts": 1}),
    "claim --resume": Write("claim hub-a --resume --agent coder", {"attempts": 1}, ("claim hub-a --agent coder",)),
    "start": Write("start hub-a --agent coder", {"status": "in_progress"}, ("claim hub-a --reserve --agent coder",)),
    "release": Write(
        "release hub-a --reason later --agent coder",
        {"status": "open", "claim": None, "attempts": 1, "attempts_forgiven": 1},
        ("claim hub-a --agent coder",),
    ),
    "fail": Write(
        "fail hub-a --reason crash --error broke --agent coder",
        {"status": "open", "claim": None, "owner": None, "assignee": None, "attempts": 1, "attempts_forgiven": None},
        ("claim hub-a --agent coder",),
    ),
    "fail for good": Write(
        "fail hub-a --reason budget_exceeded --error revoked --agent coder",
        {"status": "dead_letter", "claim": None, "retry_at": None, "poison_pill": None},
        ("claim hub-a --agent coder",),
    ),
    "dlq": Write(
        "dlq retry hub-a --reason renewed",
        {"status": "open", "dead_lettered_at": None, "attempts": 1, "attempts_forgiven": 1},
        GIVEN_UP,
    ),
    "wait-human": Write(
        "wait-human hub-a --reason which", {"status": "blocked", "waiting_on": "human", "status_reason": "which"}
    ),
    "wait-human claimed": Write(
        "wait-human hub-a --reason which --agent coder",
        {"status": "blocked", "claim": None, "prefer_agent": "coder", "attempts": 1, "attempts_forgiven": 1},
        ("claim hub-a --agent coder",),
    ),
    "take": Write("take hub-a", {"status": "in_progress"}, ("claim hub-a --agent coder",)),
    "give": Write("give hub-a", {"status": "open", "claim": None}, ("claim hub-a --agent coder", "take hub-a")),
    "remember": Write("remember 8080 --key port", {"status": "open"}),
    "forget": Write("forget port", {"status": "open"}, ("remember 8080 --key port",)),
    "repo": Write("repo add relay {here}/code", {"status": "open"}),
    "answer": Write(
        "answer hub-a blue", {"status": "open", "waiting_on": None, "waiting_since": None}, ("wait-human hub-a --reason which",)
    ),
    "handoff": Write(
        "handoff hub-a --to hub-b --artifact report=https://x.org/r --agent coder",
        {"status": "closed", "claim": None, "output": {"artifacts": [{"name": "report", "ref": "https://x.org/r"}]}},
        ("claim hub-a --agent coder",),
    ),
    "handoff new": Write("handoff hub-a --to new:More --note on", {"status": "closed", "close_reason": "on"}),
    "archive": Write("archive --older-than 0s", {}, ("close hub-c --reason done",)),
    "close": Write("close hub-a --reason done", {"status": "closed", "close_reason": "done"}),
    "close claimed": Write(
        "close hub-a --reason done --agent coder", {"status": "closed", "claim": None}, ("claim hub-a --agent coder",)
    ),
    "close --next": Write(
        "close hub-a --reason done --next --agent coder", {"status": "closed", "claim": None}, ("claim hub-a --agent coder",)
    ),
    "agent": Write("agent add coder --role coding --max 3", {}),
    "agent remove": Write("agent remove coder --release", {"status": "open", "claim": None}, ("claim hub-a --agent coder",)),
    "agent rename": Write(
        "agent rename coder gibbon", {"assignee": "gibbon"}, ("agent add coder", "assign hub-a coder", "drain coder")
    ),
    "agent clear": Write("agent clear coder", {"status": "closed"}, ("claim hub-a --agent coder", "close hub-a --agent coder")),
    "pause": Write("pause --reason moving", {"status": "open"}),
    "resume": Write("resume", {}, ("pause",)),
    "drain": Write("drain coder", {}, ("agent add coder",)),
    "identity": Write("identity allow --agent coder", {}, ("identity init --agent coder",)),
    "undrain": Write("undrain coder", {}, ("agent add coder", "drain coder")),
    "offline": Write("offline coder", {}, ("agent add coder",)),
    "online": Write("online coder", {}, ("agent add coder", "offline coder")),
    "config": Write("config set claim_ttl 30m", {}),
    "import": Write("import {here}/beads.jsonl", {}),
    "plan": Write("plan apply {here}/plan.yaml --idempotency-key k", {}),
    "spawn": Write(
        "spawn hub-a More --wait --agent coder",
        {"status": "open", "claim": None, "prefer_agent": "coder", "attempts": 1, "attempts_forgiven": 1},
        ("claim hub-a --agent coder",),
    ),
    "trigger": Write("trigger add t --on file:in/x --plan {here}/plan.yaml", {}),
    "schedule": Write("schedule add audit --cron @ --title Audit", {}),
    "schedule remove": Write("schedule remove audit", {}, ("schedule add audit --cron @ --title Audit",)),
    "friction": Write("friction --create --least 1", {"status": "dead_letter"}, GIVEN_UP),
    "dag add": Write("dag add hub-b hub-a", {"parent": "hub-b"}),
    "dag cancel": Write("dag cancel hub-a --reason unwanted", {"status": "cancelled"}),
    "init": Write("init {here}/alice", {}),
    "sync": Write("sync", {"notes": "by hand"}),
}


# Files that a verb of the fleet writes: what stands in them, or that they are gone.
FLEET_FILES: dict[str, tuple[str, bytes | None]] = {
    "agent": (".beads/agents/coder.yaml", b"max_concurrent: 3"),
    "agent remove": (".agent-status/coder.yaml", None),
    "agent rename": (".agent-status/gibbon.yaml", b"status: draining"),
    "drain": (".agent-status/coder.yaml", b"status: draining"),
    "undrain": (".agent-status/coder.yaml", b"status: available"),
    "offline": (".agent-status/coder.yaml", b"status: offline"),
    "online": (".agent-status/coder.yaml", b"status: available"),
    "pause": (".beads/config.yaml", b"reason: moving"),
    "remember": (".beads/config.yaml", b"8080"),
    "repo": (".beads/config.yaml", b"relay"),
    "trigger": (".beads/triggers/t.yaml", b"title: Plan"),
    "schedule": (".beads/config.yaml", b"name: audit"),
}


def words(typed: str) -> list[str]:
    """The words of a command; an @ stands for a cron expression."""
    return ["0 9 * * 1" if word == "@" else word for word in typed.split()]


def check(verb: str, hub: Path, first: Bead) -> None:
    """What a row can't say about hub-a, or where the result lies elsewhere."""
    if verb in FLEET_FILES:
        path, text = FLEET_FILES[verb]
        there = tip_file(hub, path)
        assert there is None if text is None else text in (there or b"")
    if verb == "create":
        made = tip_bead(hub, "hub-new")
        assert made is not None
        assert made.depends_on == ["hub-a"]
    elif verb == "q":
        assert len([path for path in tip_paths(hub) if path.startswith("beads/")]) == 4
    elif verb in ("comment", "comments"):
        assert [comment["text"] for comment in first.comments] == ["meanwhile", "mine"]
    elif verb == "heat":
        assert 29 < first.get("temperature") <= 30, "the other writer's comment heats it too"
    elif verb == "dep add -t related":
        assert [(link.type, link.id) for link in first.links] == [("related", "hub-b")]
    elif verb == "handoff":
        fed = tip_bead(hub, "hub-b")
        assert fed is not None
        assert fed.get("spec") == {"context_refs": ["report=https://x.org/r"]}
        assert [comment["text"] for comment in fed.comments] == ["From hub-a: Handed over: report"]
    elif verb == "handoff new":
        fresh = {"beads/hub-a.yaml", "beads/hub-b.yaml", "beads/hub-c.yaml"} ^ {
            p for p in tip_paths(hub) if p.startswith("beads/")
        }
        assert len(fresh) == 1, "one was made, once"
    elif verb == "archive":
        assert [path for path in bead_files(hub) if path.endswith("hub-c.yaml")] == [
            f"{volume_path(time_text(RUNTIME.now()), 1)}/hub-c.yaml"
        ]
    elif verb == "fail":
        (failure,) = first.get("failures")
        assert (failure["attempt"], failure["agent"], failure["reason"], failure["error"]) == (1, "coder", "crash", "broke")
        assert 5 <= (instant_of(first.get("retry_at")) - instant_of(failure["at"])).total_seconds() <= 16
    elif verb == "start":
        assert first.claim is not None
        assert first.claim.started_at is not None
    elif verb == "close --next":
        other = tip_bead(hub, "hub-b")
        assert other is not None
        assert other.claim is not None
    elif verb == "config":
        assert b"claim_ttl: 30m" in (tip_file(hub, ".beads/config.yaml") or b"").replace(b'"', b"")
    elif verb == "plan":
        planned = [bead for bead in all_beads(hub) if bead.get("idempotency_key")]
        root, task = sorted(planned, key=lambda bead: bead.get("idempotency_key"))
        assert (root.title, root.depends_on, task.parent, task.depends_on) == ("Plan", [task.id], root.id, ["hub-a"])
    elif verb == "import":
        imported = tip_bead(hub, "old-1")
        assert imported is not None
        assert imported.title == "From elsewhere"


def prepare(alice: Clone, folder: Path, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed(alice, "hub-a", "hub-b", "hub-c")
    for command in WRITES[verb].before:
        alice.here(*words(command))
    if verb == "sync":
        file = alice.path / "beads" / "hub-a.yaml"
        file.write_text(file.read_text() + "notes: by hand\n")
    elif verb == "import":
        record = {"id": "old-1", "title": "From elsewhere", "status": "open", "created_at": "2026-02-20T09:00:00Z"}
        (folder / "beads.jsonl").write_text(json.dumps(record) + "\n")
    elif verb == "repo":
        git(folder, "init", "--quiet", "--initial-branch=main", "code")
        git(folder / "code", "commit", "--quiet", "--allow-empty", "--message", "first")
    elif verb in ("plan", "trigger"):
        (folder / "plan.yaml").write_text("title: Plan\ntasks:\n  - {name: one, title: One, depends_on: [hub-a]}\n")
    elif verb == "edit":
        editor = folder / "editor"
        editor.write_text('#!/bin/sh\necho "notes: edited" >> "$1"\n')
        editor.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(editor))
        monkeypatch.setenv("VISUAL", str(editor))


@pytest.mark.one_in(30)
@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=[pytest.mark.slow] if place % 3 else []) for place, verb in enumerate(WRITES)]
)
def test_a_write_that_is_overtaken(
    verb: str, clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer is faster, with a comment on the same bead and a new bead; both writes stand, each once."""
    alice, bob = clone("alice"), clone("bob")
    prepare(alice, tmp_path, verb, monkeypatch)
    write = WRITES[verb]

    def meanwhile() -> None:
        bob.here("comment", "hub-a", "meanwhile")

    steps.at("look" if verb == "init" else "push", meanwhile)
    alice.here(*words(write.typed.format(here=tmp_path)))
    first = tip_bead(hub, "hub-a")
    assert first is not None
    assert "meanwhile" in [comment["text"] for comment in first.comments]
    assert {key: first.get(key) for key in write.has} == write.has
    check(verb, hub, first)
    if verb == "init":  # it had nothing to write, and looked before the other writer was done
        alice.here("sync")
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain", "--untracked-files=no") == ""
    assert alice.here("doctor", "--no-fetch").out.strip().endswith("0 damaged, 0 warnings")


def test_every_verb_that_writes_is_overtaken_here() -> None:
    covered = {verb.split()[0] for verb in WRITES} | {row.typed.split()[0] for row in CONTESTED.values()}
    assert set(COMMANDS) == covered | READS | CLONE_ONLY | BESIDE | OVER_TIME


# --- the other writer is after the same thing ---------------------------------------------------


class Contest(NamedTuple):
    """A command of alice's, what bob does before it is pushed, how it ends, and what hub-a then has."""

    typed: str
    meanwhile: str
    code: int
    has: dict[str, Any]
    before: tuple[str, ...] = ()
    words: str = ""


CLAIMED = ("claim hub-a --agent coder",)
CONTESTED = {
    "a claim is lost": Contest(
        "claim hub-a --agent coder",
        "claim hub-a --agent other",
        5,
        {"assignee": "other", "attempts": 1},
        words="already claimed by",
    ),
    "a claim of a bead that was closed": Contest(
        "claim hub-a --agent coder", "close hub-a --reason done", 5, {"status": "closed", "attempts": None}, words="closed"
    ),
    "a claim of a bead that was deferred": Contest(
        "claim hub-a --agent coder", "defer hub-a --until 2090-01-01", 5, {"status": "deferred", "attempts": None}
    ),
    "a claim of a bead that now waits": Contest("claim hub-a --agent coder", "dep add hub-a hub-b", 5, {"claim": None}),
    "a claim of a bead that was deleted": Contest("claim hub-a --agent coder", "delete hub-a --force", 4, {}),
    "the next bead is gone": Contest("claim --next --agent coder", "claim hub-a --agent other", 0, {"assignee": "other"}),
    "a close after a release by force": Contest(
        "close hub-a --reason done --agent coder",
        "release hub-a --reason silent --force --agent overseer",
        5,
        {"status": "open", "status_reason": "silent", "closed_by": None},
        CLAIMED,
        "your claim has ended",
    ),
    "a close after a close by force": Contest(
        "close hub-a --reason mine --agent coder",
        "close hub-a --reason theirs --force --agent overseer",
        5,
        {"status": "closed", "close_reason": "theirs", "closed_by": "agent:overseer"},
        CLAIMED,
        words="no longer current",
    ),
    "two closes of a free bead": Contest(
        "close hub-a --reason mine",
        "close hub-a --reason theirs --agent other",
        0,
        {"close_reason": "theirs"},
        words="already closed",
    ),
    "a close of a bead that was claimed": Contest(
        "close hub-a --reason mine", "claim hub-a --agent other", 5, {"status": "in_progress", "assignee": "other"}
    ),
    "a close of a bead that now waits": Contest(
        "close hub-a --reason mine", "dep add hub-a hub-b", 5, {"status": "open"}, words="still waits on hub-b"
    ),
    "a release after a release": Contest(
        "release hub-a --reason mine --agent coder",
        "release hub-a --reason theirs --force --agent overseer",
        5,
        {"status": "open", "status_reason": "theirs", "attempts_forgiven": 1},
        CLAIMED,
    ),
    "a failure after a release by force": Contest(
        "fail hub-a --reason crash --error broke --agent coder",
        "release hub-a --reason silent --force --agent overseer",
        5,
        {"status": "open", "status_reason": "silent", "failures": None, "attempts_forgiven": 1},
        CLAIMED,
        "your claim has ended",
    ),
    "two failures of one attempt": Contest(
        "fail hub-a --reason crash --error mine --agent coder",
        "fail hub-a --reason budget_exceeded --error theirs --force --agent overseer",
        5,
        {"status": "dead_letter", "attempts": 1},
        CLAIMED,
    ),
    "two retries of a dead letter": Contest(
        "dlq retry hub-a --reason mine",
        "dlq retry hub-a --reason theirs",
        5,
        {"status": "open", "attempts_forgiven": 1},
        GIVEN_UP,
    ),
    "a retry of a dead letter that was opened": Contest(
        "dlq retry hub-a", "reopen hub-a", 5, {"status": "open", "attempts_forgiven": 1}, GIVEN_UP, "not a dead letter"
    ),
    "a question after a release": Contest(
        "wait-human hub-a --reason which --agent coder",
        "release hub-a --reason silent --force --agent overseer",
        5,
        {"status": "open", "waiting_on": None},
        CLAIMED,
    ),
    "two questions": Contest(
        "wait-human hub-a --reason mine", "wait-human hub-a --reason theirs", 5, {"status_reason": "theirs"}, words="theirs"
    ),
    "two answers": Contest(
        "answer hub-a mine",
        "answer hub-a theirs",
        5,
        {"status": "open"},
        ("wait-human hub-a --reason which",),
        words="does not wait for a person",
    ),
    "a start after a release": Contest(
        "start hub-a --agent coder",
        "release hub-a --reason silent --force --agent overseer",
        5,
        {"status": "open", "claim": None},
        ("claim hub-a --reserve --agent coder",),
    ),
    "a resume after a close": Contest(
        "claim hub-a --resume --agent coder",
        "close hub-a --reason theirs --force --agent overseer",
        5,
        {"status": "closed"},
        CLAIMED,
    ),
    "a status on a bead that was claimed": Contest(
        "update hub-a --status blocked --reason x", "claim hub-a --agent other", 5, {"status": "in_progress"}
    ),
    "a route for a bead that was claimed": Contest("assign hub-a ada", "claim hub-a --agent other", 5, {"assignee": "other"}),
    "a deferral of a bead that was claimed": Contest(
        "defer hub-a --until 2090-01-01", "claim hub-a --agent other", 5, {"status": "in_progress"}
    ),
    "a cancellation of a bead that was claimed": Contest(
        "cancel hub-a --reason x", "claim hub-a --agent other", 5, {"status": "in_progress"}
    ),
    "a cancellation of a bead that was closed": Contest(
        "cancel hub-a --reason x", "close hub-a --reason done", 5, {"status": "closed"}
    ),
    "a deletion of a bead that was claimed": Contest(
        "delete hub-a --force", "claim hub-a --agent other", 5, {"assignee": "other"}
    ),
    "two deletions": Contest("delete hub-a --force", "delete hub-a --force", 4, {}),
    "a reopening of a bead that was reopened and claimed": Contest(
        "reopen hub-a", "reopen hub-a", 0, {"status": "open"}, ("close hub-a --reason done",)
    ),
    "an undo of what was changed since": Contest(
        "undo", "update hub-a --priority 1", 5, {"priority": 1}, ("update hub-a --priority 4",), words="was changed since"
    ),
    "an undo that is only overtaken": Contest(
        "undo", "comment hub-b meanwhile", 0, {"priority": 2}, ("update hub-a --priority 4",)
    ),
    "two edges that make a circle": Contest(
        "dep add hub-a hub-b", "dep add hub-b hub-a", 5, {"depends_on": None}, words="hub-b, which waits for hub-a"
    ),
    "two parents that make a circle": Contest("update hub-a --parent hub-b", "update hub-b --parent hub-a", 5, {"parent": None}),
    "a DAG whose root was closed": Contest(
        "dag add hub-b hub-a", "close hub-b --reason done", 5, {"parent": None}, words="hub-b is closed"
    ),
    "two equal edges": Contest("dep add hub-a hub-b", "dep add hub-a hub-b", 0, {"depends_on": ["hub-b"]}),
    "two equal labels": Contest("label add hub-a x", "label add hub-a x", 0, {"labels": ["x"]}),
    "two labels": Contest("label add hub-a x", "label add hub-a y", 0, {"labels": ["x", "y"]}),
    "a handoff to a bead that was closed": Contest(
        "handoff hub-a --to hub-b --note on", "close hub-b", 5, {"status": "open"}, words="hub-b is closed"
    ),
    "two handoffs": Contest(
        "handoff hub-a --to hub-b --note mine", "handoff hub-a --to hub-b --note theirs", 5, {"close_reason": "theirs"}
    ),
    "an archiving of a bead that was reopened": Contest(
        "archive --older-than 0s", "reopen hub-a", 0, {"status": "open"}, ("close hub-a --reason done",)
    ),
    "a subtask after a release by force": Contest(
        "spawn hub-a More --agent coder",
        "release hub-a --reason silent --force --agent overseer",
        5,
        {"status": "open", "status_reason": "silent"},
        CLAIMED,
    ),
    "a DAG is called off while a task is claimed": Contest(
        "dag cancel hub-b --reason x",
        "claim hub-a --agent other",
        5,
        {"status": "in_progress", "assignee": "other"},
        ("update hub-a --parent hub-b",),
        "no token was given",
    ),
    "two archivings": Contest("archive --older-than 0s", "archive --older-than 0s", 0, {}, ("close hub-a --reason done",)),
    "two titles": Contest("update hub-a --title Mine", "update hub-a --title Theirs", 0, {"title": "Mine"}),
    "two fields": Contest("update hub-a --title Mine", "update hub-a --priority 0", 0, {"title": "Mine", "priority": 0}),
    "two notes": Contest("note hub-a mine", "note hub-a theirs", 0, {"notes": "theirs\nmine"}),
    "a create with an id that was taken": Contest(
        "create Mine --id hub-x", "create Theirs --id hub-x", 5, {}, words="exists already"
    ),
    "a create below a bead that was deleted": Contest("create Mine --parent hub-a", "delete hub-a --force", 4, {}),
    "a create with a key that was used": Contest(
        "create Mine --idempotency-key k --id hub-mine", "create Mine --idempotency-key k --id hub-theirs", 0, {}
    ),
    "a heating of a bead that was heated": Contest("heat hub-a +60", "heat hub-a +60", 0, {"temperature": 100}),
    "a heating of a bead that was claimed": Contest(
        "heat hub-a +60", "claim hub-a --agent other", 0, {"temperature": 60, "assignee": "other"}
    ),
    "a heating of a bead that was closed": Contest(
        "heat hub-a +60", "close hub-a --reason done", 0, {"temperature": 60, "status": "closed"}
    ),
    "a heating of a bead that was deleted": Contest("heat hub-a +60", "delete hub-a --force", 4, {}),
    "a claim while the fleet is paused": Contest(
        "claim hub-a --agent coder", "pause --reason moving", 3, {"claim": None}, words="the fleet is paused"
    ),
    "a claim while its agent is told to drain": Contest(
        "claim --next --agent coder", "drain coder", 3, {"claim": None}, ("agent add coder",), words="coder is draining"
    ),
    "an agent that is removed while it claims": Contest(
        "agent remove coder",
        "claim hub-a --agent coder",
        5,
        {"assignee": "coder"},
        ("agent add coder",),
        words="coder holds hub-a",
    ),
    "a route to an agent that is set offline": Contest(
        "assign hub-a coder", "offline coder", 5, {"assignee": None}, ("agent add coder",), words="coder is offline"
    ),
    "a route to an agent that is renamed": Contest(
        "agent rename coder gibbon", "assign hub-a coder", 0, {"assignee": "gibbon"}, ("agent add coder",)
    ),
    "two changes of an agent": Contest("agent add coder --max 3", "agent add coder --interval 5m", 0, {}, ("agent add coder",)),
    "two pauses": Contest("pause --reason mine", "pause --reason theirs", 0, {}, words="theirs already"),
    "two settings": Contest("config set claim_ttl 30m", "config set max_attempts 5", 0, {}),
}


@pytest.mark.one_in(36)
@pytest.mark.parametrize("name", CONTESTED)
def test_a_write_whose_bead_is_changed_by_another(name: str, clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    contest = CONTESTED[name]
    for command in contest.before:
        alice.here(*command.split())
    after: list[str] = []

    def meanwhile() -> None:
        bob.here(*contest.meanwhile.split())
        after.append(tip(hub))

    steps.at("push", meanwhile)
    result = alice.here(*contest.typed.split(), code=contest.code)
    assert contest.words in result.err
    first = tip_bead(hub, "hub-a")
    assert {key: first.get(key) for key in contest.has} == contest.has if first else contest.has == {}
    if contest.code:
        assert [tip(hub)] == after
        assert result.out == ""
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)
    assert git(alice.path, "status", "--porcelain") == ""


def test_the_next_best_is_taken_when_the_best_is_gone(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    steps.at("push", lambda: bob.here("claim", "hub-a", "--agent", "other"))
    assert alice.here("claim", "--next", "--agent", "coder", "--json").json[0]["id"] == "hub-b"
    assert git(hub, "log", "-1", "--format=%(trailers:key=Bd-Tries,valueonly)", "main") == "2"


def test_a_claim_that_loses_again_and_again_goes_on_until_nothing_is_left(
    clone: Clones, hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can be asked: who looks just then would carry the claim out, and it depends on the load when that is."""
    git(hub, "config", "transfer.hideRefs", "refs/bd")
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: 0.0)  # no try comes too late
    alice, bob = clone("alice"), clone("bob")
    names = seed(alice, "hub-a", "hub-b", "hub-c")
    steps.at("push", *(lambda bead_id=bead_id: bob.here("claim", bead_id, "--agent", "other") for bead_id in names))
    alice.here("claim", "--next", "--agent", "coder", code=3)
    assert steps.seen.count("push") == len(names)
    assert subjects(hub, "claim") == [f"claim: {bead_id} by other" for bead_id in names]


def test_room_is_counted_at_the_tip_that_is_pushed_onto(clone: Clones, hub: Path, steps: Interleaving) -> None:
    """Two processes of one agent: the second one's room is gone when its push comes."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    limit(alice, "solo", 1)
    steps.at("push", lambda: bob.here("claim", "hub-a", "--agent", "solo"))
    result = alice.here("claim", "--next", "--agent", "solo", code=3)
    assert "solo holds 1" in result.err


def test_an_exclusive_name_is_looked_at_on_the_tip_that_is_pushed_onto(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b", exclusive="repo:site")
    steps.at("push", lambda: bob.here("claim", "hub-b", "--agent", "other"))
    result = alice.here("claim", "hub-a", "--agent", "coder", code=5)
    assert "shares repo:site with hub-b" in result.err


def test_a_close_with_next_that_finds_nothing_left_still_closes(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    alice.here("claim", "hub-a", "--agent", "coder")
    steps.at("push", lambda: bob.here("claim", "hub-b", "--agent", "other"))
    result = alice.here("close", "hub-a", "--reason", "done", "--next", "--agent", "coder")
    assert "nothing is ready" in result.err
    first = tip_bead(hub, "hub-a")
    assert first is not None
    assert first.status == "closed"


def test_overtaken_without_a_remote(local_hub: Clone, steps: Interleaving) -> None:
    """The branch is moved by compare-and-swap: somebody who commits with plain git in between is built upon."""
    seed(local_hub, "hub-a", "hub-b")

    def meanwhile() -> None:
        (local_hub.path / "readme.txt").write_text("by hand\n")
        git(local_hub.path, "add", "readme.txt")
        git(local_hub.path, "commit", "--quiet", "-m", "by hand")

    steps.at("push", meanwhile)
    local_hub.here("claim", "--next", "--agent", "coder")
    assert git(local_hub.path, "log", "-2", "--format=%s").splitlines() == ["claim: hub-a by coder", "by hand"]
    assert git(local_hub.path, "status", "--porcelain") == ""
