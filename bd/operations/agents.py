"""Operations on the agents of a hub: add, remove, rename, clear, wake.

switches.py sets whether an agent takes work; its claims are in claims.py.
"""

from __future__ import annotations

from difflib import get_close_matches

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import BadInput, HoldsBeads, IdTaken, NoSuchAgent
from bd.core.model import Change
from bd.core.schema import AGENT_FIELDS, AGENTS_DIR, CAPACITY_DIR, agent_path, capacity_path
from bd.core.times import duration_s
from bd.operations.account_rests import without_rests
from bd.operations.base import Operation, register
from bd.operations.capacity_file import capacity_of, with_capacity
from bd.operations.field_values import check_type
from bd.policy import account_rest, advisory_claims, lifecycle
from bd.policy.capacity import held_by, is_known
from bd.policy.roles import SKILL_RULES

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext

    Beads = dict[str, Bead | None]


def known_agent(name: str, snapshot: Snapshot) -> str:
    """Return the name if it is that of an agent of this hub. Raises NoSuchAgent, naming the closest match."""
    name = ids.check_agent(name)
    if is_known(name, snapshot):
        return name
    names = {*snapshot.records(AGENTS_DIR), *snapshot.records(CAPACITY_DIR)}
    close = get_close_matches(name, sorted(names), n=1, cutoff=0.6)
    raise NoSuchAgent(name, close[0] if close else None)


@register
class AddAgent(Operation):
    """Create or change an agent's file: `agent`, `fields` (None unsets), `skills` {rule: list}.

    Only what is given is set: a role's presets are read, never written. An empty list removes a skill rule.
    """

    verb: ClassVar[str] = "agent-add"
    takes: ClassVar[frozenset[str]] = frozenset({"agent", "fields", "skills"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = ids.check_agent(self.args["agent"])
        before = snapshot.agent(name)
        fields = {**(before or {"name": name}), **self._checked()}
        if self.args.get("skills"):
            own = {**fields.get("skills", {}), **self._rules(context)}
            fields["skills"] = {rule: words for rule, words in own.items() if words}
        fields = {key: value for key, value in fields.items() if value is not None}
        if fields == before:
            return Change({}, "", result=fields)
        words = f"{self.verb}: {name} by {self.agent}"
        change = Change({}, words, records={agent_path(name): fields}, result=fields)
        return with_capacity(change, snapshot, [name], context.now) if snapshot.record(capacity_path(name)) else change

    def _checked(self) -> dict[str, Any]:
        fields: dict[str, Any] = dict(self.args.get("fields") or {})
        unknown = [key for key in fields if key not in AGENT_FIELDS or key in ("name", "skills")]
        if unknown:
            raise BadInput(f"an agent has no {', '.join(unknown)}", hint=f"it has {', '.join(AGENT_FIELDS)}")
        for key in ("interval", "cool_down", "claim_ttl", "heartbeat_interval"):
            if fields.get(key) and duration_s(str(fields[key])) <= 0 and key in ("interval", "heartbeat_interval"):
                raise BadInput("an interval must be positive", hint="write 30s, 15m or 1h")
        if (fields.get("max_concurrent") or 0) < 0:
            raise BadInput("the limit can't be negative")
        return fields

    def _rules(self, context: DecisionContext) -> dict[str, list[str]]:
        rules: dict[str, list[str]] = dict(self.args["skills"])
        unknown = [rule for rule in rules if rule not in SKILL_RULES]
        if unknown:
            raise BadInput(f"no rule {', '.join(unknown)} for skills", hint=f"one of {', '.join(SKILL_RULES)}")
        if rules.get("types"):
            rules["types"] = [check_type(kind, context) for kind in rules["types"]]
        return rules


class Leaving(Operation):
    """The common part of removing and renaming: `agent`, and `release` to give back what it holds."""

    def given_back(self, name: str, snapshot: Snapshot, reason: str) -> Beads:
        """Return the beads that the agent holds, open again. Raises HoldsBeads if they may not be released."""
        held = held_by(name, snapshot)
        if held and not self.args.get("release"):
            names = sorted(bead.id for bead in held)
            raise HoldsBeads(
                f"{name} holds {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}",
                hint="let it finish (`bd drain` first), or give them back with --release",
                agent=name,
                beads=names,
            )
        wholes = snapshot.wholes([bead.id for bead in held])
        return {bead.id: self._without(bead, name, reason) for bead in wholes}

    def _without(self, bead: Bead, name: str, reason: str) -> Bead:
        mine = advisory_claims.claim_of(bead, name, None)
        if mine is None:
            return lifecycle.released(bead, reason, self.asked_at)
        return lifecycle.touch(bead.evolve(claims=[claim for claim in bead.claims if claim != mine]), self.asked_at)

    def rerouted(self, name: str, to: str | None, snapshot: Snapshot, beads: Beads) -> Beads:
        """Return these beads, and all other live ones that name the agent, with another name or none instead."""
        found = dict(beads)
        for head in snapshot.live():
            bead = found.get(head.id) or head
            if _named(bead, name):
                whole = found.get(head.id) or snapshot.bead(head.id)
                if whole is not None:
                    found[head.id] = lifecycle.touch(_renamed(whole, name, to), self.asked_at)
        return found


def _named(bead: Bead, name: str) -> bool:
    routed = (bead.get("claim") or {}).get("routed")
    return name in (routed, bead.get("prefer_agent"), None if bead.claim else bead.assignee)


def _renamed(bead: Bead, name: str, to: str | None) -> Bead:
    """Return the bead routed to `to` (None: to nobody) instead of `name`; its holder stays."""
    claim = bead.get("claim")
    if claim and claim.get("routed") == name:
        kept = {key: value for key, value in claim.items() if key != "routed"}
        bead = bead.evolve(claim={**kept, "routed": to} if to else kept)
    if not claim and bead.assignee == name:
        bead = bead.evolve(assignee=to)
    if bead.get("prefer_agent") == name:
        bead = bead.evolve(prefer_agent=to, prefer_until=bead.get("prefer_until") if to else None)
    return bead


@register
class RemoveAgent(Leaving):
    """Remove an agent from the hub: `agent`, `release`. Beads routed to it become unassigned."""

    verb: ClassVar[str] = "agent-remove"
    takes: ClassVar[frozenset[str]] = frozenset({"agent", "release"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = known_agent(self.args["agent"], snapshot)
        released = self.given_back(name, snapshot, f"{name} was removed")
        beads = self.rerouted(name, None, snapshot, released)
        gone = {path: None for path in (agent_path(name), capacity_path(name)) if snapshot.record(path) is not None}
        result = {"agent": name, "released": sorted(released), "rerouted": sorted({*beads} - {*released})}
        words = f"{self.verb}: {name} by {self.agent}"
        return Change(beads, words, records=gone, touched=tuple(sorted(beads)), result=result)


@register
class RenameAgent(Leaving):
    """Rename an agent: `agent`, `to`, `release`. Beads routed to it follow."""

    verb: ClassVar[str] = "agent-rename"
    takes: ClassVar[frozenset[str]] = frozenset({"agent", "release", "to"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name, to = known_agent(self.args["agent"], snapshot), ids.check_agent(self.args["to"])
        if is_known(to, snapshot):
            raise IdTaken(f"an agent {to} exists already", hint="choose another name", agent=to)
        released = self.given_back(name, snapshot, f"{name} is now {to}")
        beads = self.rerouted(name, to, snapshot, released)
        records: dict[str, dict[str, Any] | None] = {}
        file = snapshot.agent(name)
        if file is not None:
            records = {agent_path(name): None, agent_path(to): {**file, "name": to}}
        record = snapshot.record(capacity_path(name))
        result = {"agent": to, "was": name, "released": sorted(released), "rerouted": sorted({*beads} - {*released})}
        words = f"{self.verb}: {name} to {to} by {self.agent}"
        change = Change(beads, words, records=records, touched=tuple(sorted(beads)), result=result)
        if record is None:
            return change
        moved = {capacity_path(name): None, capacity_path(to): record}
        return with_capacity(change.replace(records={**records, **moved}), snapshot, [to], context.now)


@register
class ClearAgent(Operation):
    """Forget an agent's failed attempts, so that it gets work again: `agent`."""

    verb: ClassVar[str] = "agent-clear"
    takes: ClassVar[frozenset[str]] = frozenset({"agent"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = known_agent(self.args["agent"], snapshot)
        before = snapshot.record(capacity_path(name))
        if before is None or not (before.get("recent") or before.get("overloaded_at") or before.get("failed_tasks")):
            return Change({}, "", notes=(f"{name} has no failed attempts to forget",), result=dict(before or {"agent": name}))
        forgotten = {"recent": None, "overloaded_at": None, "failed_tasks": 0}
        record = capacity_of(name, snapshot, context.now, sign_of_life=False, changes=forgotten)
        words = f"{self.verb}: {name} by {self.agent}"
        return Change({}, words, records={capacity_path(name): record}, result=record)


@register
class WakeAgent(Operation):
    """End the rests of an agent's account, its installation and itself, for all agents that they concern: `agent`.

    The rest that its own failure began ends, too, wherever the agent works now.
    """

    verb: ClassVar[str] = "agent-wake"
    takes: ClassVar[frozenset[str]] = frozenset({"agent"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = known_agent(self.args["agent"], snapshot)
        resting = account_rest.recorded(snapshot.records(CAPACITY_DIR))
        begun = {rest.account for agent, rest in resting if agent == name}
        accounts = begun.union(account_rest.names_of(name, snapshot))
        rests = [rest for _, rest in resting if rest.account in accounts]
        result = {"agent": name, "accounts": sorted({rest.account for rest in rests})}
        if not rests:
            others = ", ".join(f"{rest.account} does (`bd agent wake {agent}`)" for agent, rest in resting)
            note = f"no account that {name} is known to work on rests{f'; {others}' if others else ''}"
            return Change({}, "", notes=(note,), result=result)
        change = Change({}, f"{self.verb}: {name} by {self.agent}", result=result)
        return without_rests(change, snapshot, accounts)
