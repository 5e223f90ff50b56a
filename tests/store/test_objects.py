"""Objects: what is written without git is what git would write, and a missing object is never an empty one."""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path

import pytest

from bd.core.errors import Damaged
from bd.store.contract import Draft
from bd.store.git.discovery import find_repo
from bd.store.git.objects import LooseWriter
from bd.store.git.repository import GitRepo
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


@pytest.mark.parametrize("size", [0, 1, 4074, 4075, 4076, 70_000])
def test_an_object_of_any_size_is_read_by_git(repo: GitRepo, size: int) -> None:
    """One that fits into a block of the disk is written without a compressor."""
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    name = LooseWriter(repo).write(b"blob", content, 40)
    place = Path(repo.work_tree or "")
    assert int(git(place, "cat-file", "-s", name)) == size
    assert git(place, "hash-object", "--stdin", data=content) == name
    assert repo.objects.read(name) == content
    git(place, "fsck", "--strict", "--no-dangling")


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
    assert reader._process is not None
    reader._process.kill()
    reader._process.wait()
    assert reader.read("HEAD:run.sh") == b"#!/bin/sh\n"
    repo.close()


def test_a_reader_that_was_ended_closes_without_words(repo: GitRepo) -> None:
    reader = repo.objects
    assert reader.read("HEAD:run.sh") == b"#!/bin/sh\n"
    assert reader._process is not None
    reader._process.kill()
    reader._process.wait()
    assert reader._process.stdin is not None
    reader._process.stdin.write(b"HEAD\n")
    repo.close()


# --- read without git -----------------------------------------------------------------------


def opened(place: Path) -> GitRepo:
    found = find_repo(str(place))
    assert found is not None
    return found


def head_of(repo: GitRepo) -> str:
    found = repo.commit_of("HEAD")
    assert found is not None
    return found


WAYS = [
    "",
    ":run.sh",
    ":beads/hub-3.yaml",
    ":link",
    ":beads",
    ":no",
    ":run.sh/no",
    ":beads/no.yaml",
    ":",
    ":beads/",
    "^{tree}",
    ":./run.sh",
]


def as_git_has_it(repo: GitRepo, name: str) -> bytes | None:
    code, kind, _ = repo.run("cat-file", "-t", name, check=False)
    return None if code else repo.run("cat-file", kind.decode().strip(), name)[1]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("where", ["loose", "packed", "halfway", "borrowed"])
def test_every_name_means_what_git_says(repo: GitRepo, way: str, where: str, tmp_path: Path) -> None:
    place = Path(repo.work_tree or "")
    if where in ("packed", "halfway"):
        git(place, "gc", "--quiet", "--prune=now")
    if where == "halfway":
        (place / "run.sh").write_text("#!/bin/bash\n")
        git(place, "commit", "--quiet", "-am", "second")
    if where == "borrowed":
        git(tmp_path, "clone", "--quiet", "--shared", "here", "there")
        found = find_repo(str(tmp_path / "there"))
        assert found is not None
        repo = found
    name = head_of(repo) + way
    assert repo.objects.read(name) == as_git_has_it(repo, name)
    assert list(repo.objects.read_many([name] * 40)) == [as_git_has_it(repo, name)] * 40
    repo.close()


def test_what_lies_loose_needs_no_process(repo: GitRepo) -> None:
    base = head_of(repo)
    assert repo.objects.read(f"{base}:beads/hub-3.yaml") == b"id: hub-3\n"
    made = LooseWriter(repo).commit(base, DRAFT)
    assert repo.objects.read(f"{made}:a/b/c") == b"deep\n"
    assert repo.objects._process is None


def test_a_replaced_object_is_read_as_git_reads_it(repo: GitRepo) -> None:
    place = Path(repo.work_tree or "")
    old = git(place, "rev-parse", "HEAD:run.sh").strip()
    new = git(place, "rev-parse", "HEAD:beads/hub-1.yaml").strip()
    git(place, "replace", old, new)
    for _ in range(2):
        assert repo.objects.read(old) == b"id: hub-1\n"
        repo.close()
        git(place, "pack-refs", "--all")


@pytest.mark.parametrize("content", [b"", b"no zlib", zlib.compress(b"blob 10\0#!/bin/sh\n")[:-6]])
def test_a_damaged_object_is_no_content(repo: GitRepo, content: bytes) -> None:
    oid = git(Path(repo.work_tree or ""), "rev-parse", "HEAD:run.sh").strip()
    path = Path(repo.git_dir) / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(content)
    with contextlib.suppress(Damaged):
        assert repo.objects.read(oid) is None
    repo.close()


def test_in_a_repository_of_sha_256_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "here")
    place = tmp_path / "here"
    (place / "beads").mkdir()
    (place / "beads" / "hub-3.yaml").write_text("id: hub-3\n")
    git(place, "add", "-A")
    git(place, "commit", "--quiet", "-m", "first")
    repo = find_repo(str(place))
    assert repo is not None
    base = head_of(repo)
    ours = LooseWriter(repo).commit(base, DRAFT)
    assert repo.objects.read(f"{ours}:beads/hub-3.yaml") == b"id: hub-3\ntitle: New\n"
    assert repo.objects._process is None
    assert [ours] == repo._import_commits(base, [DRAFT])
    git(place, "fsck", "--strict", "--no-dangling")


def test_a_packed_file_that_is_checked_out_needs_no_process(repo: GitRepo) -> None:
    """Only as long as it is that file: what a person makes of it is not in the commit."""
    place = Path(repo.work_tree or "")
    git(place, "gc", "--quiet", "--prune=now")
    (place / "run.sh").write_text("#!/bin/bash\n")
    git(place, "commit", "--quiet", "-am", "second")
    beads = git(place, "rev-parse", "HEAD:beads")
    LooseWriter(repo).write(b"tree", repo.objects.known(beads), len(beads))
    repo.close()
    repo = opened(place)
    base = head_of(repo)
    assert repo.objects.read(f"{base}:beads/hub-3.yaml") == b"id: hub-3\n"
    assert repo.objects._process is None
    (place / "beads" / "hub-4.yaml").write_text("id: mine\n")
    assert repo.objects.read(f"{base}:beads/hub-4.yaml") == b"id: hub-4\n"
    (place / "beads" / "hub-5.yaml").unlink()
    os.mkfifo(place / "beads" / "hub-5.yaml")
    assert repo.objects.read(f"{base}:beads/hub-5.yaml") == b"id: hub-5\n"
    repo.close()
