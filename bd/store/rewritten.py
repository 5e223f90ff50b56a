"""Continuing after the hub branch was rewritten or removed: only when a user accepts that."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, HubRewritten, NoHub, TryAgain
from bd.core.schema import CONFIG_PATH
from bd.store import rejected
from bd.store.contract import PUBLISHED, REWRITTEN, VIEW
from bd.store.git.push import list_remote
from bd.store.worktree import checkout

if TYPE_CHECKING:
    from bd.store.replica import Replica

_FETCH = ("fetch", "--quiet", "--no-tags", "--refmap=", "--no-write-fetch-head", "--end-of-options")
_WORDS = "not yet published when the hub's history was rewritten"
_LOOKS = 3


def accept_rewrite(replica: Replica) -> tuple[str, list[str]]:
    """Accept the remote's history as it is now. Return the new tip, and this clone's unpublished commits, which are kept.

    Raises RemoteUnreachable, TryAgain (edited files are in the way), and NoHub if the branch is gone: that is accepted, too, and
    what was unpublished is kept.
    """
    if not replica.remote_name:
        raise BadInput("this hub has no remote, so its history was not rewritten")
    with replica.lock():
        tip = _remote_tip(replica)
        lost = go_on_from(replica, tip)
    if tip is None:
        raise NoHub(
            f"the hub branch {replica.branch_name} is gone from {replica.remote_name}",
            hint=f"`git push {replica.remote_name} {replica.branch_name}` brings back what is in this clone; `bd init` makes a new hub",
        )
    return tip, lost


def go_on_from(replica: Replica, tip: str | None) -> list[str]:
    """Make a commit the published one, whatever was published before. Only under the lock, with the commit's objects here.

    Return this clone's unpublished commits, which are kept. Raises TryAgain and NoHub, as `accept_rewrite` does.
    """
    repo = replica.repo
    if tip and repo.objects.read(f"{tip}:{CONFIG_PATH}") is None:
        raise NoHub(
            f"the branch {replica.branch_name} holds no hub on {replica.remote_name}",
            hint="is the hub on another branch? `bd init` finds it",
        )
    published, view = repo.ref(PUBLISHED), repo.ref(VIEW)
    lost = repo.commits_between(published, view) if published and view else []
    here = repo.ref(replica.branch)
    follows = tip and here != tip and published and here and repo.is_ancestor(here, published)
    if follows and checkout.is_checked_out(repo, replica.branch):
        try:
            checkout.bring_along(repo, here, tip or "", replica.runtime)
        except checkout.InTheWay as error:
            raise TryAgain(f"the files here are in the way: {error}", hint="commit or stash them, then try again") from error
        repo.update_refs([(replica.branch, tip, here)])
    for commit in lost:
        rejected.keep(replica, commit, commit, _WORDS)
    # Commits published once must not count as unpublished again if some branch still holds them.
    past = [(f"{REWRITTEN}{published}", published, None)] if published and published != tip else []
    replica.ignore_tracked()
    repo.update_refs([*past, *((name, tip, None) for name in (PUBLISHED, VIEW) if tip or repo.ref(name))])
    replica.stamp()
    return lost


def _remote_tip(replica: Replica) -> str | None:
    """Return the remote's current tip, with its objects in this clone; None if the branch is gone."""
    remote = replica.remote_name or ""
    fetched = False
    for _ in range(_LOOKS):
        tip = list_remote(replica.repo, remote, replica.branch).get(replica.branch)
        # A commit that exists does not prove that its files do: a fetch may have stopped on a full disk.
        if tip is None or (fetched and replica.repo.commit_of(tip) is not None):
            return tip
        fetched = replica.repo.run(*_FETCH, remote, replica.branch, check=False)[0] == 0
    raise HubRewritten(f"the hub branch on {remote} keeps changing", hint="try again when it is no longer being rewritten")
