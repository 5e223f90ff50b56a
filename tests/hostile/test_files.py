"""Files that can't be what they say: each is left alone and named, and everything else goes on."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.hostile.planting import GOOD, GOOD_PATH, Special, everything_goes_on, gitlink, harmless, link, plant, tree_of
from tests.running import Clone, Result, run_process
from tests.sealing import seal
from tests.truth import commit_file, git, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.one_in(10)

HEAD = "title: Bad\n"
SOMEBODYS = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def bead(name: str, text: str = "") -> str:
    return f"id: {name}\n{HEAD}{text}"


def claimed(name: str, agent: str, token: str = SOMEBODYS) -> str:
    claim = f"{{agent: {agent}, token: {token}, attempt: 1, claimed_at: 2020-01-01T00:00:00Z}}"
    return bead(name, f"status: in_progress\nattempts: 1\nclaim: {claim}\n")


# What stands in the file beads/hub-<name>.yaml, and words of the reason why it can't be read.
BEADS: dict[str, tuple[str | bytes | Special, str]] = {
    # YAML that grows, refers, or makes objects
    "laughs": ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n" + bead("hub-laughs"), "an anchor"),
    "anchor": (bead("hub-anchor", "notes: &n text\n"), "an anchor"),
    "alias": (bead("hub-alias", "notes: *n\n"), "alias"),
    "merge": (bead("hub-merge", "<<: &m {priority: 0}\n"), "an anchor"),
    "merge2": (bead("hub-merge2", "<<: *defaults\n"), "alias"),
    "object": (bead("hub-object", 'notes: !!python/object/apply:os.system ["touch owned"]\n'), "a tag"),
    "new": (bead("hub-new", "notes: !!python/object/new:os.system [touch owned]\n"), "a tag"),
    "name": (bead("hub-name", "notes: !!python/name:os.system ''\n"), "a tag"),
    "tag": (bead("hub-tag", "notes: !x y\n"), "a tag"),
    "binary": (bead("hub-binary", "notes: !!binary aGk=\n"), "a tag"),
    "directive": ("%TAG ! tag:evil,2000:\n---\n" + bead("hub-directive", "notes: !x y\n"), "a tag"),
    # too much
    "giant": (bead("hub-giant", f"notes: {'x' * 5_000_001}\n"), "larger than 5 MB"),
    "deep": (bead("hub-deep", f"metadata: {'[' * 50_000}{']' * 50_000}\n"), "nesting deeper"),
    "deepmap": (bead("hub-deepmap", f"metadata: {'{a: ' * 50_000}1{'}' * 50_000}\n"), "nesting deeper"),
    "unclosed": (bead("hub-unclosed", f"metadata: {'{' * 200_000}\n"), "nesting deeper"),
    "indented": (bead("hub-indented", "metadata:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 60))), "nesting deeper"),
    "dashes": (bead("hub-dashes", f"labels:\n{'- ' * 3000}x\n"), "nesting deeper"),
    "longtitle": (f"id: hub-longtitle\ntitle: {'x' * 501}\n", "more than 500"),
    # no text
    "nul": (b"id: hub-nul\ntitle: a\0b\n", "a NUL byte"),
    "latin": ("id: hub-latin\ntitle: caf\xe9\n".encode("latin-1"), "not UTF-8"),
    "utf16": (bead("hub-utf16").encode("utf-16"), "has a NUL byte"),
    "overlong": (b"id: hub-overlong\ntitle: \xc0\xaf\n", "not UTF-8"),
    "surrogate": (b"id: hub-surrogate\ntitle: \xed\xa0\x80\n", "not UTF-8"),
    "half": (bead("hub-half", 'notes: "\\ud800"\n'), "not YAML"),
    "halfslow": (bead("hub-halfslow", 'labels: [repo:site]\nnotes: "\\ud800"\n'), "not YAML"),
    "escape": (b"id: hub-escape\ntitle: a\x1b[2Jb\n", "not YAML"),
    "c1": ("id: hub-c1\ntitle: a\x9b2Jb\n".encode(), "not YAML"),
    "empty": ("", "has no fields"),
    "comments": ("# later\n", "has no fields"),
    "garbage": (bytes(range(1, 128)) * 9, "not YAML"),
    # says two things
    "twice": (bead("hub-twice", "title: Another\n"), "twice"),
    "twicein": (bead("hub-twicein", "metadata: {a: 1, a: 2}\n"), "twice"),
    "documents": (bead("hub-documents") + "---\n" + bead("hub-documents"), "second document"),
    "conflict": ("<<<<<<< ours\n" + bead("hub-conflict") + "=======\n>>>>>>> theirs\n", "conflict markers"),
    "other": (bead("hub-good"), "says id 'hub-good'"),
    "case": (bead("HUB-CASE"), "says id"),
    "noid": (HEAD, "has no id"),
    "notitle": ("id: hub-notitle\n", "no title"),
    "list": ("- id: hub-list\n", "is not a mapping"),
    "scalar": ("hub-scalar\n", "is not a mapping"),
    "keymap": (bead("hub-keymap", "? {a: b}\n: c\n"), "a key that is not a text"),
    # numbers and times
    "nan": (bead("hub-nan", "temperature: nan\n"), "not a number"),
    "inf": (bead("hub-inf", "temperature: inf\n"), "not a number"),
    "minus": (bead("hub-minus", "priority_boost_per_minute: -Infinity\n"), "not a number"),
    "yamlnan": (bead("hub-yamlnan", "base_priority: .nan\n"), "base_priority"),
    "large": (bead("hub-large", f"base_priority: {'9' * 400}\n"), "not a number"),
    "digits": (bead("hub-digits", f"attempts: {'9' * 5000}\n"), "attempts"),
    "hex": (bead("hub-hex", "attempts: 0x10\n"), "not a whole number"),
    "month": (bead("hub-month", "deadline: 2026-13-45T00:00:00Z\n"), "not a time"),
    "year": (bead("hub-year", "deadline: 99999-01-01T00:00:00Z\n"), "not a time"),
    "offset": (bead("hub-offset", "deadline: 0001-01-01T00:00:00+14:00\n"), "not a time"),
    "century": (bead("hub-century", "expected: 99999999999d\n"), "longer than a century"),
    "duration": (bead("hub-duration", "expected: -5m\n"), "not a duration"),
    "priority": (bead("hub-priority", "priority: 5\n"), "is not 0 to 4"),
    "kinds": (bead("hub-kinds", "labels: {a: b}\n"), "a list was expected"),
    # names that become paths and refs elsewhere
    "agentpath": (claimed("hub-agentpath", "../../owned"), "can't be an agent's name"),
    "agentopt": (claimed("hub-agentopt", "--upload-pack=touch"), "can't be an agent's name"),
    "tokenpath": (claimed("hub-tokenpath", "bob", "../../../owned"), "which can't be one"),
    "tokenref": (claimed("hub-tokenref", "bob", "'x:refs/heads/main'"), "which can't be one"),
    "claims": (bead("hub-claims", "claim_mode: advisory\nclaims: [{agent: ../x, token: y}]\n"), "can't be an agent's name"),
    "noclaim": (bead("hub-noclaim", "claims: [{}]\n"), "without agent or token"),
    # no files
    "link": (link("/etc/passwd"), "is not a plain file"),
    "loop": (link("hub-loop.yaml"), "is not a plain file"),
    "up": (link("../.git/config"), "is not a plain file"),
    "module": (gitlink(), "is not a plain file"),
}
# Files whose names are the matter; what stands in them would be a bead, or an agent.
NAMES: dict[str, str] = {
    "beads/-rf.yaml": "can't be a bead's id",
    "beads/--all.yaml": "can't be a bead's id",
    "beads/.hidden.yaml": "can't be a bead's id",
    "beads/.yaml": "can't be a bead's id",
    "beads/con.yaml": "can't be a bead's id",
    "beads/NUL.yaml": "can't be a bead's id",
    "beads/aux.x.yaml": "can't be a bead's id",
    "beads/com1.yaml": "can't be a bead's id",
    "beads/dot..yaml": "can't be a bead's id",
    "beads/hub-a:stream.yaml": "can't be a bead's id",
    "beads/hub-a b.yaml": "can't be a bead's id",
    "beads/hub-*.yaml": "can't be a bead's id",
    "beads/back\\slash.yaml": "can't be a bead's id",
    "beads/line\nbreak.yaml": "can't be a bead's id",
    "beads/\x1b]0;owned\x07.yaml": "can't be a bead's id",
    "beads/hub-\u202etxt.yaml": "can't be a bead's id",
    "beads/hub-\u200b.yaml": "can't be a bead's id",
    "beads/hub-\u0430.yaml": "can't be a bead's id",  # Cyrillic a
    f"beads/{'x' * 200}.yaml": "can't be a bead's id",
    "beads/hub-\udcff\udcfe.yaml": "not UTF-8",
    "beads/deeper/hub-x.yaml": "is in the wrong place",
    "beads/archive/hub-x.yaml": "is a volume of the archive, and has no line",
    "beads/archive/2026-01/x/hub-x.yaml": "is in the wrong place",
    ".beads/agents/-x.yaml": "can't be an agent's",
    ".beads/agents/UPPER.yaml": "can't be an agent's",
    ".beads/agents/x/y.yaml": None,  # type: ignore[dict-item]
    ".beads/agents/\x1b[2J.yaml": "can't be an agent's",
    ".agent-status/a b.yaml": "can't be an agent's",
    ".agent-status/\udcff.yaml": "not UTF-8",
}


class Board:
    """A clone of a hub that holds all of it, and what was outside before."""

    def __init__(self, folder: Path, templates: Path) -> None:
        import shutil

        self.folder = folder
        self.hub = folder / "hub.git"
        shutil.copytree(templates / "hub.git", self.hub)
        plant(self.hub, {GOOD_PATH: GOOD})
        git(folder, "clone", "--quiet", str(self.hub), str(folder / "clone"))
        self.clone = Clone(folder / "clone")
        self.before = tree_of(folder)
        files: dict[str, str | bytes | Special | None] = {f"beads/hub-{name}.yaml": made for name, (made, _) in BEADS.items()}
        for path in NAMES:
            stem = path.rpartition("/")[2].removesuffix(".yaml")
            files[path] = bead(json.dumps(stem, ensure_ascii=True)) if path.startswith("beads/") else "role: coding\n"
        self.tip = plant(self.hub, files)
        self.synced = self.clone.here("sync", "--json")
        found = self.clone.here("doctor", "--json", check=False)
        assert found.code == 7, found
        self.findings = {entry["where"]: entry["text"] for entry in found.json["findings"]}


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory, templates: Path) -> Board:
    """Made once: every test only looks, or writes what the others don't look at."""
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        seal(patch, folder / "home")
        return Board(folder, templates)


@pytest.mark.parametrize("name", BEADS)
def test_a_file_is_named_with_its_reason(name: str, board: Board) -> None:
    reason = board.findings.get(f"beads/hub-{name}.yaml")
    assert reason is not None, board.findings
    assert BEADS[name][1] in reason


@pytest.mark.parametrize("path", [path for path, reason in NAMES.items() if reason])
def test_a_name_is_named_with_its_reason(path: str, board: Board) -> None:
    shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    assert NAMES[path] in board.findings.get(shown, "nothing"), board.findings


def test_everything_else_goes_on(board: Board) -> None:
    everything_goes_on(board.clone)


def test_a_command_that_names_a_damaged_bead_ends_with_7(board: Board) -> None:
    for name in ("laughs", "nul", "link", "agentpath", "giant"):
        for args in (
            ("show",),
            ("why",),
            ("claim", "--agent", "bob"),
            ("close",),
            ("update", "--priority", "1"),
            ("delete", "--force"),
        ):
            harmless(board.clone.here(args[0], f"hub-{name}", *args[1:], check=False), 7)


def test_strict_reads_end_with_7(board: Board) -> None:
    harmless(board.clone.here("list", "--strict", check=False), 7)


def test_writes_go_on_and_leave_every_damaged_file_as_it_is(board: Board) -> None:
    before = git(board.hub, "ls-tree", "-r", board.tip)
    made = board.clone.here("create", "Beside it all", "--json").json["id"]
    for args in (
        ("claim", "--next", "--agent", "bob"),
        ("stalled", "--reassign"),
        ("poll", "--agent", "bob"),
        ("overseer", "--once"),
        ("archive",),
        ("work", "--agent", "eve", "--once", "--max-tasks", "1", "true"),
        ("update", made, "--priority", "1"),
        ("close", made, "--reason", "done", "--force"),
        ("sync",),
    ):
        harmless(board.clone.here(*args, check=False), 0, 3)
    after = set(git(board.hub, "ls-tree", "-r", "main").splitlines())
    kept = [line for line in before.splitlines() if "hub-good" not in line]
    assert [line for line in kept if line not in after] == []
    assert git(board.hub, "merge-base", "--is-ancestor", board.tip, "main") == ""


def test_nothing_is_written_anywhere_else(board: Board) -> None:
    new = {path for path in tree_of(board.folder) - board.before if not path.startswith(("clone/", "hub.git", "home"))}
    assert new == set()
    assert not [path for path in tree_of(board.folder) if os.path.basename(path).startswith("owned")]


# --- settings --------------------------------------------------------------------------------

SETTINGS = {
    "an anchor": "format: 1\nprefix: &a hub\n",
    "nothing": "",
    "a list": "format: 1\nprefix: [a]\n",
    "stall_factor": "format: 1\nprefix: hub\nstall_factor: nan\n",
    "stall_factor ": "format: 1\nprefix: hub\nstall_factor: 1e308\n",
    "stall_factor  ": "format: 1\nprefix: hub\nstall_factor: -1\n",
    "max_attempts": "format: 1\nprefix: hub\ndefaults: {max_attempts: [3]}\n",
    "types": "format: 1\nprefix: hub\ndefaults: {types: 3}\n",
    "expected": "format: 1\nprefix: hub\ndefaults: {expected: 7}\n",
    "expected ": 'format: 1\nprefix: hub\ndefaults: {expected: {task: "99999999999d"}}\n',
    "claim_ttl": "format: 1\nprefix: hub\nclaim_ttl: {a: b}\n",
    "claim_mode": "format: 1\nprefix: hub\nclaim_mode: none\n",
}


@pytest.mark.parametrize("what", SETTINGS)
def test_settings_that_can_not_be_read_stop_writes_and_no_reads(what: str, hub: Path, clone: object) -> None:
    plant(hub, {GOOD_PATH: GOOD})
    alice: Clone = clone("alice")  # type: ignore[operator]
    tip = plant(hub, {".beads/config.yaml": SETTINGS[what]})
    git(alice.path, "fetch", "--quiet")
    for args in (("list",), ("ready",), ("show", "hub-good"), ("why", "hub-good"), ("stats",)):
        harmless(alice.here(*args, check=False), 0, 7)
    refused = harmless(alice.here("create", "x", check=False), 7)
    assert ".beads/config.yaml" in refused.err
    found = harmless(alice.here("doctor", "--json", check=False), 7)
    assert ".beads/config.yaml" in {entry["where"] for entry in found.json["findings"]}
    assert git(hub, "rev-parse", "main") == tip


def test_a_hub_has_no_say_in_where_it_is_kept_and_who_writes(hub: Path, clone: object, tmp_path: Path) -> None:
    alice: Clone = clone("alice")  # type: ignore[operator]
    settings = "format: 1\nprefix: hub\nbranch: evil\nremote: evil\nagent: mallory\ngit_timeout: 100000h\n"
    plant(hub, {GOOD_PATH: GOOD, ".beads/config.yaml": settings})
    alice.here("sync")
    assert alice.here("whoami", "--json").json["agent"] != "mallory"
    assert alice.here("config", "show", "--json").json["branch"]["value"] == "main"
    alice.here("create", "x")
    assert git(hub, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"


# --- size ------------------------------------------------------------------------------------


def peak_of(*args: str, cwd: Path) -> tuple[Result, int]:
    """A command in a process of its own, and the most memory it had, in MB."""
    import subprocess
    import sys

    program = "import sys; from bd.cli.main import main; code = main(sys.argv[1:])\n"
    program += "print(*[line for line in open('/proc/self/status') if 'VmHWM' in line], file=sys.stderr); sys.exit(code)"
    ended = subprocess.run([sys.executable, "-c", program, *args], cwd=cwd, capture_output=True, text=True)
    status = next(line for line in ended.stderr.splitlines() if "VmHWM" in line)
    return Result(args, ended.returncode, ended.stdout, ended.stderr), int(status.split()[1]) // 1024


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="only Linux tells how much memory a process had")
def test_large_files_take_no_more_memory_than_a_few_of_them(hub: Path, clone: object) -> None:
    plant(hub, {GOOD_PATH: GOOD})
    alice: Clone = clone("alice")  # type: ignore[operator]
    _, usual = peak_of("list", cwd=alice.path)
    many = {f"beads/hub-l{n}.yaml": Special("100644", b"id: x\nnotes: %03d" % n + b"x" * 4_900_000) for n in range(12)}
    plant(hub, {**many, "beads/hub-huge.yaml": Special("100644", b"x" * 40_000_000)})
    git(alice.path, "fetch", "--quiet")
    read, peak = peak_of("list", cwd=alice.path)
    assert read.code == 0, read
    assert "hub-good" in read.out
    assert peak < usual + 60, f"{usual} MB before, {peak} MB with 100 MB of files"


def test_a_tree_that_never_ends_is_refused(hub: Path, clone: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from bd.store.git import repository

    plant(hub, {GOOD_PATH: GOOD})
    alice: Clone = clone("alice")  # type: ignore[operator]
    leaf = git(hub, "hash-object", "-w", "--stdin", data=b"x")
    raw = b"".join(b"100644 f%d\0" % n + bytes.fromhex(leaf) for n in range(10))
    for _ in range(9):  # ten billion files
        tree = git(hub, "hash-object", "-w", "-t", "tree", "--stdin", data=raw)
        raw = b"".join(b"40000 d%d\0" % n + bytes.fromhex(tree) for n in range(10))
    bomb = git(hub, "hash-object", "-w", "-t", "tree", "--stdin", data=raw)
    plant(hub, {"beads/bomb": Special("40000", bomb.encode())})
    monkeypatch.setattr(repository, "_LISTING_LIMIT", 1_000_000)
    harmless(alice.here("create", "x", check=False), 7)
    harmless(alice.here("list", "--all", check=False), 7)


def test_one_process_of_its_own_meets_it_all(board: Board) -> None:
    """The real command, with real streams that have an encoding."""
    for env in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
        shown = run_process("doctor", cwd=board.clone.path, env=env, check=False)
        harmless(shown, 7)


# --- file systems that ignore case ----------------------------------------------------------------


def test_an_id_that_differs_only_in_case_is_refused_however_it_comes(hub: Path, clone: Callable[[str], Clone]) -> None:
    alice = clone("alice")
    alice.here("create", "First", "--id", "hub-a")
    before = tip(hub)
    refused = alice.here("create", "Second", "--id", "Hub-A", "--json", code=5)
    assert refused.json["code"] == "id_taken"
    assert "only in upper and lower case" in refused.json["error"]
    (alice.path / "beads" / "HUB-A.yaml").write_text("id: HUB-A\ntitle: By hand\nstatus: open\n")
    assert "only in upper and lower case" in alice.here("sync", check=False).err
    assert tip(hub) == before
    (alice.path / "beads" / "HUB-A.yaml").unlink(missing_ok=True)  # the hub refused it, and it is kept
    (alice.path / "in.jsonl").write_text('{"id": "hub-A", "title": "Imported", "status": "open"}\n')
    assert "only in upper and lower case" in alice.here("import", "in.jsonl").err
    assert alice.here("list", "--all", "--json").json[0]["title"] == "First"


def test_two_that_came_with_plain_git_are_named(hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    other = clone("other").path
    for name in ("hub-b", "HUB-B"):
        commit_file(other, f"beads/{name}.yaml", f"id: {name}\ntitle: {name}\nstatus: open\n")
    git(other, "push", "--quiet", "origin", "main")
    found = clone("alice").here("doctor", "--json", code=7).json["findings"]
    assert [finding["where"] for finding in found if finding["code"] == "double_id"] == ["beads/HUB-B.yaml and beads/hub-b.yaml"]
