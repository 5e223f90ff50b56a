"""Replacing a file: whole or not at all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from bd.core import files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("content", ["Größe\r\n", b"\xff\0"])
def test_a_file_and_its_folder_are_made_and_replaced(content: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    for _ in range(2):
        files.replace(str(path), content, durably=True)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert os.listdir(path.parent) == ["file"]


def test_what_can_not_be_written_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    path = place / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        files.replace(str(path), "\ud800")
    folder = place / "folder"
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        files.replace(str(folder), "new")
    assert path.read_text() == "old"
    assert sorted(os.listdir(place)) == ["file", "folder"]


def test_a_file_that_is_only_mine_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    before = os.umask(0)
    try:
        files.replace(str(path), "everybody's")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
        with open(path, "a", encoding="utf-8", opener=files.private) as file:
            file.write("mine")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        files.replace(str(path), "mine", only_mine=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
