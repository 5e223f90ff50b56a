"""The parsed files of one commit, kept in SQLite and brought forward by tree difference alone.

Belongs here: keeping what was parsed. Freshness is decided by object names, never by time;
deleting the file changes no answer. Where it can't be kept (a read-only clone, a full disk) the
same thing lives in memory for one command.

A bead is parsed once per content. Rows hold its head (what lists and policy look at) and its
body (the long fields) apart, so that reading ten thousand beads does not read their texts.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sqlite3

from bd.fields import ARCHIVE_DIR, BEADS_DIR, CAPACITY_DIR, DONE_STATUSES, LONG_FIELDS
from bd.model import Damage, suffix_of
from bd.store.files import Row, is_wanted, parse_entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.store.gitrepo import GitRepo

SCHEMA = 7
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE beads (
  path TEXT PRIMARY KEY, id TEXT, oid TEXT, uid TEXT, suffix TEXT,
  live INTEGER, claimed INTEGER, simple INTEGER, head BLOB, body BLOB);
CREATE INDEX beads_id ON beads (id);
CREATE INDEX beads_suffix ON beads (suffix);
CREATE INDEX beads_uid ON beads (uid);
CREATE INDEX beads_live ON beads (live) WHERE live = 1;
CREATE INDEX beads_claimed ON beads (claimed) WHERE claimed = 1;
CREATE TABLE edges (path TEXT, target TEXT, waits INTEGER);
CREATE INDEX edges_target ON edges (target);
CREATE INDEX edges_path ON edges (path);
CREATE TABLE records (path TEXT PRIMARY KEY, oid TEXT, simple INTEGER, fields BLOB) WITHOUT ROWID;
CREATE TABLE rendered (path TEXT PRIMARY KEY, id TEXT, text TEXT) WITHOUT ROWID;
CREATE TABLE damages (path TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
"""
# What nearly every head has, kept as a tuple in this order: half the time of a dictionary to load.
_HEAD_KEYS = (
    "id",
    "title",
    "type",
    "status",
    "priority",
    "created_at",
    "updated_at",
    "labels",
    "depends_on",
    "parent",
    "assignee",
    "closed_at",
)
_DOUBLED = "(SELECT id FROM beads GROUP BY id HAVING count(*) > 1)"
_HEAD_SET = frozenset(_HEAD_KEYS)
_BUSY_S = 10.0
# What SQLite says of a file that is no cache of ours any more; everything else (busy, full, read-only) passes.
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Cache:
    """The open cache. `commit` is what it holds; `move_to` brings it to another commit."""

    def __init__(self, path: str | None, repo: GitRepo) -> None:
        self._repo = repo
        self._path = path
        self._db = self._open(path)
        self.commit = self._meta("commit")

    # --- opening ---

    def _open(self, path: str | None) -> sqlite3.Connection:
        if path is None:
            return self._fresh(":memory:")
        try:
            db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=OFF")
            row = db.execute("PRAGMA user_version").fetchone()
            if row[0] != SCHEMA:
                db.close()
                return self._rebuilt(path)
            return db
        except sqlite3.DatabaseError:
            return self._rebuilt(path)

    def _rebuilt(self, path: str) -> sqlite3.Connection:
        """A new cache file in the place of one of another version, or of a damaged one."""
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            fresh = f"{path}.{os.getpid()}"
            for leftover in (fresh, f"{fresh}-wal", f"{fresh}-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(leftover)
            db = self._fresh(fresh)
            db.close()
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path + suffix)
            os.replace(fresh, path)
            db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=OFF")
            return db
        except (OSError, sqlite3.DatabaseError):
            self._path = None
            return self._fresh(":memory:")

    def _fresh(self, path: str) -> sqlite3.Connection:
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript(_TABLES)
        db.execute(f"PRAGMA user_version={SCHEMA}")
        return db

    def close(self) -> None:
        self._db.close()

    def _meta(self, key: str) -> str | None:
        try:
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        except sqlite3.DatabaseError:
            return None
        return row[0] if row else None

    def _ask(self, query: str, arguments: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query. Where the file turns out to be damaged, memory answers instead, from the same commit."""
        try:
            return self._db.execute(query, arguments).fetchall()
        except sqlite3.DatabaseError as error:
            if self._path is None or self.commit is None:
                raise
            self._leave(self.commit, None, error)
            return self._db.execute(query, arguments).fetchall()

    # --- moving ---

    def hold(self, commit: str) -> bool:
        """Begin a read transaction: from now on the cache stays at one commit. Whether it is this one."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._db.execute("BEGIN")
        self.commit = self._meta("commit")
        return self.commit == commit

    def move_to(self, commit: str, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Bring the cache to a commit. Parses only what differs. Falls back to memory when the file can't be written."""
        try:
            if self.hold(commit):
                return
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            self.commit = self._meta("commit")
            if self.commit != commit:
                self._forward(commit, on_progress)
            self._db.execute("COMMIT")
            self._db.execute("BEGIN")
            self.commit = self._meta("commit")
            if self.commit != commit:  # another command moved it on in between
                self._leave(commit, on_progress)
        except sqlite3.DatabaseError as error:
            self._leave(commit, on_progress, error)

    def _leave(
        self, commit: str, on_progress: Callable[[int, int], None] | None, error: sqlite3.DatabaseError | None = None
    ) -> None:
        """Go on in memory; a damaged file is removed, so that the next command makes it anew."""
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        if self._path and error is not None and error.sqlite_errorcode & 0xFF in _DAMAGED:
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(self._path + suffix)
        self._path = None
        self._db = self._fresh(":memory:")
        self.commit = None
        self._db.execute("BEGIN")
        self._forward(commit, on_progress)

    def _forward(self, commit: str, on_progress: Callable[[int, int], None] | None) -> None:
        known = self.commit if self.commit and self._repo.objects.read(self.commit) is not None else None
        if known is None:
            for table in ("beads", "edges", "records", "damages", "rendered"):
                self._db.execute(f"DELETE FROM {table}")
        entries = self._repo.diff(known, commit, *(folder.rstrip("/") for folder in (BEADS_DIR, ".beads", CAPACITY_DIR)))
        self.store(parse_entries(self._repo, [e for e in entries if is_wanted(e.path)], on_progress), commit)

    def store(self, rows: Iterable[Row | str], commit: str) -> None:
        """Put parsed files in (a bare path removes one) and say which commit this is now."""
        db = self._db
        for row in rows:
            path = row if isinstance(row, str) else row.path
            db.execute("DELETE FROM edges WHERE path = ?", (path,))
            db.execute("DELETE FROM beads WHERE path = ?", (path,))
            db.execute("DELETE FROM records WHERE path = ?", (path,))
            db.execute("DELETE FROM damages WHERE path = ?", (path,))
            db.execute("DELETE FROM rendered WHERE path = ?", (path,))
            if isinstance(row, str):
                continue
            if row.reason is not None or row.fields is None:
                db.execute("INSERT INTO damages VALUES (?, ?)", (path, row.reason))
            elif path.startswith(BEADS_DIR):
                self._store_bead(row, row.fields)
            else:
                blob = marshal.dumps(row.fields)
                db.execute("INSERT INTO records VALUES (?, ?, ?, ?)", (path, row.oid, row.is_simple, blob))
        db.execute("INSERT OR REPLACE INTO meta VALUES ('commit', ?)", (commit,))
        self.commit = commit

    def advance(self, rows: Iterable[Row | str], commit: str) -> None:
        """Follow a write of our own without reading it back; left for the next reader when the file is busy."""
        before = self.commit
        try:
            if self._db.in_transaction:
                self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            if self._meta("commit") == before:
                self.store(rows, commit)
            self._db.execute("COMMIT")
            self._db.execute("BEGIN")
        except sqlite3.DatabaseError:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def _store_bead(self, row: Row, fields: dict[str, Any]) -> None:
        head = {key: value for key, value in fields.items() if key not in LONG_FIELDS}
        if fields.get("comments"):
            head["comment_count"] = len(fields["comments"])
        body = {key: value for key, value in fields.items() if key in LONG_FIELDS}
        live = fields["status"] not in DONE_STATUSES and not row.path.startswith(ARCHIVE_DIR)
        held = bool(fields.get("claim") or fields.get("claims"))
        self._db.execute(
            "INSERT INTO beads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.path,
                fields["id"],
                row.oid,
                fields.get("uid"),
                suffix_of(fields["id"]),
                live,
                held,
                row.is_simple,
                _packed(head),
                marshal.dumps(body) if body else None,
            ),
        )
        targets = {*fields.get("depends_on", []), *(link["id"] for link in fields.get("links", []) if "id" in link)}
        if fields.get("parent"):
            targets.add(fields["parent"])
        waits = set(fields.get("depends_on", []))
        self._db.executemany("INSERT INTO edges VALUES (?, ?, ?)", [(row.path, target, target in waits) for target in targets])

    # --- reading ---

    def bead(self, bead_id: str) -> tuple[str, str, bool, dict[str, Any]] | None:
        """(path, oid, is_simple, whole fields) of a bead; an active file wins over an archived one."""
        query = "SELECT path, oid, simple, head, body FROM beads WHERE id = ? ORDER BY length(path) LIMIT 1"
        rows = self._ask(query, (bead_id,))
        if not rows:
            return None
        row = rows[0]
        return row[0], row[1], bool(row[2]), _whole(row[3], row[4])

    def head(self, bead_id: str) -> dict[str, Any] | None:
        rows = self._ask("SELECT head FROM beads WHERE id = ? ORDER BY length(path) LIMIT 1", (bead_id,))
        return _unpacked(rows[0][0]) if rows else None

    def heads(self, which: str = "every", arguments: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """The heads of `every`, the `live`, the `claimed`, the `ended` beads, or of those `mentioning` an id."""
        where = {
            "every": "",
            "live": "WHERE live = 1",
            "claimed": "WHERE claimed = 1",
            "ended": f"WHERE live = 0 AND path NOT LIKE '{ARCHIVE_DIR}%' AND id NOT IN {_DOUBLED}",
            "mentioning": "WHERE path IN (SELECT path FROM edges WHERE target = ?)",
        }[which]
        for (blob,) in self._ask(f"SELECT head FROM beads {where}", arguments):
            yield _unpacked(blob)

    def wholes(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The whole fields of many beads, by id."""
        found: dict[str, dict[str, Any]] = {}
        for chunk in _chunks(ids):
            query = f"SELECT head, body FROM beads WHERE id IN ({','.join('?' * len(chunk))}) ORDER BY length(path) DESC"
            for head, body in self._ask(query, chunk):
                fields = _whole(head, body)
                found[fields["id"]] = fields
        return found

    def rendered(self, ids: Sequence[str]) -> dict[str, str]:
        """What `keep_rendered` was given for these beads, where they have not changed since."""
        found: dict[str, str] = {}
        for chunk in _chunks(ids):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT r.id, r.text FROM rendered r JOIN beads b ON b.path = r.path WHERE r.id IN ({marks})"
            found.update(self._ask(query, chunk))
        return found

    def keep_rendered(self, texts: Mapping[str, str]) -> None:
        """Keep a text worked out from each of these beads alone, by id, until the bead changes. Best effort."""
        before = self.commit
        try:
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            if self._meta("commit") == before:
                paths = ((text, bead_id) for bead_id, text in texts.items())
                query = "INSERT OR REPLACE INTO rendered SELECT path, id, ? FROM beads WHERE id = ? ORDER BY length(path) LIMIT 1"
                self._db.executemany(query, paths)
            self._db.execute("COMMIT")
            self._db.execute("BEGIN")
        except sqlite3.DatabaseError:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def dependent_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """How many beads wait for each of these by depends_on; none are left out."""
        found: dict[str, int] = {}
        for chunk in _chunks(ids):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT target, count(*) FROM edges WHERE target IN ({marks}) AND waits = 1 GROUP BY target"
            found.update(dict(self._ask(query, chunk)))
        return found

    def id_of_uid(self, uid: str) -> str | None:
        rows = self._ask("SELECT id FROM beads WHERE uid = ? LIMIT 1", (uid,))
        return rows[0][0] if rows else None

    def ids_starting(self, text: str) -> list[str]:
        """The ids, and the ids whose suffix, start with the text."""
        high = text + "\U0010ffff"
        query = "SELECT id FROM beads WHERE id >= ? AND id < ? UNION SELECT id FROM beads WHERE suffix >= ? AND suffix < ?"
        return [row[0] for row in self._ask(query, (text, high, text, high))]

    def record(self, path: str) -> tuple[str, bool, dict[str, Any]] | None:
        """(oid, is_simple, fields) of an agent, capacity or configuration file."""
        rows = self._ask("SELECT oid, simple, fields FROM records WHERE path = ?", (path,))
        return (rows[0][0], bool(rows[0][1]), marshal.loads(rows[0][2])) if rows else None

    def records(self, folder: str) -> dict[str, dict[str, Any]]:
        query = "SELECT path, fields FROM records WHERE path >= ? AND path < ?"
        rows = self._ask(query, (folder, folder + "\U0010ffff"))
        return {path[len(folder) :].removesuffix(".yaml"): marshal.loads(blob) for path, blob in rows}

    def damages(self) -> list[Damage]:
        found = [Damage(path, reason) for path, reason in self._ask("SELECT path, reason FROM damages")]
        return sorted(found)

    def doubles(self) -> list[Damage]:
        """Ids that two files claim to be, also where only their case differs (case-insensitive file systems)."""
        query = "SELECT lower(id), group_concat(path, ' and ') FROM beads GROUP BY lower(id) HAVING count(*) > 1"
        return [Damage(paths, f"hold the same id {bead_id}") for bead_id, paths in self._ask(query)]

    def counts(self) -> tuple[int, int]:
        """(beads, files that can't be read)."""
        beads = self._ask("SELECT count(*) FROM beads")[0][0]
        return beads, self._ask("SELECT count(*) FROM damages")[0][0]


def _packed(head: dict[str, Any]) -> bytes:
    rest = {key: value for key, value in head.items() if key not in _HEAD_SET}
    return marshal.dumps((*(head.get(key) for key in _HEAD_KEYS), rest or None))


def _unpacked(blob: bytes) -> dict[str, Any]:
    *values, rest = marshal.loads(blob)
    fields = {key: value for key, value in zip(_HEAD_KEYS, values, strict=True) if value is not None}
    if rest:
        fields.update(rest)
    return fields


def _whole(head: bytes, body: bytes | None) -> dict[str, Any]:
    fields = _unpacked(head)
    fields.pop("comment_count", None)
    if body:
        fields.update(marshal.loads(body))
    return fields


def _chunks(ids: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
