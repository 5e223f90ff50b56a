"""What a bead leaves behind, and what the next one starts from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.auditing import assert_sound
from tests.truth import commits, git, tip, tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(4)

LARGE = "a line of a long report\n" * 2000


@pytest.fixture
def alice(clone: Clones) -> Clone:
    made = clone("alice")
    made.here("create", "Research", "--id", "hub-a")
    return made


@pytest.mark.parametrize(
    ("content", "data"),
    [("plain words\n", "plain words\n"), ('{"rows": [1, 2]}', {"rows": [1, 2]}), ("é: yes", "é: yes")],
)
def test_small_output_lies_in_the_bead(alice: Clone, hub: Path, content: str, data: object) -> None:
    alice.here("close", "hub-a", "--output", "-", input=content)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("output")) == ("closed", {"data": data})


def test_large_output_lies_beside_it_in_the_same_commit(alice: Clone, hub: Path, tmp_path: Path) -> None:
    (tmp_path / "my report?.md").write_text(LARGE)
    before = len(commits(hub))
    alice.here("close", "hub-a", "--output", str(tmp_path / "my report?.md"))
    assert len(commits(hub)) == before + 1
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.get("output") == {"artifacts": [{"name": "my-report-.md", "ref": "artifacts/hub-a/my-report-.md"}]}
    assert tip_file(hub, "artifacts/hub-a/my-report-.md") == LARGE.encode()
    assert "a line of" not in git(hub, "log", "-1", "--format=%B"), "the content is not in the commit's words too"
    assert len(git(hub, "log", "-1", "--format=%B")) < 2000
    assert_sound(hub)


def test_what_is_no_text_is_stored_too(alice: Clone, hub: Path, tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0\xff")
    alice.here("close", "hub-a", "--output", str(tmp_path / "logo.png"))
    assert tip_file(hub, "artifacts/hub-a/logo.png") == b"\x89PNG\0\xff"


@pytest.mark.parametrize("ref", ["https://x.org/report", "site@0123456789ab:out/page.html"])
def test_a_reference_is_only_kept(alice: Clone, hub: Path, ref: str) -> None:
    alice.here("close", "hub-a", "--output", ref)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [one["ref"] for one in bead.get("output")["artifacts"]] == [ref]


def test_what_is_refused_leaves_nothing_behind(alice: Clone, hub: Path, tmp_path: Path) -> None:
    before = tip(hub)
    (tmp_path / "huge").write_bytes(b"x" * 5_000_001)
    assert "keeps a reference" in alice.here("close", "hub-a", "--output", str(tmp_path / "huge"), code=2).err
    assert alice.here("close", "hub-a", "--output", "/nowhere", code=4)
    assert "is empty" in alice.here("close", "hub-a", "--output", "-", input=" ", code=2).err
    alice.here("create", "Other", "--id", "hub-b")
    assert "--output is for one bead" in alice.here("close", "hub-a", "hub-b", "--output", "-", input="x", code=2).err
    assert git(hub, "diff", "--name-only", before, "main") == "beads/hub-b.yaml"


def test_stored_offline_it_is_published_with_its_content(alice: Clone, clone: Clones, hub: Path, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(LARGE)
    url = git(alice.path, "remote", "get-url", "origin")
    git(alice.path, "remote", "set-url", "origin", "/nowhere")
    alice.here("close", "hub-a", "--output", str(tmp_path / "report.md"), check=False)
    git(alice.path, "remote", "set-url", "origin", url)
    clone("bob").here("create", "Meanwhile")
    assert alice.here("sync", "--json").json["replayed"] == 1
    assert tip_file(hub, "artifacts/hub-a/report.md") == LARGE.encode()
    assert tip_bead(hub, "hub-a").status == "closed"


def test_context_prints_what_a_bead_starts_from(alice: Clone, clone: Clones, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(LARGE)
    alice.here("create", "Design", "--id", "hub-b")
    alice.here("create", "Not yet", "--id", "hub-c")
    alice.here("close", "hub-a", "--output", "-", input='{"rivals": ["x", "y"]}')
    alice.here("close", "hub-b", "--output", str(tmp_path / "report.md"))
    refs = [
        "task:hub-a:output",
        "task:hub-b:output",
        "task:hub-c:output",
        "task:hub-gone:output",
        "brief=https://x.org/b",
        "/etc/passwd",
        "../../x",
        ".beads/config.yaml",
    ]
    plan = {"title": "Write", "id": "hub-w", "spec": {"context_refs": refs}}
    alice.here("create", "--file", "-", input=json.dumps(plan))
    bob = clone("bob")
    bob.here("sync")
    found = bob.here("context", "hub-w", "--json").json["context"]
    assert [one.get("data") or one.get("text") or one.get("missing") for one in found] == [
        {"rivals": ["x", "y"]},
        LARGE,
        "it is open and has no output",
        "there is no such bead",
        "it is elsewhere",
        "it is elsewhere",
        "the hub has no such file",
        found[-1]["text"],
    ]
    assert "prefix: hub" in found[-1]["text"]
    text = bob.here("context", "hub-w").out
    assert '== hub-a: Research (task:hub-a:output)\n{\n  "rivals"' in text
    assert "== brief (https://x.org/b)\n(it is elsewhere)\n" in text
    assert bob.here("context", "hub-c").out == "hub-c has no context_refs.\n"
