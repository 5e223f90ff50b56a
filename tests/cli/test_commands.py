"""Every command of the table: its happy path as text and as JSON, its help, its aliases."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click
import pytest

from bd.cli.click_commands import MEANT, bd
from bd.cli.table import ALIASES, COMMANDS, HIDDEN, SECTIONS
from tests.cli.client_cases import CLIENT_CASES, Case
from tests.cli.conftest import assert_issue, assert_no_nulls
from tests.running import run_here

if TYPE_CHECKING:
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(10)


SHARED = ("update hub-bug --claim-mode advisory", "claim hub-bug --agent ann")
GIVEN_UP = ("fail hub-work --reason budget_exceeded --error revoked --agent codemonkey",)
PLAN = """\
title: Field notes
tasks:
  - {name: write, title: Write them}
  - {name: put, title: Put it online, depends_on: [write]}
"""
# Blanks within an argument are written as hard ones.
SCHEDULED = "schedule add audit --cron 0\u00a09\u00a0*\u00a0*\u00a01 --title Audit"
TRIGGERED = "trigger add t --on github:issues.opened --plan ../plan.yaml"
CASES: dict[str, list[Case]] = {
    "ready": [
        Case("ready", "issues", "1 working on it: ann", SHARED),
        Case("ready", "issues", "hub-bug"),
        Case("ready --agent bob --no-fetch", "issues", "2 ready for bob"),
    ],
    "claim": [
        Case("claim hub-bug --agent bob", "issues", "✓ Claimed hub-bug"),
        Case("claim --next --agent bob", "issues", "✓ Claimed hub-bug"),
        Case("claim --next --count 2 --agent bob", "issues", "✓ Reserved hub-kid1"),
        Case("claim hub-bug --agent bob --reserve", "issues", "✓ Reserved hub-bug"),
        Case("claim hub-work --agent codemonkey --resume", "issues", "✓ Resumed hub-work"),
        Case(
            "claim hub-bug --agent bob",
            "issues",
            "(advisory; nobody else works on it)",
            ("update hub-bug --claim-mode advisory",),
        ),
        Case("claim hub-bug --agent bob", "issues", "(advisory; also working on it: ann)", SHARED),
    ],
    "start": [Case("start hub-bug --agent bob", "issues", "✓ Started hub-bug", ("claim hub-bug --agent bob --reserve",))],
    "release": [Case("release hub-work --reason tired --agent codemonkey", "issues", "✓ Released hub-work")],
    "fail": [
        Case("fail hub-work --reason crash --error broke --agent codemonkey", "issues", "✓ Failed hub-work — Review"),
        Case("fail hub-work -r timeout -e slow --cost 0.5 --agent codemonkey", "issues", "s, attempt 1 of 3"),
        Case(
            "fail hub-work --reason budget_exceeded --error revoked --agent codemonkey",
            "issues",
            "  hub-work: given up after 1 attempt: bd dlq show hub-work",
        ),
    ],
    "work": [
        Case("work --agent bob --once --max-tasks 1 true", "array", "✓ Closed hub-bug"),
        Case("work --agent bob --dry-run true", "object", "would claim hub-bug"),
    ],
    "poll": [Case("poll --agent bob", "object", "2 ready for bob")],
    "heartbeat": [Case("heartbeat --agent codemonkey", "object", "✓ Heartbeat of codemonkey")],
    "progress": [
        Case("progress hub-bug half --agent bob", "object", "✓ Noted on hub-bug: half", ("claim hub-bug --agent bob",)),
        Case("progress hub-bug half --keep --agent bob", "object", "✓ Noted on hub-bug", ("claim hub-bug --agent bob",)),
    ],
    "cost": [
        Case("cost hub-work --usd 0.5 --tokens-in 9 --agent codemonkey", "issues", "✓ Noted the cost of hub-work"),
        Case("cost hub-work", "object", "hub-work has cost $0.50", ("cost hub-work --usd 0.5 --agent codemonkey",)),
        Case("cost --by day", "array", "$0.50 in all", ("cost hub-work --usd 0.5 --agent codemonkey",)),
        Case("cost --since 2h", "array", "$0.50 in all", ("cost hub-work --usd 0.5 --agent codemonkey",)),
        Case("cost", "array", "No costs were reported."),
    ],
    "stalled": [Case("stalled", "array", "Nothing has stalled."), Case("stalled --reassign", "array", "Nothing to free.")],
    "overseer": [Case("overseer --once", "object", "0 freed")],
    "wait-human": [
        Case("wait-human hub-work --reason which --agent codemonkey", "issues", "✓ Waiting for a person: hub-work — Review"),
        Case("wait-human hub-bug --reason which", "issues", "✓ Waiting for a person: hub-bug"),
    ],
    "answer": [
        Case("answer hub-bug the blue one", "issues", "✓ Answered hub-bug", ("wait-human hub-bug --reason which",)),
        Case(
            "answer hub-work yes",
            "issues",
            "  Kept for codemonkey until 2026-02-21T17:14:00Z.",
            ("wait-human hub-work --reason which --agent codemonkey",),
        ),
    ],
    "take": [Case("take hub-work", "issues", "✓ Taken hub-work — Review the pull request")],
    "give": [Case("give hub-work", "issues", "✓ Given back hub-work", ("take hub-work",))],
    "repo": [Case("repo list", "array", "No code repositories yet.")],
    "workspace": [Case("workspace list", "array", "No workspaces")],
    "handoff": [
        Case(
            "handoff hub-kid1 --to hub-kid2 --artifact form=https://x.org/f",
            "issues",
            "✓ Handed over to hub-kid2 — Wire the form",
        ),
        Case(
            "handoff hub-bug --to new:Tell-them --note fixed",
            "issues",
            "✓ Closed hub-bug — Fix CORS in the auth middleware: fixed",
        ),
        Case("handoff hub-bug --to agent:axiom --title Why --artifact .beads/config.yaml", "issues", "✓ Handed over to hub-"),
    ],
    "close": [
        Case("close hub-work --reason done --agent codemonkey", "issues", "✓ Closed hub-work — Review the pull request: done"),
        Case("close hub-bug hub-res", "issues", "✓ Closed hub-res"),
        Case("close hub-done", "issues", "✓ Closed hub-done"),
        Case("close hub-bug --agent ann", "issues", "✓ Closed hub-bug", (*SHARED, "claim hub-bug --agent ben")),
        Case("close hub-work --next --agent codemonkey", "issues", "✓ Claimed hub-bug"),
    ],
    "why": [
        Case("why hub-kid2", "object", "waits on hub-kid1"),
        Case("why hub-bug --agent bob", "object", "bob may take it"),
        Case("why hub-res --agent bob", "object", "routed to axiom"),
    ],
    "whoami": [Case("whoami", "object", "test-person@hub"), Case("whoami --agent bob", "object", "bob@hub")],
    "create": [
        Case("create Something --id hub-new", "issue", "✓ Created hub-new — Something"),
        Case("create Below --parent hub-epic --deps hub-bug", "issue", "✓ Created hub-epic."),
    ],
    "q": [Case("q Quick -t bug -p 0 -l a,b", "object", "hub-")],
    "list": [
        Case("list", "issues", "ready, 2 working on it: ann, ben", (*SHARED, "claim hub-bug --agent ben")),
        Case("list", "issues", "hub-work"),
        Case("list --all --limit 2", "issues", "hub-bug"),
        Case("list -t gate", "issues", "No beads match"),
        Case(
            "list --waiting human",
            "issues",
            "waits for human, 0s: which",
            ("wait-human hub-bug --reason which --agent codemonkey",),
        ),
    ],
    "brief": [Case("brief hub-bug", "object", "You work on the bead hub-bug")],
    "show": [
        Case("show hub-bug", "issues", "1 working on it: ann", SHARED),
        Case("show hub-bug", "issues", "It fails."),
        Case("show hub-bug hub-res", "issues", "Compare queues"),
    ],
    "plan": [
        Case("plan apply ../plan.yaml", "object", "Field notes: 3 beads"),
        Case("plan apply ../plan.yaml --dry-run", "object", "Would create: put — Put it online   after write"),
        Case(
            "plan apply ../plan.yaml --idempotency-key k",
            "object",
            "✓ Planned before: hub-",
            ("plan apply ../plan.yaml --idempotency-key k",),
        ),
        Case("plan export hub-epic", "object", "depends_on: [draw-the-form]"),
    ],
    "dag": [
        Case("dag show hub-epic", "object", "├─ ○ hub-kid1 ● P1 task Draw the form"),
        Case("dag show hub-epic", "object", "pending, 0/2 done"),
        Case("dag show hub-bug", "object", "Critical path: hub-bug (1h expected)"),
        Case("dag list", "array", "hub-epic  pending  0/2   Ship the login page"),
        Case("dag list --status failed", "array", "No unfinished DAGs"),
        Case("dag cancel hub-epic --reason no", "issues", "✓ Cancelled hub-kid2 — Wire the form: no"),
    ],
    "spawn": [
        Case("spawn hub-work More --agent codemonkey", "issue", "  hub-work continues."),
        Case("spawn hub-work More -t bug --wait --agent codemonkey", "issue", "  hub-work waits for it; it is given back."),
    ],
    "schedule": [
        Case("schedule add audit --cron 0\u00a09\u00a0*\u00a0*\u00a01 --title Audit", "object", "next at 2026-02-23T09:00:00Z"),
        Case("schedule list", "array", "0 9 * * 1  UTC   2026-02-23T09:00:00Z  Audit", (SCHEDULED,)),
        Case("schedule run", "array", "Nothing is due.", (SCHEDULED,)),
        Case("schedule run", "array", "Nothing is due."),
        Case("schedule list", "array", "No schedules."),
        Case("schedule remove audit", "object", "✓ Removed schedule audit", (SCHEDULED,)),
    ],
    "trigger": [
        Case("trigger add t --on github:issues.opened --plan ../plan.yaml", "object", "on github:issues.opened, 3 beads"),
        Case("trigger list", "array", "t        github:issues.opened  3      Field notes", (TRIGGERED,)),
        Case("trigger list", "array", "No triggers."),
        Case("trigger remove t", "object", "✓ Removed trigger t", (TRIGGERED,)),
        Case("trigger fire t ../event.json --delivery d", "object", "by trigger t: 3 beads", (TRIGGERED,)),
        Case("trigger run", "array", "Nothing has happened.", (TRIGGERED,)),
        Case("trigger run", "array", "by trigger o: 3 beads", ("trigger add o --on dag:hub-done --plan ../plan.yaml",)),
    ],
    "friction": [
        Case("friction", "array", "Nothing fails too often."),
        Case("friction --least 1", "array", "review  1/1     100%", GIVEN_UP),
        Case("friction --create --least 1", "issues", "✓ Made hub-", GIVEN_UP),
        Case("friction --create", "issues", "No bead was created: nothing new fails too often."),
    ],
    "search": [Case("search form", "issues", "Wire the form"), Case("search nothing-like-it", "issues", "Nothing found")],
    "count": [
        Case("count", "object", "9"),
        Case("count --by-type", "object", "research"),
        Case("count --ready --agent bob", "object", "2"),
    ],
    "children": [Case("children hub-epic", "issues", "Wire the form"), Case("children hub-bug", "issues", "has no children")],
    "update": [
        Case("update hub-bug --priority 3 --add-label x", "issues", "✓ Updated issue: hub-bug"),
        Case("update hub-bug --claim --actor bob", "issues", "✓ Claimed hub-bug"),
        Case("update hub-bug", "array", ""),
    ],
    "edit": [],
    "comment": [Case("comment hub-bug so it is", "object", "✓ Comment added to hub-bug — Fix CORS")],
    "comments": [
        Case("comments hub-bug", "array", "Ada"),
        Case("comments hub-res", "array", "no comments"),
        Case("comments add hub-res hello", "object", "✓ Comment added to hub-res"),
    ],
    "note": [Case("note hub-bug more of it", "issue", "✓ Note added to hub-bug")],
    "label": [
        Case("label add hub-bug hub-res urgent", "array", "✓ Label urgent added: hub-bug"),
        Case("label remove hub-bug infra/auth", "array", "✓ Label infra/auth removed: hub-bug"),
        Case("label list hub-kid1", "array", "merge"),
        Case("label list hub-res", "array", ""),
        Case("label list-all", "array", "infra/auth"),
    ],
    "dep": [
        Case("dep add hub-bug hub-res", "object", "✓ Added dependency: hub-bug waits for hub-res"),
        Case("dep remove hub-kid2 hub-kid1", "object", "✓ Removed dependency: hub-kid2"),
        Case("dep rm hub-kid2 hub-kid1", "object", "✓ Removed dependency: hub-kid2"),
        Case("dep list hub-kid2", "issues", "hub-kid1"),
        Case("dep list hub-bug hub-kid2", "array", "hub-kid1"),
        Case("dep list hub-bug", "issues", "None."),
        Case("dep tree hub-kid2", "issues", "  ○ hub-kid1"),
        Case("dep cycles", "array", "No circles."),
    ],
    "assign": [
        Case("assign hub-bug codemonkey", "issue", "✓ Assigned to codemonkey: hub-bug"),
        Case("assign hub-res ''", "issue", "✓ Assigned to nobody: hub-res"),
    ],
    "defer": [Case("defer hub-bug --until tomorrow", "issues", "✓ Deferred hub-bug")],
    "undefer": [Case("undefer hub-later", "issues", "✓ Back: hub-later")],
    "heat": [
        Case("heat hub-res", "issues", "✓ Heated to 10: hub-res"),
        Case("heat hub-res hub-done +25.5", "issues", "✓ Heated to 26: hub-done"),
        Case("heat hub-bug --by -3", "issues", "✓ Cooled to 2: hub-bug"),
    ],
    "reopen": [
        Case("reopen hub-done --reason again", "issues", "✓ Reopened hub-done"),
        Case("reopen hub-bug", "issues", "hub-bug"),
    ],
    "cancel": [Case("cancel hub-bug --reason never", "issues", "✓ Cancelled hub-bug")],
    "delete": [
        Case("delete hub-bug --force", "object", "✓ Deleted hub-bug"),
        Case("delete hub-bug", "object", "Would delete hub-bug"),
    ],
    "undo": [Case("undo", "issues", "✓ Undone: create: hub-later")],
    "history": [Case("history hub-work", "array", "codemonkey"), Case("history hub-work -n 1", "array", "claim")],
    "blocked": [
        Case("blocked", "issues", "waits on hub-kid1"),
        Case("blocked --parent hub-bug", "issues", "Nothing is blocked."),
    ],
    "wait": [Case("wait --agent bob", "object", "Ready for bob: hub-bug, hub-kid1")],
    "schema": [Case("schema", "object", "A bead, beads/<id>.yaml"), Case("schema config", "object", "A hub's settings")],
    "board": [
        Case("board", "object", "| `hub-work` | Review the pull request | codemonkey | running | 2026-02-21T15:08:00Z |"),
        Case("board --publish", "object", "✓ Published BOARD.md"),
    ],
    "metrics": [
        Case("metrics", "object", "codemonkey  1       0       0       -        89%"),
        Case("metrics --since 1h", "object", "2026-02-21T15:14:00Z to 2026-02-21T16:14:00Z"),
    ],
    "log": [
        Case("log", "array", "2026-02-21T15:08:00Z  claimed      hub-work  codemonkey  Review the pull request"),
        Case("log --since 70m --limit 1", "array", "created      hub-later"),
    ],
    "stats": [Case("stats", "object", "9 beads, 4 ready, 1 in progress")],
    "epic": [Case("epic status", "array", "0/2")],
    "dlq": [
        Case("dlq list", "array", "No dead letters."),
        Case("dlq list", "issues", "hub-work  0s   1         -     budget_exceeded: revoked  Review the pull request", GIVEN_UP),
        Case("dlq show hub-work", "issues", "attempt 1: budget_exceeded (codemonkey", GIVEN_UP),
        Case("dlq show hub-bug", "issues", "has not failed yet"),
        Case("dlq list --unreviewed", "array", "No unreviewed dead letters.", (*GIVEN_UP, "dlq review hub-work")),
        Case("dlq review hub-work --note seen", "issues", "✓ Reviewed: hub-work", GIVEN_UP),
        Case("dlq review hub-work --undo", "issues", "✓ Unreviewed: hub-work", GIVEN_UP),
        Case("dlq cancel hub-work --reason gone", "issues", "✓ Cancelled hub-work", GIVEN_UP),
        Case("dlq retry hub-work --reason renewed", "issues", "✓ Open again: hub-work", GIVEN_UP),
    ],
    "agent": [
        Case("agent add bob --role coding --max 2 --capability git,python", "object", "✓ Added agent bob"),
        Case("agent add bob --interval 15m", "object", "✓ Changed agent bob", ("agent add bob",)),
        Case("agent add bob --role coding", "object", "Agent bob is unchanged", ("agent add bob --role coding",)),
        Case("agent list", "array", "codemonkey"),
        Case("agent status", "array", "codemonkey        available  1 hub-work  1h ago"),
        Case("agent status bob", "array", "bob    coding  available  0/1    never", ("agent add bob --role coding",)),
        Case("agent show bob", "object", "title words code, fix, refactor", ("agent add bob --role coding",)),
        Case("agent show codemonkey", "object", "none; it takes everything"),
        Case("agent rename codemonkey gibbon --release", "object", "✓ Agent codemonkey is now gibbon"),
        Case("agent remove codemonkey --release", "object", "Given back: hub-work"),
        Case("agent remove bob", "object", "✓ Removed agent bob", ("agent add bob",)),
        Case("agent clear codemonkey", "object", "✓ Cleared agent codemonkey"),
    ],
    "remember": [Case("remember 8080 --key port", "object", "✓ Remembered under port: 8080")],
    "recall": [Case("recall 8080", "array", "port  human:", ("remember 8080 --key port",))],
    "memories": [Case("memories", "array", "port  human:", ("remember 8080 --key port",))],
    "forget": [Case("forget port", "object", "✓ Forgot port", ("remember taken --key port",))],
    "pause": [Case("pause --reason moving", "object", "✓ The fleet is paused: moving")],
    "resume": [Case("resume", "object", "✓ The fleet may claim", ("pause",))],
    "pool": [
        Case("pool list", "array", "No agents yet, and no pools."),
        Case("pool list", "array", "started elsewhere", ("agent add worker",)),
        Case("pool status", "array", "never", ("agent add worker",)),
        Case("pool events", "array", "Nothing has happened yet."),
        Case("pool run --once", "array", ""),
    ],
    "rebalance": [
        Case("rebalance", "array", ""),
        Case("rebalance --dry-run", "array", "Nothing would move"),
        Case("rebalance status", "object", "codemonkey"),
    ],
    "drain": [Case("drain codemonkey", "object", "✓ codemonkey is draining")],
    "undrain": [Case("undrain codemonkey", "object", "✓ codemonkey is available", ("drain codemonkey",))],
    "offline": [Case("offline codemonkey", "object", "✓ codemonkey is offline")],
    "online": [Case("online codemonkey", "object", "✓ codemonkey is available", ("offline codemonkey",))],
    "upgrade": [
        Case("upgrade", "object", "✓ The hub requires bd"),
        Case("upgrade --dry-run", "object", "It would require bd"),
        Case("upgrade", "object", "already.", ("upgrade",)),
    ],
    "doctor": [Case("doctor --offline", "object", "9 beads read")],
    "attention": [
        Case("attention", "object", "Nothing needs a person."),
        Case(
            "attention",
            "object",
            "Waiting for a person: `bd answer ID TEXT`\n  hub-bug  Fix CORS",
            ("wait-human hub-bug --reason which",),
        ),
    ],
    "archive": [
        Case("archive", "object", "Nothing is old enough"),
        Case("archive --older-than 1m", "object", "✓ Archived 2 beads"),
        Case("archive --older-than 1m --limit 1", "object", "✓ Archived 1 bead; 1 more for another run"),
        Case("archive --older-than 1m --dry-run", "object", "hub-done\nhub-off\nWould archive 2 beads"),
    ],
    "audit": [
        Case("audit", "object", "every change kept the rules"),
        Case("audit --since 30m", "object", "✓ 0 commits since"),
    ],
    "token": [
        Case("token create --for-agent bob", "object", ""),
        Case("token create --person Ada", "object", ""),
        Case("token create --claim hub-work", "object", ""),
        Case("token list", "array", "No tokens."),
        Case("token list", "array", "agent  bob", ("token create --for-agent bob",)),
        Case("token revoke 9d05baa9 --token-file ../tokens", "object", "✓ Revoked the token of agent bob"),
    ],
    "mcp": [],  # the same
    "serve": [],  # it runs until it is ended: tests/serve
    "trust": [Case("trust", "array", "asks to run no commands")],
    "identity": [
        Case("identity init --agent bob", "object", "✓ Made a key for bob"),
        Case("identity show --agent bob", "object", "bob has no key on this machine"),
        Case("identity show --agent bob", "object", "this hub does not trust it", ("identity init --agent bob",)),
        Case("identity allow --agent bob", "object", "✓ bob may sign", ("identity init --agent bob",)),
        Case("identity list", "array", "Nobody may sign here yet"),
        Case("identity list", "array", "bob  allowed  ssh-ed25519", ("identity init --agent bob", "identity allow --agent bob")),
        Case(
            "identity revoke bob --agent bob",
            "object",
            "bob may no longer sign",
            ("identity init --agent bob", "identity allow --agent bob"),
        ),
    ],
    "init": [Case("init", "object", "The hub exists")],
    "clone": [Case("clone . ../copy", "object", "✓ Cloned")],
    "sync": [Case("sync", "object", "✓ Up to date with the hub"), Case("sync --kept", "array", "Nothing is kept.")],
    "config": [
        Case("config show", "object", "claim_ttl"),
        Case("config list", "object", "claim_ttl"),
        Case("config get prefix", "object", "hub"),
        Case("config set claim_ttl 30m", "object", "✓ claim_ttl = 30m (hub)"),
    ],
    "prime": [
        Case("prime --agent codemonkey", "object", "You hold hub-work: finish that first."),
        Case("prime", "object", "(no agent: give --agent NAME or set BD_AGENT before you claim)"),
    ],
    "onboard": [Case("onboard", "object", "## Work: bd")],
    "setup": [
        Case("setup claude", "object", "CLAUDE.md: written"),
        Case("setup codex", "object", "AGENTS.md: up to date", ("setup codex",)),
        Case("setup cursor --remove", "object", "AGENTS.md: removed", ("setup cursor",)),
        Case("setup aider --check", "object", "CONVENTIONS.md: up to date", ("setup aider",)),
        Case("setup --list", "object", "windsurf  AGENTS.md, .windsurfrules"),
    ],
    "completion": [
        Case("completion bash", "object", "complete -o default -F _bd bd"),
        Case("completion zsh", "object", "#compdef bd"),
        Case("completion fish", "object", "complete -c bd"),
        Case("completion words cla", "array", "claim\tTake a bead"),
    ],
    "migrate": [
        Case("migrate ../more.jsonl --dry-run", "object", "Would import ../more.jsonl: 1 created"),
        Case("migrate ../more.jsonl", "object", "✓ Imported ../more.jsonl: 1 created"),
        Case("migrate", "object", "Nothing to migrate"),
        Case("migrate --inspect", "object", "hub: there; to migrate: nothing"),
    ],
    "import": [Case("import ../more.jsonl", "object", "1 created")],
    "cron": [
        Case("cron show --agent bob --interval 15m true", "object", "# bd: begin bob "),
        Case("cron show --agent bob --systemd true", "object", "OnCalendar="),
    ],
    "export": [Case("export", "array", '"id":"hub-bug"'), Case("export -o ../out.jsonl", "object", "")],
    "simulate": [
        Case("simulate --agents 3 --duration 1h", "object", "wait, ready to claimed"),
        Case("simulate --arrivals 0/h --backlog 5 --service 1m", "object", "5 made, 5 claimed, 5 closed, 0 waiting at the end"),
        Case("simulate --interval 15m,30m --cron --load 0.5 --retry combining", "object", "cron every 15m, 30m"),
        Case("simulate --load 2 --agents 9", "object", "It falls behind: "),
        Case("simulate --load 0.5 --duration 1h --push-limit 5 --sweep agents=1..64", "object", ": over limit."),
    ],
    "demo": [],  # a race of processes: it has tests of its own
    "version": [Case("version", "object", "bd version ")],
    **CLIENT_CASES,
}
ALL_CASES = [case for cases in CASES.values() for case in cases]


def words(text: str) -> list[str]:
    """A case's arguments: split at blanks, '' for an empty one."""
    return ["" if word == "''" else word.replace("\u00a0", " ") for word in re.split(r"[ \t]+", text)]


def test_every_command_has_a_case() -> None:
    assert set(CASES) == set(COMMANDS)
    assert {name for name, cases in CASES.items() if not cases} == {"edit", "demo", "mcp", "serve"}


@pytest.fixture
def ready(board: Clone, tmp_path: Path) -> Clone:
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "hub-imported", "title": "From elsewhere", "priority": 2}) + "\n")
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "tokens").write_text("agent:bob the-token-of-bob-0001\n")
    (tmp_path / "tokens").chmod(0o600)
    (tmp_path / "event.json").write_text('{"action": "opened", "issue": {}}')
    return board


@pytest.mark.one_in(80)
@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.args)
def test_text(ready: Clone, case: Case) -> None:
    for before in case.before:
        ready.here(*words(before))
    result = ready.here(*words(case.args))
    assert case.says in result.out, result
    assert "\x1b" not in result.out
    assert "Error" not in result.err
    assert all(line == line.rstrip() for line in result.lines), result


@pytest.mark.one_in(40)
@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.args)
def test_json(ready: Clone, case: Case) -> None:
    for before in case.before:
        ready.here(*words(before))
    result = ready.here(*words(case.args), "--json")
    document = result.json
    assert_no_nulls(document)
    if case.shape in ("issue", "object"):
        assert isinstance(document, dict)
        assert document["schema_version"] == 1
    else:
        assert isinstance(document, list)
    if case.shape == "issues":
        for bead in document:
            assert_issue(bead)
    elif case.shape == "issue":
        assert_issue(document)
    if not result.out.startswith(("[]", "{}")):
        assert result.out.startswith(("[\n  ", "{\n  ")), "two spaces of indentation, one key a line"


@pytest.mark.one_in(80)
@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.args)
def test_quiet_is_no_louder(ready: Clone, case: Case) -> None:
    for before in case.before:
        ready.here(*words(before))
    result = ready.here(*words(case.args), "--quiet")
    assert "✓" not in result.out, result


# --- help ---------------------------------------------------------------------------------


def leaves(name: str) -> list[tuple[str, click.Command]]:
    """A command of the table and its subcommands, each with what is typed for it."""
    command: Any = bd.get_command(click.Context(bd), name)
    found = [(name, command)]
    if isinstance(command, click.Group):
        found += [(f"{name} {sub}", command.commands[sub]) for sub in command.commands]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_help_starts_with_the_tables_sentence(name: str) -> None:
    shown = run_here(name, "--help").out
    usage, rest = shown.split("\n\n", 1)
    assert usage.startswith(f"Usage: bd {name}")
    assert " ".join(rest.split()).startswith(COMMANDS[name].help), shown
    assert COMMANDS[name].help.endswith(".")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_before_its_options(name: str) -> None:
    for typed, command in leaves(name):
        shown = run_here(*typed.split(), "--help").out
        if isinstance(command, click.Group):
            continue
        place = shown.find("Example")
        assert 0 < place < shown.find("Options:"), f"bd {typed} --help shows no example before its options:\n{shown}"
        assert f"bd {typed.split()[0]}" in shown[place:] or typed.endswith(" rm")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    for typed, command in leaves(name):
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert option.help, f"bd {typed} {option.opts[0]} has no help"


def test_help_lists_every_command_by_who_uses_it() -> None:
    shown = run_here("--help").out
    names = {name for line in shown.splitlines() if line.startswith("  ") for name in line[2:].partition("  ")[0].split(", ")}
    assert {name for name, row in COMMANDS.items() if row.section != HIDDEN} == names & set(COMMANDS)
    assert {row.section for row in COMMANDS.values()} == set(SECTIONS)
    assert shown.endswith("\n")
    assert len(shown.splitlines()) <= 60
    for flag in ("--json", "--agent", "--at", "--fetch", "--quiet", "-C"):
        assert flag in shown


def test_no_line_of_help_is_long() -> None:
    for name in ("--help", *(f"{name} --help" for name in COMMANDS)):
        for line in run_here(*name.split()).lines:
            assert len(line) <= 100, f"{name}: {line}"


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases(alias: str) -> None:
    assert run_here(alias, "--help").out.split("\n\n", 1)[1] == run_here(ALIASES[alias], "--help").out.split("\n\n", 1)[1]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("redy", "ready"), ("shwo", "show"), ("crate", "create"), ("claims", "claim"), ("dones", "done"), ("synk", "sync")],
)
def test_a_mistyped_command_names_the_nearest(typed: str, meant: str) -> None:
    refused = run_here(typed, code=2)
    assert refused.err == f"Error: there is no command {typed!r}\nHint: did you mean `bd {meant}`?\n"
    assert refused.out == ""


@pytest.mark.parametrize("typed", MEANT)
def test_a_command_of_other_tools_names_what_does_it(typed: str) -> None:
    meant = MEANT[typed]
    assert typed not in COMMANDS
    assert meant.split()[0] in COMMANDS
    assert run_here(typed, code=2).err == f"Error: there is no command {typed!r}\nHint: did you mean `bd {meant}`?\n"


def test_a_group_names_its_commands() -> None:
    expected = "Hint: one of apply, export; `bd plan --help` shows its arguments\n"
    assert run_here("plan", code=2).err == f"Error: Missing command.\n{expected}"
    assert run_here("plan", "web.yaml", code=2).err.endswith(expected)


def test_help_of_a_group_cuts_no_sentence() -> None:
    for name in COMMANDS:
        lines = run_here(name, "--help").out.partition("\nCommands:\n")[2].splitlines()
        assert not [line for line in lines if line.endswith("...")]


def test_a_command_like_no_other() -> None:
    assert "`bd --help` lists the commands" in run_here("frobnicate", code=2).err


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_flag(name: str) -> None:
    for typed, command in leaves(name):
        if isinstance(command, click.Group):
            continue
        refused = run_here(*typed.split(), "--no-such-flag", "--json", code=2)
        assert refused.json["code"] == "bad_input"
        assert "--no-such-flag" in refused.err
        assert f"`bd {' '.join(typed.split())} --help`" in refused.err
