"""Operations on pools: the requested size, and what a finished member leaves behind.

policy/scaling.py decides the size; bd/pool starts and ends members.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import BadInput, NoSuchAgent
from bd.core.model import Change, Overlay
from bd.core.pools import pool_of
from bd.core.schema import agent_path, capacity_path
from bd.operations.account_rests import with_rest_left
from bd.operations.agents import Leaving
from bd.operations.base import Operation, register
from bd.operations.capacity_file import with_capacity
from bd.policy.capacity import duty_of, held_by

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext


@register
class ScalePool(Operation):
    """Request a size for a pool, which overrides its `check`: `pool`, `to` (a number, or auto: back to its check)."""

    verb: ClassVar[str] = "pool-scale"
    takes: ClassVar[frozenset[str]] = frozenset({"pool", "to"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = ids.check_agent(self.args["pool"])
        file = snapshot.record(agent_path(name))
        if file is None:
            raise NoSuchAgent(name, None)
        pool = pool_of(name, file)
        if not pool.is_explicit:
            raise BadInput(f"{name} is not a pool", hint=f"give .beads/agents/{name}.yaml a `pool:` with `max`, and `bd sync`")
        size = self._size(pool.min, pool.max, name)
        settings = {key: value for key, value in file["pool"].items() if key != "size"}
        after = {**file, "pool": {**settings, **({} if size is None else {"size": size})}}
        result = {"pool": name, "size": "auto" if size is None else size}
        if after == file:
            return Change({}, "", result=result)
        words = f"{self.verb}: {name} to {result['size']} by {self.agent}"
        return Change({}, words, records={agent_path(name): after}, result=result)

    def _size(self, least: int, most: int, name: str) -> int | None:
        if self.args["to"] == "auto":
            return None
        if not least <= int(self.args["to"]) <= most:
            raise BadInput(f"{name} may have {least} to {most} members", hint=f"change `min` or `max` in {agent_path(name)}")
        return int(self.args["to"])


@register
class Retire(Leaving):
    """Clean up after a pool's member that has ended: `agent`, `reason`; `tokens` are the claims it had.

    The beads it held under exactly these claims are open again, with no attempt spent; what was routed to it becomes unassigned;
    its capacity file is removed, unless it holds something under another claim, or was set offline, which is kept. The rest of its
    account lasts for the others of the pool.
    """

    verb: ClassVar[str] = "pool-retire"
    takes: ClassVar[frozenset[str]] = frozenset({"agent", "reason", "release"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = ids.check_agent(self.args["agent"])
        freed: dict[str, Bead | None] = {}
        for bead in snapshot.wholes([bead.id for bead in held_by(name, snapshot)]):
            if (bead.claim_under(self.tokens.get(bead.id)) or {}).get("agent") == name:
                freed[bead.id] = self._without(bead, name, self.args["reason"])
        after = Overlay(snapshot, Change(freed, ""))
        if held_by(name, after):  # another process works under this name: keep its file, and what is routed to it
            words = f"{self.verb}: {name} by {self.agent}"
            change = Change(freed, words, touched=tuple(sorted(freed)))
            return with_capacity(change, snapshot, [name], context.now) if freed else Change({}, "")
        beads = self.rerouted(name, None, snapshot, freed)
        change = Change(beads, f"{self.verb}: {name} by {self.agent}", touched=tuple(sorted(beads)))
        if duty_of(name, snapshot) == "offline":
            return with_capacity(change, snapshot, [name], context.now) if beads else Change({}, "")
        if snapshot.record(capacity_path(name)) is None:
            return change
        return with_rest_left(change.replace(records={capacity_path(name): None}), snapshot, name, context.now)
