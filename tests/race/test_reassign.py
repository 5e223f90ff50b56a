"""Freeing a stalled claim while its holder comes back: whoever is first on the hub wins, and the other one hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.operations.claims import Claim, Release
from bd.store import Clone as Opened
from bd.store.heartbeat.side_refs import CLAIMS
from bd.store.hub_location import locate
from tests.clocks import START
from tests.race.history import subjects
from tests.race.seeds import seed
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(3)

AT = "2026-02-21T10:00:00.000000Z"
LATER = {"BD_TEST_CLOCK_OFFSET_S": "7200", "BD_TEST_UPTIME_OFFSET_S": "7200"}


def a_silent_claim(alice: Clone) -> tuple[Opened, str]:
    """hub-a claimed by coder, whose signs have stopped; its hub and its token."""
    seed(alice, "hub-a")
    hub = open_clone(locate(str(alice.path)))
    hub.sides.probe(START)
    written = hub.publish(
        Claim(by="agent:coder", at=AT, runtime=RUNTIME, agent="coder", ids=["hub-a"], heartbeat={"interval_s": 30, "by": "ref"})
    )
    assert written.change is not None
    return hub, written.change.tokens[0][0]


def test_a_beat_just_before_the_push_keeps_the_claim(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    holder, token = a_silent_claim(alice)
    bob.here("stalled", "--json")

    def beat() -> None:
        new = holder.sides.beat(START, 30)
        git(alice.path, "push", "--quiet", "--force", str(hub), f"{new}:{CLAIMS}{token}")

    steps.at("push", beat)
    result = bob.here("stalled", "--reassign", env=LATER)
    holder.close()
    assert "sent a heartbeat meanwhile" in result.err
    assert tip_bead(hub, "hub-a").claim is not None
    assert subjects(hub, "reassign") == []
    assert git(hub, "for-each-ref", "refs/bd/claims") != ""


def test_a_bead_that_is_given_back_just_before_the_push_is_not_freed_again(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob = clone("alice"), clone("bob")
    holder, token = a_silent_claim(alice)
    bob.here("stalled", "--json")
    give_back = Release(by="agent:coder", at=AT, runtime=RUNTIME, tokens={"hub-a": token}, ids=["hub-a"], reason="enough")
    steps.at("push", lambda: holder.publish(give_back))
    bob.here("stalled", "--reassign", env=LATER)
    holder.close()
    assert tip_bead(hub, "hub-a").get("failures") is None
    assert subjects(hub, "reassign") == []
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_two_observers_free_a_claim_once(clone: Clones, hub: Path, steps: Interleaving) -> None:
    alice, bob, carol = clone("alice"), clone("bob"), clone("carol")
    holder, _ = a_silent_claim(alice)
    holder.close()
    bob.here("stalled")
    carol.bd("stalled")
    steps.at("push", lambda: carol.bd("stalled", "--reassign", env=LATER))
    bob.here("stalled", "--reassign", env=LATER)
    assert len(subjects(hub, "reassign")) == 1
    assert len(tip_bead(hub, "hub-a").get("failures")) == 1
