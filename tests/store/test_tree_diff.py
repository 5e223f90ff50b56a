"""What differs between two commits, told by trees that lie loose, is what git says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bd.store.git.porcelain import difference
from bd.store.git.repository import GitRepo
from bd.store.git.tree_diff import differing
from tests.truth import git

if TYPE_CHECKING:
    from pathlib import Path

    from bd.store.contract import Entry

MODES = ("100644", "100755", "120000", "160000")
PART = st.sampled_from(["a", "b", "a.b", "a-b", "ü", "x y"])
PATHS = st.lists(PART, min_size=1, max_size=3).map("/".join)
# Not none at all: git keeps no object for an empty tree.
FILES = st.dictionaries(PATHS, st.tuples(st.sampled_from(MODES), st.integers(0, 2)), min_size=1, max_size=6)
COMMIT = ("-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", "-m", "x")


def made_in(folder: Path) -> GitRepo:
    git(folder, "init", "--quiet", ".")
    return GitRepo(str(folder / ".git"), str(folder / ".git"), None)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return made_in(tmp_path_factory.mktemp("repo"))


def without_clashes(files: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """Those that can be in one tree: no file where another has a folder."""
    return {path: file for path, file in files.items() if not any(other.startswith(f"{path}/") for other in files)}


def committed(repo: GitRepo, files: dict[str, tuple[str, int]]) -> str:
    """A commit of these files alone, each with one of three contents."""
    blobs = [git(repo.git_dir, "hash-object", "-w", "--stdin", data=f"{number}\n".encode()).strip() for number in range(3)]
    lines = "".join(f"{mode} {blobs[number]}\t{path}\n" for path, (mode, number) in without_clashes(files).items())
    git(repo.git_dir, "read-tree", "--empty")
    git(repo.git_dir, "update-index", "--add", "--index-info", data=lines.encode())
    return git(repo.git_dir, *COMMIT, git(repo.git_dir, "write-tree").strip()).strip()


def told_by_git(repo: GitRepo, old: str, new: str, *names: str) -> list[Entry]:
    _, out, _ = repo.run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", old, new, "--", *names)
    return sorted(difference(out))


@pytest.mark.slow
@given(old=FILES, new=FILES, names=st.lists(PART, max_size=2))
@settings(deadline=None, max_examples=40)
def test_what_differs_is_what_git_says(
    repo: GitRepo, old: dict[str, tuple[str, int]], new: dict[str, tuple[str, int]], names: list[str]
) -> None:
    before, after = committed(repo, old), committed(repo, {**old, **new})
    for one, other in ((before, after), (after, before), (before, before)):
        assert differing(repo.objects, one, other, names) == told_by_git(repo, one, other, *names)


def test_git_looks_where_trees_are_packed(tmp_path: Path) -> None:
    repo = made_in(tmp_path)
    old, new = committed(repo, {"a/b": (MODES[0], 0)}), committed(repo, {"a/b": (MODES[0], 1)})
    expected = told_by_git(repo, old, new)
    git(tmp_path, "update-ref", "refs/heads/one", old)
    git(tmp_path, "update-ref", "refs/heads/two", new)
    git(tmp_path, "repack", "-adq")
    again = made_in(tmp_path)
    assert differing(again.objects, old, new, []) is None
    assert again.diff(old, new) == expected
    again.close()


def test_git_looks_where_much_differs(repo: GitRepo) -> None:
    many = {f"a/{number}": (MODES[0], 0) for number in range(300)}
    old, new = committed(repo, {"a/0": (MODES[0], 1)}), committed(repo, many)
    assert differing(repo.objects, old, new, []) is None
    assert len(repo.diff(old, new)) == 300


def tree_of(repo: GitRepo, *entries: tuple[bytes, bytes, str]) -> str:
    """A commit of a tree as somebody may have made it by hand, whatever git thinks of it."""
    raw = b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(oid)) for mode, name, oid in entries)
    tree = git(repo.git_dir, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=raw).strip()
    return git(repo.git_dir, *COMMIT, tree).strip()


def test_git_looks_where_trees_are_odd(repo: GitRepo) -> None:
    blobs = [git(repo.git_dir, "hash-object", "-w", "--stdin", data=text).strip() for text in (b"1", b"2")]
    old = tree_of(repo, (b"100644", b"a", blobs[0]))
    for odd in (
        tree_of(repo, (b"100644", b"a", blobs[1]), (b"100644", b"a", blobs[0])),
        tree_of(repo, (b"100664", b"a", blobs[1])),
        tree_of(repo, (b"040000", b"a", "0" * 40)),
    ):
        assert differing(repo.objects, old, odd, []) is None


def test_git_looks_where_a_tree_unfolds_without_end(repo: GitRepo) -> None:
    """Each folder holds the one below ten times, and none holds a file: nothing is found that could be counted."""
    below = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree
    git(repo.git_dir, "hash-object", "-t", "tree", "-w", "--stdin", data=b"")
    for _ in range(12):
        raw = b"".join(b"40000 %d\0%s" % (number, bytes.fromhex(below)) for number in range(10))
        below = git(repo.git_dir, "hash-object", "-t", "tree", "-w", "--stdin", data=raw).strip()
    old = committed(repo, {"a": (MODES[0], 0)})
    assert differing(repo.objects, old, git(repo.git_dir, *COMMIT, below).strip(), []) is None
