"""Adding and revoking signers: the lines of `.beads/allowed_signers`, in git's own format."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids, signers
from bd.core.errors import BadInput, NoSuchAgent, Refused
from bd.core.model import Change
from bd.core.schema import SIGNERS_PATH, agent_path
from bd.operations.base import Operation, register
from bd.store.trust import agent_cards

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


def lines_of(snapshot: Snapshot) -> list[str]:
    """Return the lines of the hub's allowed signers."""
    return list((snapshot.record(SIGNERS_PATH) or {}).get("lines", ()))


class _Change(Operation):
    """The common part: the file's other lines are kept byte for byte."""

    @property
    def needs_remote(self) -> bool:
        return True

    @property
    def is_portable(self) -> bool:
        return False  # it counts only with its author's signature

    def with_lines(self, lines: list[str], name: str) -> Change:
        return Change({}, self.words(name), files={SIGNERS_PATH: "".join(f"{line}\n" for line in lines).encode()})

    def words(self, name: str) -> str:
        return f"{self.verb}: {name} by {self.agent}"


@register
class Allow(_Change):
    """Let a name sign with a key: `agent`, `key`. What the identity declares (`fields`) fills gaps in its agent file."""

    verb: ClassVar[str] = "identity-allow"
    takes: ClassVar[frozenset[str]] = frozenset({"agent", "fields", "key"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name, key = ids.check_agent(self.args["agent"]), signers.key_of(self.args["key"])
        change = self._let_in(name, key, lines_of(snapshot))
        before = snapshot.agent(name) or {"name": name}
        fresh = {field: value for field, value in (self.args.get("fields") or {}).items() if not before.get(field)}
        if unknown := fresh.keys() - agent_cards.KEYS.values():
            raise BadInput(f"an identity says nothing of {', '.join(sorted(unknown))}")
        if not fresh:
            return change
        return change.replace(subject=self.words(name), records={agent_path(name): {**before, **fresh}})

    def _let_in(self, name: str, key: str, lines: list[str]) -> Change:
        known = [signer for signer in signers.read(lines) if signer.key == key]
        if any(name in signer.names and not signer.is_revoked for signer in known):
            return Change({}, "")
        taken = next((signer for signer in known if name not in signer.names or signer.is_revoked), None)
        if taken is not None:
            why = "was revoked" if taken.is_revoked else f"is {', '.join(taken.names)}'s"
            raise Refused(f"that key {why}", hint="each name has keys of its own; `bd identity init` makes one", agent=name)
        return self.with_lines([*lines, signers.line_for(name, key)], name)


@register
class Revoke(_Change):
    """Revoke a name's keys from the time of this operation: `agent`. What they signed earlier stays valid."""

    verb: ClassVar[str] = "identity-revoke"
    takes: ClassVar[frozenset[str]] = frozenset({"agent"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        name = ids.check_agent(self.args["agent"])
        lines = lines_of(snapshot)
        named = [signer for signer in signers.read(lines) if name in signer.names]
        if not named:
            raise NoSuchAgent(name, None)
        at_s = int(self.asked_at.timestamp())
        ended = {signer.line: signers.revoked(signer, at_s) for signer in named if not signer.is_revoked}
        if not ended:
            return Change({}, "")
        return self.with_lines([ended.get(line, line) for line in lines], name)
