"""Workspaces: what they begin with, what commands get there, and whom they disturb."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import BdError, Refused, TryAgain
from bd.processes.sandbox import mounted, wrapped
from bd.repos import workspace
from bd.repos.attempt import SetupFailed, workspace_for
from bd.repos.folders import user_files
from bd.repos.housekeeping import remove_old
from bd.repos.workspace import Conflict, mounts_at
from bd.worker.maintenance import keep_house
from tests.running import run_here
from tests.truth import git

if TYPE_CHECKING:
    from tests.repos.conftest import Site

pytestmark = pytest.mark.one_in(24)


def test_a_workspace_is_private_and_under_its_bead(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    folder = Path(attempt.folder)
    assert folder.name == bead
    assert folder.parent.name == "relay"
    modes = {path: path.stat().st_mode & 0o077 for path in (folder, folder.parent, folder.parent.parent)}
    assert not any(modes.values()), modes
    assert git(folder, "branch", "--show-current") == f"agents/{bead}"
    assert git(folder, "status", "--porcelain") == ""
    assert (Path(os.environ["HOME"]) / ".local/state/bd/repos").stat().st_mode & 0o077 == 0


def test_the_base_is_fresh(site: Site) -> None:
    site.begin(site.bead())
    tip = site.commit("main", "later")
    assert git(site.begin(site.bead()).folder, "rev-parse", "HEAD") == tip


def test_a_workspace_begins_with_what_closed_dependencies_delivered(site: Site) -> None:
    needed = site.bead()
    first = site.begin(needed)
    site.work(first, "needed")
    first.finish(site.hub(), {}, is_current=True)
    site.clone.here("close", needed, "--agent", "coder", "--reason", "done")
    site.commit("main", "later")
    second = site.begin(site.bead("--deps", needed))
    assert {"needed", "later"} <= {*os.listdir(second.folder)}


def test_a_conflict_of_dependencies_is_told_as_one(site: Site) -> None:
    needed = site.bead()
    first = site.begin(needed)
    site.work(first, "same")
    first.finish(site.hub(), {}, is_current=True)
    site.clone.here("close", needed, "--agent", "coder", "--reason", "done")
    site.commit("main", "same", "other\n")
    with pytest.raises(Conflict):
        site.begin(site.bead("--deps", needed))


def test_a_base_that_conflicts_with_the_branch_is_left_to_the_agent(site: Site) -> None:
    bead = site.bead()
    first = site.begin(bead)
    made = site.work(first, "same")
    first.finish(site.hub(), {}, is_current=True)
    site.commit("main", "same", "other\n")
    site.clone.here("release", bead, "--force", "--reason", "again")
    second = site.begin(bead)
    assert git(second.folder, "rev-parse", "HEAD") == made
    assert git(second.folder, "status", "--porcelain") == ""
    assert "merge origin/main yourself" in site.brief


def test_what_a_command_gets(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--cache", "PIP_CACHE_DIR=pip")
    first, second = site.begin(site.bead()), site.begin(site.bead())
    found = [first.environment, second.environment]
    assert [one["BD_SLOT"] for one in found] == ["0", "1"]
    assert found[0]["PIP_CACHE_DIR"] == found[1]["PIP_CACHE_DIR"]
    assert os.path.isdir(found[0]["PIP_CACHE_DIR"])
    first.finish(site.hub(), {}, is_current=True)
    assert site.begin(site.bead()).environment["BD_SLOT"] == "0"


def test_bd_in_a_workspace_finds_the_hub_and_git_above_it_nothing(site: Site) -> None:
    git(os.environ["HOME"], "init", "--quiet")
    bead = site.bead()
    attempt = site.begin(bead)
    environment = {**os.environ, **attempt.environment}
    git_above = subprocess.run(
        ["git", "status"], cwd=Path(attempt.folder).parent, env=environment, capture_output=True, check=False
    )
    assert git_above.returncode == 128
    found = run_here("show", bead, "--json", cwd=attempt.folder, env=dict(attempt.environment))
    assert found.json[0]["id"] == bead


def test_local_files_are_copied_and_ignored(site: Site) -> None:
    folder = Path(user_files("relay"))
    folder.mkdir(parents=True)
    (folder / ".env").write_text("KEY=1\n")
    site.clone.here("repo", "add", "relay", str(site.code), "--copy", ".env")
    bead = site.bead()
    attempt = site.begin(bead)
    assert (Path(attempt.folder) / ".env").read_text() == "KEY=1\n"
    assert git(attempt.folder, "status", "--porcelain") == ""
    attempt.finish(site.hub(), {}, is_current=True)
    site.clone.here("workspace", "prune", bead)
    assert site.clone.here("workspace", "list", "--json").json == []


def test_a_copied_file_does_not_leave_the_workspace_through_a_link(site: Site, tmp_path: Path) -> None:
    folder = Path(user_files("relay")) / "inner"
    folder.mkdir(parents=True)
    (folder / "x").write_text("mine\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    person = tmp_path / "seed"
    (person / "inner").symlink_to(outside)
    git(person, "add", "inner")
    git(person, "commit", "--quiet", "-m", "link")
    git(person, "push", "--quiet", str(site.code), "main")
    site.clone.here("repo", "add", "relay", str(site.code), "--copy", "inner/x")
    with pytest.raises(TryAgain):
        site.begin(site.bead())
    assert not [*outside.iterdir()]


def test_a_missing_local_file_says_where_it_belongs(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--copy", ".env")
    with pytest.raises(TryAgain) as missing:
        site.begin(site.bead())
    assert user_files("relay") in str(missing.value.hint)


def test_a_setup_that_fails_twice_lets_the_repository_rest(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--setup", "echo no compiler; exit 3")
    for name in (site.bead(), site.bead()):
        with pytest.raises(SetupFailed, match="no compiler"):
            site.begin(name)
    (one,) = site.clone.here("attention", "--json").json["repos"]
    assert "2 times in a row" in one["why"]
    hub = site.hub()
    third = site.bead()
    site.clone.here("claim", third, "--agent", "coder")
    hub.fetch()
    bead = hub.snapshot().bead(third)
    assert bead is not None
    with pytest.raises(Refused, match="its setup failed"):
        workspace_for(hub, bead, hub.snapshot())
    site.clone.here("repo", "check", "relay")
    assert site.clone.here("attention", "--json").json["repos"] == []


def test_a_setup_runs_in_the_workspace_and_one_success_counts(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--setup", "test -e readme && test ! -e ../fail && echo ok > x.log")
    bead = site.bead()
    attempt = site.begin(bead)
    assert (Path(attempt.folder) / "x.log").read_text() == "ok\n"
    (Path(attempt.folder).parent / "fail").touch()
    with pytest.raises(SetupFailed):
        site.begin(site.bead())
    assert site.clone.here("attention", "--json").json["repos"] == []


def test_a_disk_with_too_little_room_gets_no_workspace(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--min-free", "900TB")
    with pytest.raises(TryAgain, match=r"less than clone\.min_free"):
        site.begin(site.bead())


def test_two_attempts_do_not_share_a_folder(site: Site) -> None:
    bead = site.bead()
    site.begin(bead)
    with pytest.raises(TryAgain, match="another attempt uses"):
        site.reserve(bead)


def test_a_bead_without_a_repository_gets_an_empty_folder_where_wanted(site: Site) -> None:
    bead_id = site.clone.here("create", "Think", "--json").json["id"]
    site.clone.here("claim", bead_id, "--agent", "coder")
    hub = site.hub()
    bead = hub.snapshot().bead(bead_id)
    assert bead is not None
    assert workspace_for(hub, bead, hub.snapshot()) is None
    attempt = workspace_for(hub, bead, hub.snapshot(), wanted=True)
    assert attempt is not None
    attempt.prepare(hub, {}, lambda _: None)
    assert os.listdir(attempt.folder) == []
    (Path(attempt.folder) / "thoughts").write_text("mine\n")
    attempt.finish(hub, {}, is_current=True)
    site.clone.here("workspace", "prune", bead_id)
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert [left["kind"] for left in one["unpushed"]] == ["untracked"]


def test_sparse_and_partial_clones_come_back_whole(site: Site) -> None:
    person = site.code.parent / "seed"
    for name in ("src", "big"):
        (person / name).mkdir()
        (person / name / "f").write_text(f"{name}\n")
    git(person, "add", ".")
    git(person, "commit", "--quiet", "-m", "folders")
    git(person, "push", "--quiet", str(site.code), "main")
    git(site.code, "config", "uploadpack.allowFilter", "true")
    site.clone.here("repo", "add", "relay", f"file://{site.code}", "--filter", "blob:none", "--sparse", "src")
    bead = site.bead()
    attempt = site.begin(bead)
    assert sorted(name for name in os.listdir(attempt.folder) if name != ".git") == [".gitignore", "readme", "src"]
    (Path(attempt.folder) / "readme").write_text("changed\n")
    made = site.work(attempt, "src/new")
    assert attempt.finish(site.hub(), {}, is_current=True).branch == f"agents/{bead}"
    assert git(site.code, "ls-tree", "-r", "--name-only", made).splitlines() == [
        ".gitignore",
        "big/f",
        "readme",
        "src/f",
        "src/new",
    ]
    (one,) = site.clone.here("workspace", "list", "--json").json
    (left,) = one["unpushed"]
    assert git(one["git_dir"], "diff", "--name-only", f"{left['commit']}^", left["commit"]) == "readme"


def test_what_was_once_fetched_in_part_is_so_for_good(site: Site) -> None:
    """Whatever the entry says by now, objects are missing in the cache."""
    site.commit("main", "gone", "of an earlier day\n")
    site.commit("main", "gone", "of today\n")
    git(site.code, "config", "uploadpack.allowFilter", "true")
    site.clone.here("repo", "add", "relay", f"file://{site.code}", "--filter", "blob:none")
    first = site.begin(site.bead())
    first.finish(site.hub(), {}, is_current=True)
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert git(one["git_dir"], "config", "remote.origin.partialclonefilter") == "blob:none"
    site.clone.here("repo", "add", "relay", f"file://{site.code}", "--filter", "")
    second = site.begin(site.bead())
    assert git(second.folder, "show", "HEAD~1:gone") == "of an earlier day"


def test_housekeeping_removes_after_three_days_and_not_what_somebody_holds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    beads = [site.bead(), site.bead()]
    attempts = [site.begin(bead) for bead in beads]
    for attempt in attempts:
        attempt.finish(site.hub(), {}, is_current=True)
    site.clone.here("close", beads[0], "--agent", "coder", "--reason", "done")
    for offset, there in (("172800", [True, True]), ("259300", [False, True])):
        monkeypatch.setenv("BD_TEST_CLOCK_OFFSET_S", offset)
        remove_old(site.hub())
        site.clone.here("workspace", "prune")
        assert [os.path.isdir(one.folder) for one in attempts] == there


def test_a_cache_that_can_not_be_used_hides_no_other_workspace_and_ends_no_worker(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is in the place of a file of git's: nothing can be read there or written."""
    site.clone.here("repo", "add", "another", str(site.code))
    beads = [site.bead(), site.clone.here("create", "X", "--repo", "another", "--json").json["id"]]
    attempts = [site.begin(bead) for bead in beads]
    for attempt in attempts:
        attempt.finish(site.hub(), {}, is_current=True)
        site.clone.here("release", attempt.workspace.bead, "--force", "--reason", "again")
    config = Path(f"{os.path.dirname(Path(attempts[0].folder, '.git/objects/info/alternates').read_text().strip())}/config")
    config.unlink()
    config.mkdir()
    shown = {one["id"]: bool(one["not_set_aside"]) for one in site.clone.here("workspace", "list", "--json").json}
    assert shown == dict(zip(beads, (True, False), strict=True))
    monkeypatch.setenv("BD_TEST_CLOCK_OFFSET_S", str(4 * 86400))
    assert any(attempts[0].folder in line for line in keep_house(site.hub(), "agent:coder"))
    assert [os.path.exists(attempt.folder) for attempt in attempts] == [True, False]
    assert "stays" in site.clone.here("workspace", "prune", beads[0]).err


def test_path_and_enter(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    assert site.clone.here("workspace", "path", bead).out.strip() == attempt.folder
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\npwd > "$BD_WORKSPACE/../where"\nexit 7\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    assert "bd take" in site.clone.here("workspace", "enter", bead, code=7).err
    assert (Path(attempt.folder).parent / "where").read_text().strip() == attempt.folder
    site.clone.here("workspace", "path", "hub-none", code=4)


def test_a_repository_that_is_not_in_the_hub_changes_nothing(site: Site) -> None:
    bead_id = site.clone.here("create", "Old", "--repo", "elsewhere", "--json").json["id"]
    site.clone.here("claim", bead_id, "--agent", "coder")
    hub = site.hub()
    bead = hub.snapshot().bead(bead_id)
    assert bead is not None
    assert workspace_for(hub, bead, hub.snapshot()) is None


def test_a_full_disk_while_cloning_leaves_no_half_workspace(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise TryAgain("no space left on device")

    monkeypatch.setattr(workspace, "_copy", full)
    bead = site.bead()
    site.clone.here("claim", bead, "--agent", "coder")
    attempt = site.reserve(bead, prepare=False)
    with pytest.raises(BdError):
        attempt.prepare(site.hub(), {}, lambda _: None)
    assert not os.path.lexists(attempt.folder)


@pytest.mark.parametrize("preset", ["bwrap", "podman"])
def test_a_sandbox_sees_what_a_workspace_borrows_and_its_caches_and_no_more(site: Site, preset: str) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--cache", "PIP_CACHE_DIR=pip")
    attempt = site.begin(site.bead())
    cache = attempt.environment["PIP_CACHE_DIR"]
    objects = Path(attempt.folder, ".git/objects/info/alternates").read_text().strip()
    reads, writes = mounts_at(attempt.folder)
    assert (reads, writes) == attempt.workspace.mounts == ([objects], [os.path.dirname(cache)])
    Path(attempt.folder, ".git/objects/info/alternates").write_text("/etc\n")  # what an agent writes there changes nothing
    assert mounts_at(attempt.folder) == (reads, writes)
    words = wrapped(["agent"], mounted([preset, "image"], reads, writes), attempt.folder)
    shown = " ".join(words)
    assert f"{objects} {objects}" in shown or f"{objects}:{objects}:ro" in shown
    assert words.index("image") > max(place for place, word in enumerate(words) if objects in word)
    assert mounted(["my-own", "sandbox"], reads, writes) == ["my-own", "sandbox"]
