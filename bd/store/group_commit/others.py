"""What other clones ask for at one base, as values."""

from __future__ import annotations

from bd.core.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bd.store.contract import SideRef
    from bd.store.group_commit.requests import Intent
    from bd.store.transaction.drafts import Decides


class Stranger(NamedTuple):
    """An intent of another clone, and its operation."""

    intent: Intent
    operation: Decides


class Others(NamedTuple):
    """The other clones at a base: what they ask for, and what removes the intents that nobody waits for."""

    strangers: list[Stranger]
    burials: list[SideRef]


NOBODY = Others([], [])
