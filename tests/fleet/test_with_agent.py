"""`bd work --with`: stand-ins for coding agents on a real hub, from the claim to what the hub has at the end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.processes.commands import all_gone, hard_to_end, pids_of
from tests.running import BD, result_of
from tests.standins import StandIns, lines
from tests.truth import git, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone, Result

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(20)

QUICK = {"BD_HEARTBEAT_INTERVAL": "1s"}
INIT, WORDS, DONE = lines.init(), lines.says("Looking at it."), lines.claude_result()


@pytest.fixture
def standins(tmp_path: Path) -> StandIns:
    return StandIns(tmp_path / "agents")


def make(clone: Clone, **more: Any) -> None:
    """A bead that is tried again at once."""
    task = {"name": "a", "id": "hub-a", "title": "Fix it", "retry": {"strategy": "immediate"}, **more}
    clone.here("plan", "apply", "-", input=json.dumps({"title": "All", "tasks": [task]}))


def work(clone: Clone, standins: StandIns, *words: str, program: str = "claude", code: int = 0) -> Result:
    task = () if "--max-tasks" in words else ("--max-tasks", "1")
    typed = ("work", "--agent", "coder", *(("--with", program) if program else ()), "--once", *task, *words)
    return clone.bd(*typed, env=standins.environment, code=code)


def entry(hub: Path, attempt: int = 1) -> dict[str, Any]:
    found = (tip_bead(hub, "hub-a").get("cost") or {}).get("attempts", [])
    return next((one for one in found if one["attempt"] == attempt), {})


def test_a_coding_agent_gets_the_brief_and_its_sentence_closes_the_bead(clone: Clones, hub: Path, standins: StandIns) -> None:
    one = clone("one")
    make(one, description="All of it.")
    standins.plan({"out": [INIT, WORDS, DONE], "err": ["a warning"]})
    worked = work(one, standins, "--", "--add-dir", "/x")
    start = standins.starts[0]
    assert start["words"][:5] == ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode"]
    assert start["words"][-2:] == ["--add-dir", "/x"]
    assert "All of it." in start["stdin"]
    assert ("hub-a| Looking at it." in worked.err, "hub-a| a warning" in worked.err, '{"type"' in worked.err) == (
        True,
        True,
        False,
    )
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.get("close_reason")) == ("closed", "Fixed the CORS headers.")
    assert (bead.get("cost")["usd"], entry(hub)["model"], entry(hub)["tokens"]) == (
        0.25,
        "claude-sonnet-4-5",
        {"input": 110, "output": 5},
    )
    host, path = bead.get("progress")[-1]["text"].removeprefix("full output: ").split(":", 1)
    assert host
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with open(path, encoding="utf-8") as log:
        kept = log.read()
    assert ('"total_cost_usd": 0.25' in kept, "a warning" in kept) == (True, True)
    assert one.here("cost", "--by", "model", "--json").json == [
        {"model": "claude-sonnet-4-5", "usd": 0.25, "tokens": {"input": 110, "output": 5}, "attempts": 1}
    ]


RUNS: dict[str, tuple[str, dict[str, Any], str]] = {
    "denied": ("claude", {"out": [INIT, lines.claude_result(permission_denials=[{"tool_name": "Write"}])]}, "denied"),
    "cut": ("claude", {"out": [INIT, WORDS, DONE], "cut": True}, "bad_output"),
    "success and exit 1": ("claude", {"out": [INIT, DONE], "code": 1}, "bad_output"),
    "killed": ("claude", {"out": [INIT, WORDS], "kill": True}, "crash"),
    "turns": ("claude", {"out": [INIT, lines.claude_result("", subtype="error_max_turns", is_error=True)], "code": 1}, "turn_limit"),
    "codex": ("codex", {"out": [lines.thread(), lines.turn(900, 30), lines.turn_failed("It broke")], "code": 1}, "other"),
    "gemini": ("gemini", {"out": [json.dumps(lines.gemini(), indent=2)], "code": 53}, "turn_limit"),
    "result file": ("claude", {"sh": """echo '{"outcome": "failed", "kind": "other", "text": "x"}' > $BD_RESULT_FILE""",
                               "out": [INIT, DONE]}, "other"),
}  # fmt: skip


@pytest.mark.one_in(20)
@pytest.mark.parametrize("run", RUNS)
def test_a_failure_is_kept_with_its_kind_and_its_cost(run: str, clone: Clones, hub: Path, standins: StandIns) -> None:
    program, plan, kind = RUNS[run]
    one = clone("one")
    make(one)
    standins.plan(plan)
    work(one, standins, program=program)
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, [failure["reason"] for failure in bead.get("failures")]) == ("open", [kind])
    assert entry(hub)["tokens"]["input"]
    assert entry(hub)["model"]
    is_estimated = bool(entry(hub).get("estimated"))
    assert is_estimated == ("usd" not in entry(hub))
    assert one.here("cost", "hub-a").out.splitlines()[1].split()[1].startswith("~") == is_estimated
    assert one.here("cost", "hub-a", "--json").json["attempts"][0].get("estimated", False) == is_estimated
    assert ("estimated" in one.here("cost", "--json").json[0]) == is_estimated


def test_the_agent_file_names_the_program_and_a_typed_command_goes_first(clone: Clones, hub: Path, standins: StandIns) -> None:
    one = clone("one")
    one.here("agent", "add", "coder", "--with", "codex")
    make(one)
    standins.plan({"out": [lines.thread(), lines.message("Fixed."), lines.turn(1, 1)]})
    assert "and run codex exec --json" in work(one, standins, "--dry-run", program="").out
    work(one, standins, program="")
    assert (tip_bead(hub, "hub-a").get("close_reason"), standins.starts[0]["words"][-1]) == ("Fixed.", "-")
    one.here("create", "Next", "--id", "hub-b", "-p", "0")
    work(one, standins, "--", "echo", "by hand", program="")
    assert tip_bead(hub, "hub-b").get("close_reason") == "by hand"
    assert len(standins.starts) == 1


def test_an_unknown_program_and_a_missing_one_are_refused(clone: Clones, tmp_path: Path) -> None:
    one = clone("one")
    make(one)
    unknown = one.bd("work", "--agent", "coder", "--with", "claud", "--once", code=2)
    assert "did you mean claude?" in unknown.err
    git_alone = tmp_path / "bin"
    git_alone.mkdir()
    (git_alone / "git").symlink_to(subprocess.check_output(["which", "git"], text=True).strip())
    missing = one.bd("work", "--agent", "coder", "--with", "claude", "--once", code=2, env={"PATH": str(git_alone)})
    assert "claude is not on the PATH" in missing.err
    one.here("agent", "add", "coder", "--with", "gemni", code=2)


def test_full_permissions_are_a_persons_to_give(clone: Clones, standins: StandIns) -> None:
    one = clone("one")
    make(one)
    standins.plan({"out": [INIT, DONE]})
    one.here("config", "set", "permissions", "full", code=2)  # the hub's
    dry = one.bd(
        "work", "--agent", "coder", "--with", "claude", "--dry-run", env={**standins.environment, "BD_PERMISSIONS": "full"}
    )
    assert ("acceptEdits" in dry.out, "bypassPermissions" in dry.out) == (True, False)
    one.here("config", "set", "permissions", "full", "--clone")
    dry = one.bd("work", "--agent", "coder", "--with", "claude", "--dry-run", env=standins.environment)
    assert "bypassPermissions" in dry.out


@pytest.mark.parametrize("version", ["2.1.221", "2.1.278"])
def test_a_session_goes_on_after_a_turn_limit_and_its_cost_is_booked_once(
    version: str, clone: Clones, hub: Path, standins: StandIns
) -> None:
    one = clone("one")
    make(one)
    of_session = version == "2.1.278"
    limited = lines.claude_result("", usd=0.25, subtype="error_max_turns", is_error=True)
    second = lines.claude_result(usd=0.40 if of_session else 0.15)
    standins.plan({"out": [lines.init(version), limited], "code": 1}, {"out": [lines.init(version), second]})
    work(one, standins)
    work(one, standins)
    assert "--resume" not in standins.starts[0]["words"]
    assert standins.starts[1]["words"][-2:] == ["--resume", lines.SESSION]
    assert [entry(hub, number)["usd"] for number in (1, 2)] == [0.25, 0.15]
    assert tip_bead(hub, "hub-a").get("cost")["usd"] == 0.4


def test_a_session_goes_on_after_an_answer_and_what_the_question_cost_is_booked(
    clone: Clones, hub: Path, standins: StandIns
) -> None:
    one = clone("one")
    make(one)
    ask = f'{shlex.join(BD)} wait-human $BD_BEAD_ID --reason "Round or square?"'
    asks = {"sh": ask, "out": [INIT, lines.claude_result("I asked.", usd=0.1)]}
    standins.plan(asks, {"out": [INIT, lines.claude_result(usd=0.2)]})
    work(one, standins)
    assert (tip_bead(hub, "hub-a").status, entry(hub)["usd"]) == ("blocked", 0.1)
    one.here("answer", "hub-a", "square")
    work(one, standins)
    assert standins.starts[1]["words"][-2:] == ["--resume", lines.SESSION]
    assert "square" in standins.starts[1]["stdin"]
    assert (tip_bead(hub, "hub-a").status, entry(hub, 2)["usd"]) == ("closed", 0.2)


def test_a_worker_that_is_stopped_gives_back_session_and_cost_and_leaves_no_process(
    clone: Clones, hub: Path, standins: StandIns, tmp_path: Path
) -> None:
    """The program has left a daemon behind that ignores TERM, and hangs."""
    one = clone("one")
    make(one)
    daemon = shlex.join(hard_to_end("with a daemon", tmp_path / "said"))
    hangs = {"sh": f"{daemon} &", "out": [INIT, lines.claude_result(usd=0.1)], "hang": True}
    standins.plan(hangs, {"out": [INIT, lines.claude_result(usd=0.2)]})
    worker = subprocess.Popen(
        [*BD, "work", "--agent", "coder", "--with", "claude", "--grace", "0.2s"],
        cwd=one.path,
        env={**os.environ, **standins.environment},
        stderr=subprocess.DEVNULL,
    )
    pids = pids_of("with a daemon", tmp_path / "said")
    until(lambda: any((one.path / ".git" / "bd" / "work").glob("*/spent.json")))
    worker.terminate()
    worker.wait(PATIENCE_S)
    assert all_gone(pids)
    assert (tip_bead(hub, "hub-a").status, tip_bead(hub, "hub-a").attempts_counted, entry(hub)["usd"]) == ("open", 0, 0.1)
    work(one, standins)
    assert standins.starts[1]["words"][-2:] == ["--resume", lines.SESSION]
    assert (tip_bead(hub, "hub-a").status, entry(hub, 2)["usd"]) == ("closed", 0.2)


def test_a_run_that_takes_too_long_fails_with_what_it_has_cost(clone: Clones, hub: Path, standins: StandIns) -> None:
    one = clone("one")
    make(one)
    standins.plan({"out": [INIT, lines.claude_result(usd=0.1)], "hang": True})
    work(one, standins, "--timeout", "1s", "--grace", "0.2s")
    failure = tip_bead(hub, "hub-a").get("failures")[0]
    assert (failure["reason"], failure["cost_usd"]) == ("timeout", 0.1)
    assert "took longer than 1s; it said last: Fixed the CORS headers." in failure["error"]


def test_a_killed_worker_s_cost_is_booked_by_the_next_one(clone: Clones, hub: Path, standins: StandIns) -> None:
    one = clone("one")
    make(one)
    standins.plan({"out": [INIT, lines.claude_result(usd=0.31)], "hang": True}, {"out": [INIT, DONE]})
    worker = subprocess.Popen(
        [*BD, "work", "--agent", "coder", "--with", "claude"],
        cwd=one.path,
        env={**os.environ, **standins.environment, "BD_HEARTBEAT_INTERVAL": "1s"},
        stderr=subprocess.DEVNULL,
    )
    until(lambda: any((one.path / ".git" / "bd" / "work").glob("*/spent.json")))
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait(PATIENCE_S)
    assert not entry(hub)
    one.here("release", "hub-a", "--force", "--reason", "its worker died")
    worked = work(one, standins, "--max-tasks", "1")
    assert "booked the cost of attempt 1" in worked.err
    assert (entry(hub)["usd"], entry(hub, 2)["usd"]) == (0.31, 0.25)
    assert "--resume" not in standins.starts[1]["words"]
    assert git(hub, "log", "--format=%s", "main").count("cost: hub-a by coder") == 1


def _spends(name: str, version: str, cents: int) -> list[Any]:
    """What a program prints that has spent so much: codex 1,000 tokens a cent."""
    if name == "claude":
        return [lines.init(version), lines.claude_result(usd=cents / 100)]
    return [lines.thread(), lines.message("Fixed."), lines.turn(cents * 1000, 0)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "version"), [("claude", "2.1.221"), ("claude", "2.1.278"), ("codex", "")])
def test_over_three_resumes_and_a_kill_the_booked_sum_is_true_to_the_cent(
    name: str, version: str, clone: Clones, hub: Path, standins: StandIns
) -> None:
    one = clone("one")
    make(one)
    one.here("config", "set", "prices.codex.input", "10")
    one.here("config", "set", "prices.codex.output", "0")
    ask = {"sh": f'{shlex.join(BD)} wait-human $BD_BEAD_ID --reason "Round or square?"'}
    cents = [10, 20, 7, 33, 25]
    ends: list[dict[str, Any]] = [ask, ask, ask, {"hang": True}, {}]
    is_of_process = version == "2.1.221"
    told = cents if is_of_process else [sum(cents[: number + 1]) for number in range(4)] + cents[-1:]  # the last is a new session
    standins.plan(*({"out": _spends(name, version, told[number]), **end} for number, end in enumerate(ends)))
    for _ in range(3):
        work(one, standins, program=name)
        one.here("answer", "hub-a", "square")
    worker = subprocess.Popen(
        [*BD, "work", "--agent", "coder", "--with", name],
        cwd=one.path,
        env={**os.environ, **standins.environment, "BD_HEARTBEAT_INTERVAL": "1s"},
        stderr=subprocess.DEVNULL,
    )
    until(lambda: any((one.path / ".git" / "bd" / "work").glob("*/spent.json")))
    worker.kill()
    worker.wait(PATIENCE_S)
    one.here("release", "hub-a", "--force", "--reason", "its worker died")
    work(one, standins, program=name)
    assert ["resume" in " ".join(start["words"]) for start in standins.starts] == [False, True, True, True, False]
    assert [round(100 * entry(hub, number)["usd"]) for number in range(1, 6)] == cents
    assert tip_bead(hub, "hub-a").get("cost")["usd"] == sum(cents) / 100
    assert one.here("cost", "--json").json[0]["usd"] == sum(cents) / 100


def test_what_is_wrong_with_a_result_file_is_told_and_noted(clone: Clones, hub: Path) -> None:
    one = clone("one")
    make(one)
    told = json.dumps({"outcome": "done", "cost": "0.5", "model": "m", "tokns": {"input": 1}})
    worked = one.bd("work", "--agent", "coder", "--max-tasks", "1", "--", "sh", "-c", f"echo '{told}' > $BD_RESULT_FILE")
    words = ("its cost has to be a number of US dollars", "nothing reads its key 'tokns' (did you mean tokens?)")
    notes = [note["text"] for note in tip_bead(hub, "hub-a").get("progress")]
    assert notes == [f"result file: {word}" for word in words]
    assert all(f"hub-a: result file: {word}" in worked.err for word in words)


def test_who_commits_nothing_in_a_code_repository_has_not_done_it(
    clone: Clones, hub: Path, standins: StandIns, tmp_path: Path
) -> None:
    alice, code = clone("alice"), tmp_path / "code"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(code))
    git(code, "commit", "--quiet", "--allow-empty", "--message", "first")
    alice.here("repo", "add", "relay", str(code), "--deliver", "push")
    make(alice, repo="relay")
    standins.plan({"out": [INIT, DONE]})
    work(alice, standins, code=0)
    [failure] = tip_bead(hub, "hub-a").get("failures")
    assert (failure["reason"], failure["error"].partition(":")[0]) == ("no_change", "it committed nothing")


@pytest.mark.slow
def test_who_finds_the_work_of_a_killed_worker_on_the_branch_need_not_commit(
    clone: Clones, hub: Path, standins: StandIns, tmp_path: Path
) -> None:
    """The first worker dies after its push and before the close; the second agent sees that nothing is missing."""
    alice, code, there, end = clone("alice"), tmp_path / "code.git", tmp_path / "there", tmp_path / "end"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(code))
    git(alice.path, "push", "--quiet", str(code), "HEAD:main")
    hook = code / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\ntouch "{there}"; until [ -e "{end}" ]; do sleep 0.05; done\n')
    hook.chmod(0o755)
    alice.here("repo", "add", "relay", str(code), "--base", "main")
    make(alice, repo="relay")
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m done"
    standins.plan({"sh": commit, "out": [INIT, DONE]}, {"out": [INIT, lines.claude_result("It is all there.")]})
    worker = alice.start("work", "--agent", "coder", "--with", "claude", env={**standins.environment, **QUICK})
    until(there.exists)
    worker.kill()
    end.touch()
    result_of(worker)
    until(lambda: alice.here("stalled", "--json", env=QUICK).json != [])
    alice.here("stalled", "--reassign", env=QUICK)
    work(alice, standins)
    assert "It has 1 commit of earlier attempts" in standins.starts[1]["stdin"]
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.get("close_reason")) == ("closed", "It is all there.")
    assert git(code, "log", "--format=%s", "main..agents/hub-a") == "done"


@pytest.mark.one_in(10)
@pytest.mark.parametrize("has_moved", [False, True])
def test_in_a_workspace_a_session_goes_on_only_from_the_same_base(
    has_moved: bool, clone: Clones, standins: StandIns, tmp_path: Path
) -> None:
    alice, code = clone("alice"), tmp_path / "code"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(code))
    git(code, "commit", "--quiet", "--allow-empty", "--message", "first")
    alice.here("repo", "add", "relay", str(code), "--deliver", "push")
    make(alice, repo="relay")
    limited = lines.claude_result("", subtype="error_max_turns", is_error=True)
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m done"
    standins.plan({"out": [INIT, limited], "code": 1}, {"sh": commit, "out": [INIT, DONE]})
    work(alice, standins)
    if has_moved:
        git(code, "commit", "--quiet", "--allow-empty", "--message", "second")
    work(alice, standins)
    assert ("--resume" in standins.starts[1]["words"]) is not has_moved


def test_a_limit_of_the_provider_gives_the_bead_back_and_its_cost_is_booked_once(
    clone: Clones, hub: Path, standins: StandIns
) -> None:
    one = clone("one")
    make(one)
    refused = lines.claude_result("You've hit your limit", usd=0.1, is_error=True)
    standins.plan({"out": [INIT, lines.limit("rejected", 4102444800), refused], "code": 1})
    work(one, standins)
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.attempts_counted, entry(hub)["usd"], bead.get("cost")["usd"]) == ("open", 0, 0.1, 0.1)


@pytest.mark.parametrize("told", [{"output": "x" * 200}, {"artifacts": [{"name": 3}]}])
def test_what_can_t_be_closed_is_booked_all_the_same(told: dict[str, Any], clone: Clones, hub: Path, standins: StandIns) -> None:
    one = clone("one")
    make(one, output={"validation": "regex", "validation_schema": "^y"})
    path = one.path / "told.json"
    path.write_text(json.dumps(told))
    standins.plan({"sh": f"cp {path} $BD_RESULT_FILE", "out": [INIT, DONE]})
    work(one, standins)
    assert (tip_bead(hub, "hub-a").claim, entry(hub)["usd"]) == (None, 0.25)
