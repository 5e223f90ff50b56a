"""The commits and refs of one clone, or of the server, in dictionaries."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import Damaged, TryAgain
from bd.core.schema import volume_of
from bd.store.archive.volumes import shelf_of
from bd.store.contract import ZERO, Entry
from bd.store.object_names import name_of
from bd.store.persistent_map import PersistentMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bd.store.archive.volumes import Shelf
    from bd.store.contract import Draft

    Files = PersistentMap[tuple[str, str]]  # path -> (mode, blob)

_LENGTH = 40
_NO_FILES: Files = PersistentMap()


class MemoryObjects:
    """Objects by name, and files by `<commit>:<path>`."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        # The files of each tree: path -> (mode, blob).
        self.trees: dict[str, Files] = {}
        self._headers: dict[str, tuple[str, list[str]]] = {}
        # For each commit the length of the longest way to a first one (no commit is as deep as what comes after it), and one
        # far before it.
        self._places: dict[str, tuple[int, str]] = {}
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
        return self.trees.get(self._header(commit)[0], _NO_FILES)

    def tree(self, commit: str) -> str:
        """Return the name of a commit's tree. Raises Damaged where it is not here."""
        return self._header(commit)[0]

    def depth(self, commit: str) -> int:
        """Return how many commits the longest way from here to a first commit has."""
        return self._place(commit)[0]

    def _place(self, commit: str) -> tuple[int, str]:
        """Return a commit's depth, and one far before it on its line; the commit itself where a line begins or lines meet."""
        found = self._places.get(commit)
        if found is not None:
            return found
        waiting = [commit]
        while waiting:
            one = waiting[-1]
            parents = self.parents(one)
            unknown = [parent for parent in parents if parent not in self._places]
            if unknown:
                waiting += unknown
                continue
            self._places[waiting.pop()] = self._placed(one, parents)
        return self._places[commit]

    def _placed(self, commit: str, parents: Sequence[str]) -> tuple[int, str]:
        if len(parents) != 1:
            return 1 + max((self._places[parent][0] for parent in parents), default=0), commit
        depth, jump = self._places[parents[0]]
        before, further = self._places[jump]
        # Twice as far where the last two jumps were equally long: any ancestor is then a few jumps away.
        return depth + 1, further if depth - before == before - self._places[further][0] else parents[0]

    def ancestor(self, commit: str, depth: int) -> str | None:
        """Return the commit of this depth on the way back from one; None where lines meet on the way."""
        while (place := self._place(commit))[0] > depth:
            if place[1] == commit:
                return None
            commit = place[1] if self._place(place[1])[0] >= depth else self.parents(commit)[0]
        return commit

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
                before = self.files(parents[0]) if parents else _NO_FILES  # what it has is there, or comes next
                for path in before.differing(self.trees[tree]):
                    if file := self.trees[tree].get(path):
                        other.contents.setdefault(file[1], self.contents[file[1]])
            waiting += parents


class MemoryRepository:
    """An implementation of `contract.Repository`, without a checkout."""

    is_shallow = False
    work_tree = None

    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.timeout_s = 60.0
        self._refs: dict[str, str] = {}
        # The same names by folder (`refs/bd/claims/`): a server has thousands of them, and few are asked for.
        self._by_folder: dict[str, dict[str, None]] = {}
        self.moves = 0  # how many times refs were set or removed: while it is the same, a copy still shows everything

    def close(self) -> None:
        """Do nothing: there are no helper processes."""

    def copy(self) -> MemoryRepository:
        """Return a repository with the same objects and, from now on, refs of its own."""
        made = MemoryRepository()
        made.objects = self.objects
        made._refs = dict(self._refs)
        made._by_folder = {folder: dict(names) for folder, names in self._by_folder.items()}
        return made

    # --- refs ---

    def ref(self, name: str) -> str | None:
        """Return the object that a ref names; None if there is no such ref."""
        return self._refs.get(name)

    def refs(self, prefix: str) -> dict[str, str]:
        """Return all refs below a prefix."""
        folder = _folder_of(prefix)
        names = self._by_folder.get(folder, {}) if folder else self._refs
        return {name: self._refs[name] for name in names if name.startswith(prefix)}

    def update_refs(self, updates: Iterable[tuple[str, str | None, str | None]]) -> None:
        """Set refs, all or none: (name, new, old). Raises TryAgain if a ref is not what was expected."""
        moves = list(updates)
        for name, _, old in moves:
            there = self._refs.get(name)
            if old is not None and (there or ZERO) != old:
                raise TryAgain(f"the ref {name} is at {there}, not at {old}")
        for name, new, _ in moves:
            self.moves += 1
            if new is None:
                self._refs.pop(name, None)
                self._by_folder.get(_folder_of(name), {}).pop(name, None)
            else:
                self._set(name, new)

    def set_private_refs(self, values: Mapping[str, str]) -> None:
        """Set refs that only this clone writes."""
        self.moves += len(values)
        for name, new in values.items():
            self._set(name, new)

    def _set(self, name: str, new: str) -> None:
        if name not in self._refs:
            self._by_folder.setdefault(_folder_of(name), {})[name] = None
        self._refs[name] = new

    # --- history ---

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether `older` is `newer` or in its history."""
        if older == newer:
            return newer in self.objects.contents
        if older not in self.objects.contents or newer not in self.objects.contents:
            return False
        least = self.objects.depth(older)
        found = self.objects.ancestor(newer, least)
        if found is not None:
            return found == older
        waiting, seen = [newer], {newer}
        while waiting:
            for parent in self.objects.parents(waiting.pop()):
                if parent == older:
                    return True
                if parent not in seen and self.objects.depth(parent) > least:
                    seen.add(parent)
                    waiting.append(parent)
        return False

    def _line(self, newer: str, depth: int) -> list[str] | None:
        """Return a commit and those before it that are deeper than `depth`, newest first; None if there was a merge."""
        found: list[str] = []
        commit: str | None = newer
        while commit is not None and self.objects.depth(commit) > depth:
            found.append(commit)
            parents = self.objects.parents(commit)
            if len(parents) > 1:
                return None
            commit = parents[0] if parents else None
        return found

    def commits_between(self, older: str | None, newer: str, *, without: Iterable[str] = ()) -> list[str]:
        """Return the commits of `newer` that are in neither `older` nor `without`, oldest first."""
        if older and not [*without] and self.is_ancestor(older, newer):
            line = self._line(newer, self.objects.depth(older))
            if line is not None:
                return line[::-1]
        known = {commit for tip in (older, *without) if tip for commit in self._history(tip)}
        return [commit for commit in reversed(self._history(newer)) if commit not in known]

    def messages(self, tip: str, since: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield (commit, message) of the commits in `tip` and not in the common history of `since`, newest first."""
        named = [commit for commit in since if commit in self.objects.contents]
        if named and all(self.is_ancestor(commit, tip) for commit in named):
            line = self._line(tip, min(map(self.objects.depth, named)))
            if line is not None:  # on one line, all of them share the history of the oldest
                yield from ((commit, self._message(commit)) for commit in line)
                return
        there = [set(self._history(commit)) for commit in named]
        known = set.intersection(*there) if there else set()
        for commit in self._history(tip):
            if commit not in known:
                yield commit, self._message(commit)

    def _message(self, commit: str) -> str:
        return self.objects.known(commit).partition(b"\n\n")[2].decode()

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
        before = self.objects.files(old) if old else _NO_FILES
        after = self.objects.files(new)
        found = []
        for path in sorted(before.differing(after)):
            was, now = before.get(path), after.get(path)
            if not paths or any(path == one or path.startswith(f"{one}/") for one in paths):
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
        before = self.objects.files(base) if base else _NO_FILES
        changes = {
            path: None if content is None else (draft.modes.get(path, "100644"), self.objects.write("blob", content))
            for path, content in draft.files.items()
        }
        files = before.after(changes)
        tree = _tree_name(self.objects.tree(base) if base else "", before, changes)
        self.objects.trees[tree] = files
        head = f"tree {tree}\n" + (f"parent {base}\n" if base else "")
        written, placed = (f"{draft.author} {at_s} +0000" for at_s in (draft.at_s, draft.placed_s))
        text = f"{head}author {written}\ncommitter {placed}\n\n{draft.message}".encode()
        return self.objects.write("commit", draft.sign(text) if draft.sign else text)


def _folder_of(name: str) -> str:
    """Return the first three parts of a ref's name, with the last slash; empty if it has no three."""
    parts = name.split("/", 3)
    return "/".join([*parts[:3], ""]) if len(parts) > 3 else ""


def _tree_name(base: str, before: Files, changes: Mapping[str, tuple[str, str] | None]) -> str:
    """Return the name of the tree that a tree becomes by these changes: a sum over its files, whatever order they came in."""
    total = int(base or "0", 16)
    for path, file in changes.items():
        total += _weight(path, file) - _weight(path, before.get(path))
    return f"{total % 16**_LENGTH:0{_LENGTH}x}"


def _weight(path: str, file: tuple[str, str] | None) -> int:
    if file is None:
        return 0
    mode, oid = file
    return int(name_of(b"tree", f"{mode} {oid} {path}".encode("utf-8", "surrogateescape"), _LENGTH), 16)
