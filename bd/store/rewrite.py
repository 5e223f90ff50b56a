"""Going on from a hub branch whose history was rewritten: only when somebody says so."""

from __future__ import annotations

from bd.errors import NoHub, RemoteUnreachable, TryAgain
from bd.store import checkout
from bd.store.kept import PREFIX
from bd.store.place import PUBLISHED, VIEW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.store.hub import Hub


def accept_rewrite(hub: Hub) -> tuple[str, list[str]]:
    """Take the remote's history as it now is: the new tip, and this clone's unpublished commits, which are kept.

    Raises RemoteUnreachable, and NoHub when the branch is gone (only init makes one).
    """
    repo = hub.repo
    with hub.lock():
        args = ("fetch", "--quiet", "--no-tags", "--refmap=", "--no-write-fetch-head")
        code, _, err = repo.run(*args, "--end-of-options", hub.remote or "", hub.branch, check=False)
        if code and "couldn't find remote ref" in err:
            raise NoHub(f"the hub branch {hub.branch_name} is gone from {hub.remote}", hint="`bd init` makes it anew")
        if code:
            raise RemoteUnreachable(f"the remote {hub.remote} can't be reached: {err.strip()}")
        tip = repo.list_remote(hub.remote or "", hub.branch).get(hub.branch)
        if tip is None:
            raise NoHub(f"the hub branch {hub.branch_name} is gone from {hub.remote}", hint="`bd init` makes it anew")
        published, view = repo.ref(PUBLISHED), repo.ref(VIEW)
        lost = repo.commits_between(published, view) if published and view else []
        updates: list[tuple[str, str | None, str | None]] = [(f"{PREFIX}{commit}", commit, None) for commit in lost]
        here = repo.ref(hub.branch)
        if checkout.is_checked_out(repo, hub.branch) and here == published and here != tip:
            try:
                checkout.bring_along(repo, here, tip)
            except checkout.InTheWay as error:
                raise TryAgain(f"the files here are in the way: {error}", hint="commit or stash them, then try again") from error
            updates.append((hub.branch, tip, here))
        repo.update_refs([*updates, (PUBLISHED, tip, None), (VIEW, tip, None)])
        hub.stamp()
    return tip, lost
