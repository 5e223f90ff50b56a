"""This clone follows the hub after a write: its private refs, and the hub branch where it is checked out."""

from __future__ import annotations

from bd.store.git.repository import ZERO, GitFailed
from bd.store.hub_location import PUBLISHED, VIEW
from bd.store.worktree import checkout, plain_ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.store.replica import Replica


def follow(hub: Replica, base: str | None, tip: str, *, hand: str | None, half_way: list[str]) -> list[str]:
    """Set the private refs to the published tip, and bring a checked-out branch along; notes where that does not go.

    `hand` is the local commit that was published with it, `half_way` where a killed command may have left the files.
    """
    if not hub.remote:
        return []
    notes: list[str] = []
    branch = hub.branch
    if checkout.is_checked_out(hub.repo, branch):
        here = hub.repo.ref(branch)
        if here != tip or hand:
            notes = _bring_along(hub, here, tip, base, hand, half_way)
            if not notes and here != tip:
                notes = _move_branch(hub, here, tip, hand)
    hub.repo.set_private_refs({name: tip for name in (PUBLISHED, VIEW) if hub.repo.ref(name) != tip})
    return notes


def _move_branch(hub: Replica, here: str | None, tip: str, hand: str | None) -> list[str]:
    """The checked-out branch follows its files; where somebody else moves or locks it, they go back."""
    if here and plain_ref.move(hub.repo, hub.branch, tip, here, hub.runtime.now()):
        return []
    try:
        hub.repo.update_refs([(hub.branch, tip, here or ZERO)])
    except GitFailed as error:
        there = hand or hub.repo.ref(hub.branch)
        checkout.take_back(hub.repo, hub.branch, tip, there, hub.runtime)
        return [f"your branch stays where it was: {error}"]
    return []


def _bring_along(hub: Replica, here: str | None, tip: str, base: str | None, hand: str | None, half_way: list[str]) -> list[str]:
    if not hand and here not in (None, base, hub.published_before) and not hub.repo.is_ancestor(here or "", tip):
        return ["your branch has commits of its own; `bd sync` publishes them"]
    # Index and files may be ahead of the ref: edits that sync has staged, or a command killed half way.
    starts = [hand, here] if hand else [here, *(one for one in half_way if checkout.has_come_to(hub.repo, here, one))]
    words = ""
    for start in dict.fromkeys(starts):
        try:
            checkout.bring_along(hub.repo, start, tip, hub.runtime)
        except checkout.InTheWay as error:
            words = words or str(error)
        else:
            return []
    return [f"the files here stay as they were: {words}"]
