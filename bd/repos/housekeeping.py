"""Workspaces that nobody works in any more: listed with what they left, and removed some days later.

A folder goes only when everything unpushed in it is set aside; the record stays as long as there is something of it.
"""

from __future__ import annotations

import os
import shutil
import stat
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.code_repos import Repo
from bd.core.errors import BdError
from bd.repos import leftovers
from bd.repos.cache import Cache
from bd.repos.workspace import NO_REPO, known_workspaces
from bd.schedule.invocation import hub_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from bd.core.model import Snapshot
    from bd.repos.leftovers import Kept
    from bd.repos.workspace import Workspace
    from bd.store import Clone

KEPT_S = 3 * 86400.0
RUNNING, ENDED, KILLED, REMOVED = "running", "ended", "killed", "removed"


class Seen(NamedTuple):
    """A workspace as it is now: its state, what is set aside of it, and what could not be."""

    workspace: Workspace
    state: str
    kept: list[Kept]
    wrong: list[str]
    git_dir: str


def seen_workspaces(hub: Clone) -> Iterator[Seen]:
    """Yield the hub's workspaces on this machine. Everything unpushed in those without a worker is set aside meanwhile.

    One that is removed, and of which nothing is left to push, is forgotten.
    """
    return filter(None, (_seen(workspace, hub) for workspace in known_workspaces(hub_id(hub))))


def _seen(workspace: Workspace, hub: Clone) -> Seen | None:
    cache = cache_of(workspace, hub)
    state = ENDED if workspace.ended_at else KILLED
    lock = workspace.lock(hub.runtime)
    if not lock.try_enter():
        return Seen(workspace, RUNNING, leftovers.kept_of(workspace, cache), [], cache.git_dir)
    try:
        if not os.path.isdir(workspace.folder):
            if leftovers.forget_if_empty(workspace, cache):
                return None
            return Seen(workspace, REMOVED, leftovers.kept_of(workspace, cache), [], cache.git_dir)
        found = leftovers.keep(workspace, cache, hub.runtime)
        return Seen(workspace, state, *found, cache.git_dir)
    except (BdError, OSError) as error:  # the other workspaces are shown all the same
        return Seen(workspace, state, [], [str(error)], cache.git_dir)
    finally:
        lock.__exit__()


def cache_of(workspace: Workspace, hub: Clone) -> Cache:
    """Return the cache from which a workspace was made, also if its repository is no longer in the hub."""
    entry = None if workspace.repo == NO_REPO or not workspace.url else Repo(workspace.repo, workspace.url, workspace.base)
    return Cache(entry, hub.runtime)


def removed(workspace: Workspace, hub: Clone) -> list[str]:
    """Remove a workspace in which nobody works, once everything in it is set aside. Return why it stays; nothing if it is gone."""
    lock = workspace.lock(hub.runtime)
    if not lock.try_enter():
        return ["an attempt runs in it"]
    try:
        cache = cache_of(workspace, hub)
        if os.path.isdir(workspace.folder):
            ended = workspace.ended_at or times.time_text(hub.runtime.now())
            found = leftovers.keep(workspace._replace(ended_at=ended), cache, hub.runtime, with_ignored=True)
            if found.wrong:
                return found.wrong
            _remove(workspace.folder)
        if os.path.lexists(workspace.folder):
            return [f"{workspace.folder} can't be removed"]
        leftovers.forget_if_empty(workspace, cache)
        return []
    except (BdError, OSError) as error:  # others can be removed all the same
        return [str(error)]
    finally:
        lock.__exit__()


def forgotten(workspace: Workspace, hub: Clone) -> int:
    """Drop what was set aside of a workspace that is gone. Return the number of things dropped."""
    dropped = leftovers.drop(workspace, cache_of(workspace, hub))
    workspace.forget()
    return dropped


def _remove(folder: str) -> None:
    """Remove a folder, also one whose files can't be written."""

    def writable(remove: Callable[..., object], path: str, _error: object) -> None:
        above = os.path.dirname(path)
        os.chmod(above, stat.S_IRWXU)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, stat.S_IRWXU)
        remove(path)

    try:
        shutil.rmtree(folder, onerror=writable)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)


def is_old(workspace: Workspace, now: datetime, least_s: float = KEPT_S) -> bool:
    """Return whether its attempt ended this long ago; one whose worker was killed counts from when it began to be so."""
    try:
        ended_s = (
            times.instant_of(workspace.ended_at).timestamp() if workspace.ended_at else os.path.getmtime(workspace.record_path)
        )
    except (OSError, ValueError):
        return False
    return now.timestamp() - ended_s >= least_s


def is_held(workspace: Workspace, snapshot: Snapshot) -> bool:
    """Return whether somebody has claimed its bead, and may work in it: a person who took the bead over needs no worker for that."""
    bead = snapshot.head(workspace.bead)
    return bead is not None and bool(bead.claims) and not workspace.is_aside


def remove_old(hub: Clone, least_s: float = KEPT_S) -> list[str]:
    """Remove workspaces that ended some days ago, unless somebody has claimed the bead meanwhile. Return a line for each."""
    said = []
    snapshot, now = hub.snapshot(), hub.runtime.now()
    for workspace in known_workspaces(hub_id(hub)):
        if is_held(workspace, snapshot) or not is_old(workspace, now, least_s):
            continue
        was_there = os.path.isdir(workspace.folder)
        why = removed(workspace, hub)
        if why or was_there:
            said.append(f"workspace {workspace.folder} stays: {why[0]}" if why else f"removed the workspace {workspace.folder}")
    caches = (cache_of(one, hub) for one in known_workspaces(hub_id(hub)))
    for cache in {one.git_dir: one for one in caches}.values():
        cache.pack_when_full()
    return said
