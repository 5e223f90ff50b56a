"""Two agents at once: whatever one does to git in its workspace, nothing of the other's changes, and the cache serves on."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.truth import git

if TYPE_CHECKING:
    from tests.repos.conftest import Site

pytestmark = pytest.mark.one_in(16)

# Typed in one workspace. $OTHER is the other's folder, which an agent is not told, and $CACHE where git borrows objects from.
TRICKS = {
    "git above": "cd .. && git init -q . 2>/dev/null; cd - && git -C .. config user.name evil; rm -rf ../.git",
    "search upwards": "cd .. && git add -A && git commit -qm x && git clean -qfdx",
    "settings": "git config core.hooksPath /tmp/x; git config core.sshCommand false; git config gc.pruneExpire now",
    "hooks": "mkdir -p .git/hooks; printf '#!/bin/sh\nexit 1\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "stash": "echo x >> readme; git stash -q; git stash clear; git stash drop",
    "refs": "git branch -D agents/none; git for-each-ref --format='delete %(refname)' | git update-ref --stdin",
    "gc": "git reflog expire --expire=now --all; git gc -q --aggressive --prune=now",
    "prune": "git repack -adq; git prune --expire=now; git prune-packed; git worktree prune --expire=now",
    "worktree": "git worktree add -q ../evil; git worktree prune; rm -rf ../evil; git worktree prune",
    "gc of the cache": 'git -C "$CACHE" gc -q --prune=now; git -C "$CACHE" prune --expire=now; git -C "$CACHE" worktree prune',
    "settings of the cache": 'git -C "$CACHE" config core.sshCommand "touch $TRAP; false"; git -C "$CACHE" config core.fsmonitor "touch $TRAP"; '
    'git -C "$CACHE" config --global --list > /dev/null; printf "[extensions]\\nevil = 1\\n" >> "$CACHE/config"',
    "hooks of the cache": 'mkdir -p "$CACHE/hooks"; for hook in pre-push reference-transaction post-index-change pre-auto-gc; do '
    'printf "#!/bin/sh\ntouch $TRAP\nexit 1\n" > "$CACHE/hooks/$hook"; chmod +x "$CACHE/hooks/$hook"; done',
    "fetch": "git remote set-url origin /nowhere; git fetch -q --prune origin '+refs/heads/*:refs/heads/*'",
    "removal": "rm -rf .git",
}


def state_of(folder: str) -> dict[str, str]:
    """Every file of a folder by its content, git's own among them."""
    found = {}
    for above, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(above, name)
            data = os.readlink(path).encode() if os.path.islink(path) else Path(path).read_bytes()
            found[os.path.relpath(path, folder)] = hashlib.sha256(data).hexdigest()
    return found


@pytest.mark.parametrize("trick", TRICKS)
def test_nothing_of_the_other_changes(site: Site, tmp_path: Path, trick: str) -> None:
    beads = [site.bead(), site.bead()]
    mine, other = (site.begin(bead) for bead in beads)
    made = site.work(other, "theirs")
    Path(other.folder, "draft").write_text("not committed\n")
    before = state_of(other.folder)
    objects = Path(other.folder, ".git/objects/info/alternates").read_text().strip()
    environment = {**os.environ, **mine.environment, "CACHE": os.path.dirname(objects), "TRAP": str(tmp_path / "trap")}
    subprocess.run(["sh", "-c", TRICKS[trick]], cwd=mine.folder, env=environment, capture_output=True, check=False)
    assert state_of(other.folder) == before
    git(other.folder, "fsck", "--strict", "--no-dangling")
    assert other.finish(site.hub(), {}, is_current=True).branch == f"agents/{beads[1]}"
    assert site.branches()[f"agents/{beads[1]}"] == made
    third = site.begin(site.bead())
    git(third.folder, "fsck", "--strict", "--no-dangling")
    assert git(third.folder, "status", "--porcelain") == ""
    assert not (tmp_path / "trap").exists()
