"""What fails too often is told by whoever keeps house, where the hub asks for it: one bead a cause, none on quiet days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.operations.friction_beads import TellFriction
from bd.store.hub_location import locate
from tests.runtime import RUNTIME, open_clone
from tests.truth import all_beads, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(5)


def failing(clone: Clone, config: str) -> None:
    """A hub with this configuration of friction, and three beads that failed once each."""
    file = clone.path / ".beads" / "config.yaml"
    file.write_text(f"{file.read_text()}{config}")
    clone.here("sync")
    for number in range(3):
        bead_id, agent = f"hub-bad{number}", f"coder{number}"
        clone.here("create", f"Mend {number}", "--id", bead_id, "-l", "auth")
        clone.here("claim", bead_id, "--agent", agent)
        clone.here("fail", bead_id, "--reason", "crash", "--error", "red", "--agent", agent)
        clone.here("defer", bead_id)


def about_friction(hub: Path) -> list[str]:
    return sorted(bead.title for bead in all_beads(hub) if "friction" in bead.labels)


def test_friction_is_told_by_whoever_is_idle_once_for_each_cause(clone: Clones, hub: Path, clock: FakeClock) -> None:
    alice, bob = clone("alice"), clone("bob")
    failing(alice, "friction: {window: 30d, rate: 0.5, least: 3}\n")
    told = ["100 % of the attempts on label auth fail", "100 % of the attempts on type task fail"]
    alice.here("poll", "--agent", "romanov")
    assert about_friction(hub) == told
    bob.here("overseer", "--once")
    clock.move(days=2)
    alice.here("overseer", "--once")  # the day's summary, and that romanov has gone
    before = tip(hub)
    clock.move(hours=2)
    for keeper in (alice, bob):
        keeper.here("overseer", "--once")
    assert tip(hub) == before, "on a quiet day there is no commit"
    assert about_friction(hub) == told


def test_friction_is_told_again_only_when_it_goes_on(clone: Clones, hub: Path, clock: FakeClock) -> None:
    alice = clone("alice")
    failing(alice, "friction: true\n")
    alice.here("overseer", "--once")
    assert about_friction(hub) == [], "three are fewer than five"
    assert alice.here("friction", "--json").json == []
    assert [one["name"] for one in alice.here("friction", "--least", "3", "--json").json] == ["auth", "task"]


def test_friction_that_nobody_asked_for_is_not_told(clone: Clones, hub: Path, clock: FakeClock) -> None:
    alice = clone("alice")
    failing(alice, "friction: false\n")
    before = tip(hub)
    alice.here("overseer", "--once", "--skip", "board,summary,file")
    assert (tip(hub), about_friction(hub)) == (before, [])


def test_two_who_tell_of_friction_at_once_make_one_bead(clone: Clones, hub: Path, clock: FakeClock) -> None:
    """Both have seen the same hub; the second decides anew on what the first has made."""
    alice, bob = clone("alice"), clone("bob")
    failing(alice, "friction: {least: 3}\n")
    bob.here("sync")
    opened = [open_clone(locate(str(one.path))) for one in (alice, bob)]
    try:
        asked = {"at": clock.text(), "runtime": RUNTIME, "window_s": 604800.0, "rate": 0.4, "least": 3}
        for number, each in enumerate(opened):
            each.publish(TellFriction(by=f"agent:{number}", **asked))
    finally:
        for each in opened:
            each.close()
    assert len(about_friction(hub)) == 2, "one for the label, one for the type"
