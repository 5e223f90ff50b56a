"""Rejected changes: commits that the hub refused, kept under `refs/bd/kept/<uid>` until dismissed, so that no work is lost.

If the hub refuses this clone as a whole, its writes stay in the offline queue (offline_queue.py); the reason is kept here.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

from bd import TYPE_CHECKING
from bd.core.errors import TryAgain
from bd.core.value import Value
from bd.store.offline_queue import queued

if TYPE_CHECKING:
    from collections.abc import Set

    from bd.store.replica import Replica

PREFIX = "refs/bd/kept/"
_REASONS = "kept.json"
_SHAPE = {...: str}


class KeptCommit(Value):
    """A commit that a newer hub refused, and the reason."""

    uid: str
    commit: str
    error: str


def keep(replica: Replica, uid: str, commit: str, error: str) -> None:
    """Keep a refused commit. The reason comes first: once the ref is there, nobody keeps the commit again."""
    note_reason(replica, uid, error)
    replica.repo.update_refs([(f"{PREFIX}{uid}", commit, None)])


def note_reason(replica: Replica, uid: str, error: str) -> None:
    """Record why the hub refused a write of this clone."""
    replica.note_json(_REASONS, {**(replica.noted_json(_REASONS, _SHAPE) or {}), uid: error})


def kept(replica: Replica) -> list[KeptCommit]:
    """Return the rejected changes of this clone."""
    reasons = replica.noted_json(_REASONS, _SHAPE) or {}
    refs = {ref[len(PREFIX) :]: commit for ref, commit in replica.repo.refs(PREFIX).items()}
    found = [KeptCommit(uid, commit, reasons.get(uid, "")) for uid, commit in refs.items()]
    if reasons.keys() - refs.keys():
        found += [KeptCommit(one.uid, one.commit, reasons[one.uid]) for one in queued(replica) if one.uid in reasons]
        gone = reasons.keys() - {item.uid for item in found}
        if gone:  # published since; every write asks as long as there is a reason
            _forget(replica, gone)
    return found


def _forget(replica: Replica, uids: Set[str]) -> None:
    """Forget reasons, unless somebody writes: another reason may just be noted. The next call of `kept` forgets them then."""
    lock = replica.lock()
    with suppress(OSError, TryAgain), ExitStack() as held:  # a clone may be there to be read only
        if lock.try_enter():
            held.push(lock)
            now = replica.noted_json(_REASONS, _SHAPE) or {}
            replica.note_json(_REASONS, {uid: error for uid, error in now.items() if uid not in uids})


def may_keep(replica: Replica) -> bool:
    """Return whether there may be rejected changes, without starting a process."""
    return bool(replica.noted_json(_REASONS, _SHAPE))


def dismiss(replica: Replica, uid: str) -> bool:
    """Dismiss a rejected change. Return whether there was one."""
    if replica.repo.ref(f"{PREFIX}{uid}") is None:
        return False
    replica.repo.update_refs([(f"{PREFIX}{uid}", None, None)])
    _forget(replica, {uid})
    return True
