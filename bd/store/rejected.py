"""Rejected changes: commits that the hub refused, kept under `refs/bd/kept/<uid>` until dismissed, so that no work is lost."""

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
    replica.note_json(_REASONS, {**(replica.noted_json(_REASONS, _SHAPE) or {}), uid: error})


def kept(replica: Replica) -> list[KeptCommit]:
    """Return the rejected changes of this clone."""
    reasons = replica.noted_json(_REASONS, _SHAPE) or {}
    refs = replica.repo.refs(PREFIX)
    return [KeptCommit(ref[len(PREFIX) :], commit, reasons.get(ref[len(PREFIX) :], "")) for ref, commit in refs.items()]


def dismiss(replica: Replica, uid: str) -> bool:
    """Dismiss a rejected change. Return whether there was one."""
    if replica.repo.ref(f"{PREFIX}{uid}") is None:
        return False
    replica.repo.update_refs([(f"{PREFIX}{uid}", None, None)])
    reasons = dict(replica.noted_json(_REASONS, _SHAPE) or {})
    reasons.pop(uid, None)
    replica.note_json(_REASONS, reasons)
    return True
