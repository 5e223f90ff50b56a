"""A move of a few plain files leaves index and files as git would; what is not plain is left to git, untouched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bd.store.contract import Draft
from bd.store.git.discovery import find_repo
from bd.store.git.repository import GitRepo
from bd.store.worktree import plain_update
from bd.store.worktree.checkout import LockedIndex, bring_along
from tests.runtime import RUNTIME
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable

AUTHOR = "Ada <ada@example.org>"


@pytest.fixture(params=["sha1", "sha256"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A checkout with a few folders; every second bead has a number."""
    git(tmp_path, "init", "--quiet", f"--object-format={request.param}", "here")
    place = tmp_path / "here"
    for path in ("beads/archive/2026-01/hub-old.yaml", ".agent-status/ada.yaml", ".beads/config.yaml", "README", "z/last"):
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(f"{path}\n")
    for number in range(0, 40, 2):
        (place / f"beads/hub-{number:02}.yaml").write_text(f"id: hub-{number:02}\n")
    git(place, "add", "-A")
    git(place, "commit", "--quiet", "-m", "first")
    return place


def opened(place: Path) -> GitRepo:
    repo = find_repo(str(place))
    assert repo is not None
    repo.known_settings = repo.settings()
    (place / ".git" / "bd").mkdir(exist_ok=True)
    return repo


def step(repo: GitRepo, files: dict[str, bytes | None], **modes: str) -> tuple[str, str]:
    """The checked-out commit, and one on top of it."""
    here = repo.commit_of("HEAD")
    assert here is not None
    return here, repo.write_commits(here, [Draft("next\n", AUTHOR, 1_770_000_000, files, modes)])[0]


def moved(repo: GitRepo, here: str, tip: str) -> bool:
    with LockedIndex(repo, RUNTIME) as locked:
        return plain_update.move(repo, locked.index, locked.copy, here, tip)


REPLACED = {"beads/hub-06.yaml": b"id: hub-06\ntitle: New\n", ".agent-status/ada.yaml": b"busy\n"}
ADDED: dict[str, bytes | None] = {"beads/hub-07.yaml": b"id: hub-07\n"}
DEEP: dict[str, bytes | None] = {
    "beads/archive/2026-01/hub-old.yaml": b"x\n",
    "z/last": b"",
    "z/last2": b"y\n",
    "README2": b"r\n",
}


@pytest.mark.parametrize("files", [REPLACED, ADDED, {**REPLACED, **ADDED}, DEEP], ids=["replaced", "added", "both", "deep"])
def test_files_and_index_are_what_git_makes_of_them(place: Path, files: dict[str, bytes | None]) -> None:
    repo = opened(place)
    for number in range(3):
        more = {path: (content or b"") + b"more\n" * number for path, content in files.items()}
        here, tip = step(repo, more)
        assert moved(repo, here, tip)
        git(place, "update-ref", "HEAD", tip)
        assert git(place, "write-tree") == git(place, "rev-parse", f"{tip}^{{tree}}")
        assert git(place, "status", "--porcelain") == ""
        assert git(place, "diff-index", "--cached", tip) == ""
        for path, content in more.items():
            assert (place / path).read_bytes() == content
            assert (place / path).stat().st_mode & 0o777 == (place / "README").stat().st_mode & 0o777
    # What git adds to such an index, it adds to what is there.
    (place / "beads" / "hub-08.yaml").write_text("edited\n")
    (place / "beads" / "hub-99.yaml").write_text("new\n")
    git(place, "add", "-A")
    written = git(place, "write-tree")
    (place / ".git" / "index").unlink()
    git(place, "add", "-A")
    assert git(place, "write-tree") == written
    git(place, "fsck", "--strict", "--no-dangling")


def test_what_a_person_has_staged_stays_staged(place: Path) -> None:
    (place / "beads" / "hub-10.yaml").write_text("mine\n")
    (place / "notes").write_text("mine too\n")
    git(place, "add", "-A")
    git(place, "write-tree")
    (place / "beads" / "hub-12.yaml").write_text("edited, not staged\n")
    before = git(place, "status", "--porcelain")
    repo = opened(place)
    here, tip = step(repo, {**REPLACED, **ADDED})
    assert moved(repo, here, tip)
    git(place, "update-ref", "HEAD", tip)
    assert git(place, "status", "--porcelain") == before
    assert git(place, "diff-index", "--cached", "--name-only", tip).split() == ["beads/hub-10.yaml", "notes"]
    git(place, "commit", "--quiet", "-m", "mine")
    assert git(place, "diff", "--name-only", tip, "HEAD").split() == ["beads/hub-10.yaml", "notes"]


def test_an_edit_in_the_same_moment_is_seen(place: Path) -> None:
    """The same size, and as far as clocks tell the same time: git has to look into the file."""
    repo = opened(place)
    here, tip = step(repo, {"beads/hub-06.yaml": b"id: hub-06\ntitle: One\n"})
    assert moved(repo, here, tip)
    git(place, "update-ref", "HEAD", tip)
    path = place / "beads" / "hub-06.yaml"
    there = path.stat()
    with path.open("r+b") as file:
        file.write(b"id: hub-06\ntitle: Two\n")
    os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))
    git(place, "config", "core.trustctime", "false")
    assert "beads/hub-06.yaml" in git(place, "status", "--porcelain")


# --- left to git ----------------------------------------------------------------------------


def edit(place: Path) -> None:
    (place / "beads" / "hub-06.yaml").write_text("id: hub-6x\n")


def touch_with_a_link(place: Path) -> None:
    path = place / "beads" / "hub-06.yaml"
    (place / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to("../elsewhere")


def link_the_folder(place: Path) -> None:
    (place / "beads").rename(place / "other")
    (place / "beads").symlink_to("other")


def stage_another(place: Path) -> None:
    edit(place)
    git(place, "add", "-A")
    (place / "beads" / "hub-06.yaml").write_text("id: hub-06\n")


def unstage(place: Path) -> None:
    git(place, "rm", "--quiet", "--cached", "beads/hub-06.yaml")


def put_in_the_way(place: Path) -> None:
    (place / "beads" / "hub-07.yaml").write_text("untracked\n")


def put_attributes(place: Path) -> None:
    (place / ".gitattributes").write_text("* text eol=crlf\n")


def put_attributes_below(place: Path) -> None:
    (place / "beads" / ".gitattributes").write_text("* text eol=crlf\n")


def stage_attributes(place: Path) -> None:
    put_attributes(place)
    git(place, "add", "-A")
    (place / ".gitattributes").unlink()


def attribute_here(place: Path) -> None:
    (place / ".git" / "info" / "attributes").write_text("* text eol=crlf\n")


def setting(*words: str) -> Callable[[Path], None]:
    def set_it(place: Path) -> None:
        git(place, "config", *words)

    return set_it


def index(*words: str) -> Callable[[Path], None]:
    def change_it(place: Path) -> None:
        git(place, "update-index", *words)

    return change_it


def make_executable(place: Path) -> None:
    (place / "beads" / "hub-06.yaml").chmod(0o755)


def remove_the_index(place: Path) -> None:
    (place / ".git" / "index").unlink()


def cut_the_index(place: Path) -> None:
    path = place / ".git" / "index"
    path.write_bytes(path.read_bytes()[:-30])


ODD = [
    edit,
    touch_with_a_link,
    link_the_folder,
    stage_another,
    unstage,
    put_in_the_way,
    put_attributes,
    put_attributes_below,
    stage_attributes,
    attribute_here,
    make_executable,
    remove_the_index,
    cut_the_index,
    pytest.param(setting("core.autocrlf", "true"), id="autocrlf"),
    pytest.param(setting("core.attributesFile", "/nowhere"), id="attributesFile"),
    pytest.param(setting("core.sharedRepository", "group"), id="sharedRepository"),
    pytest.param(setting("core.sparseCheckout", "true"), id="sparseCheckout"),
    pytest.param(setting("core.someThingNew", "true"), id="new"),
    pytest.param(setting("index.version", "4"), id="index.version"),
    pytest.param(index("--index-version", "4"), id="version 4"),
    pytest.param(index("--assume-unchanged", "beads/hub-06.yaml"), id="assumed"),
    pytest.param(index("--skip-worktree", "beads/hub-06.yaml"), id="skipped"),
    pytest.param(index("--force-untracked-cache"), id="untracked cache"),
    pytest.param(index("--split-index"), id="split index"),
]


def picture(place: Path) -> tuple[bytes | None, dict[str, bytes]]:
    index_file = place / ".git" / "index"
    files = {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file() and ".git" not in path.parts}
    return index_file.read_bytes() if index_file.exists() else None, files


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", ODD)
def test_what_is_not_plain_is_left_to_git(place: Path, change: Callable[[Path], None]) -> None:
    git(place, "status")
    change(place)
    repo = opened(place)
    here, tip = step(repo, {**REPLACED, **ADDED})
    before = picture(place)
    assert not moved(repo, here, tip)
    assert picture(place) == before
    assert not (place / ".git" / "index.lock").exists()


def test_without_knowing_the_settings_nothing_is_plain(place: Path) -> None:
    repo = opened(place)
    repo.known_settings = None
    here, tip = step(repo, {**REPLACED})
    assert not moved(repo, here, tip)


@pytest.mark.parametrize(
    ("files", "modes"),
    [
        ({"beads/hub-06.yaml": None}, {}),
        ({"run.sh": b"#!/bin/sh\n"}, {"run.sh": "100755"}),
        ({"new/file": b"a folder of its own\n"}, {}),
        ({"beads/.GIT": b"x"}, {}),
        ({"beads/hub-é.yaml": b"x"}, {}),
        ({f"beads/hub-{number:02}.yaml": b"many\n" for number in range(0, 40, 2)}, {}),
    ],
    ids=["deleted", "executable", "folder", "git", "letters", "many"],
)
def test_other_changes_are_left_to_git(place: Path, files: dict[str, bytes | None], modes: dict[str, str]) -> None:
    repo = opened(place)
    if "beads/.GIT" in files:
        git(place, "config", "core.protectNTFS", "false")
        here = git(place, "rev-parse", "HEAD").strip()
        oid = git(place, "hash-object", "-w", "README").strip()
        listing = git(place, "ls-tree", "HEAD:beads") + f"\n100644 blob {oid}\t.GIT\n"
        beads = git(place, "mktree", data=listing.encode()).strip()
        listing = "\n".join(line for line in git(place, "ls-tree", "HEAD").splitlines() if not line.endswith("\tbeads"))
        root = git(place, "mktree", data=f"{listing}\n040000 tree {beads}\tbeads\n".encode()).strip()
        tip = git(place, "commit-tree", "-p", here, "-m", "x", root).strip()
    else:
        here, tip = step(repo, files, **modes)
    before = picture(place)
    assert not moved(repo, here, tip)
    assert picture(place) == before


def test_a_move_that_fails_half_way_is_taken_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = opened(place)
    here, tip = step(repo, {**REPLACED, **ADDED})
    before = picture(place)
    put = plain_update._Move._put
    count = iter(range(100))

    def full_disk(self: plain_update._Move, path: bytes, content: bytes) -> os.stat_result:
        if next(count) == 2:
            raise OSError(28, "No space left on device")
        return put(self, path, content)

    monkeypatch.setattr(plain_update._Move, "_put", full_disk)
    assert not moved(repo, here, tip)
    assert picture(place) == before
    bring_along(repo, here, tip, RUNTIME)  # and then git does it
    git(place, "update-ref", "HEAD", tip)
    assert git(place, "status", "--porcelain") == ""


# --- worked out ahead -----------------------------------------------------------------------


def current(place: Path) -> str:
    return git(place, "symbolic-ref", "HEAD")


def test_what_was_worked_out_ahead_is_carried_out(place: Path) -> None:
    repo = opened(place)
    here, tip = step(repo, {**REPLACED, **ADDED})
    before = picture(place)
    plain_update.prepare(repo, current(place), tip)
    assert repo.worked_out is not None
    assert picture(place) == before
    ahead = repo.worked_out
    assert moved(repo, here, tip)
    assert repo.worked_out is None
    assert isinstance(ahead, plain_update._Move)
    assert ahead._written
    git(place, "update-ref", "HEAD", tip)
    assert git(place, "status", "--porcelain") == ""


def test_what_was_worked_out_for_another_index_is_not(place: Path) -> None:
    repo = opened(place)
    here, tip = step(repo, {**REPLACED})
    plain_update.prepare(repo, current(place), tip)
    (place / "notes").write_text("mine\n")
    git(place, "add", "notes")
    assert moved(repo, here, tip)
    git(place, "update-ref", "HEAD", tip)
    assert git(place, "status", "--porcelain") == "A  notes"


def test_what_was_edited_since_it_was_worked_out_stays(place: Path) -> None:
    repo = opened(place)
    here, tip = step(repo, {**REPLACED})
    plain_update.prepare(repo, current(place), tip)
    edit(place)
    before = picture(place)
    assert not moved(repo, here, tip)
    assert picture(place) == before


def test_what_was_worked_out_for_another_commit_is_not(place: Path) -> None:
    repo = opened(place)
    here, tip = step(repo, {**REPLACED})
    _, other = step(repo, {**ADDED})
    plain_update.prepare(repo, current(place), other)
    assert moved(repo, here, tip)
    assert not (place / "beads" / "hub-07.yaml").exists()


def test_a_branch_that_is_not_checked_out_needs_nothing(place: Path) -> None:
    repo = opened(place)
    _, tip = step(repo, {**REPLACED})
    plain_update.prepare(repo, "refs/heads/other", tip)
    assert repo.worked_out is None
