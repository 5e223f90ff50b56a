"""Every place a clone can be, and what must stay as it was there."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.hub.hooks import git_wrapper
from tests.race.seeds import seed
from tests.running import BD, Clone, Result, result_of, run_here, run_process
from tests.truth import commit_file, commits, git, log, tip, tip_bead, tip_file, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.one_in(27)

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2


def bytes_of(folder: Path, *, but: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Every file below a folder, by its path; without the paths that start with one of `but`."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(but):
            found[name] = path.read_bytes()
    return found


def settings_of(folder: Path) -> dict[str, bytes]:
    """What belongs to the user: git's configuration and the hooks."""
    git_dir = folder / git(folder, "rev-parse", "--git-common-dir")
    return {
        **{f"hooks/{name}": data for name, data in bytes_of(git_dir / "hooks").items()},
        "config": (git_dir / "config").read_bytes(),
    }


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository with a remote of its own, hooks, and work under way: staged, edited, untracked, ignored."""
    remote = tmp_path / "code.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    folder = tmp_path / "code"
    git(tmp_path, "clone", "--quiet", str(remote), str(folder))
    commit_file(folder, "src/main.py", "print('hello')\n")
    commit_file(folder, ".gitignore", ".env\n")
    commit_file(folder, "README", "code\n")
    git(folder, "push", "--quiet", "-u", "origin", "main")
    (folder / "README").write_text("edited\n")
    (folder / "staged.py").write_text("staged = True\n")
    git(folder, "add", "staged.py")
    (folder / "notes.txt").write_text("untracked\n")
    (folder / ".env").write_text("PASSWORD=secret\n")
    for name in ("pre-commit", "pre-push", "post-commit", "reference-transaction"):
        hook = folder / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> '{tmp_path}/hooks-that-ran'\nexit 1\n")
        hook.chmod(0o755)
    return folder


# --- one clone, many ways in --------------------------------------------------------------


def test_several_processes_in_one_clone(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    results = [result_of(process) for process in [alice.start("q", f"Bead {number}") for number in range(5)]]
    assert [result.code for result in results] == [0] * 5, "\n".join(map(str, results))
    made = {result.out.strip() for result in results}
    assert len(made) == 5
    assert made == {path[6:-5] for path in tip_paths(hub) if path.startswith("beads/")}
    assert git(alice.path, "status", "--porcelain") == ""
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_two_processes_of_one_clone_never_claim_the_same_bead(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    bead_id = alice.here("q", "The one").out.strip()
    racing = [alice.start("claim", bead_id, "--agent", name) for name in ("one", "two", "three")]
    results = [result_of(process) for process in racing]
    assert sorted(result.code for result in results) == [0, 5, 5], "\n".join(map(str, results))
    assert tip_bead(hub, bead_id).attempts == 1


def test_a_subfolder(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    deep = alice.path / "docs" / "deep"
    deep.mkdir(parents=True)
    bead_id = run_here("q", "From below", cwd=deep).out.strip()
    run_here("claim", bead_id, "--agent", "mole", cwd=deep)
    assert tip_bead(hub, bead_id).claim.agent == "mole"
    assert (alice.path / "beads" / f"{bead_id}.yaml").exists()
    assert list(deep.iterdir()) == []


def test_a_linked_worktree(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    first = alice.here("q", "From the clone").out.strip()
    git(alice.path, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Clone(tmp_path / "side")
    before = bytes_of(side.path)
    second = side.here("q", "From the worktree").out.strip()
    side.here("claim", first, "--agent", "sider")
    assert tip_bead(hub, second) is not None
    assert tip_bead(hub, first).claim.agent == "sider"
    assert {bead["id"] for bead in alice.here("list", "--json").json} == {first, second}
    assert bytes_of(side.path) == before
    for folder in (alice.path, side.path):
        assert git(folder, "status", "--porcelain") == ""
    alice.here("q", "And the clone goes on")
    assert git(alice.path, "status", "--porcelain") == ""
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_what_a_clone_had_before_it_became_shallow_is_not_taken_for_new(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice, bob = clone("alice"), clone("bob")
    [first] = seed(alice, "hub-a")
    bob.here("sync")
    (alice.path / "beads" / f"{first}.yaml").open("a").write("notes: by hand\n")
    git(alice.path, "commit", "--quiet", "-a", "-m", "by hand")
    for text in ("one", "two", "three"):
        bob.here("comment", first, text)
    git(alice.path, "fetch", "--quiet", "--depth", "1", "origin", "main")
    synced = alice.here("sync", "--json").json
    assert (synced["refused"], synced["replayed"]) == ([], 1)
    bead = tip_bead(hub, first)
    assert bead is not None
    assert (bead.get("notes"), len(bead.comments)) == ("by hand", 3)


def test_a_shallow_clone(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    bob = clone("bob")
    first = bob.here("q", "Before").out.strip()
    git(tmp_path, "clone", "--quiet", "--depth", "1", hub.as_uri(), "shallow")
    shallow = Clone(tmp_path / "shallow")
    assert [bead["id"] for bead in shallow.here("list", "--json").json] == [first]
    for number in range(3):
        bob.here("q", f"Meanwhile {number}")
    second = shallow.here("q", "From the shallow one").out.strip()
    shallow.here("claim", first, "--agent", "diver")
    bob.here("update", second, "--priority", "1")
    shallow.here("close", first, "--reason", "done", "--agent", "diver")
    assert tip_bead(hub, first).status == "closed"
    assert tip_bead(hub, second).priority == 1
    assert git(shallow.path, "rev-parse", "HEAD") == tip(hub)
    assert git(shallow.path, "status", "--porcelain") == ""
    assert git(hub, "fsck", "--strict", "--no-dangling") == ""


def test_a_shallow_clone_replays_what_it_wrote_alone(hub: Path, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    bob = clone("bob")
    git(tmp_path, "clone", "--quiet", "--depth", "1", hub.as_uri(), "shallow")
    shallow = Clone(tmp_path / "shallow")
    shallow.here("list")
    away = hub.rename(tmp_path / "away.git")
    kept = shallow.here("create", "On the train", "--json").json
    away.rename(hub)
    for number in range(3):
        bob.here("q", f"Meanwhile {number}")
    assert shallow.here("sync", "--json").json["replayed"] == 1
    assert tip_bead(hub, kept["id"]) is not None


# --- what is not bd's ---------------------------------------------------------------------


def test_a_dirty_clone(clone: Callable[[str], Clone], hub: Path) -> None:
    """Unrelated work of every kind stays as it is, and no commit holds any of it."""
    alice = clone("alice")
    commit_file(alice.path, "README.md", "a hub\n")
    git(alice.path, "push", "--quiet", "origin", "main")
    (alice.path / "README.md").write_text("edited\n")
    (alice.path / "staged.txt").write_text("staged\n")
    git(alice.path, "add", "staged.txt")
    (alice.path / "id_rsa").write_text("secret\n")
    (alice.path / "beads" / ".swp").parent.mkdir(exist_ok=True)
    (alice.path / "beads" / ".swp").write_text("an editor's\n")
    before = git(alice.path, "status", "--porcelain", "--untracked-files=all")
    bead_id = alice.here("q", "Clean").out.strip()
    alice.here("claim", bead_id, "--agent", "alice")
    alice.here("comment", bead_id, "still clean")
    alice.here("close", bead_id, "--reason", "done", "--agent", "alice")
    assert git(alice.path, "status", "--porcelain", "--untracked-files=all") == before
    assert git(alice.path, "diff", "--cached", "--name-only") == "staged.txt"
    assert (alice.path / "README.md").read_text() == "edited\n"
    changed = set(git(hub, "log", "--format=", "--name-only", "-4", "main").split())
    assert changed == {f"beads/{bead_id}.yaml", ".agent-status/alice.yaml"}
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_sync_takes_bead_files_and_nothing_else(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    (alice.path / "id_rsa").write_text("secret\n")
    (alice.path / "beads").mkdir(exist_ok=True)
    (alice.path / "beads" / "hub-hand.yaml").write_text("id: hub-hand\ntitle: By hand\n")
    alice.here("sync")
    assert tip_bead(hub, "hub-hand") is not None
    assert "id_rsa" not in tip_paths(hub)
    assert git(alice.path, "status", "--porcelain") == "?? id_rsa"


@pytest.mark.parametrize("args", [("init",), ("init", "--branch", "beads")])
def test_settings_and_hooks_of_the_user_stay(code: Path, tmp_path: Path, args: tuple[str, ...]) -> None:
    """A hub in somebody's repository: their configuration and hooks are theirs, and no hook of theirs runs."""
    if args == ("init",):
        git(code, "config", "--remove-section", "remote.origin")
        git(code, "config", "--remove-section", "branch.main")
    before, everywhere = settings_of(code), (tmp_path / "home" / "gitconfig").read_bytes()
    here = Clone(code)
    here.here(*args, "--prefix", "hub")
    bead_id = here.here("q", "A bead").out.strip()
    here.here("claim", bead_id, "--agent", "alice")
    here.here("close", bead_id, "--reason", "done", "--agent", "alice")
    here.here("sync")
    here.here("list")
    assert settings_of(code) == before
    assert (tmp_path / "home" / "gitconfig").read_bytes() == everywhere
    assert not (tmp_path / "hooks-that-ran").exists()
    assert sorted(path.name for path in tmp_path.joinpath("home").iterdir()) == ["gitconfig"]


def test_inside_a_hook_of_git(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    """A hook's environment names another repository and index; bd works on the one it stands in."""
    alice = clone("alice")
    foreign = {"GIT_DIR": str(tmp_path / "x.git"), "GIT_INDEX_FILE": str(tmp_path / "index"), "GIT_WORK_TREE": str(tmp_path)}
    bead_id = alice.here("q", "From a hook", env={**foreign, "GIT_AUTHOR_NAME": "Somebody Else"}).out.strip()
    assert tip_bead(hub, bead_id) is not None
    assert git(hub, "log", "-1", "--format=%an", "main") == "Test Person"
    assert not (tmp_path / "index").exists()


# --- a hub on a branch of its own ---------------------------------------------------------


def _code_state(folder: Path) -> dict[str, bytes | str]:
    """The code repository as its owner sees it: files, index, branch, head."""
    return {
        **bytes_of(folder, but=(".git/",)),
        "(index)": (folder / ".git" / "index").read_bytes(),
        "(head)": (folder / ".git" / "HEAD").read_bytes(),
        "(branches)": git(folder, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/tags"),
        "(config)": (folder / ".git" / "config").read_bytes(),
        "(stash)": git(folder, "stash", "list"),
    }


def test_a_branch_hub_leaves_the_code_alone(code: Path, tmp_path: Path) -> None:
    before = _code_state(code)
    here, remote = Clone(code), tmp_path / "code.git"
    code_tip = tip(remote)
    here.here("init", "--branch", "beads", "--prefix", "cod")
    assert _code_state(code) == before
    first = here.here("q", "About the code").out.strip()
    here.here("claim", first, "--agent", "coder")
    here.here("close", first, "--reason", "done", "--agent", "coder")
    here.here("sync")
    assert _code_state(code) == before
    assert tip(remote) == code_tip
    assert tip_bead(remote, first, branch="beads").status == "closed"
    assert not [path for path in tip_paths(remote, "beads") if path.startswith(("src/", "README"))]
    assert git(remote, "for-each-ref", "--format=%(refname)", "refs/heads").split() == ["refs/heads/beads", "refs/heads/main"]


def test_a_plain_clone_of_the_code_finds_the_branch_hub(code: Path, tmp_path: Path) -> None:
    Clone(code).here("init", "--branch", "beads", "--prefix", "cod")
    first = Clone(code).here("q", "About the code").out.strip()
    git(tmp_path, "clone", "--quiet", str(tmp_path / "code.git"), "other")
    other = Clone(tmp_path / "other")
    before = _code_state(other.path)
    assert [bead["id"] for bead in other.here("list", "--json").json] == [first]
    other.here("claim", first, "--agent", "coder")
    assert tip_bead(tmp_path / "code.git", first, branch="beads").claim.agent == "coder"
    assert Clone(code).here("show", first, "--json", "--fetch").json[0]["status"] == "in_progress"
    assert _code_state(other.path) == before


def test_a_linked_worktree_of_a_branch_hub(code: Path, tmp_path: Path) -> None:
    Clone(code).here("init", "--branch", "beads", "--prefix", "cod")
    git(code, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "topic"))
    topic = Clone(tmp_path / "topic")
    before = bytes_of(topic.path)
    bead_id = topic.here("q", "From the topic").out.strip()
    assert tip_bead(tmp_path / "code.git", bead_id, branch="beads") is not None
    assert [bead["id"] for bead in Clone(code).here("list", "--json").json] == [bead_id]
    assert bytes_of(topic.path) == before
    assert git(topic.path, "status", "--porcelain") == ""


def test_a_branch_hub_without_a_remote(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "code")
    folder = tmp_path / "code"
    commit_file(folder, "main.c", "int main;\n")
    here = Clone(folder)
    here.here("init", "--branch", "beads", "--prefix", "cod")
    bead_id = here.here("q", "Alone").out.strip()
    here.here("claim", bead_id, "--agent", "coder")
    assert tip_bead(folder, bead_id, branch="beads").claim.agent == "coder"
    assert git(folder, "status", "--porcelain") == ""
    assert log(folder) == ["by hand"]


def test_clients_find_a_branch_hub_through_its_client_folder(code: Path) -> None:
    Clone(code).here("init", "--branch", "beads", "--prefix", "cod")
    folder = code / ".git" / "bd" / "ws" / ".beads"
    assert {"metadata.json", "config.yaml"} <= {path.name for path in folder.iterdir()}
    away = {"cwd": code.parent, "env": {"BEADS_DIR": str(folder)}}
    bead_id = run_here("q", "By a client", **away).out.strip()
    assert [bead["id"] for bead in run_here("list", "--json", **away).json] == [bead_id]
    assert [bead["id"] for bead in Clone(code).here("list", "--json").json] == [bead_id]


def test_a_checked_out_branch_hub_comes_along(code: Path, tmp_path: Path) -> None:
    """Who checks the hub branch out sees its files, and writes bring them along."""
    Clone(code).here("init", "--branch", "beads", "--prefix", "cod")
    git(tmp_path, "clone", "--quiet", "--branch", "beads", str(tmp_path / "code.git"), "beads")
    here = Clone(tmp_path / "beads")
    bead_id = here.here("q", "In the open").out.strip()
    assert (here.path / "beads" / f"{bead_id}.yaml").exists()
    assert git(here.path, "status", "--porcelain") == ""
    assert git(here.path, "rev-parse", "HEAD") == tip(tmp_path / "code.git", "beads")


# --- other repositories -------------------------------------------------------------------


def test_without_a_remote(local_hub: Clone) -> None:
    bead_id = local_hub.here("q", "Alone").out.strip()
    claim = local_hub.here("claim", bead_id, "--agent", "alice", "--json").json
    assert claim[0]["published"] is True
    assert tip_bead(local_hub.path, bead_id).claim.agent == "alice"
    assert git(local_hub.path, "status", "--porcelain") == ""
    assert local_hub.here("sync", "--json").json["published"] is True


def test_a_bare_repository(hub: Path) -> None:
    """In the hub's own bare repository bd reads and writes; the branch is the hub."""
    bead_id = run_here("q", "At the source", cwd=hub).out.strip()
    run_here("claim", bead_id, "--agent", "janitor", cwd=hub)
    assert tip_bead(hub, bead_id).claim.agent == "janitor"
    assert [bead["id"] for bead in run_here("list", "--json", cwd=hub).json] == [bead_id]
    assert not (hub / "beads").exists()
    assert not (hub / "index").exists()


def test_a_bare_clone(hub: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(hub), "bare.git")
    bead_id = run_here("q", "From a bare clone", cwd=tmp_path / "bare.git").out.strip()
    assert tip_bead(hub, bead_id) is not None


@pytest.mark.parametrize("shared", [True, False])
def test_sha256(tmp_path: Path, *, shared: bool) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", "hub.git")
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "alice")
    alice = Clone(tmp_path / "alice")
    remote = ["--remote", str(tmp_path / "hub.git")] if shared else []
    alice.here("init", "--prefix", "hub", *remote)
    bead_id = alice.here("q", "Longer names").out.strip()
    alice.here("claim", bead_id, "--agent", "alice")
    alice.here("close", bead_id, "--reason", "done", "--agent", "alice")
    truth = tmp_path / "hub.git" if shared else alice.path
    assert len(tip(truth)) == 64
    assert tip_bead(truth, bead_id).status == "closed"
    assert git(alice.path, "status", "--porcelain") == ""
    assert [event["verb"] for event in alice.here("history", bead_id, "--json").json] == ["create", "claim", "close"]
    alice.here("doctor")
    if shared:
        git(tmp_path, "clone", "--quiet", str(truth), "bob")
        assert Clone(tmp_path / "bob").here("count", "--json").json["count"] == 1


def test_packed_refs(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    first = alice.here("q", "One").out.strip()
    for folder in (alice.path, hub):
        git(folder, "pack-refs", "--all", "--prune")
        git(folder, "gc", "--quiet")
    second = alice.here("q", "Two").out.strip()
    alice.here("claim", first, "--agent", "alice")
    assert {bead["id"] for bead in alice.here("list", "--json").json} == {first, second}
    assert tip_bead(hub, second) is not None
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_a_detached_head(clone: Callable[[str], Clone], hub: Path) -> None:
    alice = clone("alice")
    first = alice.here("q", "One").out.strip()
    git(alice.path, "checkout", "--quiet", "--detach")
    there = git(alice.path, "rev-parse", "HEAD")
    second = alice.here("q", "Two").out.strip()
    assert tip_bead(hub, second) is not None
    assert git(alice.path, "rev-parse", "HEAD") == there
    assert git(alice.path, "status", "--porcelain") == ""
    assert {bead["id"] for bead in alice.here("list", "--json").json} == {first, second}


def _obeys_rights() -> None:
    """In a child before it starts: let even root be held to the rights of files."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are of another kind there")
def test_a_clone_that_may_only_be_read(clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    bead_id = alice.here("q", "Read me").out.strip()
    shutil.rmtree(alice.path / ".git" / "bd")

    def run(*args: str) -> Result:
        command = subprocess.run([*BD, *args], cwd=alice.path, capture_output=True, text=True, preexec_fn=_obeys_rights)
        return Result(args, command.returncode, command.stdout, command.stderr)

    every = [alice.path, *alice.path.rglob("*")]
    for path in every:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        for args in (("list",), ("ready",), ("show", bead_id), ("count",), ("why", bead_id), ("history", bead_id)):
            read = run(*args, "--json")
            assert read.code == 0, read
            assert read.json
        for args in (("board",), ("metrics",), ("log",), ("stats",), ("audit",)):
            read = run(*args)
            assert read.code == 0, read
        written = run("create", "Not here", "--json")
        assert written.code == 6, written
        assert written.json["written"] == "no"
        assert "can't be written" in written.err
    finally:
        for path in every:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert [bead["id"] for bead in alice.here("list", "--json").json] == [bead_id]


def test_line_ends_are_converted(hub: Path, tmp_path: Path) -> None:
    """core.autocrlf rewrites files in the working tree; the hub keeps line feeds, and nothing looks edited."""
    git(tmp_path, "config", "--global", "core.autocrlf", "true")
    git(tmp_path, "clone", "--quiet", str(hub), "windows")
    here = Clone(tmp_path / "windows")
    bead_id = here.here("create", "Line ends", "-d", "one\ntwo\n", "--silent").out.strip()
    here.here("claim", bead_id, "--agent", "alice")
    assert b"\r\n" in (here.path / "beads" / f"{bead_id}.yaml").read_bytes()
    assert b"\r" not in (tip_file(hub, f"beads/{bead_id}.yaml") or b"\r")
    assert git(here.path, "status", "--porcelain") == ""
    before = tip(hub)
    assert here.here("sync", "--json").json["replayed"] == 0
    assert tip(hub) == before
    file = here.path / "beads" / f"{bead_id}.yaml"
    file.write_bytes(file.read_bytes().replace(b"title: Line ends", b"title: Edited there"))
    here.here("sync")
    assert tip_bead(hub, bead_id).title == "Edited there"
    assert b"\r" not in (tip_file(hub, f"beads/{bead_id}.yaml") or b"\r")
    assert git(here.path, "status", "--porcelain") == ""


def test_a_path_with_blanks_and_letters_of_every_kind(tmp_path: Path) -> None:
    folder = tmp_path / "Größe 日本 'quoted' $HOME #1"
    remote = folder / "my hub.git"
    git(tmp_path, "init", "--quiet", "--bare", str(remote))
    alice = folder / "alice & co"
    run_here("init", str(alice), "--prefix", "hub", "--remote", str(remote))
    bead_id = run_here("q", "Ünïcode ✓ — 日本", cwd=alice).out.strip()
    run_here("claim", bead_id, "--agent", "alice", cwd=alice)
    run_here("clone", str(remote), str(folder / "b o b"))
    assert run_here("show", bead_id, "--json", cwd=folder / "b o b").json[0]["title"] == "Ünïcode ✓ — 日本"
    assert tip_bead(remote, bead_id).title == "Ünïcode ✓ — 日本"
    assert run_here("init", str(alice), "--remote", str(remote), "--json").json["created"] is False
    assert (alice / ".git").is_dir()


def test_a_user_without_a_git_identity(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = tmp_path / "home" / "gitconfig"
    configuration.write_text(
        '[init]\n\tdefaultBranch = main\n[user]\n\tuseConfigOnly = true\n[protocol "file"]\n\tallow = always\n'
    )
    monkeypatch.setenv("USER", "nobody-in-particular")
    git(tmp_path, "clone", "--quiet", str(hub), "alice")
    alice = Clone(tmp_path / "alice")
    bead_id = alice.here("q", "Anonymous").out.strip()
    alice.here("claim", bead_id, "--agent", "alice")
    alice.here("close", bead_id, "--reason", "done", "--agent", "alice")
    (alice.path / "beads" / f"{bead_id}.yaml").write_text(
        (alice.path / "beads" / f"{bead_id}.yaml").read_text().replace("title: Anonymous", "title: By hand")
    )
    alice.here("sync")
    assert tip_bead(hub, bead_id).title == "By hand"
    assert git(hub, "log", "--format=%an", "main").split("\n")[1:4] == ["alice", "alice", "nobody-in-particular"]


# --- where bd looks -----------------------------------------------------------------------


def test_ways_to_say_where(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    bead_id = alice.here("q", "Found").out.strip()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    beads = alice.path / ".beads"

    def finds(*flags: str, env: dict[str, str] | None = None) -> bool:
        return [bead["id"] for bead in run_here(*flags, "list", "--json", cwd=elsewhere, env=env).json] == [bead_id]

    assert finds("-C", str(alice.path))
    assert finds(f"--directory={alice.path}")
    assert finds("-C", "../alice")
    assert finds("--db", str(beads))
    assert finds("--db", str(beads / "beads.db"))
    assert finds(env={"BEADS_DIR": str(beads)})
    assert finds(env={"BEADS_DB": str(beads)})
    assert finds(env={"BEADS_DB": str(beads / "beads.db")})
    assert finds(env={"BD_DB": str(beads)})
    assert finds("--db", str(beads), env={"BEADS_DIR": str(elsewhere)})
    assert finds(env={"BEADS_DIR": str(beads), "BEADS_DB": str(elsewhere)})
    run_here("list", cwd=elsewhere, code=4)
    run_here("-C", str(tmp_path / "missing"), "list", cwd=elsewhere, code=4)


def test_not_a_repository(tmp_path: Path) -> None:
    for args in (("list",), ("create", "Nothing"), ("claim", "--next", "--agent", "a"), ("sync",), ("doctor",), ("whoami",)):
        refused = run_here(*args, "--json", code=4)
        assert refused.json["code"] == "no_hub"
        assert "no beads database found" in refused.err
        assert "bd init" in refused.err
    assert "bd init" in run_here().out


def test_a_git_that_a_signal_ends_has_not_answered(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    """Ctrl-C reaches git, too: no answer is asked for again, and never taken for there being no hub."""
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a")
    asked = 'case "$*" in *--is-inside-work-tree*)'
    once = git_wrapper(tmp_path / "once", f"{asked} mkdir {tmp_path}/met 2> /dev/null && kill -INT $$ ;; esac")
    assert [bead["id"] for bead in alice.bd("list", "--json", env=once).json] == ["hub-a"]
    assert (tmp_path / "met").exists()
    always = git_wrapper(tmp_path / "always", f"{asked} kill -KILL $$ ;; esac")
    told = alice.bd("list", "--json", env=always, code=6).json
    assert (told["code"], told["written"]) == ("try_again", "no")
    assert "signal 9" in told["error"]


def test_a_repository_without_a_hub(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "code")
    commit_file(tmp_path / "code", "main.c", "int main;\n")
    assert run_here("list", "--json", cwd=tmp_path / "code", code=4).json["code"] == "no_hub"
    assert sorted(os.listdir(tmp_path / "code")) == [".git", "main.c"]
    assert not (tmp_path / "code" / ".git" / "bd").exists()


def test_a_branch_cut_from_the_hubs_is_no_hub(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    """A first command on a branch of one's own, or in a worktree of one, still goes to the hub."""
    alice, bob = clone("alice"), clone("bob")
    git(alice.path, "checkout", "--quiet", "-b", "topic")
    first = alice.here("q", "From a topic").out.strip()
    git(bob.path, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    second = Clone(tmp_path / "side").here("q", "From a worktree").out.strip()
    assert tip_bead(hub, first) is not None
    assert tip_bead(hub, second) is not None
    assert git(hub, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"
    assert git(alice.path, "status", "--porcelain") == ""
    assert git(alice.path, "rev-parse", "topic") == git(alice.path, "rev-parse", "main")


def test_a_workspace_of_the_go_tool_is_a_hub_after_init(tmp_path: Path) -> None:
    """Its `.beads/config.yaml` has the name of ours and is not ours; its settings stay."""
    git(tmp_path, "init", "--quiet", "place")
    place = Clone(tmp_path / "place")
    commit_file(place.path, ".beads/config.yaml", '# issue-prefix: ""\nsync.mode: git\n')
    assert "bd init" in place.here("list", code=4).err
    made = place.here("init", "--prefix", "go", "--json").json
    assert (made["created"], made["prefix"]) == (True, "go")
    assert place.here("q", "Ours").out.startswith("go-")
    text = (tip_file(place.path, ".beads/config.yaml") or b"").decode()
    assert {'# issue-prefix: ""', "sync.mode: git", "format: 2"} <= set(text.splitlines())
    assert place.here("init", "--json").json["created"] is False
    assert git(place.path, "status", "--porcelain") == ""


# --- init and clone -----------------------------------------------------------------------


def test_init_twice_changes_nothing(tmp_path: Path, remote: Path) -> None:
    first = run_here("init", "alice", "--prefix", "hub", "--remote", str(remote), "--json").json
    assert first["created"] is True
    before = tip(remote), bytes_of(tmp_path / "alice", but=(".git/bd/", ".beads/.stamp"))
    again = run_here("init", "alice", "--prefix", "other", "--remote", str(remote), "--json").json
    assert (again["created"], again["prefix"], again["commit"]) == (False, "hub", before[0])
    assert (tip(remote), bytes_of(tmp_path / "alice", but=(".git/bd/", ".beads/.stamp"))) == before


def test_init_joins_a_hub_that_is_there(tmp_path: Path, hub: Path) -> None:
    run_here("clone", str(hub), "bob")
    bead_id = Clone(tmp_path / "bob").here("q", "There").out.strip()
    made = run_here("init", "alice", "--prefix", "other", "--remote", str(hub), "--json").json
    assert (made["created"], made["prefix"]) == (False, "hub")
    alice = Clone(tmp_path / "alice")
    assert [bead["id"] for bead in alice.here("list", "--json").json] == [bead_id]
    assert (alice.path / "beads" / f"{bead_id}.yaml").exists()
    assert git(alice.path, "status", "--porcelain") == ""
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_init_takes_the_branch_that_the_remote_calls_its_own(tmp_path: Path, remote: Path) -> None:
    run_here("init", "first", "--prefix", "hub", "--remote", str(remote))
    git(remote, "branch", "-m", "main", "trunk")
    git(remote, "symbolic-ref", "HEAD", "refs/heads/trunk")
    made = run_here("init", "alice", "--remote", str(remote), "--json").json
    assert (made["created"], made["branch"]) == (False, "refs/heads/trunk")
    bead_id = run_here("q", "On the trunk", cwd=tmp_path / "alice").out.strip()
    assert tip_bead(remote, bead_id, branch="trunk") is not None
    assert git(remote, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/trunk"
    assert git(tmp_path / "alice", "status", "--porcelain") == ""
    assert git(tmp_path / "alice", "rev-parse", "HEAD") == tip(remote, "trunk")


def test_a_new_folder_in_a_code_repository_is_a_hub_of_its_own(code: Path) -> None:
    before = _code_state(code)
    run_here("init", "hub", "--prefix", "hub", cwd=code)
    bead_id = run_here("q", "Beside the code", cwd=code / "hub").out.strip()
    assert tip_bead(code / "hub", bead_id) is not None
    shutil.rmtree(code / "hub")
    assert _code_state(code) == before


def test_init_of_a_branch_that_was_never_pushed(tmp_path: Path, remote: Path) -> None:
    git(tmp_path, "init", "--quiet", "code")
    code = tmp_path / "code"
    commit_file(code, "main.c", "int main;\n")
    refused = run_here("init", "--remote", str(remote), cwd=code, code=2)
    assert "the branch main is not on origin yet" in refused.err
    assert "git push -u origin main" in refused.err
    assert "--branch beads" in refused.err
    assert git(remote, "for-each-ref") == ""
    git(code, "push", "--quiet", "origin", "main")
    run_here("init", "--prefix", "hub", "--remote", str(remote), cwd=code)
    bead_id = run_here("q", "Beside the code", cwd=code).out.strip()
    assert tip_bead(remote, bead_id) is not None
    assert "main.c" in tip_paths(remote)


def test_init_names_what_is_wrong(tmp_path: Path, remote: Path) -> None:
    run_here("init", "alice", "--remote", str(remote))
    assert "is" in run_here("init", "alice", "--remote", str(tmp_path / "other.git"), code=2).err
    assert "can't be an id prefix" in run_here("init", "x", "--prefix", "no/slash", code=2).err
    assert "can't be a branch's name" in run_here("init", "x", "--branch", "a..b", code=2).err
    assert "is not a URL" in run_here("init", "x", "--remote", "ext::sh -c true", code=2).err
    assert not (tmp_path / "x").exists()


def test_init_needs_its_remote(tmp_path: Path) -> None:
    refused = run_here("init", "alice", "--remote", str(tmp_path / "missing.git"), "--json", code=6)
    assert refused.json["written"] == "no"
    git(tmp_path, "init", "--quiet", "--bare", "missing.git")
    run_here("init", "alice", "--prefix", "hub", "--remote", str(tmp_path / "missing.git"))
    assert log(tmp_path / "missing.git") == ["init: a hub for hub by Test Person"]


def test_an_empty_repository(tmp_path: Path, remote: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "alice")
    alice = Clone(tmp_path / "alice")
    assert "bd init" in alice.here("list", code=4).err
    refused = run_here("clone", str(remote), "bob", "--json", code=4)
    assert refused.json["code"] == "no_hub"
    assert "bd init" in refused.err
    alice.here("init", "--prefix", "hub")
    assert log(remote) == ["init: a hub for hub by Test Person"]
    assert Clone(tmp_path / "bob").here("list", "--fetch", code=4).out == ""
    assert Clone(tmp_path / "bob").here("init", "--json").json["created"] is False


def test_clone_of_what_is_not_there(tmp_path: Path) -> None:
    refused = run_here("clone", str(tmp_path / "missing.git"), "alice", "--json", code=4)
    assert refused.json["code"] == "not_found"
    assert not (tmp_path / "alice").exists()


def test_several_push_urls_are_refused(clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    alice.here("q", "Before")
    before = tip(hub)
    git(alice.path, "remote", "set-url", "--add", "--push", "origin", str(hub))
    git(alice.path, "remote", "set-url", "--add", "--push", "origin", str(tmp_path / "mirror.git"))
    for args in (("create", "Nowhere"), ("claim", "--next", "--agent", "alice"), ("list",)):
        refused = alice.here(*args, "--json", code=2)
        assert "several URLs" in refused.err
        assert "one, the same for fetch and push" in refused.err
        assert "git config --unset-all remote.origin.pushurl" in refused.err
    assert tip(hub) == before
    git(alice.path, "config", "--unset-all", "remote.origin.pushurl")
    alice.here("q", "After")


def test_a_push_url_that_differs_is_refused(clone: Callable[[str], Clone], tmp_path: Path) -> None:
    alice = clone("alice")
    git(alice.path, "remote", "set-url", "--push", "origin", str(tmp_path / "mirror.git"))
    assert "several URLs" in alice.here("create", "Nowhere", code=2).err


def test_a_person_works_with_plain_git_beside_bd(clone: Callable[[str], Clone], hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead_id = alice.here("q", "Shared").out.strip()
    git(bob.path, "pull", "--quiet", "--ff-only")
    assert [bead["id"] for bead in bob.here("list", "--json").json] == [bead_id]
    commit_file(bob.path, "README.md", "a hub\n", "docs: readme")
    git(bob.path, "push", "--quiet", "origin", "main")
    alice.here("update", bead_id, "--priority", "0")
    git(bob.path, "pull", "--quiet", "--ff-only")
    assert bob.here("show", bead_id, "--json").json[0]["priority"] == 0
    assert git(alice.path, "status", "--porcelain") == ""
    assert len(commits(hub)) == 4


def test_a_process_is_the_same_as_its_entry(clone: Callable[[str], Clone]) -> None:
    """Most tests here run in one process for speed; the real command answers the same."""
    alice = clone("alice")
    alice.here("create", "Same")
    ours, theirs = run_process("list", "--json", cwd=alice.path).json, alice.here("list", "--json").json
    for bead in (*ours, *theirs):
        del bead["effective_priority"]  # it moves with every moment
    assert ours == theirs


@pytest.mark.parametrize("typed", ["list", "init", "init x", "clone /nowhere/hub.git", "migrate", "demo"])
def test_a_folder_that_is_gone(tmp_path: Path, typed: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = subprocess.run(
        ["sh", "-c", f'rmdir "{gone}" && exec "{sys.executable}" -m bd {typed}'], cwd=gone, capture_output=True, text=True
    )
    assert ended.returncode == 4, ended.stderr
    assert ended.stderr == "Error: the folder you are in is gone\nHint: cd to one that is there, or name one with -C\n"


@pytest.mark.parametrize("typed", ["init x", "clone /nowhere/hub.git x", "init --remote /nowhere/hub.git"])
def test_a_machine_without_git(tmp_path: Path, typed: str) -> None:
    (tmp_path / "bin").mkdir()
    ended = run_process(*typed.split(), cwd=tmp_path, env={"PATH": str(tmp_path / "bin")}, code=4)
    assert ended.err == "Error: can't run git: it is not on PATH\nHint: install git 2.31 or newer\n"


def test_a_git_folder_without_a_head_is_no_repository(bd: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    assert "is in no git repository" in bd("list", cwd=tmp_path / "broken", code=4).err


def test_directory_is_where_init_and_clone_make_a_folder(bd: Callable[..., Result], hub: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    made = bd("-C", "work", "init", "own", "--json", cwd=tmp_path).json
    assert made["path"] == str(tmp_path / "work" / "own")
    cloned = bd("-C", "work", "clone", str(hub), "--json", cwd=tmp_path).json
    assert cloned["path"] == str(tmp_path / "work" / hub.name.removesuffix(".git"))


@pytest.mark.parametrize(("typed", "written"), [("sync", "no"), ("doctor", "unknown"), ("create Two", "no")])
def test_a_file_where_the_journal_should_be(clone: Callable[[str], Clone], hub: Path, typed: str, written: str) -> None:
    alice = clone("alice")
    alice.here("q", "One")
    journal = alice.path / ".git" / "bd" / "journal"
    shutil.rmtree(journal)
    journal.write_text("not a folder")
    before = tip(hub)
    refused = alice.here(*typed.split(), "--json", code=6).json
    assert (refused["code"], refused["written"]) == ("try_again", written)
    assert str(journal) in refused["error"]
    assert tip(hub) == before
    journal.unlink()
    alice.here(*typed.split())


LIMITED = """
import resource, sys
from bd.__main__ import run
resource.setrlimit(getattr(resource, sys.argv.pop(1)), (limit := int(sys.argv.pop(1)), limit))
sys.exit(run())
"""


@pytest.mark.parametrize(
    ("resource", "limit", "typed", "says"),
    [
        ("RLIMIT_FSIZE", 0, "edit ONE", "no temporary folder is writable"),
        ("RLIMIT_FSIZE", 0, "demo --beads 1", "no temporary folder is writable"),
        ("RLIMIT_NOFILE", 4, "sync", "the system failed"),
    ],
)
def test_a_machine_without_room(
    clone: Callable[[str], Clone], hub: Path, resource: str, limit: int, typed: str, says: str
) -> None:
    alice = clone("alice")
    bead_id = alice.here("q", "One").out.strip()
    before = tip(hub)
    words = typed.replace("ONE", bead_id).split()
    env = {**os.environ, "EDITOR": "true"}
    command = [sys.executable, "-c", LIMITED, resource, str(limit), *words]
    ended = subprocess.run(command, cwd=alice.path, env=env, capture_output=True, text=True)
    assert ended.returncode == 6, ended.stderr
    assert says in ended.stderr
    assert tip(hub) == before
