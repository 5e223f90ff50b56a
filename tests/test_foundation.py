"""The fixtures themselves: what other tests lean on holds."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.running import Clone, result_of
from tests.truth import git, log, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock

pytestmark = pytest.mark.one_in(2)


def test_nothing_of_the_machine_gets_in(tmp_path: Path) -> None:
    allowed = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_EDITOR"}
    assert {name for name in os.environ if name.startswith(("GIT_", "BD_", "BEADS_"))} == allowed
    assert os.getcwd() == str(tmp_path)
    assert git(tmp_path, "config", "user.name") == "Test Person"


def test_only_the_file_protocol_is_open(tmp_path: Path, remote: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "copy")
    with pytest.raises(AssertionError, match="not allowed"):
        git(tmp_path, "clone", "--quiet", "https://example.invalid/x.git", "other")


def test_a_hub_has_one_commit_and_no_beads(hub: Path) -> None:
    assert log(hub) == ["init: a hub for hub by Test Person"]
    assert not [path for path in tip_paths(hub) if path.startswith("beads/")]


def test_a_clone_writes_to_the_hub(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    bead_id = alice.bd("q", "Look into it").out.strip()
    bead = tip_bead(hub, bead_id)
    assert bead is not None
    assert bead.title == "Look into it"
    assert clone("bob").bd("show", bead_id, "--json").json[0]["id"] == bead_id


def test_the_same_command_runs_in_this_process(clone: Callable[[str], Clone], hub: Path, clock: FakeClock) -> None:
    clock.set("2026-03-01T12:00:00Z")
    bead_id = clone("alice").here("q", "Look into it").out.strip()
    bead = tip_bead(hub, bead_id)
    assert bead is not None
    assert bead.created_at == "2026-03-01T12:00:00.000000Z"


def test_a_failing_command_fails_the_test_unless_it_is_looked_at(local_hub: Clone) -> None:
    for run in (local_hub.bd, local_hub.here):
        with pytest.raises(AssertionError, match="exit 0 was expected"):
            run("show", "hub-none")
        assert run("show", "hub-none", code=4).out == ""
        assert "hub-none" in run("show", "hub-none", check=False).err


def test_commands_run_side_by_side(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    results = [result_of(process) for process in (alice.start("q", "One"), bob.start("q", "Two"))]
    assert [result.code for result in results] == [0, 0]
    assert {tip_bead(hub, result.out.strip()).title for result in results} == {"One", "Two"}


def test_a_local_hub_is_its_branch(local_hub: Clone) -> None:
    before = tip(local_hub.path)
    local_hub.bd("create", "Something")
    assert tip(local_hub.path) != before


def test_stdin_is_given_back(local_hub: Clone) -> None:
    before = sys.stdin
    bead_id = local_hub.here("q", "Something").out.strip()
    local_hub.here("update", bead_id, "--description", "-", input="From stdin\n")
    assert sys.stdin is before
    assert tip_bead(local_hub.path, bead_id).get("description") == "From stdin\n"
