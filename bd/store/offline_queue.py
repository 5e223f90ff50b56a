"""The offline queue: writes of this clone that are not published, because the hub was away or refused this clone."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.times import time_of_seconds
from bd.core.value import Value
from bd.store.contract import VIEW
from bd.store.git import commit_message

if TYPE_CHECKING:
    from bd.store.replica import Replica


class QueuedWrite(Value):
    """An unpublished write: its uid and commit, the commit's subject, and when it was made."""

    uid: str
    commit: str
    subject: str
    since: str


def queued(replica: Replica) -> list[QueuedWrite]:
    """Return the unpublished writes, oldest first; none without a remote."""
    view, published = replica.repo.ref(VIEW), replica.published()
    if not replica.remote_name or view is None or view == published:
        return []
    return [written(replica, commit) for commit in replica.repo.commits_between(published, view)]


def written(replica: Replica, commit: str) -> QueuedWrite:
    """Return the write that a commit of this clone holds."""
    headers, text = commit_message.split_commit(replica.repo.objects.read(commit) or b"")
    uid = (commit_message.parse(text).get("Bd-Uid") or [commit])[-1]
    return QueuedWrite(uid, commit, text.partition("\n")[0], time_of_seconds(commit_message.signed_by(headers)[1]))
