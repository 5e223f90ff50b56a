"""The proof from git's history: what holds, and every way in which it must not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.errors import NoHub
from bd.report.proof import Held, Proof, Step, judge, prove
from bd.store.gitrepo import GitRepo
from bd.store.location import find_repo
from tests.truth import commit_file, git, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

MAIN = "refs/heads/main"


def codes(proof: Proof) -> list[tuple[str, str]]:
    """The violations, each as its code and its bead."""
    return [(violation.code, violation.bead) for violation in proof.violations]


def repo_at(path: Path) -> GitRepo:
    found = find_repo(str(path))
    assert found is not None
    return found


def proof_of(path: Path, branch: str = MAIN) -> Proof:
    repo = repo_at(path)
    try:
        return prove(repo, branch)
    finally:
        repo.close()


# --- histories made by bd -----------------------------------------------------------------


def test_a_hub_without_beads_holds(hub: Path) -> None:
    proof = proof_of(hub)
    assert (proof.beads, proof.claims, proof.pushes, proof.violations) == (0, 0, 0, ())
    assert proof.pushes_per_claim == 0


def test_a_branch_that_is_not_there(hub: Path) -> None:
    with pytest.raises(NoHub):
        proof_of(hub, "refs/heads/other")


def test_what_bd_does_holds(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    one, two, three = (alice.bd("q", title).out.strip() for title in ("One", "Two", "Three"))
    alice.bd("claim", one, two, "--agent", "alice")
    alice.bd("start", two, "--agent", "alice")
    alice.bd("release", two, "--reason", "no time", "--agent", "alice")
    alice.bd("close", one, "--reason", "done", "--next", "--agent", "alice")
    alice.bd("claim", two, "--agent", "alice", "--resume", check=False)
    bob.bd("claim", three, "--agent", "bob", check=False)
    proof = proof_of(hub)
    assert proof.holds, proof.lines()
    assert proof.beads == 3
    assert proof.done == 1
    assert proof.commits == int(git(hub, "rev-list", "--count", MAIN))
    assert proof.tip == tip(hub)


def test_a_resumed_claim_is_a_new_claim_of_the_same_agent(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    bead = alice.bd("q", "One").out.strip()
    alice.bd("claim", bead, "--agent", "alice")
    alice.bd("claim", bead, "--agent", "alice", "--resume")
    proof = proof_of(hub)
    assert proof.holds, proof.lines()
    assert proof.claims == 2


def test_force_ends_another_claim_openly(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead = alice.bd("q", "One").out.strip()
    alice.bd("claim", bead, "--agent", "alice")
    bob.bd("close", bead, "--force", "--reason", "alice is gone", "--agent", "bob")
    proof = proof_of(hub)
    assert proof.holds, proof.lines()
    assert (proof.claims, proof.done) == (1, 1)


def test_tries_are_counted_as_pushes(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    bead = alice.bd("q", "One").out.strip()
    alice.bd("claim", bead, "--agent", "alice")
    git(alice.path, "pull", "--quiet")
    message = git(alice.path, "log", "-1", "--format=%B").replace("Bd-Tries: 1", "Bd-Tries: 4")
    git(alice.path, "commit", "--quiet", "--amend", "-m", message)
    git(alice.path, "push", "--quiet", "--force", "origin", "HEAD:main")
    proof = proof_of(hub)
    assert (proof.claims, proof.pushes, proof.pushes_per_claim) == (1, 4, 4.0)


# --- histories made by hand, in real git --------------------------------------------------


def bead_text(bead_id: str, agent: str = "", token: str = "", **fields: str) -> str:
    """A bead file; with an agent it is claimed."""
    lines = [f"id: {bead_id}", f"title: Do {bead_id}", f"status: {'in_progress' if agent else 'open'}"]
    lines += [f"{key}: {value}" for key, value in fields.items()]
    if agent:
        lines += ["claim:", f"  agent: {agent}", f"  token: {token}"]
    return "\n".join(lines) + "\n"


def words(agent: str, *tokens: str) -> str:
    """The message of a commit that names who made it and the tokens it won."""
    return "\n".join(["claim: a bead", "", f"Bd-Agent: {agent}", *(f"Bd-Token: {token}" for token in tokens)])


class Hand:
    """A hub whose history is typed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        git(path, "init", "--quiet", "--initial-branch=main")

    def write(self, text: str, message: str) -> str:
        bead_id = text.split("\n", 1)[0].removeprefix("id: ")
        return commit_file(self.path, f"beads/{bead_id}.yaml", text, message)

    def proof(self) -> Proof:
        return proof_of(self.path)


@pytest.fixture
def hand(tmp_path: Path) -> Hand:
    path = tmp_path / "hand"
    path.mkdir()
    made = Hand(path)
    made.write(bead_text("hub-a"), "make it")
    return made


def test_a_typed_claim_and_its_end(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write(bead_text("hub-a"), words("ann"))
    hand.write(bead_text("hub-a", "ben", "T2"), words("ben", "T2"))
    proof = hand.proof()
    assert proof.holds, proof.lines()
    assert proof.claims == 2


def test_a_claim_that_is_replaced(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    commit = hand.write(bead_text("hub-a", "ben", "T2"), words("ben", "T2"))
    proof = hand.proof()
    assert codes(proof) == [("replaced", "hub-a")]
    assert proof.violations[0].commit == commit
    assert proof.doubles == 1
    assert any("ann" in line and "ben" in line for line in proof.lines())


def test_a_claim_that_changes_hands_under_its_token(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write(bead_text("hub-a", "ben", "T1"), words("ben", "T1"))
    assert codes(hand.proof()) == [("changed_hands", "hub-a")]


def test_two_owners_at_one_commit(hand: Hand) -> None:
    both = bead_text("hub-a") + "claims:\n- {agent: ann, token: T1}\n- {agent: ben, token: T2}\n"
    hand.write(both, words("ann", "T1", "T2"))
    assert ("two_owners", "hub-a") in codes(hand.proof())


def test_advisory_claims_may_stand_side_by_side(hand: Hand) -> None:
    both = bead_text("hub-a", claim_mode="advisory") + "claims:\n- {agent: ann, token: T1}\n- {agent: ben, token: T2}\n"
    hand.write(both, words("ann", "T1", "T2"))
    assert hand.proof().holds


def test_two_owners_on_two_branches_that_were_merged(hand: Hand) -> None:
    git(hand.path, "switch", "--quiet", "-c", "side")
    hand.write(bead_text("hub-a", "ben", "T2"), words("ben", "T2"))
    git(hand.path, "switch", "--quiet", "main")
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    git(hand.path, "merge", "--quiet", "--strategy=ours", "-m", "merge", "side")
    assert ("two_owners", "hub-a") in codes(hand.proof())


def test_two_owners_whose_claims_ended_before_the_merge(hand: Hand) -> None:
    git(hand.path, "switch", "--quiet", "-c", "side")
    hand.write(bead_text("hub-a", "ben", "T2"), words("ben", "T2"))
    hand.write(bead_text("hub-a"), words("ben"))
    git(hand.path, "switch", "--quiet", "main")
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write(bead_text("hub-a"), words("ann"))
    git(hand.path, "merge", "--quiet", "-m", "merge", "side")
    assert codes(hand.proof()) == [("two_owners", "hub-a")]


def test_a_merge_that_brings_in_an_end_is_no_violation(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    git(hand.path, "switch", "--quiet", "-c", "side")
    hand.write(bead_text("hub-b"), "something else")
    git(hand.path, "switch", "--quiet", "main")
    hand.write(bead_text("hub-a"), words("ann"))
    git(hand.path, "switch", "--quiet", "side")
    git(hand.path, "merge", "--quiet", "-m", "merge", "main")
    git(hand.path, "switch", "--quiet", "main")
    git(hand.path, "merge", "--quiet", "--ff-only", "side")
    hand.write(bead_text("hub-a", "ben", "T2"), words("ben", "T2"))
    proof = hand.proof()
    assert proof.holds, proof.lines()
    assert proof.claims == 2


def test_a_claim_that_is_taken_away(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write(bead_text("hub-a"), words("ben"))
    assert codes(hand.proof()) == [("taken_away", "hub-a")]


def test_a_merge_that_drops_a_claim_in_silence(hand: Hand) -> None:
    git(hand.path, "switch", "--quiet", "-c", "side")
    hand.write(bead_text("hub-a", "ben", "T2"), words("ben", "T2"))
    git(hand.path, "switch", "--quiet", "main")
    hand.write(bead_text("hub-b"), "something else")
    git(hand.path, "merge", "--quiet", "--strategy=ours", "-m", "merge", "side")
    assert codes(hand.proof()) == [("taken_away", "hub-a")]


def test_the_token_ends_a_claim_under_any_name(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write(bead_text("hub-a"), words("ben", "T1"))
    assert hand.proof().holds


def test_a_claimed_bead_that_is_deleted_by_another(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    git(hand.path, "rm", "--quiet", "beads/hub-a.yaml")
    git(hand.path, "commit", "--quiet", "-m", "tidy up")
    assert codes(hand.proof()) == [("taken_away", "hub-a")]


def test_a_token_that_is_used_again(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write(bead_text("hub-a"), words("ann"))
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    assert codes(hand.proof()) == [("token_reused", "hub-a")]


def test_a_claim_that_no_commit_announces(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), "just typed in")
    assert codes(hand.proof()) == [("unannounced", "hub-a")]


def test_two_beads_that_exclude_each_other(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1", exclusive="repo:site"), words("ann", "T1"))
    hand.write(bead_text("hub-b", "ben", "T2", exclusive="repo:site"), words("ben", "T2"))
    assert codes(hand.proof()) == [("exclusive", "hub-b")]


def test_a_file_that_can_not_be_read_changes_no_claim(hand: Hand) -> None:
    hand.write(bead_text("hub-a", "ann", "T1"), words("ann", "T1"))
    hand.write("id: hub-a\n<<<<<<< here\nclaim: [\n", "a clash")
    hand.write(bead_text("hub-a"), words("ann"))
    proof = hand.proof()
    assert proof.holds, proof.lines()
    assert proof.claims == 1


def test_what_is_claimed_where_history_begins_is_taken_as_found(tmp_path: Path) -> None:
    path = tmp_path / "shallow"
    path.mkdir()
    made = Hand(path)
    made.write(bead_text("hub-a", "ann", "T1"), "history was cut off here")
    made.write(bead_text("hub-a"), words("ann"))
    assert made.proof().holds


# --- judging alone ------------------------------------------------------------------------


def test_steps_are_judged_without_a_repository() -> None:
    ann, ben = Held("ann", "T1"), Held("ben", "T2")
    steps = [
        Step("c1", (), "ann", "create", {"hub-a": ()}),
        Step("c2", ("c1",), "ann", "claim", {"hub-a": (ann,)}, tokens=frozenset({"T1"}), tries=3),
        Step("c3", ("c2",), "ben", "reassign", {"hub-a": (ben,)}, tokens=frozenset({"T2"}), is_open=True),
        Step("c4", ("c3",), "ben", "comment", {"hub-a": (ben,)}),
    ]
    verdict = judge(steps)
    assert (verdict.claims, verdict.pushes, verdict.violations) == (2, 4, ())
