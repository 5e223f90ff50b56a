"""bd's own audit of a repository, for tests: what it finds, and that it finds nothing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bd.report.audit.audit import examine
from bd.store.git.discovery import find_repo
from tests.truth import tip

if TYPE_CHECKING:
    from pathlib import Path

    from bd.report.audit.audit import Audit


def audited(repository: Path, since: str | None = None, branch: str = "main") -> Audit:
    """The audit of a bare hub or a clone, at the end of the branch."""
    repo = find_repo(str(repository))
    assert repo is not None
    with contextlib.closing(repo):
        return examine(repo, tip(repository, branch), since)


def assert_sound(repository: Path, branch: str = "main") -> None:
    """No commit of the branch broke a rule."""
    found = audited(repository, branch=branch).violations
    assert not found, "\n".join(f"{each.code}: {each.bead} in {each.commit[:10]} by {each.by}: {each.text}" for each in found)
