"""The nouns: Bead, Claim, Damage, Snapshot, Change. Frozen values; no I/O, no policy.

Plain classes and Values (value.py) instead of dataclasses, which would slow down the start of every claim.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.costs import Ledger, LedgerOverlay
from bd.core.pools import file_of
from bd.core.queries import Recall, RecallOverlay, awaits, mentions
from bd.core.schema import ARCHIVE_DIR, CONFIG_PATH, DONE_STATUSES, bead_path, capacity_path, suffix_of
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from bd.core.errors import BdError


class Claim(Value):
    """The holder of a bead; exists only while the bead is claimed. Instants are canonical texts."""

    agent: str
    token: str
    attempt: int
    claimed_at: str
    started_at: str | None = None
    expires_at: str | None = None
    routed: str | None = None


class Link(Value):
    """An edge to another bead. Its type says whether it blocks or only informs."""

    type: str
    id: str


class Bead:
    """One bead: an immutable mapping of the keys of `BEAD_FIELDS`, and unknown ones.

    Unset keys are absent, never None. Instants are canonical RFC 3339 texts. A *head* lacks `LONG_FIELDS`; lists and policy use
    heads, but only whole beads are rewritten.
    """

    __slots__ = ("fields",)
    fields: Mapping[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "fields", fields)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a bead is immutable: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bead) and dict(self.fields) == dict(other.fields)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Bead({self.id!r}, {self.status!r})"

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default if it is unset."""
        return self.fields.get(key, default)

    def evolve(self, **changes: Any) -> Bead:
        """Return a new bead with these keys set. None, an empty text, list or map unsets a key."""
        fields = dict(self.fields)
        for key, value in changes.items():
            if value is None or value == "" or value == [] or value == {}:
                fields.pop(key, None)
            else:
                fields[key] = value
        return Bead(fields)

    @property
    def id(self) -> str:
        return self.fields["id"]  # type: ignore[no-any-return]

    @property
    def uid(self) -> str | None:
        return self.fields.get("uid")

    @property
    def title(self) -> str:
        return self.fields.get("title", "")  # type: ignore[no-any-return]

    @property
    def type(self) -> str:
        return self.fields.get("type", "task")  # type: ignore[no-any-return]

    @property
    def status(self) -> str:
        return self.fields.get("status", "open")  # type: ignore[no-any-return]

    @property
    def priority(self) -> int:
        """0 (critical) to 4 (background); 2 when unset."""
        return self.fields.get("priority", 2)  # type: ignore[no-any-return]

    @property
    def labels(self) -> list[str]:
        return self.fields.get("labels", [])  # type: ignore[no-any-return]

    @property
    def assignee(self) -> str | None:
        return self.fields.get("assignee")

    @property
    def owner(self) -> str | None:
        return self.fields.get("owner")

    @property
    def parent(self) -> str | None:
        return self.fields.get("parent")

    @property
    def depends_on(self) -> list[str]:
        return self.fields.get("depends_on", [])  # type: ignore[no-any-return]

    @property
    def links(self) -> list[Link]:
        return [Link(link.get("type", "related"), link["id"]) for link in self.fields.get("links", []) if "id" in link]

    @property
    def claim(self) -> Claim | None:
        held = self.fields.get("claim")
        if not held:
            return None
        since = held.get("claimed_at") or self.fields.get("claimed_at", "")
        rest = held.get("started_at"), held.get("expires_at"), held.get("routed")
        return Claim(held["agent"], held["token"], held.get("attempt", 1), since, *rest)

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The maps of all its claims: the one claim, or those of an advisory bead, including expired ones."""
        held = self.fields.get("claim")
        return [held] if held else self.fields.get("claims", [])

    @property
    def tokens(self) -> list[str]:
        """The tokens of `claims`."""
        return [claim["token"] for claim in self.claims if claim.get("token")]

    def claim_under(self, token: str | None) -> dict[str, Any] | None:
        """Return the claim that is held under a token; None without one."""
        return next((claim for claim in self.claims if token and claim.get("token") == token), None)

    @property
    def holders(self) -> list[str]:
        """The agents of `claims`."""
        return [claim["agent"] for claim in self.claims if claim.get("agent")]

    @property
    def attempts(self) -> int:
        return self.fields.get("attempts", 0)  # type: ignore[no-any-return]

    @property
    def attempts_counted(self) -> int:
        """The attempts that count against limits: those made, less those forgiven."""
        forgiven: int = self.fields.get("attempts_forgiven", 0)
        return max(0, self.attempts - forgiven)

    @property
    def created_at(self) -> str:
        return self.fields.get("created_at", "")  # type: ignore[no-any-return]

    @property
    def updated_at(self) -> str:
        return self.fields.get("updated_at", "") or self.created_at

    @property
    def comments(self) -> list[dict[str, str]]:
        return self.fields.get("comments", [])  # type: ignore[no-any-return]

    @property
    def is_done(self) -> bool:
        return self.status in DONE_STATUSES


class Damage(Value):
    """A file of the hub that can't be read, and why."""

    path: str
    reason: str


class Snapshot(Recall, Ledger):
    """Every bead and record of a hub at one commit. The base class of the stores' snapshots.

    Subclasses provide `commit`, `damages` and the methods that raise NotImplementedError here. Iterating methods may yield heads;
    `bead` and `by_uid` always return whole beads.
    """

    commit: str = ""
    # Capacity records by agent, as reported in side refs since the agent's last commit.
    heard: Mapping[str, Mapping[str, Any]] = {}
    # When this clone last fetched those; silence since then means nothing. None: judge by the current time.
    listened_at: str | None = None

    @property
    def damages(self) -> list[Damage]:
        raise NotImplementedError

    def bead(self, bead_id: str) -> Bead | None:
        raise NotImplementedError

    def head(self, bead_id: str) -> Bead | None:
        return self.bead(bead_id)

    def by_uid(self, uid: str) -> Bead | None:
        raise NotImplementedError

    def every(self) -> Iterator[Bead]:
        """Yield every bead, including archived ones."""
        raise NotImplementedError

    def live(self) -> Iterator[Bead]:
        """Yield every bead that is not done (closed, cancelled or archived)."""
        raise NotImplementedError

    def ended(self) -> Iterator[Bead]:
        """Yield every bead that is done and not archived."""
        return (bead for bead in self.every() if bead.is_done and not self.path_of(bead.id).startswith(ARCHIVE_DIR))

    def claimed(self, saying: str | None = None) -> Iterator[Bead]:
        """Yield every claimed bead; with `saying`, at least those whose fields contain that text, such as a name or a token."""
        return (bead for bead in self.live() if bead.get("claim") or bead.get("claims"))

    def mentioning(self, bead_id: str) -> list[Bead]:
        """Return the beads that name this one as dependency, parent or link."""
        raise NotImplementedError

    def starting(self, text: str) -> list[str]:
        """Return the ids that start with the text, or whose part after the prefix does."""
        raise NotImplementedError

    def path_of(self, bead_id: str) -> str:
        """Return the hub path of a bead's file: where it is, or where it would be created."""
        raise NotImplementedError

    def bead_paths(self, folder: str) -> list[str]:
        """Return the hub paths of the bead files below a folder."""
        return [path for path in (self.path_of(bead.id) for bead in self.every()) if path.startswith(folder)]

    def record(self, path: str) -> Mapping[str, Any] | None:
        """Return the fields of the YAML file at the path (an agent, a capacity file, the configuration)."""
        raise NotImplementedError

    def records(self, folder: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the fields of each YAML file below the folder, by file name without extension."""
        raise NotImplementedError

    def files_changed(self) -> Mapping[str, bytes | None]:
        """Return the files that are neither bead nor record and differ from the commit; None for a deleted one."""
        return {}

    # --- derived, the same for every store (some have a faster way) ---

    def wholes(self, ids: list[str]) -> list[Bead]:
        """Return the whole beads of these ids, in this order, without unknown ones."""
        return [bead for bead in (self.bead(bead_id) for bead_id in ids) if bead is not None]

    def heads(self, ids: Iterable[str]) -> list[Bead]:
        """Return the beads of these ids, in this order, without unknown ones."""
        return [bead for bead in map(self.head, ids) if bead is not None]

    def dependent_counts(self, ids: list[str]) -> dict[str, int]:
        """Return how many beads depend on each of these by depends_on; beads with none may be left out."""
        return {bead_id: len(self.dependents_of(bead_id)) for bead_id in ids}

    def exists(self, bead_id: str) -> bool:
        return self.head(bead_id) is not None

    def children_of(self, bead_id: str) -> list[Bead]:
        return [bead for bead in self.mentioning(bead_id) if bead.parent == bead_id]

    def has_children(self, bead_id: str) -> bool:
        return bool(self.children_of(bead_id))

    def dependents_of(self, bead_id: str) -> list[Bead]:
        return [bead for bead in self.mentioning(bead_id) if bead_id in bead.depends_on]

    def agent(self, name: str) -> Mapping[str, Any] | None:
        """Return an agent's file; for a member of a pool, its pool's."""
        return file_of(name, self)

    def capacity(self, name: str) -> Mapping[str, Any] | None:
        """Return an agent's latest capacity record: the tracked file, or what the agent reported since."""
        said = [record for record in (self.heard.get(name), self.record(capacity_path(name))) if record is not None]
        return max(said, key=lambda record: record.get("last_heartbeat") or "", default=None)

    def config(self) -> Mapping[str, Any]:
        return self.record(CONFIG_PATH) or {}


class Change(Value):
    """The effect of an operation on a snapshot: whole beads (None deletes), records, raw files; and its texts.

    `subject` is the first line of the commit, `touched` the ids to show, `notes` lines for people, `result` the command's answer.
    `texts` are files that a person edited, by path: the bead or record is written into that text, so that comments and spacing
    are kept. `modes` are git's modes of the `files`, where they matter. `moves` are new paths for the files of done beads.
    `failures` are the beads that failed, as JSON; `refusals` are the refused parts of a hand-made commit, whose other parts go
    through.
    """

    beads: Mapping[str, Bead | None]
    subject: str
    records: Mapping[str, Mapping[str, Any] | None] = {}
    files: Mapping[str, bytes | None] = {}
    modes: Mapping[str, str] = {}
    texts: Mapping[str, bytes] = {}
    moves: Mapping[str, str] = {}
    touched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tokens: tuple[tuple[str, str], ...] = ()
    failures: tuple[Mapping[str, Any], ...] = ()
    result: Any = None
    refusals: tuple[BdError, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.beads or self.records or self.files or self.moves)


class Overlay(LedgerOverlay, RecallOverlay, Snapshot):
    """A snapshot as it would be after a change: the base of the next operation in a chain."""

    def __init__(self, below: Snapshot, change: Change) -> None:
        self._below: Snapshot = below
        self._beads: Mapping[str, Bead | None] = change.beads
        self._records = change.records
        self._files = change.files
        self._moves = change.moves
        # By parent: a large plan asks for the children of each of its beads.
        self._children: dict[str, list[Bead]] = {}
        for bead in self._over(()):
            if bead.parent:
                self._children.setdefault(bead.parent, []).append(bead)
        self.commit, self.heard, self.listened_at = below.commit, below.heard, below.listened_at

    @property
    def damages(self) -> list[Damage]:
        return self._below.damages

    def bead(self, bead_id: str) -> Bead | None:
        return self._beads[bead_id] if bead_id in self._beads else self._below.bead(bead_id)

    def head(self, bead_id: str) -> Bead | None:
        return self._beads[bead_id] if bead_id in self._beads else self._below.head(bead_id)

    def heads(self, ids: Iterable[str]) -> list[Bead]:
        wanted = list(ids)
        below = {bead.id: bead for bead in self._below.heads([one for one in wanted if one not in self._beads])}
        found = [self._beads[one] if one in self._beads else below.get(one) for one in wanted]
        return [bead for bead in found if bead is not None]

    def by_uid(self, uid: str) -> Bead | None:
        for bead in self._beads.values():
            if bead is not None and bead.uid == uid:
                return bead
        found = self._below.by_uid(uid)
        return None if found is not None and found.id in self._beads else found

    def _over(self, below: Iterable[Bead]) -> Iterator[Bead]:
        yield from (bead for bead in below if bead.id not in self._beads)
        yield from (bead for bead in self._beads.values() if bead is not None)

    def every(self) -> Iterator[Bead]:
        return self._over(self._below.every())

    def live(self) -> Iterator[Bead]:
        return (bead for bead in self._over(self._below.live()) if not bead.is_done)

    def ended(self) -> Iterator[Bead]:
        changed = {**self._beads, **self._moves}
        yield from (bead for bead in self._below.ended() if bead.id not in changed)
        yield from (bead for bead in self.heads(changed) if bead.is_done and not self.path_of(bead.id).startswith(ARCHIVE_DIR))

    def bead_paths(self, folder: str) -> list[str]:
        changed = {**self._beads, **self._moves}
        below = [path for path in self._below.bead_paths(folder) if path.rpartition("/")[2].removesuffix(".yaml") not in changed]
        return below + [path for path in (self.path_of(bead.id) for bead in self.heads(changed)) if path.startswith(folder)]

    def claimed(self, saying: str | None = None) -> Iterator[Bead]:
        return (bead for bead in self._over(self._below.claimed(saying)) if bead.get("claim") or bead.get("claims"))

    def mentioning(self, bead_id: str) -> list[Bead]:
        return [bead for bead in self._over(self._below.mentioning(bead_id)) if bead_id in mentions(bead)]

    def children_of(self, bead_id: str) -> list[Bead]:
        kept = [bead for bead in self._below.children_of(bead_id) if bead.id not in self._beads]
        return kept + self._children.get(bead_id, [])

    def waiters(self, ids: list[str]) -> dict[str, list[str]]:
        found = {target: [one for one in others if one not in self._beads] for target, others in self._below.waiters(ids).items()}
        for bead in self._over(()):
            for target in awaits(bead).intersection(() if bead.is_done else ids):
                found.setdefault(target, []).append(bead.id)
        return found

    def starting(self, text: str) -> list[str]:
        kept = [i for i in self._below.starting(text) if self._beads.get(i, True) is not None]
        new = [i for i, b in self._beads.items() if b is not None and (i.startswith(text) or suffix_of(i).startswith(text))]
        return sorted({*kept, *new})

    def path_of(self, bead_id: str) -> str:
        if bead_id not in self._beads and bead_id not in self._moves:
            return self._below.path_of(bead_id)
        bead = self.head(bead_id)
        if bead is None or not bead.is_done:  # beads that are not done are never archived
            return bead_path(bead_id)
        if bead_id in self._moves:
            return self._moves[bead_id]
        return self._below.path_of(bead_id) if self._below.exists(bead_id) else bead_path(bead_id)

    def record(self, path: str) -> Mapping[str, Any] | None:
        return self._records[path] if path in self._records else self._below.record(path)

    def files_changed(self) -> Mapping[str, bytes | None]:
        return {**self._below.files_changed(), **self._files}

    def records(self, folder: str) -> Mapping[str, Mapping[str, Any]]:
        place, end = len(folder), -len(".yaml")
        own = {path[place:end]: fields for path, fields in self._records.items() if path.startswith(folder)}
        return {name: fields for name, fields in {**self._below.records(folder), **own}.items() if fields is not None}
