"""Upgrading a hub in one commit: to the format of this bd, and to a `min_version` of bd that its writers must have."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.errors import NewerFormat, OlderAgents
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH
from bd.operations.base import Operation, register
from bd.policy.installations import live_and_older

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


@register
class Upgrade(Operation):
    """Upgrade the hub to this format, and raise its `min_version` to the given one; it is never lowered.

    Older files can be read as they are, so only the two settings change; `archive` collects old files. Refused while a live
    agent runs an older bd, which could not write afterwards; `force` overrides this.
    """

    verb: ClassVar[str] = "upgrade"
    force_ends_claims: ClassVar[bool] = False
    takes: ClassVar[frozenset[str]] = frozenset({"force", "min_version"})
    brings_forward: ClassVar[bool] = True

    @property
    def needs_remote(self) -> bool:
        return True

    @property
    def is_portable(self) -> bool:
        return False  # another clone may have an older bd

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        before = snapshot.record(CONFIG_PATH) or {}
        version = before.get("format", versions.FORMAT)
        if version > versions.FORMAT:
            raise NewerFormat(version, versions.FORMAT)
        after = {**before, "format": versions.FORMAT}
        least = self.args.get("min_version")
        if least and versions.is_older(before.get("min_version"), least):
            after["min_version"] = least
        result = {"format": versions.FORMAT, "min_version": after.get("min_version")}
        if after == before or before.get("format") is None:
            return Change({}, "", result=result)
        if not self.args.get("force"):
            required = after.get("min_version") or versions.FORMAT_SINCE
            if version != versions.FORMAT and versions.is_older(required, versions.FORMAT_SINCE):
                required = versions.FORMAT_SINCE  # the new format shuts out who does not write it, whatever a person required
            self._refuse_older(snapshot, context, required)
        steps = [f"from format {version} to {versions.FORMAT}"] if version != versions.FORMAT else []
        if after.get("min_version") != before.get("min_version"):
            steps.append(f"to bd {least} or newer")
        return Change({}, f"upgrade: the hub {', '.join(steps)} by {self.agent}", records={CONFIG_PATH: after}, result=result)

    @staticmethod
    def _refuse_older(snapshot: Snapshot, context: DecisionContext, least: str) -> None:
        older = live_and_older(snapshot, context.now, least)
        if older:
            raise OlderAgents(least, {one.agent: one.version for one in older})
