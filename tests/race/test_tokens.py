"""A claim's token fences off late writers, and two workers in one clone never get each other's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.history import most_held
from tests.race.processes import at_once
from tests.race.seeds import limit, seed
from tests.truth import tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(5)


def claim(clone: Clone, bead_id: str, agent: str) -> str:
    """Claim a bead; the token."""
    token: str = clone.here("claim", bead_id, "--agent", agent, "--json").json[0]["claim"]["token"]
    return token


LATE = {
    "close": ["close", "hub-a", "--reason", "done"],
    "release": ["release", "hub-a", "--reason", "no time"],
    "fail": ["fail", "hub-a", "--reason", "crash", "--error", "it broke"],
    "start": ["start", "hub-a"],
    "update": ["update", "hub-a", "--status", "blocked", "--reason", "stuck"],
    "assign": ["assign", "hub-a", "me"],
    "cancel": ["cancel", "hub-a", "--reason", "no"],
    "delete": ["delete", "hub-a", "--force"],
}


@pytest.mark.one_in(15)
@pytest.mark.parametrize("verb", LATE)
@pytest.mark.parametrize("knows", ["by clone", "by variable"])
def test_a_token_of_an_earlier_claim_is_refused(verb: str, knows: str, clone: Clones, hub: Path) -> None:
    """The worker comes back late: its bead was taken from it and is another's now."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    stale = claim(alice, "hub-a", "coder")
    bob.here("release", "hub-a", "--reason", "gone silent", "--force", "--agent", "overseer")
    claim(bob, "hub-a", "other")
    before = tip(hub)
    env = {"BD_TOKEN": stale} if knows == "by variable" else {}
    result = alice.here(*LATE[verb], "--agent", "coder", "--json", env=env, code=5)
    assert result.json["code"] == "stale_token"
    assert tip(hub) == before


def test_a_token_of_an_earlier_claim_of_the_same_name_is_refused(clone: Clones, hub: Path) -> None:
    """A name never suffices: the restarted worker of that name is another claimant."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    stale = claim(alice, "hub-a", "coder")
    alice.here("release", "hub-a", "--reason", "later", "--agent", "coder")
    current = claim(bob, "hub-a", "coder")
    before = tip(hub)
    assert alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", "--json", code=5).json["code"] == "stale_token"
    assert bob.here("close", "hub-a", "--reason", "done", "--agent", "coder", env={"BD_TOKEN": stale}, code=5)
    assert tip(hub) == before
    bob.here("close", "hub-a", "--reason", "done", "--agent", "coder", env={"BD_TOKEN": current})


def test_a_claim_lost_while_its_close_is_on_the_way(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    claim(alice, "hub-a", "coder")

    def taken() -> None:
        bob.here("release", "hub-a", "--reason", "gone silent", "--force", "--agent", "overseer")
        bob.here("claim", "hub-a", "--agent", "other")

    steps.at("push", taken)
    result = alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", "--json", code=5)
    assert result.json["code"] == "stale_token"
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.claim is not None
    assert bead.claim.agent == "other"


def test_without_a_token_nobody_ends_anothers_claim(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    claim(alice, "hub-a", "coder")
    before = tip(hub)
    for name in ("coder", "other"):
        result = bob.here("close", "hub-a", "--reason", "done", "--agent", name, "--json", code=5)
        assert "no token was given" in result.json["error"]
    assert tip(hub) == before
    bob.here("comment", "hub-a", "comments are free", "--agent", "other")
    bob.here("update", "hub-a", "--priority", "0", "--add-label", "x", "--agent", "other")
    bob.here("close", "hub-a", "--reason", "the owner decided", "--force", "--agent", "overseer")


def test_an_agent_takes_over_its_own_claim_with_a_new_token(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    first = claim(alice, "hub-a", "coder")
    second = bob.here("claim", "hub-a", "--resume", "--agent", "coder", "--json").json[0]["claim"]["token"]
    assert first != second
    bob.here("claim", "hub-a", "--resume", "--agent", "other", code=5)
    assert alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", "--json", code=5).json["code"] == "stale_token"
    bob.here("close", "hub-a", "--reason", "done", "--agent", "coder")


def test_two_workers_of_one_agent_in_one_clone_do_not_mix_their_tokens(clone: Clones, hub: Path) -> None:
    shared = clone("shared")
    seed(shared, "hub-a", "hub-b")
    limit(shared, "pair", 2)
    sessions = [{"BD_SESSION": "one"}, {"BD_SESSION": "two"}]
    won = [shared.here("claim", "--next", "--agent", "pair", "--json", env=env).json[0]["id"] for env in sessions]
    assert sorted(won) == ["hub-a", "hub-b"]
    shared.here("claim", "--next", "--agent", "pair", env=sessions[0], code=3)
    before = tip(hub)
    for env, bead_id in zip(sessions, reversed(won), strict=True):
        shared.here("close", bead_id, "--reason", "not mine", "--agent", "pair", env=env, code=5)
    assert tip(hub) == before
    for env, bead_id in zip(sessions, won, strict=True):
        shared.here("close", bead_id, "--reason", "mine", "--agent", "pair", env=env)


def test_two_workers_of_one_agent_finish_at_once(clone: Clones, hub: Path) -> None:
    shared = clone("shared")
    seed(shared, "hub-a", "hub-b", "hub-c", "hub-d")
    limit(shared, "pair", 2)
    held = [shared.here("claim", "--next", "--agent", "pair", "--json").json[0]["id"] for _ in range(2)]
    results = at_once((shared.path, ["close", bead_id, "--reason", "done", "--next", "--agent", "pair"]) for bead_id in held)
    assert [result.code for result in results] == [0, 0], "\n".join(map(str, results))
    assert most_held(hub, "pair") == 2
    states = {bead_id: bead.status for bead_id in ("hub-a", "hub-b", "hub-c", "hub-d") if (bead := tip_bead(hub, bead_id))}
    assert states == {"hub-a": "closed", "hub-b": "closed", "hub-c": "in_progress", "hub-d": "in_progress"}


def test_a_clone_that_held_a_bead_twice_supplies_no_token(clone: Clones, hub: Path) -> None:
    """Which of two processes of one name is asking can't be told; the token has to be said."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    claim(alice, "hub-a", "coder")
    bob.here("release", "hub-a", "--reason", "gone silent", "--force", "--agent", "overseer")
    current = claim(alice, "hub-a", "coder")
    before = tip(hub)
    result = alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", "--json", code=5)
    assert "BD_TOKEN" in result.json["hint"]
    assert tip(hub) == before
    alice.here("close", "hub-a", "--reason", "done", "--agent", "coder", env={"BD_TOKEN": current})


def test_a_claim_that_its_holder_ended_leaves_no_doubt_about_the_next(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    claim(alice, "hub-a", "coder")
    alice.here("release", "hub-a", "--reason", "later", "--agent", "coder")
    claim(alice, "hub-a", "coder")
    alice.here("close", "hub-a", "--reason", "done", "--agent", "coder")
