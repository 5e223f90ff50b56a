"""`bd work` on beads about a code repository: from a bead to its branch, and what becomes of workers that stop half-way."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bd.coding_agents.sessions import Session, place_of
from bd.repos.workspace import record_at
from bd.worker.tally import Tally
from tests.processes.commands import all_gone
from tests.running import result_of
from tests.truth import git, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.repos.conftest import Site
    from tests.running import Clone

pytestmark = pytest.mark.one_in(8)

QUICK = {"BD_HEARTBEAT_INTERVAL": "1s"}
COMMIT = 'echo "$BD_AGENT" > work && git add work && git commit -qm "by $BD_AGENT"'


def test_from_a_bead_to_its_branch(site: Site, hub: Path) -> None:
    """One worker, several beads at once: those that failed have their branch, too, and each has a slot of its own."""
    beads = [site.bead() for _ in range(3)]
    script = f'{COMMIT}; echo "$BD_SLOT" > "$HOME/slot-$BD_BEAD_ID"; '
    script += f'until [ "$(ls $HOME | grep -c slot-)" = 3 ]; do sleep 0.05; done; [ $BD_BEAD_ID != {beads[0]} ] || exit 1'
    result = site.clone.bd("work", "--agent", "coder", "--once", "--json", "--", "sh", "-c", script)
    found = {one["id"]: one["outcome"] for one in result.json}
    assert found == {beads[0]: "failed", beads[1]: "done", beads[2]: "done"}
    assert site.branches().keys() == {"main", *(f"agents/{bead}" for bead in beads)}
    slots = {(Path(os.environ["HOME"]) / f"slot-{bead}").read_text().strip() for bead in beads}
    assert slots == {"0", "1", "2"}
    failed, done = tip_bead(hub, beads[0]), tip_bead(hub, beads[1])
    assert failed is not None
    assert done is not None
    assert failed.get("failures")[0]["branch"] == f"agents/{beads[0]}"
    assert done.status == "closed"
    brief = site.clone.here("brief", beads[0]).out
    assert f"its commits are on the branch agents/{beads[0]}" in brief


def test_what_can_not_be_pushed_is_not_done(site: Site, hub: Path) -> None:
    bead = site.bead()
    script = f'{COMMIT}; mv "{site.code}" "{site.code}.away"'
    result = site.clone.bd("work", "--agent", "coder", "--max-tasks", "1", "--json", "--", "sh", "-c", script)
    assert [one["outcome"] for one in result.json] == ["released"]
    after = tip_bead(hub, bead)
    assert after is not None
    assert (after.status, after.claim) == ("open", None)
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert [left["kind"] for left in one["unpushed"]] == ["commits"]


def test_beads_of_a_repository_that_is_not_trusted_are_left_to_others(site: Site, clone: Callable[[str], Clone]) -> None:
    site.bead()
    other = site.clone.here("create", "Else", "--json").json["id"]
    site.clone.here("trust", "--revoke")
    result = site.clone.bd("work", "--agent", "coder", "--once", "--json", "--", "true")
    assert [one["id"] for one in result.json] == [other]
    assert "no work on relay: it is not trusted in this clone" in result.err


def test_a_conflict_is_a_failure_of_that_kind(site: Site, hub: Path) -> None:
    needed = site.bead()
    first = site.begin(needed)
    site.work(first, "same")
    first.finish(site.hub(), {}, is_current=True)
    site.clone.here("close", needed, "--agent", "coder", "--reason", "done")
    site.commit("main", "same", "other\n")
    bead = site.bead("--deps", needed)
    site.clone.bd("work", "--agent", "coder", "--max-tasks", "1", "--", "true")
    after = tip_bead(hub, bead)
    assert after is not None
    assert [one["reason"] for one in after.get("failures")] == ["conflict"]


def test_a_failing_setup_gives_the_bead_back(site: Site, hub: Path) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--setup", "exit 9")
    bead = site.bead()
    result = site.clone.bd("work", "--agent", "coder", "--max-tasks", "1", "--json", "--", "true")
    assert [one["outcome"] for one in result.json] == ["released"]
    after = tip_bead(hub, bead)
    assert after is not None
    assert after.get("failures") is None


def test_a_command_named_by_a_relative_path_is_that_of_the_folder(site: Site) -> None:
    site.bead()
    script = site.clone.path / "agent.sh"
    script.write_text("#!/bin/sh\ntest -e readme\n")
    script.chmod(0o755)
    result = site.clone.bd("work", "--agent", "coder", "--once", "--json", "--", "./agent.sh")
    assert [one["outcome"] for one in result.json] == ["done"]


def test_a_worker_that_is_killed_leaves_its_work_where_it_is_found(site: Site, hub: Path, tmp_path: Path) -> None:
    bead = site.bead()
    script = f'{COMMIT}; echo draft > draft; touch "{tmp_path}/there"; exec sleep 600'
    worker = site.clone.start("work", "--agent", "coder", "--grace", "1s", "--", "sh", "-c", script)
    until((tmp_path / "there").exists)
    worker.kill()
    result_of(worker)
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert (one["id"], one["state"]) == (bead, "killed")
    assert sorted(left["kind"] for left in one["unpushed"]) == ["commits", "untracked"]
    site.clone.here("release", bead, "--force", "--reason", "its worker is gone")
    site.clone.bd("work", "--agent", "coder", "--max-tasks", "1", "--", "true")
    assert git(site.code, "log", "-1", "--format=%s", f"agents/{bead}-attempt-1") == "by coder"
    after = tip_bead(hub, bead)
    assert after is not None
    assert any(f"agents/{bead}-attempt-1" in comment["text"] for comment in after.comments)
    kinds = [left["kind"] for one in site.clone.here("workspace", "list", "--json").json for left in one["unpushed"]]
    assert kinds == ["untracked"]


def test_the_commits_of_a_killed_worker_are_told_of_whatever_becomes_of_the_next(site: Site) -> None:
    bead = site.bead()
    killed = site.begin(bead)
    site.work(killed, "new")
    killed.abandon()
    site.clone.here("release", bead, "--force", "--reason", "its worker is gone")
    site.clone.here("repo", "add", "relay", str(site.code), "--setup", "exit 9")
    result = site.clone.bd("work", "--agent", "coder", "--max-tasks", "1", "--json", "--", "true")
    assert [one["outcome"] for one in result.json] == ["released"]
    [comment] = site.clone.here("show", bead, "--json").json[0]["comments"]
    assert f"its commits are on agents/{bead}-attempt-1" in comment["text"]


@pytest.mark.slow
def test_a_worker_that_is_killed_while_the_setup_runs_leaves_nothing_half_made(site: Site, tmp_path: Path) -> None:
    there = tmp_path / "there"
    setup = f'[ ! -e "{there}" ] || exit 0; echo half > half; echo $$ > "{there}.new"; mv "{there}.new" "{there}"; exec sleep 600'
    site.clone.here("repo", "add", "relay", str(site.code), "--setup", setup)
    bead = site.bead()
    worker = site.clone.start("work", "--agent", "coder", "--grace", "1s", "--", "sh", "-c", COMMIT)
    until(there.exists)
    worker.kill()
    result_of(worker)
    until(lambda: all_gone([int(there.read_text())]))
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert (one["id"], one["state"], [left["kind"] for left in one["unpushed"]]) == (bead, "killed", ["untracked"])
    site.clone.here("release", bead, "--force", "--reason", "its worker is gone")
    result = site.clone.bd("work", "--agent", "coder", "--max-tasks", "1", "--json", "--", "sh", "-c", COMMIT)
    assert [one["outcome"] for one in result.json] == ["done"]
    assert git(site.code, "ls-tree", "--name-only", f"agents/{bead}").split() == [".gitignore", "readme", "work"]
    assert site.branches().keys() == {"main", f"agents/{bead}"}


@pytest.mark.slow
@pytest.mark.parametrize(("hook", "lands"), [("pre-receive", False), ("post-receive", True)])
def test_a_worker_that_is_killed_while_it_pushes_loses_and_doubles_nothing(
    site: Site, hub: Path, tmp_path: Path, hook: str, lands: bool
) -> None:
    there, end = tmp_path / "there", tmp_path / "end"
    waits = site.code / "hooks" / hook
    waits.parent.mkdir(exist_ok=True)
    waits.write_text(
        f'#!/bin/sh\n[ ! -e "{there}" ] || exit 0\ntouch "{there}"\nuntil [ -e "{end}" ]; do sleep 0.05; done\nexit 1\n'
    )
    waits.chmod(0o755)
    bead = site.bead()
    worker = site.clone.start("work", "--agent", "coder", "--grace", "1s", "--", "sh", "-c", COMMIT)
    until(there.exists)
    worker.kill()
    end.touch()
    result_of(worker)
    until(lambda: (f"agents/{bead}" in site.branches()) == lands)
    site.clone.here("release", bead, "--force", "--reason", "its worker is gone")
    site.clone.bd(
        "work",
        "--agent",
        "coder",
        "--max-tasks",
        "1",
        "--",
        "sh",
        "-c",
        "echo more > more && git add more && git commit -qm more",
    )
    own = git(site.code, "log", "--format=%s", f"main..agents/{bead}").splitlines()
    if lands:
        assert own == ["more", "by coder"]
        assert site.branches().keys() == {"main", f"agents/{bead}"}
    else:
        assert own == ["more"]
        assert git(site.code, "log", "--format=%s", f"main..agents/{bead}-attempt-1").splitlines() == ["by coder"]
    after = tip_bead(hub, bead)
    assert after is not None
    assert any(("-attempt-1" if not lands else f"agents/{bead}") in comment["text"] for comment in after.comments)
    assert [left for one in site.clone.here("workspace", "list", "--json").json for left in one["unpushed"]] == []


@pytest.mark.slow
def test_a_worker_that_slept_past_its_claim_overwrites_nothing(site: Site, clone: Callable[[str], Clone], hub: Path) -> None:
    """A is stopped, B's clone on another machine frees the claim and delivers; then A goes on."""
    bead = site.bead()
    elsewhere = {**QUICK, "XDG_STATE_HOME": str(site.clone.path.parent / "machine-b")}
    there, goes_on = site.clone.path.parent / "there", site.clone.path.parent / "go"
    script = f'{COMMIT}; touch "{there}"; until [ -e "{goes_on}" ]; do sleep 0.05; done'
    first = site.clone.start("work", "--agent", "coder", "--max-tasks", "1", "--json", "--", "sh", "-c", script, env=QUICK)
    until(there.exists)
    os.kill(first.pid, signal.SIGSTOP)
    bob = clone("bob")
    bob.here("agent", "add", "other")
    bob.here("trust", "--yes")
    until(lambda: bob.here("stalled", "--json", env=QUICK).json != [])  # a worker that looks before waits for its next poll
    result = bob.bd("work", "--agent", "other", "--max-tasks", "1", "--json", "--", "sh", "-c", COMMIT, env=elsewhere)
    assert [(one["id"], one["outcome"]) for one in result.json] == [(bead, "done")]
    theirs = site.branches()[f"agents/{bead}"]
    goes_on.touch()
    os.kill(first.pid, signal.SIGCONT)
    assert "coder" not in git(site.code, "log", "--format=%s", theirs)
    result_of(first)
    found = site.branches()
    assert found[f"agents/{bead}"] == theirs
    assert git(site.code, "log", "-1", "--format=%s", found[f"agents/{bead}-attempt-1"]) == "by coder"
    after = tip_bead(hub, bead)
    assert after is not None
    assert after.status == "closed"
    assert any(f"agents/{bead}-attempt-1" in comment["text"] for comment in after.comments)


def test_take_names_the_command_that_goes_on_with_the_agents_session(site: Site) -> None:
    bead = site.bead()
    attempt, hub = site.begin(bead), site.hub()
    files = Path(hub.place.folder, "work", "one")
    files.mkdir(parents=True)
    tally = Tally(str(files), bead, 1, "coder", hub.runtime)
    place = place_of("host", attempt.folder, "base")
    for usd, (name, words) in enumerate(
        {"claude": "claude --resume", "codex": "codex resume", "gemini": "gemini --resume"}.items()
    ):
        tally.note({"usd": usd}, Session(name, "s 1", place).as_json())
        assert f"`cd {attempt.folder} && {words} 's 1'`" in site.clone.here("take", bead, "--agent", "ada").out


def test_take_and_give(site: Site, hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person takes a bead over: the agent ends, its commits go beside, and the person's go to the branch."""
    bead = site.bead()
    there = site.clone.path.parent / "there"
    script = f'{COMMIT}; touch "{there}"; exec sleep 600'
    worker = site.clone.start(
        "work", "--agent", "coder", "--max-tasks", "1", "--grace", "1s", "--", "sh", "-c", script, env=QUICK
    )
    until(there.exists)
    taken = site.clone.here("take", bead, "--agent", "ada")
    subjects = git(hub, "log", "--format=%s", "main").splitlines()
    assert [one for one in subjects if one.startswith(("take", "release"))] == [f"take: {bead} by ada"]
    folder = site.clone.here("workspace", "path", bead).out.strip()
    assert folder in taken.out
    result_of(worker)
    assert git(site.code, "log", "-1", "--format=%s", f"agents/{bead}-attempt-1") == "by coder"
    held = tip_bead(hub, bead)
    assert held is not None
    assert [*held.holders] == ["ada"]
    Path(folder, "mine").write_text("by hand\n")
    git(folder, "add", "mine")
    git(folder, "commit", "--quiet", "-m", "by hand")
    site.clone.here("give", bead, "--agent", "other", "--reason", "no", code=5)
    site.clone.here("trust", "--revoke")
    assert "is not trusted" in site.clone.here("give", bead, "--agent", "ada", code=5).err
    site.clone.here("trust", "--yes")
    lock = record_at(folder).lock(site.hub().runtime)
    with lock:
        assert "still runs" in site.clone.here("give", bead, "--agent", "ada", code=6).err
    said = site.clone.here("give", bead.removeprefix("hub-"), "--agent", "ada", "--reason", "the docs are missing")
    assert f"pushed 2 commits to agents/{bead}" in said.err
    assert git(site.code, "log", "-1", "--format=%s", f"agents/{bead}") == "by hand"
    given = tip_bead(hub, bead)
    assert given is not None
    assert (given.status, given.claim) == ("open", None)
    monkeypatch.setenv("BD_TEST_CLOCK_OFFSET_S", "60")
    second = site.begin(bead)
    assert {"work", "mine"} <= {*os.listdir(second.folder)}
