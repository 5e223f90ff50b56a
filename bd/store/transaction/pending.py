"""What a look at the hub says of the operations that are on their way, and whom a transaction then takes along.

Belongs here: this clone's operations after a look. Does not belong here: those of other clones (group_commit/remote.py), and what
the dead have left (recovery.py).
"""

from __future__ import annotations

from bd.core.errors import BdError
from bd.store.group_commit import local, verdict_trailers
from bd.store.group_commit.member import Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from bd.store.contract import Repository
    from bd.store.replica import Replica
    from bd.store.transaction.batch import Rounds
    from bd.store.transaction.recovery import Settling


def hear(repo: Repository, members: Sequence[Member], listed: Mapping[str, str], tip: str, snapshot: Any) -> bool:
    """Take in what became of those that were asked for on the remote; False when only another look can tell."""
    gone = [member for member in members if member.see(listed)]
    if not gone:
        return True
    found = verdict_trailers.since(repo, [member.asked_on for member in gone], tip)
    missed = False
    for member in gone:
        if member.uid in found:
            member.hear(found[member.uid].answer, snapshot)
        elif member.intent is None or listed.get(member.uid) == member.intent:
            continue  # nothing has come of an ask without an answer so far
        elif member.missed:
            member.forget_intent()
        else:  # gone without a verdict proves nothing before the branch was fetched once more
            member.missed = missed = True
    return not missed


def invited(hub: Replica, rounds: Rounds, settling: Settling, snapshot: Any, number: int) -> list[Member]:
    """The operations that wait for this clone's lock, beside so many that have it: until they are answered nobody else is let in."""
    party: list[Member] = []
    for path, data in local.take(hub.journal, local.kin(hub), local.AT_ONCE - number):
        try:
            member = Member(rounds.revive(data["form"]), path)
        except (KeyError, TypeError, BdError) as error:
            hub.journal.answer(path, {"answer": {"code": "bug", "message": f"a bug in bd: {error!r}"}})
            continue
        settling.tell([member], snapshot)
        party.append(member)
    return party
