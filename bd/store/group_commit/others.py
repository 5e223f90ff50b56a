"""What other clones ask for at one base, as values."""

from __future__ import annotations

from bd.core.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.core.operation import Operation
    from bd.store.contract import SideRef
    from bd.store.group_commit.requests import Intent


class Stranger(NamedTuple):
    """An intent of another clone, and its operation."""

    intent: Intent
    operation: Operation


class Others(NamedTuple):
    """The other clones at a base: what they ask for, and what removes the intents that nobody waits for."""

    strangers: list[Stranger]
    burials: list[SideRef]


NOBODY = Others([], [])
