"""A hub without git: beads and records in dicts, and a loop that publishes operations onto them.

MemoryStore is the tests' own store. tests/contract holds its snapshot against the git store's,
so what the operations' tests see on it is what they would see on git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bd.core import versions
from bd.core.model import Bead, Change, Damage, Overlay, Snapshot
from bd.core.operation import DecisionContext
from bd.core.queries import mentions
from bd.core.schema import ARCHIVE_DIR, CONFIG_PATH, LONG_FIELDS, bead_path, suffix_of
from bd.core.settings import merge
from tests.clocks import START

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from bd.operations.base import Operation

CREATED_AT = "2026-02-20T09:00:00Z"


def make_bead(bead_id: str = "hub-a", /, **fields: Any) -> Bead:
    """A bead with defaults for what is not said; None leaves a default out."""
    given = {
        "id": bead_id,
        "title": f"Do {bead_id}",
        "type": "task",
        "status": "open",
        "priority": 2,
        "created_at": CREATED_AT,
        "created_by": "human:Ada",
        "updated_at": CREATED_AT,
        **fields,
    }
    return Bead({key: value for key, value in given.items() if value is not None})


def held(bead_id: str = "hub-a", agent: str = "coder", token: str = "01TOKEN", /, **fields: Any) -> Bead:  # noqa: S107  no password
    """A bead in progress under a live claim."""
    claim = {"agent": agent, "token": token, "attempt": 1, "claimed_at": CREATED_AT, "started_at": CREATED_AT}
    given = {
        "status": "in_progress",
        "assignee": agent,
        "owner": f"{agent}@hub",
        "claimed_at": CREATED_AT,
        "attempts": 1,
        "claim": {**claim, **fields.pop("claim", {})},
        **fields,
    }
    return make_bead(bead_id, **given)


def head_of(bead: Bead) -> Bead:
    """The bead without its long fields."""
    most = (bead.get("spec") or {}).get("max_cost_usd")
    short = {key: value for key, value in bead.fields.items() if key not in LONG_FIELDS}
    return Bead({**short, **({"max_cost_usd": most} if most is not None else {})})


class MemorySnapshot(Snapshot):
    """Beads and records as dicts. `archived` ids lie in the archive (at these paths, where a mapping says so).

    Hands out heads wherever the base class allows it, so that nothing passes here by looking at
    a field that the git store's heads do not have.
    """

    def __init__(
        self,
        beads: Iterable[Bead] = (),
        records: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        commit: str = "c0",
        archived: Iterable[str] | Mapping[str, str] = (),
        damages: Iterable[Damage] = (),
    ) -> None:
        self.commit = commit
        self._beads = {bead.id: bead for bead in beads}
        self._records = {path: dict(fields) for path, fields in (records or {}).items()}
        in_archive = "beads/archive/2026-02/{}.yaml"
        given = archived if isinstance(archived, dict) else {bead_id: in_archive.format(bead_id) for bead_id in archived}
        self._archived: dict[str, str] = dict(given)
        self._damages = list(damages)
        self._children: dict[str, list[Bead]] | None = None

    @property
    def damages(self) -> list[Damage]:
        return self._damages

    def bead(self, bead_id: str) -> Bead | None:
        return self._beads.get(bead_id)

    def head(self, bead_id: str) -> Bead | None:
        bead = self.bead(bead_id)
        return head_of(bead) if bead else None

    def by_uid(self, uid: str) -> Bead | None:
        return next((bead for bead in self._beads.values() if bead.uid == uid), None)

    def every(self) -> Iterator[Bead]:
        return iter([head_of(bead) for bead in self._beads.values()])

    def live(self) -> Iterator[Bead]:
        return (bead for bead in self.every() if not bead.is_done and bead.id not in self._archived)

    def mentioning(self, bead_id: str) -> list[Bead]:
        return [bead for bead in self.every() if bead_id in mentions(bead)]

    def children_of(self, bead_id: str) -> list[Bead]:
        if self._children is None:
            self._children = {}
            for bead in self.every():
                if bead.parent:
                    self._children.setdefault(bead.parent, []).append(bead)
        return self._children.get(bead_id, [])

    def starting(self, text: str) -> list[str]:
        return sorted(bead_id for bead_id in self._beads if bead_id.startswith(text) or suffix_of(bead_id).startswith(text))

    def path_of(self, bead_id: str) -> str:
        return self._archived.get(bead_id) or bead_path(bead_id)

    def record(self, path: str) -> Mapping[str, Any] | None:
        return self._records.get(path)

    def records(self, folder: str) -> Mapping[str, Mapping[str, Any]]:
        return {
            path[len(folder) :].removesuffix(".yaml"): fields
            for path, fields in self._records.items()
            if path.startswith(folder) and "/" not in path[len(folder) :]
        }

    def after(self, change: Change) -> MemorySnapshot:
        """The next snapshot: this one with a change carried out."""
        beads = {**self._beads, **change.beads}
        records = {**self._records, **change.records}
        over = Overlay(self, change)
        paths = {bead_id: over.path_of(bead_id) for bead_id, bead in beads.items() if bead is not None}
        return MemorySnapshot(
            [bead for bead in beads.values() if bead is not None],
            {path: fields for path, fields in records.items() if fields is not None},
            commit=f"c{int(self.commit[1:]) + 1}",
            archived={bead_id: path for bead_id, path in paths.items() if path.startswith(ARCHIVE_DIR)},
            damages=self._damages,
        )


class MemoryStore:
    """A hub in memory. `publish` is the transaction's loop without git: decide, be overtaken, decide again."""

    def __init__(self, *beads: Bead, records: Mapping[str, Mapping[str, Any]] | None = None, now: datetime = START) -> None:
        self.tip = MemorySnapshot(beads, {CONFIG_PATH: {"format": versions.FORMAT, "prefix": "hub"}, **(records or {})})
        self.now = now
        self.subjects: list[str] = []

    @property
    def context(self) -> DecisionContext:
        return DecisionContext(self.now, merge([("hub", self.tip.config())]))

    def put(self, *beads: Bead, **records: Mapping[str, Any]) -> None:
        """Somebody else's write: these beads as they now are."""
        self.tip = self.tip.after(Change({bead.id: bead for bead in beads}, "", records=records))

    def decide(self, operation: Operation) -> Change:
        """What the operation would do to the tip."""
        return operation.decide(self.tip, self.context)

    def publish(self, operation: Operation, *, overtaken_by: Callable[[], object] | None = None) -> Change:
        """Carry an operation out. `overtaken_by` runs between its first decision and its push, which then is lost."""
        base = self.tip
        change = operation.decide(base, self.context)
        if overtaken_by is not None:
            overtaken_by()
        if self.tip is not base:
            change = operation.decide(self.tip, self.context)
        if not change.is_empty:
            self.tip = self.tip.after(change)
            self.subjects.append(change.subject)
        return change

    def bead(self, bead_id: str) -> Bead:
        """The bead as it now is; it has to be there."""
        found = self.tip.bead(bead_id)
        assert found is not None, f"there is no {bead_id}"
        return found
