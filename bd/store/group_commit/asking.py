"""Asking others to carry this clone's operations out: making and taking back their intents on the remote."""

from __future__ import annotations

from bd.core.errors import RemoteUnreachable
from bd.store.contract import SideRef
from bd.store.group_commit import requests
from bd.store.group_commit.member import portable_form
from bd.store.group_commit.requests import INTENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from bd.store.contract import JournalEntry
    from bd.store.group_commit.member import Member
    from bd.store.replica import Replica


class Asking:
    """One transaction's intents. `push_s` is how long the last push of them took."""

    def __init__(self, hub: Replica, entry: JournalEntry) -> None:
        self._hub = hub
        self._entry = entry
        self.push_s = 0.0

    def ask(self, members: Sequence[Member], base: str, author_of: Callable[[str], str], tries: int) -> bool:
        """Publish these members' intents in one push; False where that can't be: then they are published the plain way.

        The journal has them before the remote does.
        """
        now = self._hub.runtime.now()
        sides: list[SideRef] = []
        for member in members:
            text = _text(member, author_of(member.operation.by), base, now, tries)
            if text is None or len(text) > requests.LIMIT:
                return False
            sides.append(SideRef(INTENTS + member.uid, self._hub.sides.commit(text, "bd <intent@bd>", now), None))
        named = {side.ref.removeprefix(INTENTS): side.new for side in sides}
        self._entry.write(state="asked", asked_on=base, intents=named, unanswered_since_s=int(now.timestamp()))
        begun = self._hub.runtime.monotonic()
        verdict = self._hub.sides.create(sides)
        self.push_s = self._hub.runtime.monotonic() - begun
        if verdict != "unknown":
            self._entry.write(durably=False, unanswered_since_s=None, **({"intents": {}} if verdict == "refused" else {}))
        if verdict == "refused":
            return False
        for member, side in zip(members, sides, strict=True):
            member.intent, member.asked_on, member.missed = side.new, member.asked_on or base, False
            if verdict == "unknown":
                member.may_arrive.add(side.new or "")
        return True

    def withdraw(self, members: Sequence[Member]) -> bool:
        """Take intents back, all or none; False when somebody has carried one out meanwhile, or nobody can say."""
        asked = [member for member in members if member.intent]
        if not asked:
            return True
        if not self._hub.sides.usable() and len(asked) > 1:  # a server that takes no more than one ref at a time
            taken_back = [self.withdraw([member]) for member in asked]
            return all(taken_back)
        try:
            gone = self._hub.sides.move([SideRef(INTENTS + member.uid, None, member.intent) for member in asked])
        except RemoteUnreachable:
            return False
        if gone:
            for member in asked:
                member.forget_intent()
            self._entry.write(durably=False, intents={})
        return gone


def _text(member: Member, author: str, base: str, at: datetime, tries: int) -> str | None:
    form = portable_form(member.operation)
    if form is None:
        return None
    return requests.text_of(form, author=author, base=base, at=at, tries=tries)
