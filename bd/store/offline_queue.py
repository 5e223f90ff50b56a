"""What waits in this clone to be published: writes that were made while the hub was away, or refused this clone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.times import time_of_seconds
from bd.store.contract import VIEW
from bd.store.git import commit_message

if TYPE_CHECKING:
    from bd.store.replica import Replica


class QueuedWrite(NamedTuple):
    """A write of this clone that the hub does not have yet: its uid and commit, the commit's subject, and since when it waits."""

    uid: str
    commit: str
    subject: str
    since: str


def queued(replica: Replica) -> list[QueuedWrite]:
    """What waits, oldest first. Without a remote nothing does."""
    view, published = replica.repo.ref(VIEW), replica.published()
    if not replica.remote_name or view is None or view == published:
        return []
    return [written(replica, commit) for commit in replica.repo.commits_between(published, view)]


def written(replica: Replica, commit: str) -> QueuedWrite:
    """A commit of this clone as the write that it holds."""
    headers, text = commit_message.split_commit(replica.repo.objects.read(commit) or b"")
    uid = (commit_message.parse(text).get("Bd-Uid") or [commit])[-1]
    return QueuedWrite(uid, commit, text.partition("\n")[0], time_of_seconds(commit_message.signed_by(headers)[1]))
