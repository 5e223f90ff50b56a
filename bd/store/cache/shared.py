"""The parsed files of many commits in memory, shared by many clones of one process: no file is parsed, or kept, twice.

A `SharedCache` answers as cache.py does, for one clone and one commit; what it answers from is a `Parsed`, which never changes.
Only for repositories that live as long as the process, where nobody signs.
"""

from __future__ import annotations

import marshal
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.costs import Spent, spent_of
from bd.core.model import Bead, Damage
from bd.core.queries import awaits, mentions
from bd.core.schema import (
    ARCHIVE_DIR,
    BEADS_DIR,
    CONFIG_PATH,
    DONE_STATUSES,
    LONG_FIELDS,
    suffix_of,
    volume_of,
)
from bd.core.settings import hub_setting
from bd.store.hub_files import Row, entries_of, is_wanted, parse_entries
from bd.store.persistent_map import PersistentMap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.model import Snapshot
    from bd.core.queries import Sought
    from bd.store.contract import Repository

# How many commits are kept in any case.
_RECENT = 200


class Kept(NamedTuple):
    """One bead's file: its fields, and its head, without the long ones."""

    path: str
    oid: str
    is_simple: bool
    fields: dict[str, Any]
    head: dict[str, Any]

    @property
    def is_live(self) -> bool:
        return self.head.get("status", "open") not in DONE_STATUSES and not self.path.startswith(ARCHIVE_DIR)

    @property
    def is_claimed(self) -> bool:
        return bool(self.head.get("claim") or self.head.get("claims"))

    @property
    def is_waiting(self) -> bool:
        """Whether it may be ready, now or later, without another commit."""
        return self.head.get("status", "open") in ("open", "deferred") and not self.head.get("claim")


class Folder(NamedTuple):
    """The agent, capacity or configuration files of one folder: each whole (oid, is_simple, fields) by path, its fields by name."""

    files: dict[str, tuple[str, bool, dict[str, Any]]]
    fields: dict[str, dict[str, Any]]

    def after(self, path: str, file: tuple[str, bool, dict[str, Any]] | None) -> Folder:
        """Return the folder with this file; None: without it."""
        files, fields = dict(self.files), dict(self.fields)
        name = path.rpartition("/")[2].removesuffix(".yaml")
        if file is None:
            files.pop(path, None)
            fields.pop(name, None)
        else:
            files[path], fields[name] = file, file[2]
        return Folder(files, fields)


_EMPTY = Folder({}, {})


class Parsed:
    """The files of one commit."""

    __slots__ = ("_said", "beads", "claimed", "damages", "folders", "live", "named_by", "spent", "texts", "uids", "waiting")

    def __init__(self) -> None:
        self.beads: PersistentMap[tuple[Kept, ...]] = PersistentMap()  # by id; the active file first
        self.live: dict[str, Kept] = {}
        self.claimed: dict[str, Kept] = {}
        self.waiting: dict[str, Kept] = {}
        self.uids: PersistentMap[str] = PersistentMap()
        # The beads that name a bead, by its id; and what agents have spent, by agent.
        self.named_by: PersistentMap[tuple[str, ...]] = PersistentMap()
        self.spent: dict[str, dict[str, tuple[Spent, ...]]] = {}
        self.folders: dict[str, Folder] = {}
        self.damages: dict[str, str] = {}
        self.texts: dict[str, bytes] = {}  # the heads of claimed beads, to find a text in them
        self._said: tuple[bytes, list[int], list[str]] | None = None  # the same in one piece, and where each begins

    def after(self, rows: Iterable[Row | str]) -> Parsed:
        """Return what the files are after these have changed; a bare path is gone."""
        made = Parsed()
        for name in self.__slots__[1:]:
            found = getattr(self, name)
            setattr(made, name, dict(found) if name in ("live", "claimed", "waiting", "damages", "texts") else found)
        changed: dict[str, tuple[Kept, ...] | None] = {}
        for row in rows:
            path = row if isinstance(row, str) else row.path
            made.damages.pop(path, None)
            made.damages.pop(volume_of(path) or "", None)
            if not isinstance(row, str) and row.reason is not None:
                made.damages[path] = row.reason
            fields = None if isinstance(row, str) or row.reason is not None else row.fields
            if path.startswith(BEADS_DIR):
                bead_id = path.rpartition("/")[2].removesuffix(".yaml")
                files = changed[bead_id] if bead_id in changed else self.beads.get(bead_id)
                rest = tuple(kept for kept in files or () if kept.path != path)
                if fields is not None and not isinstance(row, str):
                    rest = (*rest, Kept(path, row.oid, row.is_simple, fields, _head_of(fields)))
                changed[bead_id] = tuple(sorted(rest, key=lambda kept: (len(kept.path), kept.path))) or None
            else:
                folder = path.rpartition("/")[0]
                file = None if fields is None or isinstance(row, str) else (row.oid, row.is_simple, fields)
                made.folders = {**made.folders, folder: made.folders.get(folder, _EMPTY).after(path, file)}
        made._take(self, changed)
        return made

    def _take(self, before: Parsed, changed: Mapping[str, tuple[Kept, ...] | None]) -> None:
        self.beads = before.beads.after(changed)
        uids: dict[str, str | None] = {}
        names: dict[str, set[str]] = {}
        for bead_id, files in changed.items():
            old, new = before.one(bead_id), files[0] if files else None
            for table, fits in ((self.live, "is_live"), (self.claimed, "is_claimed"), (self.waiting, "is_waiting")):
                if new is not None and getattr(new, fits) and (table is self.claimed or new.is_live):
                    table[bead_id] = new
                else:
                    table.pop(bead_id, None)
            self.texts.pop(bead_id, None)
            if bead_id in self.claimed and new is not None:
                self.texts[bead_id] = marshal.dumps(new.head)
            if new is not None and new.fields.get("uid"):
                uids[new.fields["uid"]] = bead_id
            was, now = (mentions(Bead(one.head)) if one is not None else set() for one in (old, new))
            for target in was ^ now:
                known = names.setdefault(target, set(before.named_by.get(target) or ()))
                (known.add if target in now else known.discard)(bead_id)
            self._spend(bead_id, old, new)
        if uids:
            self.uids = before.uids.after(uids)
        if names:
            self.named_by = before.named_by.after({target: tuple(sorted(who)) or None for target, who in names.items()})

    def _spend(self, bead_id: str, old: Kept | None, new: Kept | None) -> None:
        were, are = (tuple(spent_of(one.fields)) if one is not None and one.fields.get("cost") else () for one in (old, new))
        if were == are:
            return
        for agent in {spent.agent for spent in (*were, *are)}:
            mine = tuple(spent for spent in are if spent.agent == agent)
            of_agent = {**self.spent.get(agent, {}), bead_id: mine}
            self.spent = {**self.spent, agent: of_agent}

    def saying(self, text: bytes) -> list[str]:
        """Return the claimed beads whose heads contain a text."""
        if self._said is None:
            texts = list(self.texts.values())
            self._said = b"".join(texts), list(accumulate(map(len, texts), initial=0)), list(self.texts)
        whole, begins, names = self._said
        found: list[str] = []
        at = whole.find(text)
        while at >= 0:
            number = bisect_right(begins, at) - 1
            if at + len(text) <= begins[number + 1]:
                found.append(names[number])
                at = whole.find(text, begins[number + 1])
            else:
                at = whole.find(text, at + 1)
        return found

    def one(self, bead_id: str) -> Kept | None:
        """Return a bead's file; of two with the same id, the active one."""
        files = self.beads.get(bead_id)
        return files[0] if files else None


def _head_of(fields: dict[str, Any]) -> dict[str, Any]:
    head = {key: value for key, value in fields.items() if key not in LONG_FIELDS}
    if fields.get("comments"):
        head["comment_count"] = len(fields["comments"])
    most = (fields.get("spec") or {}).get("max_cost_usd")
    return head if most is None else {**head, "max_cost_usd": most}


class Commits:
    """The parsed commits that the clones of a hub share."""

    def __init__(self) -> None:
        self._known: dict[str, Parsed] = {}
        self._rows: dict[tuple[str, str], Row | str] = {}
        self._marked = 0  # how many of the first are kept although they are old

    def at(self, repo: Repository, commit: str) -> Parsed:
        """Return a commit's files, from the newest known one before it."""
        found = self._known.get(commit)
        if found is not None:
            return found
        line = [commit]
        while parents := repo.objects.parents(line[-1])[:1]:  # type: ignore[attr-defined]
            if parents[0] in self._known:
                break
            line.append(parents[0])
        base = parents[0] if parents else None
        for one in reversed(line):
            entries = [entry for entry in entries_of(repo, base, one) if is_wanted(entry.path)]
            self._known[one] = (self._known[base] if base else Parsed()).after(self._parsed(repo, entries))
            base = one
        return self._known[commit]

    def _parsed(self, repo: Repository, entries: Sequence[Any]) -> Iterator[Row | str]:
        for entry in entries:
            key = entry.path, entry.oid or ""
            if key not in self._rows:
                self._rows[key] = next(iter(parse_entries(repo, [entry])))
            yield self._rows[key]

    def keep(self, commit: str, parsed: Parsed) -> None:
        """Keep a commit's files, as the clone that made it knows them."""
        self._known.setdefault(commit, parsed)

    def forget_old(self) -> None:
        """Forget most of the commits that were read long ago; one of them can still be read, from one before it that is kept."""
        if len(self._known) - self._marked > 2 * _RECENT:
            marked, old = list(self._known)[: self._marked], list(self._known)[self._marked : -_RECENT]
            kept = [*marked, old[-1], *list(self._known)[-_RECENT:]]
            self._known = {commit: self._known[commit] for commit in kept}
            self._marked += 1
            self._rows.clear()


class SharedCache:
    """What one clone reads, at one commit at a time."""

    def __init__(self, commits: Commits, repo: Repository) -> None:
        self._commits = commits
        self._repo = repo
        self._now = Parsed()
        self.commit: str | None = None

    def close(self) -> None:
        """Do nothing: others go on with it."""

    def move_to(self, commit: str, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Read this commit from now on."""
        if commit != self.commit:
            self._now = self._commits.at(self._repo, commit)
            self.commit = commit

    def advance(self, rows: Iterable[Row | str], commit: str) -> None:
        """Follow this clone's own write without reading it back."""
        self._commits.keep(commit, self._now.after(rows))

    def write_derived(self) -> None:
        """Do nothing: nothing is derived."""

    def derive(self, name: str, ids: Sequence[str], snapshot: Snapshot) -> Mapping[str, str]:
        """Return nothing: the caller computes it."""
        return {}

    def derive_later(self, snapshot: Snapshot, ids: Sequence[str]) -> None:
        """Do nothing."""

    def requires_signatures(self) -> bool:
        """Return whether unsigned commits count as not made."""
        found = self.record(CONFIG_PATH)
        return bool(found and hub_setting(found[2], "require_signed"))

    # --- beads ---

    def bead(self, bead_id: str) -> tuple[str, str, bool, dict[str, Any]] | None:
        found = self._now.one(bead_id)
        return found[:4] if found else None

    def head(self, bead_id: str) -> dict[str, Any] | None:
        found = self._now.one(bead_id)
        return found.head if found else None

    def heads(self, which: str = "every", arguments: Sequence[str | bytes] = ()) -> Iterator[dict[str, Any]]:
        """Yield heads; see `Cache.heads`."""
        now = self._now
        match which:
            case "every":
                return (kept.head for files in now.beads.values() for kept in files)
            case "live" | "claimed":
                return (kept.head for kept in (now.live if which == "live" else now.claimed).values())
            case "ended":
                every = (kept for files in now.beads.values() for kept in files)
                return (kept.head for kept in every if not kept.is_live and not kept.path.startswith(ARCHIVE_DIR))
            case "saying":
                return (now.claimed[bead_id].head for bead_id in now.saying(bytes(arguments[0])))  # type: ignore[arg-type]
            case "children" | "a child" | "mentioning":
                target = str(arguments[0])
                named = (now.one(bead_id) for bead_id in now.named_by.get(target) or ())
                found = sorted((kept for kept in named if kept is not None), key=lambda kept: kept.path)
                return (kept.head for kept in found if which == "mentioning" or kept.head.get("parent") == target)
        raise KeyError(which)

    def heads_of(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        return (kept.head for kept in map(self._now.one, ids) if kept is not None)

    def wholes(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {bead_id: kept.fields for bead_id in ids if (kept := self._now.one(bead_id)) is not None}

    def settled(self, sought: Sought) -> None:
        """Return nothing: every bead that may match is examined."""

    def unsettled(self, sought: Sought) -> Iterator[dict[str, Any]]:
        """Yield the heads of all beads that may match."""
        if sought.done:
            return self.heads()
        is_about_waiting = sought.phases and set(sought.phases) <= {"ready", "pending", "retrying"}
        return (kept.head for kept in (self._now.waiting if is_about_waiting else self._now.live).values())

    def dependent_counts(self, ids: Sequence[str]) -> dict[str, int]:
        found = {bead_id: list(self.heads("mentioning", (bead_id,))) for bead_id in ids}
        return {bead_id: sum(bead_id in one.get("depends_on", ()) for one in heads) for bead_id, heads in found.items()}

    def waiting_counts(self, ids: Sequence[str]) -> dict[str, int]:
        return {bead_id: len(others) for bead_id, others in self.waiters(ids).items()}

    def naming(self, ids: Collection[str]) -> set[str]:
        return {bead_id for target in ids for bead_id in self._now.named_by.get(target) or ()}

    def waiters(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the live beads that wait for each of these; beads with none are left out."""
        found: dict[str, list[str]] = {}
        for target in ids:
            for bead_id in self._now.named_by.get(target) or ():
                if bead_id in self._now.live and target in awaits(Bead(self._now.live[bead_id].head)):
                    found.setdefault(target, []).append(bead_id)
        return found

    def costly(self) -> list[str]:
        return sorted({bead_id for beads in self._now.spent.values() for bead_id, spent in beads.items() if spent})

    def spent_by(self, agent: str, since: str, now: str) -> float:
        every = (spent for mine in self._now.spent.get(agent, {}).values() for spent in mine)
        return sum(spent.usd for spent in every if spent.at >= since and (not spent.until or spent.until > now))

    def spent_under(self, root: str, now: str) -> float:
        inside, waiting = {root}, [root]
        while waiting:
            for head in self.heads("children", (waiting.pop(),)):
                if head["id"] not in inside:
                    inside.add(head["id"])
                    waiting.append(head["id"])
        every = (spent for beads in self._now.spent.values() for one in inside for spent in beads.get(one, ()))
        return sum(spent.usd for spent in every if not spent.until or spent.until > now)

    def id_of_uid(self, uid: str) -> str | None:
        return self._now.uids.get(uid)

    def ids_starting(self, text: str) -> list[str]:
        """Return the ids that start with the text, or whose suffix does."""
        return sorted(one for one in self._now.beads if one.startswith(text) or suffix_of(one).startswith(text))

    def bead_paths(self, folder: str) -> list[str]:
        every = (kept.path for files in self._now.beads.values() for kept in files)
        return sorted(path for path in every if path.startswith(folder))

    # --- records ---

    def record(self, path: str) -> tuple[str, bool, dict[str, Any]] | None:
        """Return (oid, is_simple, fields) of an agent, capacity or configuration file."""
        return self._now.folders.get(path.rpartition("/")[0], _EMPTY).files.get(path)

    def records(self, folder: str) -> Mapping[str, dict[str, Any]]:
        return self._now.folders.get(folder.rstrip("/"), _EMPTY).fields

    def damages(self) -> list[Damage]:
        return [Damage(path, reason) for path, reason in sorted(self._now.damages.items())]
