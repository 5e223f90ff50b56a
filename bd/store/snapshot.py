"""The snapshot of a commit, on top of the cache."""

from __future__ import annotations

from types import MappingProxyType

from bd import TYPE_CHECKING
from bd.core.model import Bead, Damage, Snapshot
from bd.core.schema import bead_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.queries import Settled, Sought
    from bd.store.cache.cache import Cache


class CachedSnapshot(Snapshot):
    """The hub at one commit. Valid while its cache stays at that commit (it holds a read transaction)."""

    def __init__(self, cache: Cache, commit: str) -> None:
        self.cache = cache
        self.commit = commit
        self._heads: dict[str, Bead | None] = {}
        self._folders: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._records: dict[str, Mapping[str, Any] | None] = {}
        self._has_children: dict[str, bool] = {}
        self._all_live = False
        self._held: list[Bead] | None = None

    @property
    def damages(self) -> list[Damage]:
        return self.cache.damages()

    def bead(self, bead_id: str) -> Bead | None:
        found = self.cache.bead(bead_id)
        return Bead(found[3]) if found else None

    def wholes(self, ids: list[str]) -> list[Bead]:
        found = self.cache.wholes(ids)
        return [Bead(found[bead_id]) for bead_id in ids if bead_id in found]

    def settled(self, sought: Sought) -> tuple[Settled | None, list[Bead]]:
        others = [Bead(fields) for fields in self.cache.unsettled(sought)]
        if not sought.done:  # then each of them is the only bead of its id
            self._heads.update((bead.id, bead) for bead in others)
            if sought.phases:
                self.cache.derive_later(self, [bead.id for bead in others])
        return self.cache.settled(sought), others

    def derived(self, name: str, ids: Sequence[str]) -> Mapping[str, str]:
        return self.cache.derive(name, ids, self)

    def heads(self, ids: Iterable[str]) -> list[Bead]:
        wanted = list(ids)
        unknown = [bead_id for bead_id in wanted if bead_id not in self._heads]
        self._heads.update(dict.fromkeys(unknown))
        self._heads.update((fields["id"], Bead(fields)) for fields in self.cache.heads_of(unknown))
        return [bead for bead in (self._heads[bead_id] for bead_id in wanted) if bead is not None]

    def dependent_counts(self, ids: list[str]) -> dict[str, int]:
        return self.cache.dependent_counts(ids)

    def waiting_counts(self, ids: list[str]) -> dict[str, int]:
        return self.cache.waiting_counts(ids)

    def costly(self) -> list[str]:
        return self.cache.costly()

    def spent_by(self, agent: str, since: str, now: str) -> float:
        return self.cache.spent_by(agent, since, now)

    def spent_under(self, root: str, now: str) -> float:
        return self.cache.spent_under(root, now)

    def naming(self, ids: Collection[str]) -> set[str]:
        return self.cache.naming(ids)

    def waiters(self, ids: list[str]) -> dict[str, list[str]]:
        return self.cache.waiters(ids)

    def head(self, bead_id: str) -> Bead | None:
        if bead_id not in self._heads:
            fields = self.cache.head(bead_id)
            self._heads[bead_id] = Bead(fields) if fields else None
        return self._heads[bead_id]

    def by_uid(self, uid: str) -> Bead | None:
        bead_id = self.cache.id_of_uid(uid)
        return self.bead(bead_id) if bead_id else None

    def every(self) -> Iterator[Bead]:
        return (Bead(fields) for fields in self.cache.heads())

    def live(self) -> Iterator[Bead]:
        if not self._all_live:
            known = self._heads
            live = []
            for fields in self.cache.heads("live"):
                bead = Bead(fields)
                known[fields["id"]] = bead
                live.append(bead)
            self._live = live
            self._all_live = True
        return iter(self._live)

    def ended(self) -> Iterator[Bead]:
        return (Bead(fields) for fields in self.cache.heads("ended"))

    def claimed(self, saying: str | None = None) -> Iterator[Bead]:
        if self._held is None:
            if saying is not None:
                return (Bead(fields) for fields in self.cache.heads("saying", (saying.encode("utf-8", "surrogatepass"),)))
            self._held = [Bead(fields) for fields in self.cache.heads("claimed")]
        return iter(self._held)

    def mentioning(self, bead_id: str) -> list[Bead]:
        return [Bead(fields) for fields in self.cache.heads("mentioning", (bead_id,))]

    def children_of(self, bead_id: str) -> list[Bead]:
        return [Bead(fields) for fields in self.cache.heads("children", (bead_id,))]

    def has_children(self, bead_id: str) -> bool:
        if bead_id not in self._has_children:
            self._has_children[bead_id] = next(self.cache.heads("a child", (bead_id,)), None) is not None
        return self._has_children[bead_id]

    def starting(self, text: str) -> list[str]:
        return self.cache.ids_starting(text)

    def path_of(self, bead_id: str) -> str:
        found = self.cache.bead(bead_id)
        return found[0] if found else bead_path(bead_id)

    def bead_paths(self, folder: str) -> list[str]:
        return self.cache.bead_paths(folder)

    def record(self, path: str) -> Mapping[str, Any] | None:
        if path not in self._records:
            found = self.cache.record(path)
            self._records[path] = found[2] if found else None
        return self._records[path]

    def records(self, folder: str) -> Mapping[str, Mapping[str, Any]]:
        if folder not in self._folders:
            self._folders[folder] = MappingProxyType(self.cache.records(folder))
        return self._folders[folder]
