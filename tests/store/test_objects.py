"""Objects: what is written without git is what git would write, and a missing object is never an empty one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bd.errors import Damaged
from bd.store.gitrepo import Draft, GitRepo
from bd.store.location import find_repo
from bd.store.objects import LooseWriter
from tests.truth import git


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """A repository with a folder, an executable file and a link."""
    git(tmp_path, "init", "--quiet", "here")
    place = tmp_path / "here"
    (place / "beads").mkdir()
    for number in range(30):
        (place / "beads" / f"hub-{number}.yaml").write_text(f"id: hub-{number}\n")
    (place / "run.sh").write_text("#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    os.symlink("run.sh", place / "link")
    git(place, "add", "-A")
    git(place, "commit", "--quiet", "-m", "first")
    found = find_repo(str(place))
    assert found is not None
    return found


DRAFT = Draft(
    "a change\n",
    "Ada <ada@example.org>",
    1_770_000_000,
    {
        "beads/hub-3.yaml": b"id: hub-3\ntitle: New\n",
        "beads/hub-7.yaml": None,
        "beads.txt": b"sorted beside a folder\n",
        "a/b/c": b"deep\n",
    },
)


def test_the_commit_is_byte_for_byte_what_fast_import_makes(repo: GitRepo) -> None:
    base = repo.commit_of("HEAD")
    assert base is not None
    ours = LooseWriter(repo).commit(base, DRAFT)
    assert [ours] == repo._import_commits(base, [DRAFT])
    git(Path(repo.work_tree or ""), "fsck", "--strict", "--no-dangling")


def test_what_is_emptied_is_gone(repo: GitRepo) -> None:
    base = repo.commit_of("HEAD")
    assert base is not None
    gone = Draft("all\n", "Ada <ada@example.org>", 1, {f"beads/hub-{number}.yaml": None for number in range(30)})
    ours = LooseWriter(repo).commit(base, gone)
    assert [ours] == repo._import_commits(base, [gone])
    assert git(Path(repo.work_tree or ""), "ls-tree", "--name-only", ours).split() == ["link", "run.sh"]


def test_a_missing_tree_is_not_an_empty_one(repo: GitRepo) -> None:
    """Taken for empty, it would publish the deletion of every bead."""
    base = repo.commit_of("HEAD")
    assert base is not None
    tree = git(Path(repo.work_tree or ""), "rev-parse", "HEAD:beads").strip()
    os.unlink(Path(repo.git_dir) / "objects" / tree[:2] / tree[2:])
    with pytest.raises(Damaged, match=tree):
        LooseWriter(repo).commit(base, DRAFT)


def test_a_reader_that_a_signal_ended_is_started_again(repo: GitRepo) -> None:
    reader = repo.objects
    assert reader.read("HEAD:run.sh") == b"#!/bin/sh\n"
    reader._process.kill()
    reader._process.wait()
    assert reader.read("HEAD:run.sh") == b"#!/bin/sh\n"
    repo.close()


def test_a_reader_that_was_ended_closes_without_words(repo: GitRepo) -> None:
    reader = repo.objects
    reader._process.kill()
    reader._process.wait()
    assert reader._process.stdin is not None
    reader._process.stdin.write(b"HEAD\n")
    repo.close()
