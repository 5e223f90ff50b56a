"""Operations read back from what the store has kept of them: a commit's form, a request, the difference that a commit makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.operations.base import Operation
    from bd.store import Clone


class OperationReader:
    """What a clone is opened with (store/clone.py). Most writes read nothing back, and import nothing for it."""

    def read(self, clone: Clone, form: Mapping[str, Any]) -> Operation:
        """The operation of a JSON form. Raises UnknownOperation."""
        from bd.operations.registry import from_json  # noqa: PLC0415
        from bd.operations.stored_outputs import with_contents  # noqa: PLC0415

        return from_json(with_contents(clone, form), clone.runtime)

    def by_difference(
        self, clone: Clone, commit: str, parent: str, author: str, *, uid: str | None, force: bool, reason: str | None
    ) -> Operation:
        """What a commit that bd has not made changes against `parent`, as an operation; of another `uid` than its trailers name."""
        from bd.operations.difference import operation_of  # noqa: PLC0415

        return operation_of(clone, commit, parent, author, uid=uid, force=force, reason=reason)
