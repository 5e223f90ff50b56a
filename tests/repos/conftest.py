"""A code repository, a hub that knows it, and attempts on beads about it without a worker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bd.repos.attempt import Attempt, workspace_for
from bd.store.hub_location import locate
from tests.runtime import open_clone
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bd.store import Clone as Hub
    from tests.running import Clone


class Site:
    """A clone of the hub with the repository `relay`, at `code`; attempts are prepared and finished by hand."""

    def __init__(self, clone: Clone, code: Path) -> None:
        self.clone = clone
        self.code = code
        self._hubs: list[Hub] = []

    def hub(self) -> Hub:
        hub = open_clone(locate(str(self.clone.path)))
        self._hubs.append(hub)
        return hub

    def bead(self, *words: str) -> str:
        """Create a bead about the repository."""
        return str(self.clone.here("create", "Fix it", "--repo", "relay", "--json", *words).json["id"])

    def begin(self, bead_id: str, agent: str = "coder", *, prepare: bool = True) -> Attempt:
        """Claim a bead and make its workspace."""
        self.clone.here("claim", bead_id, "--agent", agent)
        return self.reserve(bead_id, prepare=prepare)

    def reserve(self, bead_id: str, *, prepare: bool = True) -> Attempt:
        """Make the workspace of a bead that is claimed already."""
        hub = self.hub()
        bead = hub.snapshot().bead(bead_id)
        assert bead is not None
        attempt = workspace_for(hub, bead, hub.snapshot())
        assert attempt is not None
        if prepare:
            self.brief = attempt.prepare(hub, dict(os.environ), lambda _: None)
        return attempt

    def work(self, attempt: Attempt, name: str, text: str = "work\n") -> str:
        """Commit a file in the workspace, as an agent would."""
        folder = attempt.folder
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        git(folder, "add", "--", name)
        git(folder, "commit", "--quiet", "-m", f"write {name}")
        return git(folder, "rev-parse", "HEAD")

    def branches(self) -> dict[str, str]:
        """The branches of the code repository."""
        lines = git(self.code, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
        return dict(line.split(" ") for line in lines)

    def commit(self, branch: str, name: str, text: str = "theirs\n") -> str:
        """Commit a file to a branch of the repository, as a person would."""
        folder = self.code.parent / "person"
        if not folder.exists():
            git(folder.parent, "clone", "--quiet", str(self.code), str(folder))
        git(folder, "fetch", "--quiet")
        git(folder, "checkout", "--quiet", "-B", branch, f"origin/{branch}" if branch in self.branches() else "origin/main")
        (folder / name).write_text(text)
        git(folder, "add", "--", name)
        git(folder, "commit", "--quiet", "-m", f"person's {name}")
        git(folder, "push", "--quiet", "origin", branch)
        return git(folder, "rev-parse", "HEAD")

    def close(self) -> None:
        for hub in self._hubs:
            hub.close()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository with one commit on main."""
    path, seed = tmp_path / "code.git", tmp_path / "seed"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(path))
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(seed))
    (seed / "readme").write_text("one\n")
    (seed / ".gitignore").write_text("*.log\n")
    git(seed, "add", ".")
    git(seed, "commit", "--quiet", "-m", "one")
    git(seed, "push", "--quiet", str(path), "main")
    return path


@pytest.fixture
def site(clone: Callable[[str], Clone], code: Path) -> Iterator[Site]:
    alice = clone("alice")
    alice.here("agent", "add", "coder", "--max", "9")
    alice.here("repo", "add", "relay", str(code))
    site = Site(alice, code)
    yield site
    site.close()
