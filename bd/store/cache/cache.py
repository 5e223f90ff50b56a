"""The parsed files of one commit in SQLite, moved forward by tree differences alone.

Object names decide what is up to date, never times; deleting the file changes no answer. If the file can't be written (a
read-only clone, a full disk), the cache lives in memory for one command.

A bead is parsed once per content. What is derived from beads is kept until a bead that it depends on changes (derived.py). It is
computed here, by the derivations the cache was given, and written once the caller has its answer.
"""

from __future__ import annotations

from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core.known_keys import UnknownKey
from bd.core.model import Damage
from bd.core.queries import recounted
from bd.core.schema import ARCHIVE_DIR, BEADS_DIR, CAPACITY_DIR, CONFIG_PATH, SIGNERS_PATH, is_volume, volume_of
from bd.core.settings import hub_setting
from bd.store.cache import database, derived
from bd.store.cache.derived import chunks, marks
from bd.store.cache.rows import DEPENDS, WAITS, Packed, head_of, is_sealed, opened, packed, whole_of
from bd.store.hub_files import Row, entries_of, is_wanted, parse_entries
from bd.store.trust import state

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from bd.core.known_keys import UnknownKey
    from bd.core.model import Snapshot
    from bd.core.queries import Derivation, Derive, Sought
    from bd.core.runtime import Runtime
    from bd.store.contract import Entry, Repository
    from bd.store.trust.authority import Standing

_DOUBLED = "(SELECT id FROM beads GROUP BY id HAVING count(*) > 1)"
_BEAD = f"INSERT INTO beads VALUES ({','.join('?' * 17)}, NULL, NULL, NULL)"
_COUNTED = "count(*) FROM edges e JOIN beads b USING (n) WHERE e.target IN"


def _is_sound(row: tuple[Any, ...], packed: Sequence[int]) -> bool:
    """Return whether the packed values of a row are as they were written; a body may be missing."""
    return all(is_sealed(row[place]) if isinstance(row[place], bytes) else place and row[place] is None for place in packed)


class Cache:
    """The open cache. `commit` is what it holds; `move_to` brings it to another commit."""

    def __init__(self, path: str | None, repo: Repository, runtime: Runtime, derivations: Sequence[Derivation] = ()) -> None:
        self._repo = repo
        self._runtime = runtime
        db = database.opened(path) if path else None
        self._path = path if db else None
        self._db = db or database.in_memory()
        self.commit = self._meta("commit")
        self._derivations = {one.name: one for one in derivations}
        # The started derivations, each with the snapshot it works on.
        self._begun: dict[str, tuple[Snapshot, Derive]] = {}
        # Derived but not written yet: (commit, name, texts). And beads whose phase is still to be derived.
        self._unwritten: list[tuple[str, str, Mapping[str, str]]] = []
        self._underived: list[tuple[Snapshot, Sequence[str]]] = []

    def close(self) -> None:
        self.write_derived()
        self._db.close()

    def _meta(self, key: str) -> str | None:
        try:
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        except database.Error:
            return None
        return row[0] if row else None

    def ask(self, query: str, arguments: Sequence[Any] = (), *, packed: Sequence[int] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query, with packed values in these columns.

        If the file turns out to be damaged, a cache in memory answers.
        """
        try:
            rows = self._db.execute(query, arguments).fetchall()
            if packed and self._path is not None and not all(_is_sound(row, packed) for row in rows):
                raise database.Unsound("a row of another")
            return rows
        except database.Error as error:
            if self._path is None or self.commit is None:
                raise
            self._leave(self.commit, None, error)
            return self._db.execute(query, arguments).fetchall()

    # --- moving ---

    def hold(self, commit: str) -> bool:
        """Begin a read transaction, which keeps the cache at one commit. Return whether it is this one."""
        self.write_derived()
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._db.execute("BEGIN")
        self.commit = self._meta("commit")
        return self.commit == commit

    def move_to(self, commit: str, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Move the cache to a commit, parsing only what differs. Falls back to memory if the file can't be written."""
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
            if self.commit != commit:  # another command moved it in between
                self._leave(commit, on_progress)
        except database.Error as error:
            self._leave(commit, on_progress, error)
        except BaseException:  # an unreadable object, or a signal: the next command starts where this one did
            with suppress(database.Error):
                self._db.execute("ROLLBACK")
            raise

    def _leave(self, commit: str, on_progress: Callable[[int, int], None] | None, error: Exception | None = None) -> None:
        """Continue in memory. A damaged file is removed, so that the next command rebuilds it."""
        with suppress(database.Error):
            self._db.close()
        if self._path and error is not None and database.is_damage(error):
            database.remove(self._path)
        self._path = None
        self._db = database.in_memory()
        self.commit = None
        self._db.execute("BEGIN")
        self._forward(commit, on_progress)

    def _forward(self, commit: str, on_progress: Callable[[int, int], None] | None) -> None:
        known = self.commit if self.commit and self._repo.objects.read(self.commit) is not None else None
        folders = (folder.rstrip("/") for folder in (BEADS_DIR, ".beads", CAPACITY_DIR))
        entries = entries_of(self._repo, known, commit, *folders)
        wanted = [entry for entry in entries if is_wanted(entry.path)]
        if known is None:
            self._fill(wanted, commit, on_progress)
        else:
            self.store(parse_entries(self._repo, wanted, on_progress), commit)
        # A missing signers file now does not mean that there never was one.
        is_new = known is None and self._repo.ever_had(commit, SIGNERS_PATH)
        if (note := self._meta(state.KEY)) or is_new or any(entry.path == SIGNERS_PATH for entry in wanted):
            repo: Any = self._repo  # signatures need git
            try:
                note, rows = state.forward(repo, note, commit, {entry.path for entry in wanted})
            except state.ForeignNote as error:
                raise database.Unsound(str(error)) from error
            self.store(rows, commit)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (state.KEY, note))

    def standing(self) -> Standing:
        """Return who may sign at the cache's commit."""
        try:
            return state.standing_of(self._meta(state.KEY))
        except state.ForeignNote as error:
            if self._path is None or self.commit is None:
                raise
            self._leave(self.commit, None, error)
            return state.standing_of(self._meta(state.KEY))

    def requires_signatures(self) -> bool:
        """Return whether unsigned commits count as not made."""
        record = self.record(CONFIG_PATH)
        return bool(record and hub_setting(record[2], "require_signed"))

    def _fill(self, entries: Sequence[Entry], commit: str, on_progress: Callable[[int, int], None] | None) -> None:
        """Build the cache from nothing."""
        from bd.store.cache.load import read_all  # noqa: PLC0415  a cache is built once

        db = self._db
        database.empty(db)
        last = 0
        for files in read_all(self._repo, entries, on_progress):
            self._insert(files, last + 1)
            last += len(files)
        database.index(db)
        self._note(commit)

    def _note(self, commit: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('commit', ?)", (commit,))
        self.commit = commit

    def store(self, rows: Iterable[Row | str], commit: str) -> None:
        """Store parsed files (a bare path removes one), and record which commit the cache now holds."""
        db = self._db
        if self.commit is None:  # nothing has filled it
            database.index(db)
        changed: set[str] = set()
        targets: set[str] = set()
        last = db.execute("SELECT max(n) FROM beads").fetchone()[0] or 0
        for row in rows:
            path = row if isinstance(row, str) else row.path
            edges, was_live = self._remove(path, changed)
            now: set[tuple[str, int]] = set()
            is_live = False
            if isinstance(row, Row):
                last += 1
                what = packed(row)
                self._insert([what], last)
                changed.update(what.columns[1:2])
                now, is_live = set(what.edges), what.is_live
            targets |= recounted(edges, now, was_live=was_live, is_live=is_live)
            if path == CONFIG_PATH:  # settings affect how beads age
                derived.forget_all(db)
        derived.forget(db, changed, targets)
        self._note(commit)

    def _remove(self, path: str, changed: set[str]) -> tuple[set[tuple[str, int]], bool]:
        """Remove a file; add its bead's id to `changed`. Return its edges, and whether the bead was live."""
        db = self._db
        # A volume with readable beads is no longer damaged, or is listed again after them.
        db.execute("DELETE FROM damages WHERE path IN (?, ?)", (path, volume_of(path)))
        db.execute("DELETE FROM unknown_keys WHERE path = ?", (path,))
        if not path.startswith(BEADS_DIR):
            db.execute("DELETE FROM records WHERE path = ?", (path,))
            return set(), False
        known = db.execute("SELECT n, id, live FROM beads WHERE path = ?", (path,)).fetchone()
        if known is None:
            return set(), False
        number = known[:1]
        edges = set(db.execute("SELECT target, weight FROM edges WHERE n = ?", number))
        for table in ("beads", "heads", "bodies", "edges", "costs", "texts"):
            db.execute(f"DELETE FROM {table} WHERE n = ?", number)
        changed.add(known[1])
        return edges, bool(known[2])

    def _insert(self, files: Sequence[Packed], first: int) -> None:
        """Insert files that are not there yet, numbering their beads from `first`."""
        beads = [(number, one) for number, one in enumerate(files, start=first) if one.columns]
        tables: dict[str, list[tuple[Any, ...]]] = {
            _BEAD: [(number, *bead.columns) for number, bead in beads],
            "INSERT INTO heads VALUES (?, ?)": [(number, bead.head) for number, bead in beads],
            "INSERT INTO bodies VALUES (?, ?)": [(number, bead.body) for number, bead in beads if bead.body],
            "INSERT INTO edges VALUES (?, ?, ?)": [(number, *edge) for number, bead in beads for edge in bead.edges],
            "INSERT INTO costs VALUES (?, ?, ?, ?, ?)": [(number, *cost) for number, bead in beads for cost in bead.costs],
            "INSERT INTO records VALUES (?, ?, ?, ?)": [
                (one.path, one.oid, one.is_simple, one.fields) for one in files if one.fields is not None
            ],
            "INSERT INTO unknown_keys VALUES (?, ?, ?, ?)": [key for one in files for key in one.unknown],
            "INSERT INTO damages VALUES (?, ?)": [(one.path, one.reason) for one in files if one.reason is not None],
        }
        for query, rows in tables.items():
            if rows:
                self._db.executemany(query, rows)

    def advance(self, rows: Iterable[Row | str], commit: str) -> None:
        """Follow this clone's own write without reading it back. If the file is busy, the next reader does it."""
        before = self.commit
        rows = list(rows)
        paths = [row if isinstance(row, str) else row.path for row in rows]
        if any(path in state.DECIDING or is_volume(path) for path in paths):
            return  # the next reader finds out whether these are trusted, and which beads are in them
        try:
            if self._db.in_transaction:
                self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            if self._meta("commit") == before:
                self.store(rows, commit)
            self._db.execute("COMMIT")
            self._db.execute("BEGIN")
        except database.Error:
            with suppress(database.Error):
                self._db.execute("ROLLBACK")

    # --- reading ---

    def bead(self, bead_id: str) -> tuple[str, str, bool, dict[str, Any]] | None:
        """Return (path, oid, is_simple, all fields) of a bead; an active file wins over an archived one."""
        query = "SELECT path, oid, simple, head, body FROM beads JOIN heads USING (n) LEFT JOIN bodies USING (n) WHERE id = ?"
        rows = self.ask(f"{query} ORDER BY length(path), path LIMIT 1", (bead_id,), packed=(3, 4))
        if not rows:
            return None
        row = rows[0]
        return row[0], row[1], bool(row[2]), whole_of(row[3], row[4])

    def head(self, bead_id: str) -> dict[str, Any] | None:
        rows = self.ask(
            "SELECT head FROM beads JOIN heads USING (n) WHERE id = ? ORDER BY length(path), path LIMIT 1",
            (bead_id,),
            packed=(0,),
        )
        return head_of(rows[0][0]) if rows else None

    def heads(self, which: str = "every", arguments: Sequence[str | bytes] = ()) -> Iterator[dict[str, Any]]:
        """Yield the heads of `every`, the `live`, `claimed` or `ended` beads, or those `saying` a text (claimed), `mentioning`
        an id, its `children`, or one of these (`a child`).
        """
        where = {
            "every": "heads",
            "live": "beads JOIN heads USING (n) WHERE live = 1",
            "claimed": "beads JOIN heads USING (n) WHERE claimed = 1",
            # a packed text is in the bytes unchanged
            "saying": "beads JOIN heads USING (n) WHERE claimed = 1 AND instr(head, ?) > 0",
            "ended": f"beads JOIN heads USING (n) WHERE live = 0 AND path NOT LIKE '{ARCHIVE_DIR}%' AND id NOT IN {_DOUBLED}",
            "children": "beads JOIN heads USING (n) WHERE parent = ? AND parent != '' ORDER BY path",
            "a child": "beads JOIN heads USING (n) WHERE parent = ? AND parent != '' LIMIT 1",
            "mentioning": "edges JOIN beads USING (n) JOIN heads USING (n) WHERE target = ? ORDER BY path",
        }[which]
        for (blob,) in self.ask(f"SELECT head FROM {where}", arguments, packed=(0,)):
            yield head_of(blob)

    def heads_of(self, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the heads of many beads; if two files have the same id, the active one comes last."""
        for chunk in chunks(ids):
            query = (
                f"SELECT head FROM beads JOIN heads USING (n) WHERE id IN ({marks(chunk)}) ORDER BY length(path) DESC, path DESC"
            )
            for (blob,) in self.ask(query, chunk, packed=(0,)):
                yield head_of(blob)

    def wholes(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return all fields of many beads, by id."""
        found: dict[str, dict[str, Any]] = {}
        tables = "beads JOIN heads USING (n) LEFT JOIN bodies USING (n)"
        for chunk in chunks(ids):
            query = f"SELECT head, body FROM {tables} WHERE id IN ({marks(chunk)}) ORDER BY length(path) DESC, path DESC"
            for head, body in self.ask(query, chunk, packed=(0, 1)):
                fields = whole_of(head, body)
                found[fields["id"]] = fields
        return found

    def settled(self, sought: Sought) -> derived.CachedSettled:
        """Return the calm beads that match."""
        return derived.CachedSettled(self, sought)

    def unsettled(self, sought: Sought) -> Iterator[dict[str, Any]]:
        """Yield the heads of all other beads that may match."""
        for (blob,) in self.ask(derived.unsettled_query(sought), packed=(0,)):
            yield head_of(blob)

    def derive(self, name: str, ids: Sequence[str], snapshot: Snapshot) -> Mapping[str, str]:
        """Derive texts for beads of a snapshot for which none are kept. They are kept from the next snapshot on."""
        if name not in self._derivations or not ids:
            return {}
        of, derive = self._begun.get(name, (None, None))
        if derive is None or of is not snapshot:
            derive = self._derivations[name].begin(snapshot, self._runtime.now())
            self._begun[name] = snapshot, derive
        texts = derive(ids)
        if texts and self._path is not None and snapshot.commit == self.commit:
            self._unwritten.append((snapshot.commit, name, texts))
        return texts

    def derive_later(self, snapshot: Snapshot, ids: Sequence[str]) -> None:
        """Note beads whose phase is not kept. It is derived when there is time, at the latest before the cache moves."""
        if ids and derived.PHASE in self._derivations and self._path is not None:
            self._underived.append((snapshot, ids))

    def write_derived(self) -> None:
        """Derive what was noted, and write all of it. The writing is skipped if the file is busy or has moved on.

        Raises whatever a derivation raises.
        """
        noted, self._underived = self._underived, []
        for snapshot, ids in noted:
            if snapshot.commit == self.commit:
                self.derive(derived.PHASE, ids, snapshot)
        unwritten, self._unwritten = self._unwritten, []
        if not unwritten or self._path is None:
            return
        with suppress(database.Error), database.beside(self._path) as db:
            (now,) = db.execute("SELECT value FROM meta WHERE key = 'commit'").fetchone() or (None,)
            for commit, name, texts in unwritten:
                if commit == now:
                    derived.keep(db, name, texts)

    def dependent_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """Return how many beads depend on each of these by depends_on; beads with none are left out."""
        return self._counted(ids, f"e.weight = {DEPENDS}")

    def waiting_counts(self, ids: Sequence[str]) -> dict[str, int]:
        """Return how many live beads wait for each of these; beads with none are left out."""
        return self._counted(ids, f"e.weight >= {WAITS} AND b.live = 1")

    def naming(self, ids: Collection[str]) -> set[str]:
        """Return the ids of the beads that name any of these."""
        return derived.naming(self.ask, ids)

    def waiters(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the live beads that wait for each of these; beads with none are left out."""
        found: dict[str, list[str]] = {}
        for chunk in chunks(ids):
            query = f"SELECT e.target, b.id FROM edges e JOIN beads b USING (n) WHERE e.target IN ({marks(chunk)})"
            for target, waiter in self.ask(f"{query} AND e.weight >= {WAITS} AND b.live = 1", chunk):
                found.setdefault(target, []).append(waiter)
        return found

    def _counted(self, ids: Sequence[str], which: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for chunk in chunks(ids):
            query = f"SELECT e.target, {_COUNTED} ({marks(chunk)}) AND {which} GROUP BY e.target"
            found.update(self.ask(query, chunk))
        return found

    def costly(self) -> list[str]:
        """Return the ids of the beads that have cost something."""
        return [row[0] for row in self.ask("SELECT DISTINCT id FROM costs JOIN beads USING (n) ORDER BY id")]

    def spent_by(self, agent: str, since: str, now: str) -> float:
        query = "SELECT total(usd) FROM costs WHERE agent = ? AND at >= ? AND (until = '' OR until > ?)"
        return float(self.ask(query, (agent, since, now))[0][0])

    def spent_under(self, root: str, now: str) -> float:
        tree = "WITH RECURSIVE tree(id) AS (VALUES (?) UNION SELECT beads.id FROM beads JOIN tree ON parent = tree.id AND parent != '')"
        query = "SELECT total(usd) FROM tree JOIN beads USING (id) JOIN costs USING (n) WHERE until = '' OR until > ?"
        return float(self.ask(f"{tree} {query}", (root, now))[0][0])

    def id_of_uid(self, uid: str) -> str | None:
        rows = self.ask("SELECT id FROM beads WHERE uid = ? LIMIT 1", (uid,))
        return rows[0][0] if rows else None

    def ids_starting(self, text: str) -> list[str]:
        """Return the ids that start with the text, or whose suffix does."""
        high = text + "\U0010ffff"
        query = "SELECT id FROM beads WHERE id >= ? AND id < ? UNION SELECT id FROM beads WHERE suffix >= ? AND suffix < ?"
        return [row[0] for row in self.ask(query, (text, high, text, high))]

    def record(self, path: str) -> tuple[str, bool, dict[str, Any]] | None:
        """Return (oid, is_simple, fields) of an agent, capacity or configuration file."""
        rows = self.ask("SELECT oid, simple, fields FROM records WHERE path = ?", (path,), packed=(2,))
        return (rows[0][0], bool(rows[0][1]), opened(rows[0][2])) if rows else None

    def records(self, folder: str) -> Mapping[str, dict[str, Any]]:
        query = "SELECT path, fields FROM records WHERE path >= ? AND path < ?"
        rows = self.ask(query, (folder, folder + "\U0010ffff"), packed=(1,))
        return {path[len(folder) :].removesuffix(".yaml"): opened(blob) for path, blob in rows}

    def bead_paths(self, folder: str) -> list[str]:
        """Return the paths of the bead files below a folder."""
        return [
            row[0] for row in self.ask("SELECT path FROM beads WHERE path >= ? AND path < ?", (folder, folder + "\U0010ffff"))
        ]

    def damages(self) -> list[Damage]:
        return [Damage(path, reason) for path, reason in self.ask("SELECT path, reason FROM damages ORDER BY path")]

    def unknown_keys(self, *, reported: bool) -> list[UnknownKey]:
        """The keys that nothing reads: only those that are surely mistakes, or all of them."""
        query = "SELECT path, key, nearest FROM unknown_keys WHERE reported >= ? ORDER BY path, rowid"
        rows = self.ask(query, (int(reported),))
        if not rows:
            return []
        return [UnknownKey(*row) for row in rows]

    def doubles(self) -> list[Damage]:
        """Return ids that two files have, including those that differ only in case (case-insensitive file systems)."""
        query = "SELECT lower(id), group_concat(path, ' and ') FROM beads GROUP BY lower(id) HAVING count(*) > 1"
        return [Damage(paths, f"hold the same id {bead_id}") for bead_id, paths in self.ask(query)]

    def counts(self) -> tuple[int, int]:
        """Return (beads, files that can't be read)."""
        beads = self.ask("SELECT count(*) FROM beads")[0][0]
        return beads, self.ask("SELECT count(*) FROM damages")[0][0]
