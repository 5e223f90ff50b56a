"""A bead's whole life of failures on a real hub, by processes: tried again, given up, opened, done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.race.history import assert_nothing_twice, assert_one_owner
from tests.race.seeds import seed
from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(48)


def later(seconds: int) -> dict[str, str]:
    """The environment of a process whose clock is that far ahead."""
    return {"BD_TEST_CLOCK_OFFSET_S": str(seconds)}


@pytest.mark.slow
def test_three_failures_a_dead_letter_a_retry_and_a_claim(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    for number in (1, 2, 3):
        env = later(number * 4000)  # an agent that failed twice tries one more after two of its intervals
        alice.bd("claim", "--next", "--agent", "coder", env=env)
        said = alice.bd("fail", "hub-a", "--reason", "crash", "--error", f"broke {number}", "--agent", "coder", env=env).out
        assert ("tried again in" if number < 3 else "given up after 3 attempts: bd dlq show hub-a") in said
        assert bob.bd("claim", "--next", "--agent", "other", env=env, code=3).out == ""
    dead = tip_bead(hub, "hub-a")
    assert dead is not None
    assert (dead.status, dead.claim, dead.attempts, dead.get("poison_pill")) == ("dead_letter", None, 3, None)
    bob.bd("claim", "hub-a", "--agent", "other", env=later(20000), code=5)
    [listed] = bob.bd("dlq", "list", "--json").json
    assert [failure["error"] for failure in listed["failures"]] == ["broke 1", "broke 2", "broke 3"]
    assert listed["poison_pill"] is False
    assert listed["dead_lettered_at"]
    bob.bd("dlq", "retry", "hub-a", "--reason", "mended", env=later(20000))
    assert bob.bd("dlq", "list", "--json").json == []
    [again] = bob.bd("claim", "--next", "--agent", "other", "--json", env=later(20000)).json
    assert (again["id"], again["claim"]["attempt"], len(again["failures"])) == ("hub-a", 4, 3)
    bob.bd("close", "hub-a", "--reason", "done", "--agent", "other", env=later(20100))
    assert_one_owner(hub)
    assert_nothing_twice(hub)


def test_what_fails_whoever_tries_it_is_given_up_before_its_last_attempt(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.bd("update", "hub-a", "--max-attempts", "9")
    for number, (worker, agent) in enumerate([(alice, "coder"), (bob, "other"), (alice, "coder")], start=1):
        env = later(number * 4000)  # an agent that failed twice tries one more after two of its intervals
        worker.bd("claim", "hub-a", "--agent", agent, env={**env, "BD_SESSION": str(number)})
        said = worker.bd(
            "fail", "hub-a", "-r", "crash", "-e", "broke", "--agent", agent, env={**env, "BD_SESSION": str(number)}
        ).out
    assert "given up after 3 attempts, because it fails for every agent" in said
    dead = tip_bead(hub, "hub-a")
    assert dead is not None
    assert dead.get("poison_pill") is True


@pytest.mark.one_in(18)
@pytest.mark.parametrize("kind", ["crash", "cancelled"])
def test_a_failure_written_without_the_network_is_decided_again(kind: str, clone: Clones, hub: Path, tmp_path: Path) -> None:
    """Kept in the clone, overtaken by a comment, published by a sync: the same failure, at the time it was told."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder")
    bob.bd("sync")
    hub.rename(tmp_path / "away.git")
    answer = alice.bd("fail", "hub-a", "--reason", kind, "--error", "broke", "--agent", "coder", "--json", code=6)
    assert answer.json["written"] == "local"
    local = alice.bd("show", "hub-a", "--json").json[0]
    (tmp_path / "away.git").rename(hub)
    bob.bd("comment", "hub-a", "meanwhile")
    alice.bd("sync", env=later(500))
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.claim, bead.comments[0]["text"]) == (local["status"], None, "meanwhile")
    assert bead.get("failures") == local["failures"]
    assert bead.get("retry_at") == local.get("retry_at")
    assert_nothing_twice(hub)
