"""What the store asks of others, as Protocols: an implementation is handed in by whoever opens a clone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.core.operation import Operation
    from bd.store.clone import Clone


class OperationReader(Protocol):
    """Reads operations back from what was kept of them."""

    def read(self, clone: Clone, form: Mapping[str, Any]) -> Operation:
        """The operation of a JSON form. Raises KeyError or TypeError for one that this version does not know."""
        ...

    def by_difference(
        self, clone: Clone, commit: str, parent: str, author: str, *, uid: str | None, force: bool, reason: str | None
    ) -> Operation:
        """What a commit that bd has not made changes against `parent`, as an operation; of another `uid` than its trailers name."""
        ...
