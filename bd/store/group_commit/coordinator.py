"""Many clones, one push: asking, waiting for one's turn, and whom to carry along (docs/protocol.md, "Many writers at once").

Belongs here: what one transaction does about the others. Does not belong here: the intents themselves (requests.py), the
order (order.py), deciding (batch.py).
"""

from __future__ import annotations

from bd.core.errors import RemoteUnreachable
from bd.core.light import suppress
from bd.core.settings import of_hub, same_decisions
from bd.store.group_commit import order, remote, requests
from bd.store.group_commit.asking import Asking
from bd.store.group_commit.others import NOBODY
from bd.store.group_commit.requests import INTENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from bd.core.operation import Operation
    from bd.store.contract import JournalEntry, SideRef
    from bd.store.group_commit.member import Member
    from bd.store.group_commit.others import Others
    from bd.store.replica import Replica

# Who has asked leaves the others this part of a push time to ask too, so that the first one carries more along.
GATHERING = 0.5
# Who waits lists the names again after this part of a push time, and looks properly after so many of them.
AGAIN = 0.5
WATCHED = 3
# Nobody looks more often than this while it waits.
PAUSE_S = 0.02


class Folding:
    """One transaction among the other clones' ones. Alone once the server has refused what others asked for."""

    def __init__(
        self,
        hub: Replica,
        entry: JournalEntry,
        revive: Callable[[Mapping[str, Any]], Operation],
        author: Callable[[str, Any], str],
        push_s: Callable[[], float],
        *,
        may_ask: bool,
        on_step: Callable[[str], None],
    ) -> None:
        self._hub = hub
        self._revive = revive
        self._author = author
        # How long the last push of the branch took, in seconds.
        self._last_push_s = push_s
        self._step = on_step
        self._may_ask = may_ask and bool(hub.remote_name)
        self.asking = Asking(hub, entry)
        self.is_alone = False
        self.has_lost = self._has_cleared = False
        self._tip: str | None = None
        self._since_s = 0.0

    def waiting(self, base: str, party: Sequence[Member], left: Mapping[str, SideRef]) -> Others:
        """What other clones ask for at this base, and what removes the intents that nobody waits for (`left` among them)."""
        if not self._hub.remote_name or not self._hub.requests:  # `left` are among these
            return NOBODY
        if not self._hub.sides.usable() or self._hub.cache.requires_signatures():  # nobody carries anything out any more
            self._clear_away(left)
            return NOBODY
        if self.is_alone:
            return NOBODY
        others = remote.others(self._hub, self._revive, base, {*(member.uid for member in party), *left})
        return others._replace(burials=[*others.burials, *left.values()]) if left else others

    def _clear_away(self, left: Mapping[str, SideRef]) -> None:
        """Take back one by one what nobody will answer: what this clone's dead have asked for, and what others have left long ago."""
        if self._has_cleared:
            return
        self._has_cleared = True
        gone = requests.abandoned(self._hub, requests.read(self._hub, self._hub.requests), self._hub.runtime.now())
        for side in {**{intent.uid: intent.burial for intent in gone}, **left}.values():
            with suppress(RemoteUnreachable):  # the server takes no such refs at all now: another time
                self._hub.sides.move([side])

    def may_ask(self, members: Sequence[Member], snapshot: Any) -> bool:
        """Whether others may carry these operations out: each can be told, and others would decide the same."""
        if not self._may_ask or self.is_alone or not self._hub.sides.usable():
            return False
        if not all(member.operation.is_portable for member in members):
            return False
        if self._hub.cache.requires_signatures():  # nobody signs for another clone
            return False
        return same_decisions(self._hub.settings(snapshot), of_hub(snapshot.config()))

    def leaves_it_to_others(self, members: Sequence[Member], others: Others, snapshot: Any, base: str, tries: int) -> bool:
        """Ask, or wait for a while; False when it is this clone that publishes now."""
        asked = [member for member in members if member.intent]
        if not members or not (others.strangers or asked or self.has_lost):
            return False
        place = _place(base, members, [one.intent.uid for one in others.strangers])
        if not asked:
            if (others.strangers and place == 0) or not self.may_ask(members, snapshot):
                return False
            self.has_lost = False
            self._may_ask = self.asking.ask(members, base, lambda by: self._author(by, snapshot), tries)
            if self._may_ask:
                self._step("asked")
                self._watch(members, GATHERING * self.asking.push_s)
            return True
        wait_s = self._wait_s(place)
        if wait_s <= 0:
            return False
        self._watch(members, min(wait_s, max(self._push_s, PAUSE_S)))
        return True

    def see(self, tip: str | None) -> None:
        """The hub is at this tip: patience counts from the first time that it was seen."""
        if tip != self._tip or not self._since_s:
            self._tip, self._since_s = tip, self._hub.runtime.monotonic()

    def _wait_s(self, place: int) -> float:
        """How long who is at this place still leaves the push to those before it."""
        return self._since_s + order.patience_s(place, self._push_s) - self._hub.runtime.monotonic()

    @property
    def _push_s(self) -> float:
        return max(self._last_push_s(), self.asking.push_s)

    def _watch(self, members: Sequence[Member], pause_s: float) -> None:
        """Wait until an intent of ours is gone or it is our turn. Names are listed for that, which spares most of a look.

        As long as all are there, nobody has carried anything of ours out, wherever the tip is.
        """
        asked = {INTENTS + member.uid: member.intent for member in members if member.intent}
        until_s = self._hub.runtime.monotonic() + max(pause_s, WATCHED * self._push_s)
        while True:
            self._hub.runtime.sleep(pause_s)
            try:
                listed = self._hub.sides.listing(INTENTS, self._hub.branch)
            except RemoteUnreachable:  # the next look says so
                return
            tip = listed.get(self._hub.branch)
            if tip is None or any(listed.get(ref) != oid for ref, oid in asked.items()):
                return
            self.see(tip)
            wait_s = self._wait_s(_place(tip, members, [ref.removeprefix(INTENTS) for ref in listed if ref.startswith(INTENTS)]))
            if wait_s <= 0 or self._hub.runtime.monotonic() >= until_s:
                return
            pause_s = min(wait_s, max(self._push_s * AGAIN, PAUSE_S))


def _place(base: str, members: Sequence[Member], others: Iterable[str]) -> int:
    """The first place of this clone's operations in the order at this base (0: its turn)."""
    own = {member.uid for member in members}
    return next(place for place, uid in enumerate(order.order(base, {*own, *others})) if uid in own)
