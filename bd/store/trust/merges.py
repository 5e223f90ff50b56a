"""A commit compared with its parents: what each of them held, and what a merge may make of it.

Of two sides of a merge, the one counts that has changed a file since they parted; if both have, either may. Nobody gains anything
by merging an untrusted side: neither one that began before anybody was allowed or where nobody had to sign, nor one that nobody
trusts.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.schema import bead_path
from bd.store.trust.authority import NOBODY, common, joined
from bd.store.trust.guarded_blobs import FILE_MODES, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from bd.store.contract import Entry
    from bd.store.git.repository import GitRepo
    from bd.store.trust.authority import Standing
    from bd.store.trust.guarded_blobs import Contents

    Believed = tuple[Standing, Mapping[str, Any]]

_NOTHING: Believed = (NOBODY, {})


class Sides:
    """The parents of a commit, with what is believed after each of them and the difference to each."""

    def __init__(
        self,
        repo: GitRepo,
        contents: Contents,
        name: str,
        parents: Sequence[str],
        changes: Sequence[Sequence[Entry]],
        after: Mapping[str, Believed],
        *,
        is_shallow: bool,
    ) -> None:
        self._repo = repo
        self._contents = contents
        self._name = name
        self._after = after
        self.parents = parents
        self._believed = [after.get(parent, _NOTHING) for parent in parents] or [_NOTHING]
        self._changes = [_by_key(entries) for entries in changes]
        self.paths = {entry.path for entries in changes for entry in entries}
        self.is_merge = len(parents) > 1
        self._bases: dict[tuple[int, ...], list[str]] = {}
        self.standing = self._joined(is_shallow=is_shallow)
        asked = [place for place, (standing, _) in enumerate(self._believed) if standing.is_in_force]
        # If some sides require signatures, one that does not has no say: anybody can make such a side at any time.
        self._places = asked if asked and self.standing.is_in_force else [*range(len(self._believed))]
        self.masks: Mapping[str, Any] = (
            {key: mask for _, masks in self._believed for key, mask in masks.items()} if self.is_merge else self._believed[0][1]
        )

    @property
    def is_tearing(self) -> bool:
        """True if histories meet here that each let different people in first."""
        return self.standing.is_torn and not any(standing.is_torn for standing, _ in self._believed)

    @property
    def has_masks(self) -> bool:
        return bool(self.masks)

    def touched(self) -> Iterable[str]:
        """Yield what may have changed: all that differs from some parent; in a merge, also everything with a mask."""
        found = {key: None for own in self._changes for key in own}
        return {**found, **dict.fromkeys(self.masks)} if self.is_merge else found

    def taken(self, key: str) -> list[Mapping[str, Any]]:
        """Return the masks of those parents from which a merge took the file unchanged: the merge's signer has not written it."""
        if not self.is_merge:
            return []
        return [masks for own, (_, masks) in zip(self._changes, self._believed, strict=True) if key not in own]

    def is_written(self, key: str) -> bool:
        """Return whether the commit wrote or deleted the file, rather than just moving it unchanged."""
        found = self._all(key)
        now = {entry.oid for entry in found if entry.oid}
        return not now or bool(now - {entry.old for entry in found})

    def after(self, key: str) -> Any:
        """Return the guarded part of a file after the commit."""
        return self._raw(
            key, self._name, [(entry.oid if entry.mode in FILE_MODES else None, entry.path) for entry in self._all(key)]
        )

    def before(self, key: str) -> Any:
        """Return the guarded part of a file in the first parent."""
        return self._at(key, 0)

    def expected(self, key: str) -> Any:
        """Return what an untrusted commit has to leave in the file: what is believed after its parents."""
        first, *rest = self._places
        found = self._held(key, first)
        for number, place in enumerate(rest, 1):
            other = self._held(key, place)
            if found == other:
                continue
            began = [self._began(key, base) for base in self._bases_of(place, self._places[:number])] or [None]
            if all(found == one for one in began) or (all(other != one for one in began) and self.after(key) == other):
                found = other
        return found

    def _began(self, key: str, base: str) -> Any:
        masks = self._after.get(base, _NOTHING)[1]
        return masks[key] if key in masks else self._contents.at(key, base)

    def _all(self, key: str) -> list[Entry]:
        return [entry for own in self._changes for entry in own.get(key, ())]

    def _held(self, key: str, place: int) -> Any:
        masks = self._believed[place][1]
        return masks[key] if key in masks else self._at(key, place)

    def _at(self, key: str, place: int) -> Any:
        if not self.parents:
            return None
        own = self._changes[place].get(key)
        if own is None:
            return self.after(key)
        return self._raw(key, self.parents[place], [(entry.old, entry.path) for entry in own])

    def _raw(self, key: str, commit: str, there: Sequence[tuple[str | None, str]]) -> Any:
        """Return the guarded part of a file, from its known blobs, the active file's first; else from the commit."""
        blobs = {path: oid for oid, path in there}
        if "/" in key and blobs:
            return blobs[key]
        if bead_path(key) not in blobs:
            return self._contents.at(key, commit)
        oid = blobs[bead_path(key)] or next((oid for oid in blobs.values() if oid), None)
        return self._contents.of(key, oid) if oid else self._contents.archived(key, commit)

    # --- merges ---

    def _bases_of(self, place: int, others: Sequence[int]) -> list[str]:
        """Return the merge bases of a parent and all of the others; sides that met before have several."""
        asked = place, *others
        if asked not in self._bases:
            _, out, _ = self._repo.run("merge-base", "--all", *(self.parents[one] for one in asked), check=False)
            self._bases[asked] = out.decode().split()
        return self._bases[asked]

    def _joined(self, *, is_shallow: bool) -> Standing:
        found = self._believed[0][0]
        for place in range(1, len(self.parents)):
            other = self._believed[place][0]
            if (found.signers, found.is_required) == (other.signers, other.is_required):
                found = found._replace(at_s=max(found.at_s, other.at_s))
                continue
            base = common([self._after.get(base, _NOTHING)[0] for base in self._bases_of(place, range(place))])
            found = joined(base, found, other, is_shallow=is_shallow)
        return found


def _by_key(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if key := key_of(entry.path):
            found.setdefault(key, []).append(entry)
    return found
