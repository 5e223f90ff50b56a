"""Asking other clones to carry operations out: making and taking back their requests on the remote."""

from __future__ import annotations

from bd.core.errors import RemoteUnreachable
from bd.store.contract import SideRef
from bd.store.group_commit import requests
from bd.store.group_commit.member import portable_form
from bd.store.group_commit.requests import INTENTS
from bd.store.transaction.machine.effects import Asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.store.contract import JournalEntry
    from bd.store.replica import Replica
    from bd.store.transaction.machine.member import Member


def publish(
    replica: Replica,
    entry: JournalEntry,
    members: Sequence[Member],
    base: str,
    author_of: Callable[[str], str],
    tries: int,
) -> Asked:
    """Publish these members' requests in one push; `refused` where that can't be: then they are published the plain way.

    The journal has them before the remote does.
    """
    now = replica.runtime.now()
    sides: list[SideRef] = []
    for member in members:
        form = portable_form(member.operation)
        author = author_of(member.operation.by)
        text = requests.text_of(form, author=author, base=base, at=now, tries=tries) if form is not None else None
        if text is None or len(text) > requests.LIMIT:
            return Asked("refused", {}, 0.0)
        sides.append(SideRef(INTENTS + member.uid, replica.sides.commit(text, "bd <intent@bd>", now), None))
    named = {side.ref.removeprefix(INTENTS): side.new or "" for side in sides}
    entry.write(state="asked", asked_on=base, intents=named, unanswered_since_s=int(now.timestamp()))
    begun_s = replica.runtime.monotonic()
    kind = replica.sides.create(sides)
    took_s = replica.runtime.monotonic() - begun_s
    if kind != "unknown":
        entry.write(durably=False, unanswered_since_s=None, **({"intents": {}} if kind == "refused" else {}))
    return Asked(kind, named, took_s)


def take_back(replica: Replica, entry: JournalEntry, members: Sequence[Member]) -> bool:
    """Take requests back, all or none; False when somebody has carried one out meanwhile, or nobody can say."""
    if not replica.sides.usable() and len(members) > 1:  # a server that takes no more than one ref at a time
        taken_back = [take_back(replica, entry, [member]) for member in members]
        return all(taken_back)
    try:
        are_gone = replica.sides.move([burial for member in members if (burial := member.burial)])
    except RemoteUnreachable:
        return False
    if are_gone:
        entry.write(durably=False, intents={})
    return are_gone
