"""The commits and refs of one clone, or of the server, in dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core.errors import Damaged, TryAgain
from bd.core.schema import volume_of
from bd.store.archive.volumes import shelf_of
from bd.store.contract import ZERO, Entry
from bd.store.object_names import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bd.store.archive.volumes import Shelf
    from bd.store.contract import Draft

    Files = Mapping[str, tuple[str, str]]  # path -> (mode, blob)

_LENGTH = 40


class MemoryObjects:
    """Objects by name, and files by `<commit>:<path>`."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        # The files of each tree: path -> (mode, blob).
        self.trees: dict[str, Files] = {}
        self._headers: dict[str, tuple[str, list[str]]] = {}
        self.shelf: Shelf | None = None

    def read(self, name: str, *, at_most: int | None = None) -> bytes | None:
        """Return the content, or its first `at_most` bytes; None if the object is not here."""
        commit, colon, path = name.partition(":")
        if not colon:
            data = self.contents.get(name)
            return data if data is None else data[:at_most]
        found = self.files(commit).get(path) if commit in self.contents else None
        if found is not None:
            return self.contents[found[1]][:at_most]
        if volume := volume_of(path):
            return shelf_of(self).at(commit, volume, path.rpartition("/")[2].removesuffix(".yaml"))
        return None

    def read_many(
        self,
        names: Sequence[str],
        *,
        at_once: int = 200,
        at_most: int | None = None,
    ) -> Iterator[bytes | None]:
        """Read many objects, in order. Documents of listed archive volumes are objects, too."""
        shelf = self.shelf
        for name in names:
            yield shelf.document(name, at_most) if shelf and name in shelf.places else self.read(name, at_most=at_most)

    def known(self, name: str, *, at_most: int | None = None) -> bytes:
        """Read an object that has to be here. Raises Damaged."""
        data = self.read(name, at_most=at_most)
        if data is None:
            raise Damaged(f"this clone lacks the object {name}")
        return data

    def write(self, kind: str, data: bytes) -> str:
        """Store an object; return its name."""
        name = name_of(kind.encode(), data, _LENGTH)
        self.contents[name] = data
        return name

    def parents(self, commit: str) -> list[str]:
        """Return the parents of a commit. Raises Damaged where it is not here."""
        return self._header(commit)[1]

    def files(self, commit: str) -> Files:
        """Return the files of a commit. Raises Damaged where it is not here."""
        return self.trees.get(self._header(commit)[0], {})

    def _header(self, commit: str) -> tuple[str, list[str]]:
        """Return the tree and the parents of a commit, read once."""
        if commit not in self._headers:
            lines = self.known(commit).partition(b"\n\n")[0].decode().split("\n")
            parents = [line.removeprefix("parent ") for line in lines if line.startswith("parent ")]
            self._headers[commit] = lines[0].removeprefix("tree "), parents
        return self._headers[commit]

    def copy_to(self, other: MemoryObjects, tip: str) -> None:
        """Copy what a commit needs, and the other lacks, to the other."""
        waiting = [tip]
        while waiting:
            commit = waiting.pop()
            if commit in other.contents:
                continue
            other.contents[commit] = self.contents[commit]
            tree, parents = self._header(commit)
            if tree in self.trees and tree not in other.trees:
                other.trees[tree] = self.trees[tree]
                for _, blob in self.trees[tree].values():
                    other.contents.setdefault(blob, self.contents[blob])
            waiting += parents


class MemoryRepository:
    """An implementation of `contract.Repository`, without a checkout."""

    is_shallow = False
    work_tree = None

    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.timeout_s = 60.0
        self._refs: dict[str, str] = {}

    def close(self) -> None:
        """Do nothing: there are no helper processes."""

    # --- refs ---

    def ref(self, name: str) -> str | None:
        """Return the object that a ref names; None if there is no such ref."""
        return self._refs.get(name)

    def refs(self, prefix: str) -> dict[str, str]:
        """Return all refs below a prefix."""
        return {name: oid for name, oid in self._refs.items() if name.startswith(prefix)}

    def update_refs(self, updates: Iterable[tuple[str, str | None, str | None]]) -> None:
        """Set refs, all or none: (name, new, old). Raises TryAgain if a ref is not what was expected."""
        moves = list(updates)
        for name, _, old in moves:
            there = self._refs.get(name)
            if old is not None and (there or ZERO) != old:
                raise TryAgain(f"the ref {name} is at {there}, not at {old}")
        for name, new, _ in moves:
            if new is None:
                self._refs.pop(name, None)
            else:
                self._refs[name] = new

    def set_private_refs(self, values: Mapping[str, str]) -> None:
        """Set refs that only this clone writes."""
        self._refs.update(values)

    # --- history ---

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether `older` is `newer` or in its history."""
        return older == newer or older in self._history(newer)

    def commits_between(self, older: str | None, newer: str, *, without: Iterable[str] = ()) -> list[str]:
        """Return the commits of `newer` that are in neither `older` nor `without`, oldest first."""
        known = {commit for tip in (older, *without) if tip for commit in self._history(tip)}
        return [commit for commit in reversed(self._history(newer)) if commit not in known]

    def messages(self, tip: str, since: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield (commit, message) of the commits in `tip` and not in the common history of `since`, newest first."""
        there = [set(self._history(commit)) for commit in since if commit in self.objects.contents]
        known = set.intersection(*there) if there else set()
        for commit in self._history(tip):
            if commit not in known:
                yield commit, self.objects.known(commit).partition(b"\n\n")[2].decode()

    def ever_had(self, commit: str, path: str) -> bool:
        """Return whether the path ever existed, in all of a commit's history."""
        return any(path in self.objects.files(one) for one in self._history(commit))

    def _history(self, tip: str) -> list[str]:
        """Return a commit and its history, children before their parents."""
        if tip not in self.objects.contents:
            return []
        found: dict[str, None] = {}
        waiting = [tip]
        while waiting:
            commit = waiting.pop()
            found.pop(commit, None)  # seen again further back: it moves behind all its children
            found[commit] = None
            waiting += self.objects.parents(commit)
        return list(found)

    def diff(self, old: str | None, new: str, *paths: str) -> list[Entry]:
        """Return the files in which two commits differ, as they are in the newer one. With `old` None, every file."""
        before = self.objects.files(old) if old else {}
        after = self.objects.files(new)
        if before is after:
            return []
        found = []
        for path in sorted({**before, **after}):
            was, now = before.get(path), after.get(path)
            if was != now and (not paths or any(path == one or path.startswith(f"{one}/") for one in paths)):
                mode = now[0] if now else "100644"
                found.append(Entry(path, now[1] if now else None, mode, was[1] if was else None))
        return found

    # --- writing ---

    def write_object(self, kind: str, data: bytes, length: int = _LENGTH) -> str:
        """Store one object; return its name."""
        return self.objects.write(kind, data)

    def write_commits(self, base: str | None, drafts: Sequence[Draft]) -> list[str]:
        """Store a chain of commits on top of `base`; return their names."""
        made: list[str] = []
        for draft in drafts:
            made.append(self._commit(made[-1] if made else base, draft))
        return made

    def _commit(self, base: str | None, draft: Draft) -> str:
        files = dict(self.objects.files(base)) if base else {}
        for path, content in draft.files.items():
            if content is None:
                files.pop(path, None)
            else:
                files[path] = (draft.modes.get(path, "100644"), self.objects.write("blob", content))
        listing = "".join(f"{mode} {oid} {path}\n" for path, (mode, oid) in sorted(files.items()))
        tree = name_of(b"tree", listing.encode("utf-8", "surrogateescape"), _LENGTH)
        self.objects.trees[tree] = files
        head = f"tree {tree}\n" + (f"parent {base}\n" if base else "")
        written, placed = (f"{draft.author} {at_s} +0000" for at_s in (draft.at_s, draft.placed_s))
        text = f"{head}author {written}\ncommitter {placed}\n\n{draft.message}".encode()
        return self.objects.write("commit", draft.sign(text) if draft.sign else text)
