"""Version 0.9.0 and the present one on one hub: each goes on where the other one stopped, and no bead has two owners."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.race.history import assert_nothing_twice, assert_one_owner, assert_only_added_to
from tests.running import Clone, result_of
from tests.truth import all_beads, git, tip_bead
from tests.versions import released

if TYPE_CHECKING:
    from pathlib import Path

    from tests.versions import Released


@pytest.fixture
def old(tmp_path: Path) -> Released:
    """Version 0.9.0."""
    return released("0.9.0", tmp_path / "old")


@pytest.fixture
def hub_of_old(old: Released, remote: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A hub that 0.9.0 has made, and the clone it made it in."""
    own = tmp_path / "own"
    old.bd("init", str(own), "--prefix", "hub", "--remote", str(remote), cwd=tmp_path)
    git(remote, "config", "core.logAllRefUpdates", "true")
    return remote, own


def cloned(hub: Path, folder: Path) -> Path:
    git(hub.parent, "clone", "--quiet", str(hub), str(folder))
    return folder


@pytest.mark.one_in(2)
@pytest.mark.parametrize("where", ["own", "another"])
def test_the_present_version_goes_on_in_a_hub_of_the_old_one_and_back(
    where: str, old: Released, hub_of_old: tuple[Path, Path], tmp_path: Path
) -> None:
    hub, own = hub_of_old
    for bead_id in ("hub-a", "hub-b"):
        old.bd("create", f"Do {bead_id}", "--id", bead_id, cwd=own)
    here = Clone(own if where == "own" else cloned(hub, tmp_path / "another"))
    assert {one["id"]: one["status"] for one in here.bd("--fetch", "list", "--json").json} == {"hub-a": "open", "hub-b": "open"}
    here.bd("claim", "hub-a", "--agent", "coder")
    assert tip_bead(hub, "hub-a").claim.agent == "coder"
    old.bd("claim", "hub-a", "--agent", "other", cwd=own, code=5)
    here.bd("close", "hub-a", "--reason", "done", "--agent", "coder")
    seen = {one["id"]: one["status"] for one in old.bd("--fetch", "list", "--all", "--json", cwd=own).json}
    assert seen == {"hub-a": "closed", "hub-b": "open"}
    [taken] = old.bd("claim", "--next", "--agent", "other", "--json", cwd=own).json
    assert taken["id"] == "hub-b"
    assert here.bd("--fetch", "show", "hub-b", "--json").json[0]["claim"]["agent"] == "other"
    assert_only_added_to(hub)


@pytest.mark.slow
def test_both_versions_race_for_ten_beads(old: Released, hub_of_old: tuple[Path, Path], tmp_path: Path) -> None:
    hub, own = hub_of_old
    names = [f"hub-{letter}" for letter in "abcdefghij"]
    for bead_id in names:
        old.bd("create", f"Do {bead_id}", "--id", bead_id, cwd=own)
    present = [Clone(cloned(hub, tmp_path / f"present{number}")) for number in range(2)]
    olds = [own, cloned(hub, tmp_path / "old-clone")]
    rounds = 0
    while any(bead.claim is None for bead in all_beads(hub)):
        rounds += 1
        assert rounds <= len(names), "a round of four claims took nothing"
        racers = [
            *(clone.start("claim", "--next", "--agent", f"new{number}") for number, clone in enumerate(present)),
            *(old.start("claim", "--next", "--agent", f"old{number}", cwd=path) for number, path in enumerate(olds)),
        ]
        ended = [result_of(racer) for racer in racers]
        assert {result.code for result in ended} <= {0, 3, 6}, "\n".join(map(str, ended))
    assert_one_owner(hub)
    assert_only_added_to(hub)
    assert_nothing_twice(hub)
    owners = git(hub, "log", "--format=%s", "--grep=^claim: ", "main").splitlines()
    assert sorted(subject.split()[1] for subject in owners) == names, "each was claimed once"


PROVE = """
import sys
from bd.report.proof import prove
from bd.store.gitrepo import GitRepo
proof = prove(GitRepo(sys.argv[1], sys.argv[1], None), "refs/heads/main")
print(proof.claims, [violation.code for violation in proof.violations])
"""


@pytest.mark.slow
def test_the_old_version_s_proof_believes_a_commit_that_ends_one_claim_and_begins_another(
    old: Released, hub_of_old: tuple[Path, Path]
) -> None:
    hub, own = hub_of_old
    here = Clone(own)
    here.here("create", "One", "--id", "hub-a")
    here.here("claim", "hub-a", "--agent", "coder")
    here.here("claim", "hub-a", "--agent", "coder", "--resume")
    here.here("take", "hub-a")
    environment = {**os.environ, "PYTHONPATH": str(old.folder)}
    script = [sys.executable, "-c", PROVE, str(hub)]
    out = subprocess.run(script, env=environment, cwd=old.folder, capture_output=True, text=True, check=True).stdout
    assert out == "3 []\n"
