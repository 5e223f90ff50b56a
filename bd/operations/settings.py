"""Setting one value below a key of the hub's configuration, whatever others set beside it meanwhile."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import WrongState
from bd.core.model import Change
from bd.core.schema import CONFIG_PATH
from bd.operations.base import Operation, register
from bd.policy.hub_settings import in_the_way, with_value

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


@register
class SetSetting(Operation):
    """One value of the hub's settings: `path` (a list of keys), `value` (None takes it away).

    Refused if another value above the path would be lost.
    """

    verb: ClassVar[str] = "config-set"
    takes: ClassVar[frozenset[str]] = frozenset({"path", "value"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        path = tuple(self.args["path"])
        before = snapshot.config()
        lost = in_the_way(before, path) if self.args["value"] is not None else None
        if lost:
            raise WrongState(lost, hint=f"`bd config unset {path[0]}` first")
        after = with_value(before, path, self.args["value"])
        if after == before:
            return Change({}, "")
        return Change({}, f"config-set: {'.'.join(path)} by {self.agent}", records={CONFIG_PATH: after})
