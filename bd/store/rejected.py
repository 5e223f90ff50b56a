"""Refused commits, kept under `refs/bd/kept/<uid>` until they are dismissed, so that no work is lost.

What a hub refused that refuses this clone as a whole waits in the queue of what is not published yet (offline_queue.py); its
reason is kept here, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bd.store.replica import Replica

PREFIX = "refs/bd/kept/"
_REASONS = "kept.json"
_SHAPE = {...: str}


class KeptCommit(NamedTuple):
    """A commit that a newer hub refused, and the reason."""

    uid: str
    commit: str
    error: str


def keep(replica: Replica, uid: str, commit: str, error: str) -> None:
    """Keep a refused commit."""
    replica.repo.update_refs([(f"{PREFIX}{uid}", commit, None)])
    note_reason(replica, uid, error)


def note_reason(replica: Replica, uid: str, error: str) -> None:
    """Remember why the hub did not take a write of this clone; what has been published since is forgotten."""
    still = {item.uid: item.error for item in kept(replica)}
    replica.note_json(_REASONS, {**still, uid: error})


def kept(replica: Replica) -> list[KeptCommit]:
    """What was refused and is kept in this clone."""
    reasons = replica.noted_json(_REASONS, _SHAPE) or {}
    refs = {ref[len(PREFIX) :]: commit for ref, commit in replica.repo.refs(PREFIX).items()}
    found = [KeptCommit(uid, commit, reasons.get(uid, "")) for uid, commit in refs.items()]
    if reasons.keys() - refs.keys():
        from bd.store.offline_queue import queued  # noqa: PLC0415  hardly any hub refuses a clone

        found += [KeptCommit(one.uid, one.commit, reasons[one.uid]) for one in queued(replica) if one.uid in reasons]
    return found


def may_keep(replica: Replica) -> bool:
    """Whether anything can be kept, for who asks often: without a process."""
    return bool(replica.noted_json(_REASONS, _SHAPE))


def dismiss(replica: Replica, uid: str) -> bool:
    """Dismiss a rejected change. Return whether there was one."""
    if replica.repo.ref(f"{PREFIX}{uid}") is None:
        return False
    replica.repo.update_refs([(f"{PREFIX}{uid}", None, None)])
    reasons = dict(replica.noted_json(_REASONS, _SHAPE) or {})
    reasons.pop(uid, None)
    replica.note_json(_REASONS, reasons)
    return True
