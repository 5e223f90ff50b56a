"""What a finished piece of work proves: the audit of its hub (test_audit.py), and how much of it is done."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import NoHub
from bd.report.audit.proof import Proof, prove
from bd.store.git.discovery import find_repo
from tests.report.typed import Typed
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

MAIN = "refs/heads/main"


def proof_of(path: Path, branch: str = MAIN) -> Proof:
    repo = find_repo(str(path))
    assert repo is not None
    with contextlib.closing(repo):
        return prove(repo, branch)


def test_a_hub_without_beads_holds(hub: Path) -> None:
    proof = proof_of(hub)
    assert (proof.beads, proof.audit.claims, proof.audit.pushes, proof.holds) == (0, 0, 0, True)
    assert proof.pushes_per_claim == 0


def test_a_branch_that_is_not_there(hub: Path) -> None:
    with pytest.raises(NoHub):
        proof_of(hub, "refs/heads/other")


def test_what_is_done_is_counted(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    one, two = (alice.here("q", title).out.strip() for title in ("One", "Two"))
    alice.here("claim", one, two, "--agent", "alice")
    alice.here("close", one, "--reason", "done", "--agent", "alice")
    proof = proof_of(hub)
    assert proof.holds, proof.lines()
    assert (proof.beads, proof.done, proof.audit.tip) == (2, 1, tip(hub))
    assert "  2 beads, 1 done; 2 claims; no bead had two owners" in proof.lines()


def test_tries_are_counted_as_pushes(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    bead = alice.here("q", "One").out.strip()
    alice.here("claim", bead, "--agent", "alice")
    git(alice.path, "pull", "--quiet")
    message = git(alice.path, "log", "-1", "--format=%B").replace("Bd-Tries: 1", "Bd-Tries: 4")
    git(alice.path, "commit", "--quiet", "--amend", "-m", message)
    git(alice.path, "push", "--quiet", "--force", "origin", "HEAD:main")
    proof = proof_of(hub)
    assert (proof.audit.claims, proof.audit.pushes, proof.pushes_per_claim) == (1, 4, 4.0)


def test_what_was_broken_is_told(tmp_path: Path) -> None:
    typed = Typed(tmp_path / "typed")
    typed.claim()
    guilty = typed.claim("ben", "T2", 2)
    proof = proof_of(typed.path)
    assert not proof.holds
    assert proof.as_json()["doubles"] == 1
    assert f"  replaced: hub-a in {guilty[:10]}: the claim of ann was replaced by one of ben without an end" in proof.lines()
