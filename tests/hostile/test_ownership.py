"""Repositories of other users, and bare ones inside of somebody's files: bd refuses where git does, and runs nothing of theirs."""

from __future__ import annotations

import compileall
import os
import shutil
import site
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bd
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

OWNER, STRANGER = 54321, 54322
CALLERS = {"root": 0, "another user": STRANGER, "the owner": OWNER}
TRUST = ["nothing", "file", "environment", "*", "SUDO_UID"]
SHAPES = ["checkout", "subfolder", "bare", "linked worktree"]
needs_root = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root and setpriv: files of two users",
)


def as_user(uid: int) -> list[str]:
    """Run as a user who may search every folder, since the interpreter may lie in root's home; ownership stays as it is."""
    search = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *search] if uid else []


class Scene:
    """A folder that everybody can enter, with a hub of OWNER in each shape, whose settings name programs."""

    def __init__(self, folder: Path, hub: Path) -> None:
        self.folder = folder
        folder.chmod(0o755)
        self.ran = folder / "ran"
        self.ran.mkdir(mode=0o777)
        self.ran.chmod(0o777)
        self.code = folder / "code"
        shutil.copytree(Path(bd.__file__).parent, self.code / "bd", ignore=shutil.ignore_patterns("__pycache__"))
        for package in Path(site.getsitepackages()[0]).iterdir():
            if package.name in ("click", "ruamel", "rich"):
                shutil.copytree(package, self.code / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(self.code, quiet=1)  # none of the callers may write there
        self.checkout = folder / "checkout"
        shutil.copytree(hub, self.checkout)
        (self.checkout / "sub").mkdir()
        self.worktree = folder / "worktree"
        git(self.checkout, "worktree", "add", "--quiet", "--detach", str(self.worktree))
        self.bare = folder / "bare.git"
        git(self.checkout, "clone", "--quiet", "--bare", ".", str(self.bare))
        trap = folder / "trap"
        trap.write_text(f"#!/bin/sh\nid -u > {self.ran}/$(id -u).$$\nexit 1\n", encoding="utf-8")
        trap.chmod(0o755)
        for repo in (self.checkout, self.bare):
            git(repo, "config", "core.fsmonitor", str(trap))
            git(repo, "config", "core.sshCommand", str(trap))
            git(repo, "remote", "add", "elsewhere", "ssh://localhost/hub.git")
            git(repo, "config", "branch.main.remote", "elsewhere")
        for path in (self.checkout, self.worktree, self.bare):
            subprocess.run(["chown", "-R", str(OWNER), str(path)], check=True)
            subprocess.run(["chmod", "-R", "a+rX", str(path)], check=True)

    def path(self, shape: str) -> Path:
        return {"checkout": self.checkout, "subfolder": self.checkout / "sub", "bare": self.bare}.get(shape, self.worktree)

    def env(self, trust: str, shape: str) -> dict[str, str]:
        """Who trusts what: everything that git takes for a permission."""
        names = [str(self.path("checkout" if shape == "subfolder" else shape))]
        config = self.folder / "gitconfig"
        lines = {"file": names, "*": ["*"]}.get(trust, [])
        config.write_text("".join(f'[safe]\n\tdirectory = "{name}"\n' for name in lines), encoding="utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_CONFIG_SYSTEM": "/dev/null",
        }
        if trust == "environment":
            env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": names[0]}
        if trust == "SUDO_UID":
            env["SUDO_UID"] = str(OWNER)
        return env

    def run(self, uid: int, env: dict[str, str], folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*as_user(uid), *command], cwd=folder, env=env, capture_output=True, text=True)

    def bd(self, uid: int, env: dict[str, str], folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
        python = os.path.realpath(sys.executable)
        return self.run(
            uid, {**env, "PYTHONPATH": str(self.code), "PYTHONDONTWRITEBYTECODE": "1"}, folder, python, "-m", "bd", *args
        )


@pytest.fixture
def scene(local_hub: Clone) -> Iterator[Scene]:
    local_hub.here("create", "A bead", "--id", "hub-one")
    with tempfile.TemporaryDirectory() as folder:
        yield Scene(Path(folder), local_hub.path)


@pytest.mark.slow
@needs_root
def test_bd_refuses_the_repositories_that_git_refuses(scene: Scene) -> None:
    refused = 0
    for (caller, uid), trust, shape in product(CALLERS.items(), TRUST, SHAPES):
        env, folder = scene.env(trust, shape), scene.path(shape)
        by_git = scene.run(uid, env, folder, "git", "rev-parse", "--git-dir")
        by_bd = scene.bd(uid, env, folder, "list", "--json")
        row = f"{caller}, {trust}, {shape}: git {by_git.returncode}, bd {by_bd.returncode}: {by_bd.stderr}{by_bd.stdout}"
        assert by_git.returncode in (0, 128), row
        if by_git.returncode:
            assert (by_bd.returncode, '"unsafe_repository"' in by_bd.stdout, "safe.directory" in by_bd.stdout) == (
                5,
                True,
                True,
            ), row
            refused += 1
        else:
            assert (by_bd.returncode, "hub-one" in by_bd.stdout) == (0, True), row
    assert refused >= len(SHAPES) * 3  # root and the other user without any trust, and what SUDO_UID means to others than root


@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("typed", ["-C", "BEADS_DIR"])
def test_a_typed_path_does_not_make_another_users_repository_ones_own(typed: str, scene: Scene) -> None:
    for shape in SHAPES:
        folder, env = scene.path(shape), scene.env("nothing", shape)
        args = ["-C", str(folder), "list"] if typed == "-C" else ["list"]
        done = scene.bd(STRANGER, env | ({"BEADS_DIR": str(folder)} if typed != "-C" else {}), scene.folder, *args)
        assert done.returncode == 5, f"{shape}: {done.stderr}"
        assert "dubious ownership" in done.stderr


@pytest.mark.slow
@needs_root
def test_nothing_of_another_users_repository_runs(scene: Scene) -> None:
    env = scene.env("nothing", "checkout")
    for uid, shape in product((0, STRANGER), SHAPES):
        for args in (
            ["doctor"],
            ["sync"],
            ["list", "--fetch"],
            ["create", "x"],
            ["init"],
            ["audit"],
            ["board"],
            ["ready", "--agent", "a"],
        ):
            done = scene.bd(uid, env, scene.path(shape), *args)
            assert done.returncode == 5, f"{args} in {shape}: {done.stderr}"
    assert list(scene.ran.iterdir()) == []


@pytest.mark.slow
@needs_root
def test_reads_of_ones_own_repository_ask_no_file_watcher(scene: Scene) -> None:
    env = scene.env("nothing", "checkout") | {"BD_REMOTE": "none"}
    for args in (["list"], ["doctor"], ["audit"], ["log"], ["status"], ["board"]):
        scene.bd(OWNER, env, scene.checkout, *args)
    assert list(scene.ran.iterdir()) == []
    scene.run(OWNER, env, scene.checkout, "git", "status")
    assert list(scene.ran.iterdir()), "the trap does not work"


def embedded(hub: Path, folder: Path) -> Path:
    """A bare repository as plain files inside of a checkout."""
    outer = folder / "outer"
    git(folder, "init", "--quiet", str(outer))
    git(hub, "clone", "--quiet", "--bare", ".", str(outer / "tools"))
    return outer / "tools"


@pytest.mark.parametrize("place", [".", "refs"])
def test_with_explicit_bare_repositories_a_found_one_is_refused_and_a_named_one_is_not(
    place: str, local_hub: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = embedded(local_hub.path, tmp_path)
    config = tmp_path / "config"
    config.write_text("[safe]\n\tbareRepository = explicit\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    inside = type(local_hub)(bare / place)
    by_git = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=bare / place, capture_output=True, text=True)
    if by_git.returncode == 0:
        pytest.skip("this git knows no safe.bareRepository")
    refused = inside.bd("list", code=5)
    assert "safe.bareRepository" in refused.err
    assert "-C" in refused.err
    elsewhere = type(local_hub)(tmp_path)
    assert elsewhere.bd("-C", str(bare), "list").code == 0
    monkeypatch.setenv("BEADS_DIR", str(bare))
    assert elsewhere.bd("list").code == 0
    monkeypatch.setenv("BEADS_DIR", str(bare / "refs"))  # found by walking up from what was named
    assert elsewhere.bd("list", code=5).err
