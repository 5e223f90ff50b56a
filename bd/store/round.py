"""One round of a transaction: everything that goes to the hub in one push, decided on one base.

First what this clone has not published yet, then its own operations and the intents of other clones, in the order that
the tip gives them (turns.py). Each is decided on what the ones before it left, and fails alone. Belongs here: deciding
a round. Does not belong here: whose turn it is, pushing, and what became of it (transaction.py).
"""

from __future__ import annotations

from bd import clock
from bd.errors import BdError
from bd.light import NamedTuple
from bd.store import answer, intents, turns, verdicts
from bd.store.chain import Chain
from bd.store.intents import INTENTS
from bd.store.remote import SideRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.model import Change
    from bd.store.beating import Beating
    from bd.store.chain import Decides
    from bd.store.hub import Hub
    from bd.store.intents import Intent
    from bd.store.member import Member
    from bd.store.replay import RefusedReplay, Replay
    from bd.store.snapshot import CachedSnapshot

    Decided = tuple[Change | None, BdError | None]


class Stranger(NamedTuple):
    """An intent of another clone, and its operation."""

    intent: Intent
    operation: Decides


class Others(NamedTuple):
    """The other clones at a base: what they ask for, and what removes the intents that nobody waits for."""

    strangers: list[Stranger]
    burials: list[SideRef]


NOBODY = Others([], [])


class Round(NamedTuple):
    """What was decided. `sides` are the refs beside the branch that go with each step; `decided` is by uid of this clone's, `folded` the uids of others'."""

    base: str | None
    chain: Chain
    settings: Any
    refused: list[RefusedReplay]
    renamed: dict[str, str]
    decided: dict[str, Decided]
    sides: list[list[SideRef]]
    folded: frozenset[str]

    @property
    def has_strangers(self) -> bool:
        return bool(self.folded)

    @property
    def all_sides(self) -> list[SideRef]:
        return [side for sides in self.sides for side in sides]


class Rounds:
    """Decides the rounds of one transaction."""

    def __init__(
        self,
        hub: Hub,
        replay: Replay,
        world: Callable[..., Any],
        author: Callable[[str, Any], str],
        revive: Callable[[Mapping[str, Any]], Decides],
    ) -> None:
        self._hub = hub
        self._replay = replay
        self.world = world
        self._author = author
        self.revive = revive
        self.beating: Beating | None = None
        self.beats: Mapping[str, str] | None = None

    def author(self, by: str, snapshot: CachedSnapshot) -> str:
        """The git author for who asks, on a snapshot."""
        return self._author(by, self._hub.settings(snapshot))

    # --- who takes part ---

    def others(self, base: str, own: set[str]) -> Others:
        """The intents of other clones that may be folded on this base; and what removes those that nobody waits for."""
        seen = {uid: oid for uid, oid in self._hub.fetching.intents.items() if uid not in own}
        if not seen:
            return NOBODY
        found = intents.read(self._hub, seen)
        gone = intents.abandoned(self._hub, found, clock.now())
        waiting = [intent for intent in found if intent not in gone]
        done = verdicts.since(self._hub.repo, [intent.base for intent in waiting], base)
        gone += [intent for intent in waiting if intent.uid in done]
        bases = {intent.base for intent in waiting if intent.base != base}
        known = {oid for oid in bases if self._hub.repo.objects.read(oid) is not None} | {base}
        fitting = [intent for intent in waiting if intent.uid not in done and intent.base in known]
        revived = [(intent, self._revived(intent.form)) for intent in fitting]
        strangers = [Stranger(intent, operation) for intent, operation in revived if operation is not None]
        return Others(strangers[: intents.AT_ONCE], [intent.burial for intent in gone])

    def _revived(self, form: Mapping[str, Any]) -> Decides | None:
        """The operation of a form; None for one that this version does not know, or that only its author may carry out."""
        try:
            operation = self.revive(form)
        except Exception:  # noqa: BLE001  whatever it is, it is left to its author
            return None
        return operation if intents.is_portable(operation) else None

    # --- deciding ---

    def decide(
        self,
        snapshot: Any,
        base: str | None,
        members: Sequence[Member],
        others: Others,
        *,
        hand: str | None,
        declined: Mapping[str, BdError],
        tries: int,
    ) -> Round:
        """The round on this base. Raises what a refusal of the only operation on no base at all is."""
        world = self.world(snapshot, self.beats)
        chain = Chain(self._hub.repo, snapshot, world)
        pending = self._replay.unpublished(base, hand)
        refused, renamed = self._replay.onto(chain, pending, declined, tries)
        by_uid = {member.uid: member for member in members}
        foreign = {stranger.intent.uid: stranger for stranger in others.strangers}
        decided: dict[str, Decided] = {}
        intents_of: dict[str, SideRef] = {}
        told: list[str] = []
        for uid in turns.order(base or "0" * 40, [*by_uid, *foreign]) if len(by_uid) + len(foreign) > 1 else [*by_uid]:
            if uid in foreign:
                if self._fold(chain, foreign[uid], snapshot, told):
                    intents_of[uid] = foreign[uid].intent.burial
                continue
            member = by_uid[uid]
            if renamed:
                member.operation.follow(renamed)
            decided[uid] = self._own(chain, member, world, base, tries, declined)
            if member.intent:
                intents_of[uid] = SideRef(INTENTS + uid, None, member.intent)
        if told and chain.steps:
            chain.tell("".join(told))
        sides = self._beside(chain, world.now)
        _with_intents(chain, sides, intents_of, others.burials)
        return Round(base, chain, world.settings, refused, renamed, decided, sides, frozenset(foreign))

    def _own(
        self, chain: Chain, member: Member, world: Any, base: str | None, tries: int, declined: Mapping[str, BdError]
    ) -> Decided:
        if member.uid in declined:
            return None, declined[member.uid]
        operation = member.operation
        try:
            author = self._author(operation.by, world.settings)
            return chain.add(operation, author, seconds_of(operation.at), tries=tries), None
        except BdError as error:
            if base is None:
                raise
            return None, error
        except Exception as error:
            if not member.path:
                raise
            return None, BdError(f"a bug in bd: {type(error).__name__}: {error}")  # a neighbour's crash is its own answer

    def _fold(self, chain: Chain, stranger: Stranger, snapshot: CachedSnapshot, told: list[str]) -> bool:
        """Carry another clone's operation out; whether its intent is answered by that. Refusals are told by the last commit."""
        intent, operation = stranger

        def trailer(change: Change) -> str:
            return verdicts.line(intent.uid, answer.of_change(change))

        try:
            world = self.world(snapshot, None, is_folded=True)
            at_s = seconds_of(operation.at)
            change = chain.add(operation, intent.author, at_s, tries=intent.tries, world=world, told=trailer)
        except BdError as error:
            told.append(verdicts.line(intent.uid, answer.of_error(error)))
            return True
        except Exception:  # noqa: BLE001  what another clone asked for may be made by a newer bd: left to its author
            return False
        if change.is_empty:
            told.append(verdicts.line(intent.uid, answer.of_change(change)))
        return True

    # --- the refs beside the branch ---

    def _beside(self, chain: Chain, at: datetime) -> list[list[SideRef]]:
        """The refs beside the branch that go with each step: the beats of the claims it makes and ends."""
        claims = [claim for step in chain.steps for claim in (*step.claims_before, *step.claims_after)]
        if not claims or not (self._hub.has_beaten() or any(claim.get("heartbeat_by") == "ref" for claim in claims)):
            return [[] for _ in chain.steps]
        if self.beating is None:
            from bd.store.beating import Beating as Beside  # noqa: PLC0415  a plain claim has no such refs

            self.beating = Beside(self._hub.sides)
        if self.beats is not None:
            self.beating.take(self.beats)
        return [self.beating.refs_of(step.claims_before, step.claims_after, at) for step in chain.steps]


def _with_intents(
    chain: Chain, sides: list[list[SideRef]], intents_of: Mapping[str, SideRef], burials: Sequence[SideRef]
) -> None:
    """Each intent goes with the commit that answers it; what has none goes with the last."""
    if not chain.steps:
        return
    rest = dict(intents_of)
    for step, beside in zip(chain.steps, sides, strict=True):
        if step.operation.uid in rest:
            beside.append(rest.pop(step.operation.uid))
    sides[-1].extend([*rest.values(), *burials])


def seconds_of(stamp: str) -> int:
    """The Unix time of a stamp."""
    return int(clock.instant_of(stamp).timestamp())
