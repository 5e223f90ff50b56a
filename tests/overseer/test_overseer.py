"""One command that looks after a fleet: each duty, what it says before, and that there is nothing left to do afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.overseer.duties import NAMES
from tests.truth import all_beads, commit_file, git, tip, tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)

FAIL = ("--reason", "crash", "--error", "no disk")


@pytest.fixture
def fleet(clone: Callable[[str], Clone], clock: FakeClock) -> Clone:
    """Yesterday: iris had too much to do, loom nothing, a worker died, another failed twice, and a plan was done."""
    ada = clone("ada")
    for name in ("iris", "loom", "clumsy"):
        ada.here("agent", "add", name)
    for number in range(8):
        ada.here("create", f"Job {number}", "--id", f"hub-n{number}", "--assignee", "iris")
    ada.here("create", "Plan", "--type", "epic", "--id", "hub-root")
    ada.here("create", "Step", "--id", "hub-step", "--parent", "hub-root")
    ada.here("close", "hub-step")
    for bead in ("hub-f1", "hub-f2"):
        ada.here("create", "Hard", "--id", bead, "--needs", "hands")
        ada.here("claim", bead, "--agent", "clumsy", "--force")
        ada.here("fail", bead, "--agent", "clumsy", *FAIL)
    ada.here("create", "Abandoned", "--id", "hub-gone", "--needs", "hands")
    ada.here("claim", "hub-gone", "--agent", "dead", "--force")
    clock.move(days=1)
    ada.here("comment", "hub-n0", "confirms the clock", "--agent", "iris")
    ada.here("poll", "--agent", "loom", code=3, env={"BD_RECOVER": "false"})
    clock.move(minutes=4)
    return ada


def would(clone: Clone, *args: str) -> dict[str, list[str]]:
    shown: dict[str, list[str]] = clone.here("overseer", "--explain", "--json", *args).json["would"]
    return shown


def test_a_round_does_what_it_said_and_leaves_nothing_to_do(fleet: Clone, hub: Path) -> None:
    before = tip(hub)
    said = would(fleet)
    assert tip(hub) == before, "it changes nothing"
    assert list(said) == list(NAMES)
    assert said["reassign"] == ["free hub-gone: dead@hub's claim is over twice its expected time without a sign"]
    assert len(said["rebalance"]) == 3
    assert said["roots"] == ["close hub-root: all beads below it are done"]
    assert "file: Agent clumsy is overloaded" in said["file"]
    assert said["summary"] == ["publish DAILY.md: the summary of 2026-02-21"]
    assert said["board"] == ["publish BOARD.md"]
    done = fleet.here("overseer", "--once", "--json").json
    assert done["freed"] == ["hub-gone"]
    assert (len(done["rebalance"]), done["roots"], done["board"], done["summary"]) == (
        3,
        ["hub-root"],
        ["BOARD.md"],
        ["DAILY.md"],
    )
    assert tip_bead(hub, "hub-gone").status == "open"
    assert tip_bead(hub, "hub-root").status == "closed"
    assert sum(bead.assignee == "loom" for bead in all_beads(hub)) == 3
    page = (tip_file(hub, "DAILY.md") or b"").decode()
    assert "- 13 beads created, 1 closed (task 1)" in page
    assert "- 2 attempts failed (crash 2)" in page
    assert "overloaded agents (`bd agent clear NAME`): clumsy" in page
    left = would(fleet)
    assert {name: left[name] for name in NAMES if name != "house"} == {name: [] for name in NAMES if name != "house"}


def test_what_needs_a_person_waits_for_one_and_ends_with_its_cause(fleet: Clone, hub: Path) -> None:
    filed = fleet.here("overseer", "--once", "--json").json["file"]
    fleet.here("overseer", "--once")
    beads = [tip_bead(hub, bead_id) for bead_id in filed]
    assert "Agent clumsy is overloaded" in {bead.title for bead in beads}
    assert {(bead.status, bead.get("waiting_on")) for bead in beads} == {("blocked", "human")}
    assert len([bead for bead in all_beads(hub) if "attention" in bead.labels]) == len(filed), "each once"
    assert "bd agent clear clumsy" in fleet.here("attention").out
    fleet.here("agent", "clear", "clumsy")
    fleet.here("overseer", "--once")
    over = next(bead for bead in beads if "clumsy" in bead.title and "overloaded" in bead.title)
    assert tip_bead(hub, over.id).status == "closed"


def test_a_day_is_summed_up_once_and_a_page_of_ones_own_is_left_alone(fleet: Clone, hub: Path, clock: FakeClock) -> None:
    assert would(fleet)["summary"]
    fleet.here("overseer", "--once", "--skip", "board")
    clock.move(hours=2)
    assert would(fleet)["summary"] == []
    clock.move(days=1)
    assert would(fleet)["summary"] == ["publish DAILY.md: the summary of 2026-02-22"]
    commit_file(fleet.path, "DAILY.md", "# My day\n", "mine")
    fleet.here("sync")
    assert would(fleet)["summary"] == []
    assert tip_file(hub, "BOARD.md") is None


def test_a_hub_that_began_today_has_no_day_to_sum_up(local_hub: Clone) -> None:
    local_hub.here("create", "Do it")
    assert would(local_hub)["summary"] == []


def test_each_duty_can_be_left_out(fleet: Clone, hub: Path) -> None:
    for skipped in NAMES:
        assert list(would(fleet, "--skip", skipped)) == [name for name in NAMES if name != skipped]
    before = tip(hub)
    done = fleet.here("overseer", "--once", "--json", "--skip", ",".join(NAMES)).json
    assert (tip(hub), done["freed"], done["house"]) == (before, [], [])


def test_what_is_no_duty_is_refused(local_hub: Clone) -> None:
    assert "one of reassign, rebalance" in local_hub.here("overseer", "--once", "--skip", "bord", code=2).err


def test_a_duty_that_fails_stops_no_other(fleet: Clone, hub: Path) -> None:
    fleet.here("config", "set", "board_path", "beads/x.md")
    done = fleet.here("overseer", "--once", "--json").json
    assert "can't be a board's path" in done["errors"]["board"]
    assert done["summary"] == ["DAILY.md"]
    assert "board: 'beads/x.md' can't be" in fleet.here("overseer", "--once").err


def test_two_overseers_do_no_more_than_one(fleet: Clone, clone: Callable[[str], Clone], hub: Path) -> None:
    bob = clone("bob")
    fleet.here("overseer", "--once")
    commits = git(hub, "rev-list", "--count", "main")
    bob.here("overseer", "--once")
    assert git(hub, "rev-list", "--count", "main") == commits
