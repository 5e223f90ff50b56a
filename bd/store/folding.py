"""Many clones, one push: asking, waiting for one's turn, and whom to carry along (docs/protocol.md, "Many writers at once").

Belongs here: what one transaction does about the others. Does not belong here: the intents themselves (intents.py), the
order (turns.py), deciding (round.py).
"""

from __future__ import annotations

from bd import clock
from bd.config import of_hub, same_decisions
from bd.store import turns
from bd.store.asking import Asking
from bd.store.intents import is_portable
from bd.store.round import NOBODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bd.store.hub import Hub
    from bd.store.journal import Entry
    from bd.store.member import Member
    from bd.store.pushing import Pushing
    from bd.store.remote import SideRef
    from bd.store.round import Others, Rounds

# Who has asked leaves the others this part of a push time to ask too, so that the first one carries more along.
GATHERING = 0.5
# Nobody looks more often than this while it waits.
_PAUSE_S = 0.02


class Folding:
    """One transaction among the other clones' ones. Alone once the server has refused what others asked for."""

    def __init__(
        self, hub: Hub, entry: Entry, rounds: Rounds, pushing: Pushing, *, may_ask: bool, on_step: Callable[[str], None]
    ) -> None:
        self._hub = hub
        self._rounds = rounds
        self._pushing = pushing
        self._step = on_step
        self._may_ask = may_ask and bool(hub.remote)
        self.asking = Asking(hub, entry)
        self.is_alone = False
        self.has_lost = False

    def waiting(self, base: str, party: Sequence[Member], left: Mapping[str, SideRef]) -> Others:
        """What other clones ask for at this base, and what removes the intents that nobody waits for (`left` among them)."""
        if self.is_alone or not self._hub.remote or not self._hub.sides.usable():
            return NOBODY
        others = self._rounds.others(base, {*(member.uid for member in party), *left})
        return others._replace(burials=[*others.burials, *left.values()]) if left else others

    def may_ask(self, members: Sequence[Member], snapshot: Any) -> bool:
        """Whether others may carry these operations out: each can be told, and others would decide the same."""
        if not self._may_ask or self.is_alone or not self._hub.sides.usable():
            return False
        if not all(is_portable(member.operation) for member in members):
            return False
        return same_decisions(self._hub.settings(snapshot), of_hub(snapshot.config()))

    def leaves_it_to_others(
        self, members: Sequence[Member], others: Others, snapshot: Any, base: str, since_s: float, tries: int
    ) -> bool:
        """Ask, or wait for a while; False when it is this clone that publishes now. `since_s`: when the tip was first seen."""
        asked = [member for member in members if member.intent]
        if not members or not (others.strangers or asked or self.has_lost):
            return False
        row = turns.order(base, [*(member.uid for member in members), *(one.intent.uid for one in others.strangers)])
        place = min(row.index(member.uid) for member in members)
        if not asked:
            if (others.strangers and place == 0) or not self.may_ask(members, snapshot):
                return False
            self.has_lost = False
            is_asked = self.asking.ask(members, base, lambda by: self._rounds.author(by, snapshot), tries)
            if is_asked:
                self._step("asked")
                clock.sleep(GATHERING * self.asking.push_s)
            return is_asked
        push_s = max(self._pushing.push_s, self.asking.push_s)
        wait_s = since_s + turns.patience_s(place, push_s) - clock.monotonic()
        if wait_s <= 0:
            return False
        clock.sleep(min(wait_s, max(push_s, _PAUSE_S)))
        return True
