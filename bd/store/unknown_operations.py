"""Operations that only a newer bd can read: unpublished ones of this clone, and requests of others.

They are only reported (report/doctor.py); a bd that can read them will carry them out.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.operation import UnknownOperation
from bd.core.value import Value
from bd.store.git import commit_message
from bd.store.group_commit import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.store.replica import Replica

    Revive = Callable[[Mapping[str, Any]], object]


class UnknownHere(Value):
    """The commit or side ref with an operation, and a description of what is unknown about it."""

    where: str
    why: str


def unpublished(replica: Replica, revive: Revive) -> list[UnknownHere]:
    """Find them among the unpublished commits of this clone."""
    base, view = replica.published(), replica.view()
    if not replica.remote_name or not base or base == view:
        return []
    commits = replica.repo.commits_between(base, view)
    texts = [commit_message.split_commit(replica.repo.objects.read(commit) or b"")[1] for commit in commits]
    forms = [(commit, commit_message.form_of(text)) for commit, text in zip(commits, texts, strict=True)]
    found = [(commit, _why(form, revive)) for commit, form in forms if form and not form.get("by_difference")]
    return [UnknownHere(commit[:10], why) for commit, why in found if why]


def requested(replica: Replica, revive: Revive) -> list[UnknownHere]:
    """Find them among the requests on the remote. Raises RemoteUnreachable."""
    known, others = requests.found_on_remote(replica)
    reasons = [(requests.INTENTS + request.uid, _why(request.form, revive)) for request in known]
    return [UnknownHere(ref, why) for ref, why in (*reasons, *((ref, "its layout is unknown") for ref in others)) if why]


def _why(form: Mapping[str, Any], revive: Revive) -> str:
    try:
        revive(form)
    except UnknownOperation as error:
        return str(error)
    return ""
