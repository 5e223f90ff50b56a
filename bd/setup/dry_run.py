"""Making a hub, rehearsed: every check of hub.py's, and no repository, remote, setting or commit."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from bd.core import clock
from bd.core.errors import RemoteUnreachable
from bd.core.identity import identify
from bd.operations.base import World
from bd.operations.publish import add
from bd.setup.hub import branch_for, init_of, refuse_unpushed, told_at_birth
from bd.store.empty_snapshot import EMPTY
from bd.store.git.create import check_origin, check_url, why, without_password
from bd.store.git.discovery import find_repo
from bd.store.git.repository import GitRepo
from bd.store.hub_location import Place, check_branch, clone_config_path, place_on, read_layer, user_config_path
from bd.store.replica import Replica
from bd.store.transaction.drafts import Chain

if TYPE_CHECKING:
    from typing import Any

    from bd.core.model import Change
    from bd.core.settings import Settings
    from bd.operations.base import Operation


class Rehearsal:
    """A hub that would be made, and what would be written into it. `notes` are what could not be looked at."""

    def __init__(self, hub: Replica, snapshot: Any, notes: tuple[str, ...]) -> None:
        self._hub = hub
        self._chain = Chain(hub.repo, snapshot, World(clock.now(), hub.settings(snapshot)))
        self.branch_name = hub.branch_name
        self.notes = notes
        place = hub.place
        self.by = identify(None, place.clone_layer, place.user_layer, place.user_name).by

    def settings(self) -> Settings:
        """The settings as they would hold by now."""
        snapshot: Any = self._chain.snapshot  # its settings are all that is asked of it
        return self._hub.settings(snapshot)

    def add(self, operation: Operation) -> Change:
        """Decide one more operation on what the ones before it would leave. Raises its refusal, Damaged."""
        return add(self._chain, self._hub, operation)


def rehearse(folder: str, prefix: str, *, remote: str | None = None, branch: str | None = None) -> Rehearsal:
    """What make_hub would make of a folder. Raises what that raises."""
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
    hub = Replica(place)
    notes: tuple[str, ...] = ()
    if remote is not None and place.remote is None:
        _reach(repo, remote)
        notes = (f"what {without_password(remote)} holds already is not looked at here",)
    if place.remote:
        refuse_unpushed(place)
        with hub.lock():
            tip = hub.finish_fetch()
    else:
        tip = place.repo.ref(place.branch) if repo is not None else None
    would = Rehearsal(hub, hub.snapshot(tip) if tip else EMPTY, notes)
    with told_at_birth(place):
        would.add(init_of(place, tip, prefix))
    return would


def _reach(repo: GitRepo | None, url: str) -> None:
    """Raise RemoteUnreachable where a URL, which is no remote yet, does not answer as a repository."""
    with tempfile.TemporaryDirectory() as folder:
        if repo is None:
            repo = GitRepo(folder, folder, None)
            repo.run("init", "--quiet", "--bare")
        code, _, words = repo.run("ls-remote", "--quiet", "--end-of-options", url, check=False)
    if code:
        shown = without_password(url)
        raise RemoteUnreachable(f"{shown} can't be reached: {why(words.splitlines())}", hint="check the URL and your credentials")
