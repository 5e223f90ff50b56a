"""Reads operations back from what the store has: a commit's form, a request, or the difference of a commit."""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.operations.base import Operation
    from bd.store import Clone


class OperationReader:
    """The reader that a clone is opened with (store/clone.py). Imports are late: most writes read nothing back."""

    def read(self, clone: Clone, form: Mapping[str, Any]) -> Operation:
        """Read an operation from its JSON form. Raises UnknownOperation."""
        from bd.operations.registry import from_json  # noqa: PLC0415
        from bd.operations.stored_outputs import with_contents  # noqa: PLC0415

        return from_json(with_contents(clone, form), clone.runtime)

    def by_difference(
        self, clone: Clone, commit: str, parent: str, author: str, *, uid: str | None, force: bool, reason: str | None
    ) -> Operation:
        """Return the change of a hand-made commit against `parent` as an operation. `uid` replaces the one in its trailers."""
        from bd.operations.difference import operation_of  # noqa: PLC0415

        return operation_of(clone, commit, parent, author, uid=uid, force=force, reason=reason)
