"""Words that are made to be options, paths, refs or transports: typed, in the environment, in git's configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.hostile.planting import GOOD_PATH, harmless
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone, Result

pytestmark = pytest.mark.one_in(45)

EXT = "ext::sh -c touch% owned"


def nothing_ran(folder: Path) -> None:
    assert not [path for path in folder.rglob("*") if path.name.startswith("owned")]


# --- ids, names, titles -----------------------------------------------------------------------

NO_IDS = [
    "-rf",
    "--all",
    "--",
    "../hub-good",
    "../../etc/passwd",
    "/etc/passwd",
    "hub-good/../hub-good",
    ".beads/config",
    "..",
    ".",
    "hub-good.yaml\0",
    "hub\ngood",
    "con",
    "nul.txt",
    "aux",
    "hub-a:b",
    "hub-a.",
    "hub-*",
    "refs/heads/main",
    "@{-1}",
    "\x1b[2J",
    "hub-\u202e",
    "hub-\u200b",
    "x" * 5000,
    "",
    " ",
]


@pytest.mark.one_in(20)
@pytest.mark.parametrize("word", NO_IDS)
def test_ids(word: str, alice: Clone, hub: Path, tmp_path: Path) -> None:
    before = git(hub, "rev-parse", "main")
    for args in (
        ("show",),
        ("why",),
        ("close",),
        ("claim", "--agent", "bob"),
        ("history",),
        ("comment",),
        ("delete", "--force"),
        ("edit",),
    ):
        rest = ("a text",) if args[0] == "comment" else ()
        harmless(alice.here(*args, "--", word, *rest, check=False), 2, 4, 5)
    for args in (("--id", word), ("--parent", word), ("--deps", word)):
        if not word.strip():
            continue  # unset
        harmless(alice.here("create", "x", f"{args[0]}={word}", check=False), 2, 4, 5)
    harmless(alice.here("dep", "add", "hub-good", "--", word, check=False), 2, 4)
    if word.strip():
        assert git(hub, "rev-parse", "main") == before
    nothing_ran(tmp_path)


@pytest.mark.parametrize(
    "word", ["-x", "--upload-pack=touch owned", "../x", "a/b", "A", "a b", "x" * 64, "\x1b[2J", "\u202ex", "x\ny", "é", ""]
)
def test_agents(word: str, alice: Clone, hub: Path, tmp_path: Path) -> None:
    before = git(hub, "rev-parse", "main")
    for args in (("agent", "add"), ("agent", "show"), ("agent", "remove"), ("drain",), ("offline",)):
        harmless(alice.here(*args, "--", word, check=False), 2, 4)
    if word:
        for args in (("claim", "hub-good"), ("poll",), ("heartbeat",), ("work", "--once")):
            harmless(alice.here(*args, f"--agent={word}", *(("true",) if args[0] == "work" else ()), check=False), 2)
        harmless(alice.here("claim", "hub-good", env={"BD_AGENT": word}, check=False), 2)
    assert git(hub, "rev-parse", "main") == before
    assert git(hub, "for-each-ref", "refs/bd/agents", "refs/bd/claims") == ""
    nothing_ran(tmp_path)


@pytest.mark.parametrize("word", ["-x", "../x", "a b", "\x1b[2J", "x\ny", "é", "x" * 41, "-", "."])
def test_prefixes(word: str, tmp_path: Path, bd: Callable[..., Result]) -> None:
    harmless(bd("init", "new", f"--prefix={word}", cwd=tmp_path, check=False), 2)
    assert not (tmp_path / "new" / ".beads").exists()


# --- where a hub is ---------------------------------------------------------------------------

URLS = [
    EXT,
    "ext::touch owned",
    "fd::0",
    "--upload-pack=touch owned",
    "-u",
    "--config=core.sshCommand=touch owned",
    "file::///tmp",
    "testgit::/tmp/x",
    "\nhttps://example.org",
    "ssh://-oProxyCommand=touch owned/x",
    "-oProxyCommand=touch owned:x",
    "",
]
DEFAULT_GIT = "[user]\n\tname = Test Person\n\temail = person@example.org\n[init]\n\tdefaultBranch = main\n"


@pytest.fixture
def default_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as it is when nobody has set anything: what it allows by itself."""
    (tmp_path / "home" / "default").write_text(DEFAULT_GIT)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "home" / "default"))
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")


@pytest.mark.parametrize("url", URLS)
def test_urls(url: str, tmp_path: Path, bd: Callable[..., Result], default_git: None) -> None:
    harmless(bd("clone", "--", url, "fresh", cwd=tmp_path, check=False), 2, 4, 6)
    harmless(bd("init", "new", "--prefix", "hub", f"--remote={url}", cwd=tmp_path, check=False), 2, 6)
    nothing_ran(tmp_path)


@pytest.mark.parametrize("url", [EXT, "ext::touch owned", "--upload-pack=touch owned", "ssh://-oProxyCommand=touch owned/x"])
def test_a_remote_whose_url_was_changed_to_a_command(url: str, alice: Clone, tmp_path: Path, default_git: None) -> None:
    """Git's own defaults refuse to run it, and bd does not loosen them. What the user allows, git does: that is the user's."""
    git(alice.path, "config", "remote.origin.url", url)
    git(alice.path, "config", "--unset-all", "remote.origin.pushurl", check=False)
    for args in (
        ("sync",),
        ("list", "--fetch"),
        ("create", "x"),
        ("claim", "hub-good", "--agent", "bob"),
        ("poll", "--agent", "bob"),
        ("doctor",),
    ):
        harmless(alice.here(*args, check=False), 0, 5, 6, 7)
    nothing_ran(tmp_path)


@pytest.mark.parametrize("name", ["-x", "--upload-pack=touch owned", "--receive-pack=touch owned", "../x", "/etc", "none/x"])
def test_a_remote_named_like_an_option(name: str, alice: Clone, hub: Path, tmp_path: Path, default_git: None) -> None:
    harmless(alice.here("list", "--fetch", env={"BD_REMOTE": name}, check=False), 2)
    git(alice.path, "config", f"remote.{name}.url", str(hub))
    for args in (("sync",), ("list", "--fetch"), ("create", "x"), ("heartbeat", "--agent", "bob")):
        harmless(alice.here(*args, env={"BD_REMOTE": name}, check=False), 0, 2, 4, 5, 6)
    nothing_ran(tmp_path)


BRANCHES = [
    "-x",
    "--force",
    "../x",
    "a..b",
    "a b",
    "a:b",
    "x.lock",
    "@{u}",
    "a/../../b",
    "/x",
    "x/",
    "a\nb",
    "\x1b[2J",
    "*",
    "x~1",
    ".x",
    "a/.b",
]


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name: str, alice: Clone, hub: Path, tmp_path: Path, bd: Callable[..., Result]) -> None:
    harmless(bd("init", "new", "--prefix", "hub", f"--branch={name}", cwd=tmp_path, check=False), 2)
    harmless(bd("clone", str(hub), "fresh", f"--branch={name}", cwd=tmp_path, check=False), 2)
    before = git(hub, "for-each-ref")
    for args in (("list",), ("list", "--fetch"), ("create", "x"), ("sync",), ("doctor",)):
        harmless(alice.here(*args, env={"BD_BRANCH": name}, check=False), 2, 4, 6)
    alice.here("config", "set", "--clone", "--", "branch", name, check=False)
    for args in (("list",), ("create", "x"), ("sync",)):
        harmless(alice.here(*args, check=False), 2, 4, 6)
    assert git(hub, "for-each-ref") == before
    nothing_ran(tmp_path)


def test_revisions(alice: Clone, tmp_path: Path) -> None:
    for word in (
        "--output=owned",
        "-x",
        "HEAD:../../etc/passwd",
        ":/x",
        "@{-1}",
        "main^{/x}",
        "9999-99-99",
        "99999999d",
        "0001-01-01",
    ):
        harmless(alice.here("list", f"--at={word}", check=False), 0, 2, 4)
    nothing_ran(tmp_path)


def test_files_named_like_options_in_a_checkout(alice: Clone, hub: Path, tmp_path: Path) -> None:
    for name in ("--stdin", "-rf", "--upload-pack=x", "--output=owned.yaml"):
        (alice.path / "beads" / f"{name}.yaml").write_text(f"id: '{name}'\ntitle: t\n")
        (alice.path / name).write_text("x")
    harmless(alice.here("sync", check=False), 0, 7)
    harmless(alice.here("doctor", check=False), 7)
    assert git(hub, "ls-tree", "-r", "--name-only", "main", "beads/") == GOOD_PATH
    assert (alice.path / "-rf").exists()


def test_arguments_that_are_no_text(alice: Clone) -> None:
    """Bytes of a command line that are no UTF-8, and halves of characters, in a process of its own."""
    import subprocess

    from tests.running import BD

    for args in (
        [b"create", b"caf\xe9"],
        [b"show", b"\xff\xfe"],
        [b"search", b"\xed\xa0\x80"],
        [b"list", b"--label", b"\xff"],
        [b"\xff"],
    ):
        ended = subprocess.run([*map(os.fsencode, BD), *args, b"--json"], cwd=alice.path, capture_output=True)
        assert ended.returncode in (0, 2, 4), ended
        assert b"a bug in bd" not in ended.stdout + ended.stderr
        ended.stdout.decode("utf-8")
        ended.stderr.decode("utf-8")
