"""Links and paths that lead out: in the tree of a hub, and in the files of a checkout. Nothing is read or written through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hostile.planting import GOOD, GOOD_PATH, Special, everything_goes_on, gitlink, harmless, link, plant
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone, Result

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones

ELSEWHERE = "id: hub-secret\ntitle: A secret of this machine\n"
# What is done in a clone once something is planted.
WRITES = (
    ("create", "Another"),
    ("claim", "hub-good", "--agent", "bob"),
    ("heartbeat", "--agent", "bob"),
    ("close", "hub-good", "--reason", "done", "--force"),
    ("sync",),
    ("agent", "add", "eve", "--role", "coding"),
    ("archive",),
    ("doctor", "--fix", "--yes"),
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that no hub has any business with."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("secret.yaml", "hub-secret.yaml", "hub-good.yaml", "config.yaml", ".stamp", "metadata.json", "bob.yaml"):
        (folder / name).write_text(ELSEWHERE)
    return folder


@pytest.fixture
def untouched(outside: Path) -> Callable[[], None]:
    """Asserts that the folder outside is as it was, and that nothing of it is on the hub."""
    before = {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in outside.iterdir()}

    def check() -> None:
        assert {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in outside.iterdir()} == before

    return check


def holds_no_secret(hub: Path) -> None:
    assert "secret of this machine" not in git(hub, "log", "-p", "--all")


# --- in the tree ------------------------------------------------------------------------------

# Paths of a tree that lead out, and whether the hub is still one.
IN_TREE: dict[str, tuple[Callable[[Path], dict[str, Special | str | None]], bool]] = {
    "the stamp": (lambda out: {".beads/.stamp": link(str(out / ".stamp"))}, True),
    "the stamp, from below": (lambda out: {".beads/.stamp": link("../../outside/.stamp")}, True),
    "the client's folder": (lambda out: {".beads": link(str(out))}, False),
    "the settings": (lambda out: {".beads/config.yaml": link(str(out / "config.yaml"))}, False),
    "the metadata": (lambda out: {".beads/metadata.json": link(str(out / "metadata.json"))}, True),
    "the agents": (lambda out: {".beads/agents": link(str(out))}, True),
    "an agent": (lambda out: {".beads/agents/bob.yaml": link(str(out / "bob.yaml"))}, True),
    "the capacities": (lambda out: {".agent-status": link(str(out))}, True),
    "a capacity": (lambda out: {".agent-status/bob.yaml": link(str(out / "bob.yaml"))}, True),
    "the beads": (lambda out: {"beads": link(str(out))}, True),
    "the archive": (lambda out: {"beads/archive": link(str(out))}, True),
    "a bead": (lambda out: {"beads/hub-secret.yaml": link(str(out / "hub-secret.yaml"))}, True),
    "the export": (lambda out: {".beads/issues.jsonl": link(str(out / "secret.yaml"))}, True),
    "the artifacts": (lambda out: {"artifacts": link(str(out))}, True),
    "submodules": (lambda out: {"beads/sub": gitlink(), ".beads/agents/sub": gitlink(), "artifacts/sub": gitlink()}, True),
    "a path up": (lambda out: {"beads/../../outside/owned.yaml": ELSEWHERE}, True),
    "a path up in a name": (lambda out: {"beads/..\\outside\\owned.yaml": ELSEWHERE}, True),
    "git's own folder": (lambda out: {".git/hooks/post-checkout": "#!/bin/sh\ntouch owned\n"}, True),
    "git's own folder below": (lambda out: {"beads/.git/config": "[core]\n\tfsmonitor = touch owned\n"}, True),
    "git's own folder in capitals": (lambda out: {".GIT/config": "[core]\n\tfsmonitor = touch owned\n"}, True),
    "attributes": (lambda out: {".gitattributes": "* filter=owned diff=owned merge=owned\n"}, True),
    "a submodule's address": (
        lambda out: {
            "sub": gitlink(),
            ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ext::sh -c touch% owned\n\tupdate = !touch owned\n',
        },
        True,
    ),
}


REFUSED_BY_GIT = "a submodule's address"


@pytest.mark.parametrize("what", IN_TREE)
def test_in_the_tree(what: str, alice: Clone, hub: Path, outside: Path, untouched: Callable[[], None], tmp_path: Path) -> None:
    planted, is_hub = IN_TREE[what]
    plant(hub, planted(outside))
    harmless(alice.here("sync", check=False), *((0,) if is_hub else (4, 7)))
    if is_hub and what != "the beads":  # whoever puts a link in their place has taken them away
        everything_goes_on(alice)
    for args in WRITES:
        ended = harmless(alice.here(*args, check=False), 0, 3, 4, 5, 6, 7)
        assert ended.code != 7 or args[0] == "doctor" or not is_hub, ended
        assert is_hub or ended.code in (4, 7) or args[0] in ("heartbeat", "doctor"), ended
    untouched()
    if "path up" not in what:
        holds_no_secret(hub)
    assert not list(tmp_path.rglob("owned*"))


def test_a_clone_of_such_a_hub(
    hub: Path, outside: Path, untouched: Callable[[], None], tmp_path: Path, bd: Callable[..., Result]
) -> None:
    planted: dict[str, Special | str | None] = {GOOD_PATH: GOOD}
    for what, (make, is_hub) in IN_TREE.items():
        files = make(outside)
        if is_hub and what != REFUSED_BY_GIT and not any(part in path for path in files for part in ("..", ".git/", ".GIT/")):
            planted |= {path: made for path, made in files.items() if not any(other.startswith(f"{path}/") for other in planted)}
    plant(hub, {path: made for path, made in planted.items() if path not in ("beads", ".agent-status", ".beads/agents")})
    bd("clone", str(hub), str(tmp_path / "fresh"), cwd=tmp_path)
    assert "hub-good" in bd("list", cwd=tmp_path / "fresh").out
    bd("create", "x", cwd=tmp_path / "fresh")
    untouched()
    assert not list(tmp_path.rglob("owned*"))


def test_a_clone_that_git_refuses_to_check_out(hub: Path, outside: Path, tmp_path: Path, bd: Callable[..., Result]) -> None:
    """Git's own words, and no advice to try again; its clone is there without the files, and bd reads no files."""
    plant(hub, {GOOD_PATH: GOOD, **IN_TREE[REFUSED_BY_GIT][0](outside)})
    refused = bd("clone", str(hub), str(tmp_path / "fresh"), cwd=tmp_path, code=7)
    assert "invalid value for 'submodule.sub.update'" in refused.err
    assert "hub-good" in bd("list", cwd=tmp_path / "fresh").out
    assert not list(tmp_path.rglob("owned*"))


# --- in the checkout --------------------------------------------------------------------------

IN_CHECKOUT: dict[str, str] = {
    "beads": "",
    ".beads/agents": "",
    ".agent-status": "",
    "beads/hub-good.yaml": "secret.yaml",
    "beads/hub-new.yaml": "hub-secret.yaml",
    "beads/archive": "",
    ".beads/config.yaml": "config.yaml",
    ".beads/.stamp": ".stamp",
    ".beads": "",
}


@pytest.mark.parametrize("path", IN_CHECKOUT)
def test_in_the_checkout(path: str, alice: Clone, hub: Path, outside: Path, untouched: Callable[[], None]) -> None:
    there = alice.path / path
    if there.is_dir() and not there.is_symlink():
        there.rename(alice.path / "moved away")
    else:
        there.unlink(missing_ok=True)
    there.parent.mkdir(exist_ok=True)
    there.symlink_to(outside / IN_CHECKOUT[path] if IN_CHECKOUT[path] else outside)
    for args in (("sync",), ("doctor",), ("create", "Another"), ("close", "hub-good"), ("sync",), ("list",)):
        harmless(alice.here(*args, check=False), 0, 5, 6, 7)
    untouched()
    holds_no_secret(hub)
    kept = git(hub, "ls-tree", "-r", "--name-only", "main").splitlines()
    assert GOOD_PATH in kept, "a link in the place of files deletes none of them"
    assert ".beads/config.yaml" in kept
