"""A dry run of creating a hub: does all the checks of hub.py without creating a repository, remote, setting or commit."""

from __future__ import annotations

import os
import tempfile

from bd import TYPE_CHECKING
from bd.core.identity import identify
from bd.core.redaction import shown_url
from bd.setup.hub import branch_for, init_of, refuse_unpushed, told_at_birth
from bd.store import Clone, Place
from bd.store.empty_snapshot import EMPTY
from bd.store.git.create import check_origin, check_url, unreachable
from bd.store.git.discovery import find_repo
from bd.store.git.repository import GitRepo
from bd.store.hub_location import check_branch, clone_config_path, place_on, read_layer, user_config_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from bd.core.model import Change
    from bd.core.settings import Settings
    from bd.operations.base import Operation


class HubRehearsal:
    """A hub that would be created, and what would be written into it. `notes` tell what could not be checked."""

    def __init__(self, hub: Clone, snapshot: Any, notes: tuple[str, ...]) -> None:
        self.branch_name = hub.branch_name
        self.notes = notes
        place = hub.place
        self.by = identify(None, place.clone_layer, place.user_layer, place.user_name).by
        self._writes = hub.rehearsal(snapshot)

    def settings(self) -> Settings:
        """Return the settings as they would be now."""
        return self._writes.settings()

    def add(self, operation: Operation) -> Change:
        """Decide one more operation on top of those before. Raises the error if it is refused, or Damaged."""
        return self._writes.add(operation)


def rehearse(
    folder: str, prefix: str, open_clone: Callable[[Place], Clone], *, remote: str | None = None, branch: str | None = None
) -> HubRehearsal:
    """Return what make_hub would create in a folder. Raises the same errors."""
    if remote is not None:
        check_url(remote)
        remote = os.path.abspath(remote) if os.path.isdir(remote) else remote
    if branch:
        check_branch(branch)
    repo = find_repo(folder)
    if repo is None:
        dot_git = os.path.join(os.path.abspath(folder), ".git")
        made = GitRepo(dot_git, dot_git, folder)
        place = Place(made, f"refs/heads/{branch or 'main'}", None, None, "", "", {}, read_layer(user_config_path()))
    else:
        if remote is not None:
            check_origin(repo, remote)
        known = read_layer(clone_config_path(repo)).get("branch")
        place = place_on(repo, f"refs/heads/{branch or known or branch_for(repo, folder, is_shared=False)}")
    hub = open_clone(place)
    notes: tuple[str, ...] = ()
    if remote is not None and place.remote is None:
        _reach(repo, remote)
        notes = (f"what {shown_url(remote)} holds already is not looked at here",)
    if place.remote:
        refuse_unpushed(hub)
        with hub.lock():
            tip = hub.finish_fetch()
    else:
        tip = place.repo.ref(place.branch) if repo is not None else None
    would = HubRehearsal(hub, hub.snapshot(tip) if tip else EMPTY, notes)
    with told_at_birth(place):
        would.add(init_of(hub, tip, prefix))
    return would


def _reach(repo: GitRepo | None, url: str) -> None:
    """Check that a URL that is not a remote yet is a reachable repository. Raises RemoteUnreachable and ServerRefused."""
    with tempfile.TemporaryDirectory() as folder:
        if repo is None:
            repo = GitRepo(folder, folder, None)
            repo.run("init", "--quiet", "--bare")
        code, _, words = repo.run("ls-remote", "--quiet", "--end-of-options", url, check=False)
    if code:
        raise unreachable(url, words)
