"""Advisory claims on a real hub: two clones at one bead at once, each with its own token, and a history that proves sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.report.audit.proof import prove
from bd.store.hub_location import locate
from tests.race.history import assert_nothing_twice
from tests.race.seeds import seed
from tests.runtime import open_clone
from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(3)


def test_a_claim_that_is_overtaken_by_another_joins_it(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.here("config", "set", "claim_mode", "advisory")
    steps.at("push", lambda: bob.here("claim", "hub-a", "--agent", "ben"))
    [won] = alice.here("claim", "hub-a", "--agent", "ann", "--json").json
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert sorted(bead.holders) == ["ann", "ben"]
    assert won["claim"]["agent"] == "ann"
    assert won["claim"]["token"] in {claim["token"] for claim in won["claims"]}


def test_each_works_under_its_own_token_and_the_history_is_sound(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a", "hub-b")
    alice.here("update", "hub-a", "--claim-mode", "advisory")
    alice.here("claim", "hub-a", "--agent", "ann")
    bob.here("claim", "hub-a", "--agent", "ben")
    bob.here("undo", "--agent", "ben")
    bob.here("claim", "hub-a", "--agent", "ben")
    renewed = alice.here("claim", "hub-a", "--agent", "ann", "--json").json[0]
    assert len(renewed["claims"]) == 2
    bob.here("release", "hub-a", "--reason", "no time", "--agent", "ben")
    bob.here("close", "hub-a", "--reason", "mine", "--agent", "ben", code=5)
    bob.here("claim", "--next", "--agent", "ben")
    bob.here("claim", "hub-a", "--agent", "ben")
    closed = alice.here("close", "hub-a", "--reason", "done", "--agent", "ann")
    assert "ben had also claimed hub-a" in closed.err
    assert bob.here("close", "hub-a", "--reason", "mine", "--agent", "ben", "--json", code=5).json["code"] == "stale_token"
    bead, other = tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")
    assert bead is not None
    assert other is not None
    assert (bead.status, bead.claims, bead.get("closed_by")) == ("closed", [], "agent:ann")
    assert other.holders == ["ben"], "the best that nobody is at goes first"
    assert alice.here("doctor").out.strip().endswith("0 damaged, 0 warnings")
    place = open_clone(locate(str(alice.path)))
    try:
        assert prove(place.repo, place.branch).holds
    finally:
        place.close()
    assert_nothing_twice(hub)


def test_a_killed_process_hands_its_advisory_claim_on(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.bd("config", "set", "claim_mode", "advisory")
    alice.bd("claim", "--next", "--agent", "ann", env={"BD_TEST_STOP_AT": "pushed"}, code=137)
    before = tip_bead(hub, "hub-a")
    assert before is not None
    [won] = alice.bd("claim", "--next", "--agent", "ann", "--json").json
    assert won["claim"]["token"] == before.claims[0]["token"]
    after = tip_bead(hub, "hub-a")
    assert after is not None
    assert len(after.claims) == 1
