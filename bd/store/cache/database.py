"""The cache's SQLite file: its tables, opening it, and replacing a bad one.

The only importer of sqlite3. rows.py defines what the rows mean; cache.py writes them.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress

from bd.core import files

# The version of the table layout, for tools that open the file; the version of the code that filled it is in the file's name
# (paths.py).
SCHEMA = 15
# `rank` and `made` give a calm bead's place in lists. `phase` is a bead's phase by policy, and `place` a ready bead's place in
# the order of work, `since` when it has been ready; all are NULL while unknown. `texts` holds other derived values.
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE beads (
  n INTEGER PRIMARY KEY, path TEXT, id TEXT, oid TEXT, uid TEXT, suffix TEXT, simple INTEGER,
  live INTEGER, claimed INTEGER, calm INTEGER, status TEXT, type TEXT, priority INTEGER, assignee TEXT, parent TEXT,
  rank REAL, made TEXT, phase TEXT, place REAL, since TEXT);
CREATE TABLE heads (n INTEGER PRIMARY KEY, head BLOB);
CREATE TABLE bodies (n INTEGER PRIMARY KEY, body BLOB);
CREATE TABLE edges (n INTEGER, target TEXT, weight INTEGER);
CREATE TABLE costs (n INTEGER, agent TEXT, at TEXT, usd REAL, until TEXT);
CREATE TABLE texts (kind TEXT, n INTEGER, text TEXT);
CREATE TABLE records (path TEXT PRIMARY KEY, oid TEXT, simple INTEGER, fields BLOB) WITHOUT ROWID;
CREATE TABLE damages (path TEXT PRIMARY KEY, reason TEXT) WITHOUT ROWID;
CREATE TABLE unknown_keys (path TEXT, key TEXT, nearest TEXT, reported INTEGER);
"""
# Separate from the tables: filling a new cache and then creating these is much faster.
INDEXES = {
    "beads_path": "UNIQUE INDEX beads_path ON beads (path)",
    "beads_id": "INDEX beads_id ON beads (id)",
    "beads_suffix": "INDEX beads_suffix ON beads (suffix)",
    "beads_uid": "INDEX beads_uid ON beads (uid)",
    "beads_claimed": "INDEX beads_claimed ON beads (claimed) WHERE claimed = 1",
    "beads_order": "INDEX beads_order ON beads (rank, made, id, path, calm, status)",
    "beads_live": "INDEX beads_live ON beads (rank, made, id, path, calm, live, status, type) WHERE live = 1",
    "beads_phase": "INDEX beads_phase ON beads (phase, rank, made, id, path, calm, live) WHERE phase IS NOT NULL",
    "beads_work": "INDEX beads_work ON beads (place, made, id, path, calm, live) WHERE place IS NOT NULL",
    "beads_age": "INDEX beads_age ON beads (since, made, id, path, calm, live) WHERE since IS NOT NULL",
    "beads_unknown": "INDEX beads_unknown ON beads (n) WHERE live = 1 AND phase IS NULL",
    "beads_moving": "INDEX beads_moving ON beads (live) WHERE calm = 0",
    "edges_target": "INDEX edges_target ON edges (target)",
    "edges_n": "INDEX edges_n ON edges (n)",
    "costs_agent": "INDEX costs_agent ON costs (agent, at)",
    "costs_n": "INDEX costs_n ON costs (n)",
    "beads_parent": "INDEX beads_parent ON beads (parent) WHERE parent != ''",
    "unknown_keys_path": "INDEX unknown_keys_path ON unknown_keys (path)",
    "texts_n": "UNIQUE INDEX texts_n ON texts (n, kind)",
}
_BUSY_S = 10.0
# SQLite errors that mean the file is no longer a usable cache; all others (busy, full, read-only) are temporary.
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
Error = sqlite3.DatabaseError
Connection = sqlite3.Connection


class Unsound(sqlite3.DatabaseError):
    """SQLite returned a row that bd did not write."""


def opened(path: str) -> Connection | None:
    """Open the cache file, rebuilding one of another version or a damaged one. None if there can't be one."""
    try:
        db = _connected(path)
        if db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA:
            return db
        db.close()
    except sqlite3.DatabaseError:
        pass
    return _rebuilt(path)


def _connected(path: str) -> Connection:
    db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=OFF")
    return db


def _rebuilt(path: str) -> Connection | None:
    """Replace the cache file by a new, empty one."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fresh = f"{path}.{os.getpid()}"
        for leftover in (fresh, f"{fresh}-wal", f"{fresh}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(leftover)
        os.close(
            files.private(fresh, os.O_RDWR | os.O_CREAT)
        )  # it has the claims' tokens; SQLite's files beside it get its rights
        _made(fresh).close()
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(path + suffix)
        os.replace(fresh, path)
        return _connected(path)
    except (OSError, sqlite3.DatabaseError):
        return None


def in_memory() -> Connection:
    """Return an empty cache in memory. As in a new file, there are no indexes before it is filled."""
    return _made(":memory:")


def _made(path: str) -> Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous=OFF")
    db.executescript(f"BEGIN; {_TABLES}")
    db.execute(f"PRAGMA user_version={SCHEMA}")
    db.execute("COMMIT")
    return db


def empty(db: Connection) -> None:
    """Remove all rows, and the indexes: `index` makes them again."""
    for name in INDEXES:
        db.execute(f"DROP INDEX IF EXISTS {name}")
    for table in ("beads", "heads", "bodies", "edges", "costs", "texts", "records", "damages", "unknown_keys"):
        db.execute(f"DELETE FROM {table}")
    db.execute("PRAGMA cache_size=-32000")  # in kilobytes: filling a whole cache needs much


def index(db: Connection) -> None:
    """Create the indexes that are not there yet."""
    for words in INDEXES.values():
        db.execute(f"CREATE {words.replace('INDEX', 'INDEX IF NOT EXISTS', 1)}")


def is_damage(error: Exception) -> bool:
    """Return whether the file itself is damaged."""
    return isinstance(error, Unsound) or getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _DAMAGED


def remove(path: str) -> None:
    """Remove a cache file, so that the next command rebuilds it."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            os.unlink(path + suffix)


class beside:  # noqa: N801  used as a function
    """A second connection for writing while the first keeps its read transaction. Does not wait for locks."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, timeout=0, isolation_level=None)

    def __enter__(self) -> Connection:
        try:
            self._db.execute("PRAGMA synchronous=OFF")
            self._db.execute("PRAGMA wal_autocheckpoint=0")  # a checkpoint can't move what a reader still uses
            self._db.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._db.close()
            raise
        return self._db

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._db.execute("COMMIT")
        finally:
            self._db.close()
