"""Delivery: an attempt's commits are pushed to the branch of its bead, from the cache, and never over anything.

By fast-forward from the tip that the attempt began with, under a lease. Whatever can't go there goes to a branch of the attempt.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BdError, RemoteUnreachable, TryAgain
from bd.repos.branch_names import attempt_branch, refusal
from bd.repos.cache import REMOTES, branches_at, cache_for, hub_branch_in
from bd.repos.leftovers import flaw_of
from bd.store.git.create import unreachable
from bd.store.git.repository import GitFailed

if TYPE_CHECKING:
    from bd.core.code_repos import Repo
    from bd.repos.cache import Cache
    from bd.repos.workspace import Workspace
    from bd.store import Clone

_MOST_NUMBERS = 20
_DELIVERED = "refs/bd/delivered/"
_TRIED = "refs/heads/agents/bd-check"


class Delivery(NamedTuple):
    """What became of an attempt's commits.

    `branch` is where they are now, "" if there are none or nothing is pushed; `commits` how many, `head` the last. `is_beside`:
    the branch is not the bead's own. `notes` are for people.
    """

    branch: str = ""
    head: str = ""
    commits: int = 0
    is_beside: bool = False
    notes: tuple[str, ...] = ()


class Commits(NamedTuple):
    """How many commits a bead's branch would get by an attempt, and how many it has from earlier ones that still wait for an end."""

    own: int
    earlier: int = 0


class NotReadable(BdError):
    """The workspace's repository can't be read safely."""

    code = "refused"


class _Head(NamedTuple):
    oid: str
    note: str = ""


def deliver(workspace: Workspace, entry: Repo, cache: Cache, hub: Clone, *, is_current: bool) -> Delivery:
    """Push the commits of an attempt that has ended. `is_current`: the hub has its claim still.

    Raises NotReadable, RemoteUnreachable and ServerRefused: then nothing is pushed, and the commits are in the cache.
    """
    flaw = flaw_of(workspace.git_dir, workspace.folder, cache.git_dir)
    if flaw:
        raise NotReadable(
            f"the commits in {workspace.folder} are not pushed: {flaw}", hint="`bd workspace list` names the folder"
        )
    with cache.locked():
        head = _head_of(workspace, cache)
        begun = workspace.begun
        if head is None or workspace.start is None or head.oid in (workspace.start, begun):
            return Delivery(notes=(head.note,) if head and head.note else ())
        commits = cache.count(head.oid, workspace.start)
        notes = [head.note] if head.note else []
        if not commits:
            return Delivery(notes=tuple(notes))
        if not entry.is_delivered:
            return Delivery("", head.oid, commits, notes=tuple(notes))
        own = cache.tip(workspace.branch)
        if not is_current and own is not None and cache.is_ancestor(head.oid, own):  # its worker was killed after the push
            return Delivery(workspace.branch, head.oid, commits, notes=tuple(notes))
        why = "" if is_current else "the attempt is no longer current"
        why = why or _refused(workspace.branch, entry, hub)
        if not why and begun is not None and not cache.is_ancestor(begun, head.oid):
            why = f"{workspace.branch} has commits that are missing there"
        if not why and _pushed(cache, entry, head.oid, workspace.branch, begun):
            return Delivery(workspace.branch, head.oid, commits, notes=tuple(notes))
        why = why or f"{workspace.branch} has moved since the attempt began"
        branch = _beside(cache, entry, head.oid, workspace)
        return Delivery(branch, head.oid, commits, True, (*notes, f"pushed {in_words(commits)} to {branch}, because {why}"))


def in_words(commits: int) -> str:
    """Return a number of commits in words."""
    return "1 commit" if commits == 1 else f"{commits} commits"


def commits_of(workspace: Workspace, cache: Cache, earlier: int) -> Commits | None:
    """Count the commits that an attempt has made so far; None if its repository can't be read safely.

    `earlier` is how many it began with: they count unless it has thrown them away.
    """
    if flaw_of(workspace.git_dir, workspace.folder, cache.git_dir):
        return None
    with cache.locked():
        head = _head_of(workspace, cache)
        if head is None or workspace.start is None:
            return Commits(0)
        has_earlier = bool(earlier) and workspace.begun is not None and cache.is_ancestor(workspace.begun, head.oid)
        return Commits(cache.count(head.oid, workspace.start), earlier if has_earlier else 0)


def deliver_by_hand(workspace: Workspace, entry: Repo, hub: Clone) -> Delivery:
    """Push what a person has committed in a workspace, from whatever tip the bead's branch has now.

    Raises as `deliver` does, and TryAgain while an attempt runs there.
    """
    lock = workspace.lock(hub.runtime)
    if not lock.try_enter():
        raise TryAgain(f"an attempt still runs in {workspace.folder}", hint="its worker ends it at the next heartbeat")
    try:
        cache = cache_for(entry, hub)
        cache.fetch()
        return deliver(workspace._replace(begun=cache.tip(workspace.branch)), entry, cache, hub, is_current=True)
    finally:
        lock.__exit__()


def _refused(branch: str, entry: Repo, hub: Clone) -> str:
    words = refusal(branch, entry.base, hub_branch_in(entry, hub))
    return f"{branch} {words}" if words else ""


def _head_of(workspace: Workspace, cache: Cache) -> _Head | None:
    """Fetch the commit to deliver: the bead's branch, unless it was left behind for a detached head or the base. None: no commit."""
    out = cache.run("ls-remote", "--quiet", workspace.git_dir)[1]
    refs = {ref: oid for oid, tab, ref in (line.partition("\t") for line in out.splitlines()) if tab}
    names = {"branch": f"refs/heads/{workspace.branch}", "base": f"refs/heads/{workspace.base}", "HEAD": "HEAD"}
    tips = {key: refs[ref] for key, ref in names.items() if ref in refs}
    if not tips:
        return None
    target = f"{_DELIVERED}{workspace.kept_refs.removeprefix('refs/bd/kept/')}"
    wanted = {oid: f"{target}{key}" for key, oid in tips.items()}
    cache.fetch_from(workspace.git_dir, wanted)
    cache.repo.update_refs([(ref, None, oid) for oid, ref in wanted.items()])
    return _chosen(workspace, cache, tips)


def _chosen(workspace: Workspace, cache: Cache, tips: dict[str, str]) -> _Head:
    own = tips.get("branch") or str(workspace.start)
    for key, where in (("HEAD", "a detached head or another branch"), ("base", f"the branch {workspace.base}")):
        tip = tips.get(key)
        if tip is None or tip == own or cache.is_ancestor(tip, own) or not cache.unpushed([tip]):
            continue
        if cache.is_ancestor(own, tip):
            return _Head(tip, f"commits made on {where} were moved to {workspace.branch}")
        if own == workspace.start:
            return _Head(tip, f"commits made on {where} were taken for those of {workspace.branch}")
        return _Head(own, f"commits made on {where} are not those of {workspace.branch}: `bd workspace list` shows them")
    return _Head(own)


def _pushed(cache: Cache, entry: Repo, oid: str, branch: str, expected: str | None) -> bool:
    """Push a commit to a branch that has the expected tip (None: that does not exist). Return False if it has another.

    Raises RemoteUnreachable and ServerRefused.
    """
    ref = f"refs/heads/{branch}"
    flags = ("--quiet", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
    lease = f"--force-with-lease={ref}:{expected or ''}"
    try:
        cache.run("push", *flags, lease, "--end-of-options", entry.url, f"{oid}:{ref}")
        cache.repo.update_refs([(f"{REMOTES}{branch}", oid, None)])  # as the next fetch will find it
    except GitFailed as error:
        there = branches_at(entry.url)
        if there.get(branch) == oid:  # it landed, or the agent pushed it itself
            return True
        if there.get(branch) != expected:
            return False
        raise unreachable(entry.url, error.stderr) from error
    return True


def _beside(cache: Cache, entry: Repo, oid: str, workspace: Workspace) -> str:
    """Push to a branch of the attempt that nobody has. Raises RemoteUnreachable and ServerRefused."""
    for number in range(1, _MOST_NUMBERS):
        branch = attempt_branch(workspace.branch, workspace.attempt, number)
        if _pushed(cache, entry, oid, branch, None):
            return branch
    raise RemoteUnreachable(f"there is no free branch for attempt {workspace.attempt} of {workspace.bead}")


def may_push(entry: Repo, cache: Cache) -> None:
    """Ask the server whether bd may push to it; nothing is pushed. Raises RemoteUnreachable and ServerRefused."""
    try:
        cache.run(
            "push", "--quiet", "--dry-run", "--no-verify", "--end-of-options", entry.url, f"{cache.tip(entry.base)}:{_TRIED}"
        )
    except GitFailed as error:
        raise unreachable(entry.url, error.stderr) from error
