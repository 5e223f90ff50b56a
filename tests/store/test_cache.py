"""The cache: whichever way it got to a commit, it holds what that commit says, and nothing hangs on it being there."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bd.cli.derivations import DERIVATIONS
from bd.core.schema import BEAD_FIELDS, CONFIG_PATH, agent_path, bead_path, capacity_path
from bd.store import hub_files
from bd.store.archive.volumes import compose
from bd.store.cache import paths
from bd.store.cache.cache import Cache
from bd.store.cache.database import SCHEMA
from bd.store.hub_files import Row, bead_id_of, is_wanted, parse_file
from bd.store.hub_location import locate
from bd.store.replica import Replica
from bd.store.yaml import editor
from tests.memory import held, make_bead
from tests.runtime import RUNTIME, open_clone
from tests.truth import commit_file, git, tip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.running import Clone

pytestmark = pytest.mark.one_in(24)


def text_of(bead_id: str, **fields: Any) -> str:
    return editor.document(make_bead(bead_id, **fields).fields, BEAD_FIELDS)


def content(cache: Cache) -> dict[str, Any]:
    """Everything the cache holds, in an order of its own."""
    db = cache._db
    held_beads = [cache.bead(row[0]) for row in db.execute("SELECT DISTINCT id FROM beads ORDER BY id")]
    columns = "path, id, oid, uid, suffix, live, claimed, calm, status, type, priority, assignee, rank, made"
    rows = sorted(db.execute(f"SELECT {columns} FROM beads"))
    return {
        "commit": cache.commit,
        "beads": held_beads,
        "rows": rows,
        "heads": sorted(repr(sorted(head.items())) for head in cache.heads()),
        "edges": sorted(db.execute("SELECT path, target, weight FROM edges JOIN beads USING (n)")),
        "records": [(path, cache.record(path)) for (path,) in sorted(db.execute("SELECT path FROM records"))],
        "damages": cache.damages(),
    }


@pytest.fixture
def hub_of(local_hub: Clone) -> Iterator[Callable[[], Replica]]:
    """A hub opened anew, as each command opens it."""
    opened: list[Replica] = []

    def open_hub() -> Replica:
        opened.append(open_clone(locate(str(local_hub.path))))
        return opened[-1]

    yield open_hub
    for hub in opened:
        hub.close()


def cold(hub: Replica, commit: str) -> dict[str, Any]:
    """What a cache built from nothing holds of the commit."""
    return content(hub.snapshot_aside(commit).cache)


def cache_path(local_hub: Clone) -> Path:
    return Path(paths.path_of(str(local_hub.path / ".git" / "bd"), DERIVATIONS, RUNTIME.now()))


# --- forward is cold --------------------------------------------------------------------------


def shuffled_hub(folder: Path, rng: random.Random) -> str:
    """Change some of the hub's files at random, and commit them; the commit."""
    names = [f"hub-{number}" for number in range(12)]
    for name in rng.sample(names, 5):
        place = rng.choice(["beads", "beads", "beads", "beads/archive/2026-01", "beads/deep/er"])
        file = folder / place / f"{name}.yaml"
        what = rng.choice(["bead", "bead", "bead", "held", "remove", "damage", "link"])
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() or file.is_symlink():
            file.unlink()
        if what == "bead":
            status = rng.choice(["open", "closed", "blocked"])
            file.write_text(
                text_of(
                    name, status=status, depends_on=rng.sample(names, 2), notes="n" * rng.randrange(5), uid=f"U{rng.random()}"
                )
            )
        elif what == "held":
            file.write_text(editor.document(held(name).fields, BEAD_FIELDS))
        elif what == "damage":
            file.write_text(rng.choice(["<<<<<<< ours\n", "id: other\ntitle: x\n", "", "a: [\n", f"id: {name}\nid: {name}\n"]))
        elif what == "link":
            file.symlink_to("hub-0.yaml")
    volume = folder / "beads/archive" / rng.choice(["2026-01-001.yaml", "2026-02-001.yaml"])
    volume.parent.mkdir(parents=True, exist_ok=True)
    inside = {f"old-{number}": text_of(f"old-{number}", status="closed", notes=f"{rng.random()}").encode() for number in range(3)}
    inside |= {"old-bad": b"a: [\n"} if rng.random() < 0.3 else {}
    volume.write_bytes(compose(inside) + (b"" if rng.random() < 0.7 else b"--- # old-1\n") if rng.random() < 0.8 else b"words\n")
    agent = folder / agent_path(rng.choice(["coder", "reader"]))
    agent.parent.mkdir(exist_ok=True)
    agent.write_text(f"name: {agent.stem}\ninterval: {rng.randrange(1, 60)}m\n")
    (folder / "README").write_text(str(rng.random()))
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "by hand")
    return tip(folder)


@pytest.mark.parametrize("seed", range(3))
def test_brought_forward_is_as_built_cold(seed: int, local_hub: Clone, hub_of: Callable[[], Replica]) -> None:
    rng = random.Random(seed)
    commits = []
    for _ in range(6):
        commits.append(shuffled_hub(local_hub.path, rng))
        hub = hub_of()
        assert content(hub.snapshot().cache) == cold(hub, commits[-1])
    hub = hub_of()
    for commit in (commits[0], commits[4], commits[2], commits[-1]):  # also back and across
        assert content(hub.snapshot(commit).cache) == cold(hub, commit)


def test_what_an_own_write_leaves_is_as_built_cold(local_hub: Clone, hub_of: Callable[[], Replica]) -> None:
    """After a write the cache is not read back from git, but follows what was written."""
    local_hub.here("config", "set", "max_attempts", "4", check=False)
    one = local_hub.here("q", "One: no # comment", "--labels", "no,12:30,b c").out.strip()
    two = local_hub.here("q", "Two").out.strip()
    for command in (
        ["update", one, "--description", "Long\ntext.\n", "--metadata", '{"a": {"b": [1, 2.5, null, "x"]}}', "--estimate", "30"],
        ["dep", "add", two, one],
        ["comment", one, "Words: and\nlines\n"],
        ["claim", one, "--agent", "coder"],
        ["note", one, "  leading blanks"],
        ["close", one, "--reason", "Done: yes", "--agent", "coder"],
        ["update", two, "--status", "blocked"],
        ["delete", two, "--force"],
    ):
        local_hub.here(*command)
        hub = hub_of()
        cached = Cache(str(cache_path(local_hub)), hub.repo, RUNTIME)
        assert cached.commit == tip(local_hub.path), "the cache followed the write"
        there, anew = content(cached), cold(hub, tip(local_hub.path))
        cached.close()
        assert there == anew, command


def test_a_bead_is_parsed_once_per_content(
    local_hub: Clone, hub_of: Callable[[], Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bd.store import hub_files as files_module

    for number in range(5):
        commit_file(local_hub.path, bead_path(f"hub-{number}"), text_of(f"hub-{number}"))
    hub_of().snapshot()
    commit_file(local_hub.path, bead_path("hub-3"), text_of("hub-3", title="Changed"))
    parsed: list[str] = []
    monkeypatch.setattr(files_module, "parse_file", lambda path, oid, data: parsed.append(path) or parse_file(path, oid, data))
    hub_of().snapshot()
    assert parsed == [bead_path("hub-3")]
    hub_of().snapshot()
    assert len(parsed) == 1


# --- nothing hangs on it ----------------------------------------------------------------------


def prepared(local_hub: Clone) -> Callable[[], list[dict[str, Any]]]:
    """Some beads; asks for the list of them, but for what every moment changes."""
    for title in ("One", "Two", "Three"):
        local_hub.here("create", title)

    def ask() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = local_hub.bd("list", "--json").json
        return [{key: value for key, value in row.items() if key != "effective_priority"} for row in rows]

    return ask


def test_deleting_it_changes_no_answer(local_hub: Clone) -> None:
    ask = prepared(local_hub)
    before = ask()
    cache_path(local_hub).unlink()
    assert ask() == before
    assert cache_path(local_hub).exists(), "it is there again"


def test_it_is_brought_forward_without_a_look_at_the_index(local_hub: Clone) -> None:
    """Git's own comparison of two trees reads it first, however many files it has, and ends where it is damaged."""
    ask = prepared(local_hub)
    path = next(path for path in (local_hub.path / "beads").glob("*.yaml") if "title: One" in path.read_text())
    ask()
    path.write_text(path.read_text().replace("title: One", "title: Four"))
    git(local_hub.path, "commit", "--quiet", "--all", "--message", "by hand")
    (local_hub.path / ".git" / "index").write_bytes(b"no index at all")
    assert sorted(row["title"] for row in ask()) == ["Four", "Three", "Two"]


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no database": lambda path: path.write_bytes(b"not a database, but long enough to be looked at as one" * 100),
    "empty": lambda path: path.write_bytes(b""),
    "cut off": lambda path: os.truncate(path, 5000),
    "zeroes in the middle": lambda path: _overwrite(path, 4096, b"\0" * 8192),
    "noise in the middle": lambda path: _overwrite(path, 4096, bytes(range(256)) * 40),
    "another version": lambda path: _sql(path, "PRAGMA user_version = 999"),
    "an older version": lambda path: _sql(path, f"PRAGMA user_version = {SCHEMA - 1}"),
    "a table is gone": lambda path: _sql(path, "DROP TABLE edges"),
    "a commit that is not there": lambda path: _sql(path, f"UPDATE meta SET value = '{'a' * 40}'"),
    "no commit": lambda path: _sql(path, "DELETE FROM meta"),
}


def _overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def _sql(path: Path, statement: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(statement)
    db.close()


@pytest.mark.one_in(24)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_rebuilt(damage: str, local_hub: Clone) -> None:
    ask = prepared(local_hub)
    before = ask()
    path = cache_path(local_hub)
    _sql(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    DAMAGES[damage](path)
    commit_file(local_hub.path, bead_path("hub-new"), text_of("hub-new", title="New"))
    assert sorted(bead["title"] for bead in ask()) == sorted([*(bead["title"] for bead in before), "New"])
    local_hub.bd("create", "A write goes on too")
    assert len(ask()) == 5


@pytest.mark.parametrize("obstacle", ["folder", "file"])
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_clone_is_read_from_memory(obstacle: str, local_hub: Clone) -> None:
    ask = prepared(local_hub)
    before = ask()
    folder = cache_path(local_hub).parent
    cache_path(local_hub).unlink()
    for path in [folder, *folder.iterdir()]:
        path.chmod(stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() else 0))
    try:
        assert ask() == before
        assert not cache_path(local_hub).exists()
    finally:
        for path in [folder, *folder.iterdir()]:
            path.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("obstacle", ["a folder in its place", "a file in place of its folder"])
def test_where_it_can_not_be_kept_everything_is_answered_from_memory(obstacle: str, local_hub: Clone) -> None:
    """What a read-only clone does to anybody but root, an obstacle does to root too."""
    from bd.store.cache import cache as cache_module

    assert cache_module
    ask = prepared(local_hub)
    before = ask()
    path = cache_path(local_hub)
    path.unlink()
    if obstacle == "a folder in its place":
        (path / "x").mkdir(parents=True)
        assert ask() == before
    hub = open_clone(locate(str(local_hub.path)))
    try:
        where = "/dev/null/cache.db" if obstacle != "a folder in its place" else str(path)
        cache = Cache(where, hub.repo, RUNTIME)
        cache.move_to(hub.view())
        assert content(cache) == cold(hub, hub.view())
        cache.close()
    finally:
        hub.close()


def test_a_reading_that_is_broken_off_leaves_the_next_one_right(local_hub: Clone, hub_of: Callable[[], Replica]) -> None:
    """A full disk ends the filling of the cache half way; what is read then is not what was asked for before."""
    for number in range(4):
        commit_file(local_hub.path, bead_path(f"hub-{number}"), text_of(f"hub-{number}"))
    hub = hub_of()
    names = [f"HEAD:{bead_path(f'hub-{number}')}" for number in range(4)]
    whole = hub.repo.objects.read(names[3])
    broken_off = hub.repo.objects.read_many(names)
    next(broken_off)
    assert hub.repo.objects.read(names[3]) == whole


def test_two_commands_at_once_see_one_commit_each(local_hub: Clone, hub_of: Callable[[], Replica]) -> None:
    """A reader keeps its commit while another command moves the cache on."""
    commit_file(local_hub.path, bead_path("hub-1"), text_of("hub-1", title="Old"))
    reader = hub_of().snapshot()
    commit_file(local_hub.path, bead_path("hub-1"), text_of("hub-1", title="New"))
    writer = hub_of().snapshot()
    assert writer.bead("hub-1").title == "New"
    assert reader.bead("hub-1").title == "Old"
    assert [bead.title for bead in reader.every()] == ["Old"]


# --- what is a bead, and what is damage -------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "bead_id", "wanted"),
    [
        ("beads/hub-1.yaml", "hub-1", True),
        ("beads/hub-1.2x.yaml", "hub-1.2x", True),
        ("beads/archive/2026-01/hub-1.yaml", "hub-1", True),
        ("beads/archive/hub-1.yaml", None, True),
        ("beads/archive/2026-01-001.yaml/hub-1.yaml", "hub-1", True),
        ("beads/archive/2026-01/deep/hub-1.yaml", None, True),
        ("beads/deep/hub-1.yaml", None, True),
        ("beads/hub-1.yml", "hub-1.yml", False),
        ("beads/README.md", "README.md", False),
        (".beads/config.yaml", None, True),
        (".beads/agents/coder.yaml", None, True),
        (".agent-status/coder.yaml", None, True),
        (".beads/metadata.json", None, False),
        ("src/beads/x.yaml", None, False),
        ("config.yaml", None, False),
    ],
)
def test_which_files_are_kept(path: str, bead_id: str | None, wanted: bool) -> None:
    assert is_wanted(path) is wanted
    assert bead_id_of(path) == bead_id


BAD: dict[str, tuple[bytes, str]] = {
    "conflict": (b"<<<<<<< ours\nid: hub-bad\n=======\n>>>>>>> theirs\n", "conflict markers"),
    "not YAML": (b"id: [hub-bad\n", "is not YAML"),
    "wrong id": (b"id: hub-other\ntitle: x\n", "says id 'hub-other'"),
    "wrong type": (b"id: hub-bad\ntitle: x\npriority: 9\n", "is not 0 to 4"),
    "duplicate key": (b"id: hub-bad\ntitle: x\ntitle: y\n", "twice"),
    "anchor": (b"id: hub-bad\ntitle: &a x\nnotes: *a\n", "an anchor"),
    "two documents": (b"id: hub-bad\ntitle: x\n---\nid: hub-bad\n", "a second document"),
    "not UTF-8": (b"id: hub-bad\ntitle: \xff\n", "is not UTF-8"),
    "a NUL": (b"id: hub-bad\ntitle: x\0\n", "has a NUL byte"),
    "too deep": (b"id: hub-bad\ntitle: x\nmetadata: " + b"[" * 50 + b"]" * 50 + b"\n", "nesting deeper"),
    "too large": (b"id: hub-bad\ntitle: x\nnotes: " + b"x" * 5_000_000 + b"\n", "larger than 5 MB"),
    "empty": (b"", "has no fields"),
    "no title": (b"id: hub-bad\n", "has no title"),
}


@pytest.fixture
def damaged_hub(local_hub: Clone) -> Clone:
    """Nine good beads, and one damaged file of every kind, a symbolic link and a submodule among them."""
    folder = local_hub.path
    (folder / "beads").mkdir(exist_ok=True)
    for number in range(9):
        (folder / bead_path(f"hub-{number}")).write_text(text_of(f"hub-{number}"))
    for number, (data, _) in enumerate(BAD.values()):
        (folder / bead_path(f"hub-bad{number}")).write_bytes(data.replace(b"hub-bad", f"hub-bad{number}".encode()))
    (folder / bead_path("hub-link")).symlink_to("hub-0.yaml")
    (folder / "beads/deep").mkdir()
    (folder / "beads/deep/hub-lost.yaml").write_text(text_of("hub-lost"))
    git(folder, "add", "--all")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{tip(folder)},beads/hub-module.yaml")
    git(folder, "commit", "--quiet", "-m", "by hand")
    return local_hub


def test_every_damage_is_named_and_the_others_are_read(damaged_hub: Clone) -> None:
    hub = open_clone(locate(str(damaged_hub.path)))
    try:
        snapshot = hub.snapshot()
        found = {damage.path: damage.reason for damage in snapshot.damages}
        expected = {bead_path(f"hub-bad{number}"): words for number, (_, words) in enumerate(BAD.values())}
        expected |= {
            bead_path("hub-link"): "is not a plain file",
            bead_path("hub-module"): "is not a plain file",
            "beads/deep/hub-lost.yaml": "is in the wrong place",
        }
        assert found.keys() == expected.keys()
        for path, words in expected.items():
            assert words in found[path], path
        assert sorted(bead.id for bead in snapshot.every()) == [f"hub-{number}" for number in range(9)]
        assert snapshot.bead("hub-link") is None
    finally:
        hub.close()


def test_a_write_leaves_damaged_files_as_they_are(damaged_hub: Clone) -> None:
    before = {entry.split("\t")[1]: entry.split()[2] for entry in git(damaged_hub.path, "ls-tree", "-r", "HEAD").splitlines()}
    damaged_hub.bd("claim", "--next", "--agent", "coder")
    damaged_hub.bd("create", "Another")
    after = {entry.split("\t")[1]: entry.split()[2] for entry in git(damaged_hub.path, "ls-tree", "-r", "HEAD").splitlines()}
    changed = {path for path in before if after.get(path) != before[path]}
    assert len(changed) == 1
    assert all(path in after for path in before)
    assert not any("bad" in path or "link" in path or "module" in path or "lost" in path for path in changed)


def test_what_could_not_be_read_back_is_not_written(local_hub: Clone) -> None:
    before = tip(local_hub.path)
    too_much = [
        (["create", "x", "--description", "-"], "x" * 5_000_000),
        (["create", "x", "--metadata", '{"a": ' * 60 + "1" + "}" * 60], None),
        (["create", "x", "--metadata", '{"a": 1e999}'], None),
        (["create", "x", "--metadata", '{"a": "\\ud800"}'], None),
    ]
    for command, given in too_much:
        local_hub.here(*command, input=given, code=2)
    assert tip(local_hub.path) == before


def test_a_file_that_is_mended_is_a_bead_again(damaged_hub: Clone) -> None:
    commit_file(damaged_hub.path, bead_path("hub-bad0"), text_of("hub-bad0", title="Mended"))
    hub = open_clone(locate(str(damaged_hub.path)))
    try:
        assert hub.snapshot().bead("hub-bad0").title == "Mended"
        assert bead_path("hub-bad0") not in {damage.path for damage in hub.snapshot().damages}
    finally:
        hub.close()


def test_ids_that_two_files_claim_are_told(local_hub: Clone, hub_of: Callable[[], Replica]) -> None:
    commit_file(local_hub.path, bead_path("hub-1"), text_of("hub-1", title="Active"))
    commit_file(local_hub.path, "beads/archive/2026-01/hub-1.yaml", text_of("hub-1", title="Archived", status="closed"))
    commit_file(local_hub.path, bead_path("HUB-1"), text_of("HUB-1"))
    cache = hub_of().snapshot().cache
    found = cache.bead("hub-1")
    assert found is not None
    assert found[0] == bead_path("hub-1"), "the active one wins"
    (double,) = cache.doubles()
    assert "hub-1" in double.reason
    assert all(path in double.path for path in ("beads/hub-1.yaml", "beads/archive/2026-01/hub-1.yaml", "beads/HUB-1.yaml"))


def test_a_file_that_git_lost_is_damage() -> None:
    row = parse_file(bead_path("hub-1"), "a" * 40, None)
    assert isinstance(row, Row)
    assert row.reason == "is missing from the repository"


@pytest.mark.parametrize("path", [CONFIG_PATH, agent_path("coder"), capacity_path("coder")])
def test_other_files_are_damaged_alone_too(path: str, local_hub: Clone, hub_of: Callable[[], Replica]) -> None:
    commit_file(local_hub.path, path, "max_concurrent: [\n")
    commit_file(local_hub.path, bead_path("hub-1"), text_of("hub-1"))
    snapshot = hub_of().snapshot()
    assert [damage.path for damage in snapshot.damages] == [path]
    assert snapshot.record(path) is None
    assert snapshot.bead("hub-1") is not None


def test_what_broke_off_half_way_is_not_kept(
    local_hub: Clone, hub_of: Callable[[], Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bd.store.cache import cache as module

    commit_file(local_hub.path, "beads/hub-a.yaml", text_of("hub-a"))
    before = tip(local_hub.path)
    hub = hub_of()
    hub.cache.move_to(before)
    was = content(hub.cache)
    commit_file(local_hub.path, "beads/hub-a.yaml", text_of("hub-a", title="Another"))
    whole = hub_files.parse_entries

    def broken(*args: Any) -> Iterator[Any]:
        yield from whole(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "parse_entries", broken)
    with pytest.raises(KeyboardInterrupt):
        hub.cache.move_to(tip(local_hub.path))
    assert hub.cache.hold(before)
    assert content(hub.cache) == was


def test_a_snapshot_reads_a_record_once(local_hub: Clone, hub_of: Callable[[], Replica], monkeypatch: pytest.MonkeyPatch) -> None:
    """Many agents are asked about on one snapshot, each of them in many places."""
    snapshot, read, asked = hub_of().snapshot(), Cache.record, []

    def counted(cache: Cache, path: str) -> Any:
        asked.append(path)
        return read(cache, path)

    monkeypatch.setattr(Cache, "record", counted)
    assert [snapshot.record(CONFIG_PATH) for _ in range(3)] == [snapshot.config()] * 3
    assert [snapshot.agent("nobody") for _ in range(3)] == [None] * 3
    assert len(asked) == len(set(asked))
