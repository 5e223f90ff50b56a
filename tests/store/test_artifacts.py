"""What an artifact's reference names, and what is kept of what was typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.core.errors import BadInput
from bd.store.artifacts import reference
from bd.store.hub_location import locate
from bd.store.replica import Replica
from tests.runtime import open_clone
from tests.truth import commit_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.running import Clone


@pytest.fixture
def hub(local_hub: Clone, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replica]:
    commit_file(local_hub.path, "artifacts/hub-a/report.md", "words")
    commit_file(local_hub.path, "artifacts/hub-a/gone.md", "words")
    (local_hub.path / "artifacts/hub-a/gone.md").unlink()
    monkeypatch.chdir(local_hub.path / "artifacts")
    opened = open_clone(locate(str(local_hub.path)))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "typed", ["https://x.org/a?b=c", "s3://bucket/key", "site@3f2a91c:src/app.py", "org/site@3f2a91c0d1:a b.md"]
)
def test_what_is_elsewhere_is_kept_as_typed(typed: str, hub: Replica) -> None:
    assert reference(hub, typed) == typed


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("hub-a/report.md", "artifacts/hub-a/report.md"),
        ("./hub-a/../hub-a", "artifacts/hub-a"),
        ("artifacts/hub-a/report.md", "artifacts/hub-a/report.md"),
        ("artifacts/hub-a/gone.md", "artifacts/hub-a/gone.md"),
    ],
)
def test_a_file_of_the_hub_is_kept_by_its_path_there(typed: str, kept: str, hub: Replica) -> None:
    assert reference(hub, typed) == kept


def test_another_file_is_kept_by_its_full_path(hub: Replica, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("x")
    assert reference(hub, "../../elsewhere.md") == str(tmp_path / "elsewhere.md")


@pytest.mark.parametrize(
    "typed",
    ["nowhere.md", "/nowhere.md", "hub-a/gone.md", "../artifacts/nowhere", "git@host:a/b", "site@main:x", "a\nb", "http://a b"],
)
def test_what_is_not_there_is_refused(typed: str, hub: Replica) -> None:
    with pytest.raises(BadInput) as refusal:
        reference(hub, typed)
    assert refusal.value.exit_code == 2
