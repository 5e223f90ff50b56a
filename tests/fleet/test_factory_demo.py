"""`bd demo --factory` from end to end: each trouble that lies in its plan happened, asked of the hub's history with git."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

import pytest

from bd.core.model import Bead
from bd.report.audit.incidents import KINDS, mishaps
from bd.report.log import read
from bd.store.git.repository import GitRepo
from bd.store.yaml import codec
from tests.running import run_here, run_process
from tests.truth import commits, git, tip

if TYPE_CHECKING:
    from pathlib import Path


@functools.cache
def parsed(hub: Path, oid: str, path: str) -> Bead:
    """A bead's file as git has it; many commits have the same one."""
    data = git(hub, "cat-file", "blob", oid).encode()
    return Bead(codec.parse_bead(data, path.removeprefix("beads/").removesuffix(".yaml")).fields)


@functools.cache
def at(hub: Path, commit: str) -> dict[str, Bead]:
    """Every bead as of a commit, by its path."""
    listed = [line.split(None, 3) for line in git(hub, "ls-tree", "-r", commit, "--", "beads").splitlines()]
    return {path: parsed(hub, oid, path) for _, _, oid, path in listed}


def history(hub: Path, title: str) -> list[tuple[str, Bead]]:
    """(commit, bead) of each commit that wrote the bead of this title, oldest first."""
    found: list[tuple[str, Bead]] = []
    before: dict[str, Bead] = {}
    for commit in commits(hub):
        after = at(hub, commit)
        found += [(commit, bead) for path, bead in after.items() if bead.title == title and before.get(path) is not bead]
        before = after
    return found


def kinds(bead: Bead) -> list[str]:
    return [failure["reason"] for failure in bead.get("failures", [])]


def a_retry_succeeded(folder: Path) -> None:
    steps = [bead for _, bead in history(folder / "hub.git", "Research: three competitors")]
    failed = next(bead for bead in steps if kinds(bead))
    assert (kinds(failed), failed.status, failed.claim) == (["timeout"], "open", None)
    assert failed.get("retry_at") > failed.updated_at
    last = steps[-1]
    assert (last.status, last.attempts, kinds(last)) == ("closed", 2, ["timeout"])
    assert last.get("cost")["usd"] == 1.6
    assert [entry["usd"] for entry in last.get("cost")["attempts"]] == [0.4, 1.2]


def a_poison_pill_was_given_up_and_people_were_told(folder: Path) -> None:
    steps = [bead for _, bead in history(folder / "hub.git", "Fix the page in the oldest browser")]
    dead = next(bead for bead in steps if bead.status == "dead_letter")
    assert dead.get("poison_pill")
    assert 3 <= dead.attempts < dead.get("max_attempts") == 9
    assert len({failure["agent"] for failure in dead.get("failures")}) >= 2
    told = [json.loads(line) for line in (folder / "told").read_text(encoding="utf-8").splitlines()]
    assert [(one["id"], one["poison_pill"]) for one in told if one["event"] == "dead_letter"] == [(dead.id, True)]
    assert steps[-1].status == "cancelled"
    assert steps[-1].get("notified")["done"]


def an_output_did_not_pass(folder: Path) -> None:
    steps = [bead for _, bead in history(folder / "hub.git", "Synthesize the requirements")]
    failed = next(bead for bead in steps if kinds(bead))
    assert (failed.status, kinds(failed)) == ("open", ["invalid_output"])
    assert "nothing in the output matches" in failed.get("failures")[0]["error"]
    assert not any(bead.is_done for bead in steps[: steps.index(failed)])
    assert steps[-1].status == "closed"
    assert steps[-1].get("output")["validated"]["kind"] == "regex"


def a_ceiling_refused_a_claim_until_it_was_raised(folder: Path) -> None:
    hub = folder / "hub.git"
    root = history(hub, "Build a landing page for the client")
    raised = next(commit for commit, bead in root if bead.get("budget_ceiling_usd") == 15)
    before = {bead.title: bead for bead in at(hub, git(hub, "rev-parse", f"{raised}^")).values()}
    deploy = before["Deploy the page"]
    assert (deploy.status, deploy.attempts) == ("open", 0)
    assert before["Test the page against the requirements"].status == "closed"  # all it waited for
    spent = sum(bead.get("cost", {}).get("usd", 0) for bead in before.values())
    assert spent <= 12 < spent + deploy.get("spec")["max_cost_usd"]
    assert any("refused: " in comment["text"] for _, bead in root for comment in bead.comments)
    claimed = next(commit for commit, bead in history(hub, "Deploy the page") if bead.claim)
    order = commits(hub)
    assert order.index(claimed) > order.index(raised)


def a_subtask_was_waited_for(folder: Path) -> None:
    hub = folder / "hub.git"
    parent, child = history(hub, "Implement the page"), history(hub, "Research: a picture for the page")
    spawned = child[0][0]
    waiting = next(bead for commit, bead in parent if commit == spawned)
    assert (waiting.status, waiting.claim, waiting.depends_on) == ("open", None, [child[0][1].id])
    had = next(bead.claim.agent for _, bead in parent if bead.claim)
    assert (waiting.get("prefer_agent"), waiting.attempts_counted) == (had, 0)
    order = commits(hub)
    done = next(commit for commit, bead in child if bead.status == "closed")
    again = next(commit for commit, bead in parent if bead.claim and bead.attempts == 2)
    assert order.index(done) < order.index(again)
    assert parent[-1][1].status == "closed"


def no_spending_ever_exceeded_its_ceiling(folder: Path) -> None:
    hub = folder / "hub.git"
    for commit in commits(hub):
        beads = at(hub, commit).values()
        ceilings = [bead.get("budget_ceiling_usd") for bead in beads if bead.get("budget_ceiling_usd")]
        for ceiling in ceilings:
            reserved = sum((bead.get("claim") or {}).get("reserved_usd", 0) for bead in beads)
            assert sum(bead.get("cost", {}).get("usd", 0) for bead in beads) + reserved <= ceiling + 1e-9


def the_history_before_an_end_shows_no_mishap_yet(folder: Path) -> None:
    hub = folder / "hub.git"
    repo = GitRepo(str(hub), str(hub), None)
    try:
        failed = next(commit for commit, bead in history(hub, "Research: three competitors") if kinds(bead))
        assert "retry" not in mishaps(read(repo, failed))
        assert "retry" in mishaps(read(repo, tip(hub)))
    finally:
        repo.close()


@pytest.mark.slow
def test_one_of_each_trouble_happened(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    told = run_process("demo", "--factory", "--dir", str(folder), "--json", cwd=tmp_path).json
    assert told["verified"]
    assert (told["beads"], told["done"], told["doubles"]) == (9, 9, 0)
    assert set(told["happened"]) == set(KINDS)
    assert git(folder / "clone", "rev-parse", "HEAD") == tip(folder / "hub.git")
    dag = run_here("dag", "show", told["root"], "--json", cwd=folder / "clone").json
    assert (dag["status"], dag["done"], dag["total"]) == ("completed", 8, 8)
    # The same, asked of git.
    a_retry_succeeded(folder)
    a_poison_pill_was_given_up_and_people_were_told(folder)
    an_output_did_not_pass(folder)
    a_ceiling_refused_a_claim_until_it_was_raised(folder)
    a_subtask_was_waited_for(folder)
    no_spending_ever_exceeded_its_ceiling(folder)
    the_history_before_an_end_shows_no_mishap_yet(folder)


def test_a_race_and_a_factory_are_not_one(tmp_path: Path) -> None:
    told = run_here("demo", "--factory", "--beads", "3", "--json", cwd=tmp_path, code=2).json
    assert told["code"] == "bad_input"


@pytest.mark.slow
def test_what_has_not_happened_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan without troubles ends, and the demo says what the history lacks."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "title: Implement it\nspec: {prompt: See that it works.}\ntasks: [{name: one, title: Fix it}]\n", encoding="utf-8"
    )
    monkeypatch.setattr("bd.cli.factory_demo.plan_path", lambda: plan)
    told = run_here("demo", "--factory", "--dir", "made", "--json", cwd=tmp_path, code=7).json
    assert "A poison pill" in told["error"]
