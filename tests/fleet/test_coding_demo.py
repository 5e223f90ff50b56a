"""The demonstration with coding agents: it ends with the proof, which a lost or doubled commit would break."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.model import Bead
from bd.demo.code_history import prove_code
from bd.demo.coding import kill_of
from bd.demo.watch import Story, Watch
from bd.store.git.repository import GitRepo
from tests.running import run_process
from tests.truth import git

if TYPE_CHECKING:
    from pathlib import Path

TASKS = [Bead({"id": "hub-a", "uid": "01KCA2V0SXJ8N4Q5T6W7Y9Z3AB"}), Bead({"id": "hub-b", "uid": "01KCA2V0SXJ8N4Q5T6W7Y9Z3AC"})]
WRITTEN = {"hub-a": ["one"], "hub-b": ["two"]}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    where = tmp_path / "code"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(where))
    git(where, "commit", "--quiet", "--allow-empty", "--message", "first")
    for bead, name in (("hub-a", "one"), ("hub-b", "two")):
        commit(where, f"agents/{bead}", name, start="main")
    return where


def commit(where: Path, branch: str, name: str, *, start: str) -> None:
    git(where, "checkout", "--quiet", "-B", branch, start)
    (where / name).write_text(name)
    git(where, "add", name)
    git(where, "commit", "--quiet", "--message", name)


def proof_of(where: Path) -> tuple[bool, str]:
    found = prove_code(GitRepo(str(where / ".git"), str(where / ".git"), None), TASKS, WRITTEN)
    return found.holds, "\n".join(found.lines())


def test_each_bead_has_its_commits_once(code: Path) -> None:
    git(code, "branch", "agents/hub-a-attempt-2", "agents/hub-a")
    holds, words = proof_of(code)
    assert holds
    assert "2 of 2 beads have their commits on their branches, each once" in words
    assert "agents/hub-a-attempt-2" in words


def test_what_is_lost_or_done_twice_breaks_the_proof(code: Path) -> None:
    commit(code, "agents/hub-b", "one", start="agents/hub-b")  # made there once more
    holds, words = proof_of(code)
    assert not holds
    assert "hub-a: one was added more than once" in words
    git(code, "checkout", "--quiet", "main")
    git(code, "branch", "--quiet", "-D", "agents/hub-a")
    assert "hub-a: one is missing on agents/hub-a" in proof_of(code)[1]


def test_a_seed_says_who_is_killed_and_when() -> None:
    assert kill_of("7") == kill_of("7")
    assert len({kill_of(str(seed)).agent for seed in range(20)}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_three_agents_build_a_program_whoever_is_killed(tmp_path: Path, seed: str) -> None:
    told = run_process("demo", "--agents", "--seed", seed, "--json", "--dir", str(tmp_path / "demo"), cwd=tmp_path).json
    assert (told["done"], told["doubles"], told["code_history"]["holds"]) == (6, 0, True)


def test_a_plan_that_is_done_before_the_kill_ends_with_it(tmp_path: Path) -> None:
    """Nothing moves any more by then."""

    class Watched(Watch):
        def on_look(self, _story: Story, at_s: float) -> bool:
            return at_s >= 5

        def on_moved(self, *_: object) -> bool:
            return True

    time_s = [0.0]
    runtime: Any = SimpleNamespace(monotonic=lambda: time_s[0], sleep=lambda s: time_s.append(time_s.pop() + s))
    tips = iter(["old", "new"])
    hub: Any = SimpleNamespace(runtime=runtime, published=lambda: next(tips), fetch=lambda: None, snapshot=lambda _: None)
    story = Story(lambda *_: None, lambda *_: None)
    assert 5 <= Watched({}, {}, tmp_path).run(hub, lambda: "new", "hub-a", story) < 6
