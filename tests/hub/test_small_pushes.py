"""What a push sends is small, however many beads there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.store.hub_location import locate
from tests.runtime import open_clone
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone


def test_a_bitmap_makes_no_push_send_whole_folders(clone: Callable[[str], Clone]) -> None:
    """A clone of a bare hub on the same machine takes its bitmaps along, and a heartbeat on the hub is in them."""
    alice = clone("alice")
    (alice.path / "beads").mkdir()
    for number in range(400):
        (alice.path / f"beads/hub-{number:03}.yaml").write_text(f"id: hub-{number:03}\ntitle: x\n")
    git(alice.path, "add", "beads")
    git(alice.path, "commit", "--quiet", "-m", "many")
    alice.here("sync")
    empty_tree = git(alice.path, "hash-object", "-t", "tree", "-w", "--stdin", data=b"")
    text = f"tree {empty_tree}\nauthor bd <b@d> 242577 +0000\ncommitter bd <b@d> 242577 +0000\n\nbeat\n"
    beat = git(alice.path, "hash-object", "-t", "commit", "-w", "--stdin", data=text.encode())
    git(alice.path, "update-ref", "refs/remotes/beat", beat)
    git(alice.path, "repack", "-adb", "--quiet")
    alice.here("create", "One more", "--id", "hub-one")
    before = git(alice.path, "rev-parse", "HEAD")
    alice.here("create", "One more", "--id", "hub-new")
    repo = open_clone(locate(str(alice.path))).repo
    wanted = f"^{beat}\n^{before}\n{git(alice.path, 'rev-parse', 'HEAD')}\n"
    _, sent, _ = repo.run("pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q", data=wanted.encode())
    assert len(sent) < 400 * 20, "a folder is sent as what differs in it: the names of its 400 objects take more"
