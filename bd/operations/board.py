"""Publishing a board: a page about the hub, in the hub."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.model import Change
from bd.core.schema import ARCHIVE_DIR, BEADS_DIR, CAPACITY_DIR
from bd.operations.base import Operation, register

if TYPE_CHECKING:
    from typing import ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext

_KINDS = (".md", ".html")


@register
class PublishBoard(Operation):
    """Write a board into the hub: `path` and `text`. The caller has checked that it says something new."""

    verb: ClassVar[str] = "board"
    takes: ClassVar[frozenset[str]] = frozenset({"path", "text"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        path = check_path(self.args["path"])
        return Change({}, f"board: {path} by {self.agent}", files={path: self.args["text"].encode()})


def check_path(path: str) -> str:
    """Return the path of a board: a page among the hub's other files, outside bd's own folders. Raises BadInput."""
    parts = path.split("/")
    is_bad = any(part in ("", ".", "..") or part.startswith(".") or not part.isprintable() or "\\" in part for part in parts)
    if is_bad or not path.endswith(_KINDS) or path.startswith((BEADS_DIR, ARCHIVE_DIR, CAPACITY_DIR, "artifacts/")):
        raise BadInput(f"{path!r} can't be a board's path", hint="such as BOARD.md or docs/board.html")
    return path
