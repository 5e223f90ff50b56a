"""Nothing unpushed is ever lost: the eight kinds, after a retry, a prune, a worker that was killed, and a full disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BdError, TryAgain
from bd.repos import leftovers
from bd.repos.cache import Cache
from tests.repos.test_isolation import state_of
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.repos.attempt import Attempt
    from tests.repos.conftest import Site

pytestmark = pytest.mark.one_in(60)

SECRET = "only here\n"  # noqa: S105


def _uncommitted(folder: Path) -> None:
    (folder / "readme").write_text(SECRET)


def _staged(folder: Path) -> None:
    (folder / "readme").write_text(SECRET)
    git(folder, "add", "readme")


def _staged_and_changed(folder: Path) -> None:
    _staged(folder)
    (folder / "readme").write_text("later\n")


def _staged_and_removed(folder: Path) -> None:
    (folder / "new").write_text(SECRET)
    git(folder, "add", "new")
    (folder / "new").unlink()


def _in_a_merge(folder: Path) -> None:
    git(folder, "checkout", "--quiet", "-b", "other")
    (folder / "readme").write_text(SECRET)
    git(folder, "commit", "--quiet", "-am", "theirs")
    git(folder, "checkout", "--quiet", "-")
    (folder / "readme").write_text("ours\n")
    git(folder, "commit", "--quiet", "-am", "ours")
    git(folder, "merge", "other", check=False)


def _overlooked(folder: Path) -> None:
    git(folder, "update-index", "--skip-worktree", "readme")
    _uncommitted(folder)


def _assumed(folder: Path) -> None:
    git(folder, "update-index", "--assume-unchanged", "readme")
    _uncommitted(folder)


def _commits(folder: Path) -> None:
    (folder / "new").write_text(SECRET)
    git(folder, "add", "new")
    git(folder, "commit", "--quiet", "-m", "mine")


def _untracked(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "new file\n").write_text(SECRET)


def _ignored(folder: Path) -> None:
    (folder / "x.log").write_text(SECRET)


def _stashes(folder: Path) -> None:
    _uncommitted(folder)
    git(folder, "stash", "--quiet")
    (folder / "readme").write_text("second\n")
    git(folder, "stash", "--quiet")  # the first is now known to a log alone


def _branches(folder: Path) -> None:
    git(folder, "checkout", "--quiet", "-b", "side/way")
    _commits(folder)
    git(folder, "checkout", "--quiet", "-")


def _detached(folder: Path) -> None:
    git(folder, "checkout", "--quiet", "--detach")
    _commits(folder)


def _left_behind(folder: Path) -> None:
    """A commit on a detached head that no ref names any more."""
    _detached(folder)
    git(folder, "checkout", "--quiet", "-")


def _reset(folder: Path) -> None:
    _commits(folder)
    git(folder, "reset", "--quiet", "--hard", "HEAD~1")


def _submodule_commit(folder: Path) -> None:
    git(folder, "-c", "protocol.file.allow=always", "clone", "--quiet", str(folder), str(folder / "inner"))
    _commits(folder / "inner")


def _submodule_file(folder: Path) -> None:
    git(folder, "init", "--quiet", str(folder / "inner"))
    (folder / "inner" / "new").write_text(SECRET)


KINDS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "uncommitted": ("uncommitted", _uncommitted),
    "staged": ("uncommitted", _staged),
    "staged and changed": ("uncommitted", _staged_and_changed),
    "staged and removed": ("uncommitted", _staged_and_removed),
    "in a merge": ("uncommitted", _in_a_merge),
    "overlooked": ("uncommitted", _overlooked),
    "assumed unchanged": ("uncommitted", _assumed),
    "commits": ("commits", _commits),
    "untracked": ("untracked", _untracked),
    "ignored": ("ignored", _ignored),
    "stashes": ("stashes", _stashes),
    "branches": ("branches", _branches),
    "detached": ("detached", _detached),
    "left behind": ("detached", _left_behind),
    "reset": ("detached", _reset),
    "submodule commit": ("submodules", _submodule_commit),
    "submodule file": ("submodules", _submodule_file),
}


def shown(site: Site, bead: str) -> list[tuple[str, str]]:
    """What `bd workspace list` knows of a bead: kinds, and whether git shows the words there."""
    found = []
    for one in site.clone.here("workspace", "list", bead, "--json").json:
        for left in one["unpushed"]:
            text = git(one["git_dir"], "show", "-m", "--format=", left["commit"])
            found.append((left["kind"], "there" if SECRET.strip() in text else ""))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", ["prune", "retry", "kill", "kill and retry"])
def test_each_kind_is_found_after_each_end(site: Site, kind: str, end: str) -> None:
    name, leave = KINDS[kind]
    bead = site.bead()
    attempt = site.begin(bead)
    leave(Path(attempt.folder))
    if end.startswith("kill"):
        attempt.abandon()  # the locks of a dead process; nothing else is done
    else:
        _end_without_delivery(site, attempt)
    if end.endswith("retry"):
        site.clone.here("release", bead, "--force", "--reason", "again")
        second = site.begin(bead)
        assert (Path(second.folder) / "readme").read_text() == "one\n"
        if name != "ignored":
            assert "earlier attempt" in site.brief
        _end_without_delivery(site, second)
    site.clone.here("workspace", "prune", bead)
    assert not os.path.isdir(attempt.folder)
    pushed = site.branches().get(f"agents/{bead}-attempt-1")  # by the attempt after a killed one
    if pushed and name in ("commits", "detached"):
        assert SECRET.strip() in git(site.code, "show", "--format=", pushed)
    else:
        assert (name, "there") in shown(site, bead)


def _end_without_delivery(site: Site, attempt: Attempt) -> None:
    """End it as a worker would whose push was refused."""
    attempt._end(site.hub())


def test_a_clean_workspace_leaves_nothing(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    site.work(attempt, "new")
    assert attempt.finish(site.hub(), {}, is_current=True).branch == f"agents/{bead}"
    assert shown(site, bead) == []
    site.clone.here("workspace", "prune", bead)
    assert site.clone.here("workspace", "list", "--json").json == []


@pytest.mark.parametrize("is_away", [False, True])
def test_what_was_set_aside_of_a_removed_workspace_is_found_after_the_next_attempt(site: Site, is_away: bool) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    _untracked(Path(attempt.folder))
    _end_without_delivery(site, attempt)
    site.clone.here("workspace", "prune", bead)
    site.clone.here("release", bead, "--force", "--reason", "again")
    site.clone.here("claim", bead, "--agent", "coder")
    second = site.reserve(bead, prepare=False)
    away = site.code.with_name("away.git")
    if is_away:
        site.code.rename(away)
        with pytest.raises(BdError):
            second.prepare(site.hub(), {}, lambda _: None)
    else:
        assert "An earlier attempt left files" in second.prepare(site.hub(), {}, lambda _: None)
    second.finish(site.hub(), {}, is_current=True)
    assert shown(site, bead) == [("untracked", "there")]
    assert len(site.clone.here("workspace", "list", "--json").json) == (1 if is_away else 2)


def test_what_was_set_aside_is_forgotten_once_somebody_has_pushed_it(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--deliver", "none")
    bead = site.bead()
    attempt = site.begin(bead)
    _commits(Path(attempt.folder))
    attempt.finish(site.hub(), {}, is_current=True)
    site.clone.here("workspace", "prune", bead)
    (one,) = site.clone.here("workspace", "list", "--json").json
    (left,) = one["unpushed"]
    git(one["git_dir"], "push", "--quiet", str(site.code), f"{left['commit']}:refs/heads/by-hand")
    site.clone.here("repo", "check", "relay")
    assert site.clone.here("workspace", "list", "--json").json == []


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_after_a_full_disk(site: Site, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A worker was killed, and nothing can be written: the folder stays as it is. Once there is room, it is found as ever."""
    name, leave = KINDS[kind]
    bead = site.bead()
    attempt = site.begin(bead)
    leave(Path(attempt.folder))
    attempt.abandon()
    before = state_of(attempt.folder)
    run = Cache.run

    def full(self: Cache, *args: str, **more: Any) -> object:
        if {"write-tree", "commit-tree", "fetch", "add", "update-index", "hash-object", "update-ref"} & {*args}:
            raise TryAgain("no space left on device")
        return run(self, *args, **more)

    with monkeypatch.context() as disk:
        disk.setattr(Cache, "run", full)
        site.clone.here("workspace", "prune", bead, check=False)
        listed = site.clone.here("workspace", "list", bead, check=False).out
        assert attempt.folder in listed
        assert state_of(attempt.folder) == before
    site.clone.here("workspace", "prune", bead)
    assert (name, "there") in shown(site, bead)


def _denied(*_: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def _pipe(folder: Path) -> None:
    (folder / ".git" / "objects" / "info" / "alternates").unlink()
    os.mkfifo(folder / ".git" / "objects" / "info" / "alternates")


@pytest.mark.parametrize(
    ("leave", "limit", "value"),
    [
        (_ignored, "IGNORED_LIMIT", 3),
        (_submodule_file, "_MOST_REPOSITORIES", 0),
        (_pipe, "_MOST_REPOSITORIES", 9),
        (_uncommitted, "shutil", SimpleNamespace(copyfile=_denied)),
    ],
    ids=["too many ignored files", "too many repositories", "a pipe", "an index that can't be read"],
)
def test_what_can_not_be_set_aside_keeps_the_folder_and_the_next_attempt_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch, leave: Callable[[Path], None], limit: str, value: object
) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    leave(Path(attempt.folder))
    before = {*os.listdir(attempt.folder)}
    monkeypatch.setattr(leftovers, limit, value)
    _end_without_delivery(site, attempt)
    found = site.clone.here("workspace", "prune", bead, "--json").json
    assert [one["id"] for one in found["kept"]] == [bead]
    assert {*os.listdir(attempt.folder)} == before
    site.clone.here("release", bead, "--force", "--reason", "again")
    site.begin(bead)
    assert {*os.listdir(f"{attempt.folder}.attempt-1")} == before


def test_forget_drops_what_was_set_aside_and_nothing_else(site: Site) -> None:
    beads = [site.bead(), site.bead()]
    for bead in beads:
        attempt = site.begin(bead)
        _uncommitted(Path(attempt.folder))
        _end_without_delivery(site, attempt)
    site.clone.here("workspace", "prune", "--forget", code=2)
    site.clone.here("workspace", "prune", beads[0], "--forget")
    assert [shown(site, bead) for bead in beads] == [[], [("uncommitted", "there")]]


def _link_git(folder: Path, other: Path) -> None:
    (folder / ".git").rename(folder / ".was")
    (folder / ".git").symlink_to(other / ".git")


def _name_git(folder: Path, other: Path) -> None:
    (folder / ".git").rename(folder / ".was")
    (folder / ".git").write_text(f"gitdir: {other / '.git'}\n")


def _link_objects(folder: Path, other: Path) -> None:
    (folder / ".git" / "objects" / "pack" / "x").symlink_to(other)


def _borrow(folder: Path, other: Path) -> None:
    with (folder / ".git" / "objects" / "info" / "alternates").open("a") as file:
        file.write(f"{other / '.git' / 'objects'}\n")


def _common(folder: Path, other: Path) -> None:
    (folder / ".git" / "commondir").write_text(f"{other / '.git'}\n")


@pytest.mark.parametrize("trick", [_link_git, _name_git, _link_objects, _borrow, _common])
def test_a_repository_that_leads_out_of_the_workspace_is_not_read(
    site: Site, tmp_path: Path, trick: Callable[[Path, Path], None]
) -> None:
    """A sandboxed agent must not have bd push what it can't read itself."""
    other = tmp_path / "private"
    git(tmp_path, "init", "--quiet", str(other))
    (other / "secret").write_text(SECRET)
    git(other, "add", ".")
    git(other, "commit", "--quiet", "-m", "secret")
    secret = git(other, "rev-parse", "HEAD")
    bead = site.bead()
    attempt = site.begin(bead)
    trick(Path(attempt.folder), other)
    refs = Path(attempt.folder) / ".git" / "refs" / "heads" / "agents"
    if refs.is_dir():
        (refs / bead).write_text(f"{secret}\n")
    with pytest.raises(Exception, match=r"not pushed"):
        attempt.finish(site.hub(), {}, is_current=True)
    assert [*site.branches()] == ["main"]
    (one,) = site.clone.here("workspace", "list", bead, "--json").json
    assert one["not_set_aside"]
    assert git(one["git_dir"], "cat-file", "-t", secret, check=False) != "commit"
    site.clone.here("workspace", "prune", bead)
    assert os.path.isdir(attempt.folder)


def test_nothing_that_an_agent_sets_runs(site: Site, tmp_path: Path) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    trap, folder = tmp_path / "trap", Path(attempt.folder)
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "filter.x.clean"):
        git(folder, "config", key, f"touch {trap}; false")
    git(folder, "config", "filter.x.process", f"touch {trap}")
    (folder / ".gitattributes").write_text("* filter=x\n")
    for hook in ("post-checkout", "pre-push", "reference-transaction", "post-index-change", "pre-auto-gc"):
        path = folder / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {trap}\n")
        path.chmod(0o755)
    (folder / "new").write_text(SECRET)
    attempt.finish(site.hub(), {}, is_current=True)
    assert ("untracked", "there") in shown(site, bead)
    site.clone.here("release", bead, "--force", "--reason", "again")
    second = site.begin(bead)
    second.finish(site.hub(), {}, is_current=True)
    site.clone.here("workspace", "prune", bead)
    assert not trap.exists()
