"""Editing a bead's YAML in an editor: a script in the tests, as an agent or a person would change the file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.truth import tip, tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`editor("s/old/new/")`: from now on the editor is a script that runs sed; any other text is a shell script on "$1"."""

    def make(what: str) -> None:
        path = tmp_path / "my editor"
        script = f"sed -i -e '{what}' \"$1\"" if what.startswith("s/") else what
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("EDITOR", f"'{path}'")
        monkeypatch.delenv("VISUAL", raising=False)

    return make


def test_an_edit_is_published(board: Clone, editor: Callable[[str], None]) -> None:
    editor("s/^title: .*/title: Renamed/")
    answer = board.here("edit", "hub-bug", "--json").json
    assert (answer[0]["id"], answer[0]["title"]) == ("hub-bug", "Renamed")
    assert tip_bead(board.path, "hub-bug").title == "Renamed"
    assert board.here("history", "hub-bug", "--json").json[-1]["verb"] == "edit"
    editor("s/Renamed/Renamed again/")
    assert board.here("edit", "bug").out == "✓ Edited hub-bug — Renamed again\n"


def test_comments_and_spacing_of_a_person_are_kept(board: Clone, editor: Callable[[str], None]) -> None:
    editor('printf "# a note to myself\\n" >> "$1"; sed -i "s/^priority: 0/priority:   1/" "$1"')
    board.here("edit", "hub-bug")
    text = (tip_file(board.path, "beads/hub-bug.yaml") or b"").decode()
    assert "# a note to myself\n" in text
    assert "priority:   1\n" in text
    board.here("comment", "hub-bug", "a write by bd")
    text = (tip_file(board.path, "beads/hub-bug.yaml") or b"").decode()
    assert "# a note to myself\n" in text
    assert "priority:   1\n" in text


@pytest.mark.parametrize("what", ["true", "s/^title: \\(.*\\)/title: \\1/", 'touch "$1"'])
def test_no_change_writes_nothing(board: Clone, editor: Callable[[str], None], what: str) -> None:
    before = tip(board.path)
    editor(what)
    result = board.here("edit", "hub-bug", "--json")
    assert result.json == []
    assert "nothing was changed" in result.err
    assert tip(board.path) == before


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("s/^title: .*/title: [/", "the edited file"),
        ("s/^id: .*/id: hub-other/", "the edited file"),
        ("s/^priority: .*/priority: nine/", "the edited file"),
        ('printf "title: Twice\\n" >> "$1"', "the edited file"),
    ],
)
def test_what_cannot_be_read_is_refused_and_the_text_kept(
    board: Clone, editor: Callable[[str], None], what: str, says: str
) -> None:
    before = tip(board.path)
    editor(what)
    refused = board.here("edit", "hub-bug", "--json", code=2)
    assert says in refused.json["error"]
    assert tip(board.path) == before
    kept = Path(refused.json["hint"].rpartition(" ")[2])
    assert kept.is_file()
    assert kept.read_bytes() != tip_file(board.path, "beads/hub-bug.yaml")
    kept.unlink()


def test_an_editor_that_fails_changes_nothing(board: Clone, editor: Callable[[str], None]) -> None:
    before = tip(board.path)
    editor('printf "title: Lost\\n" > "$1"; exit 1')
    refused = board.here("edit", "hub-bug", "--json", code=2)
    assert "editor" in refused.json["error"].lower()
    assert tip(board.path) == before


def test_without_an_editor(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EDITOR")
    monkeypatch.delenv("VISUAL")
    refused = board.here("edit", "hub-bug", code=2)
    assert "nor EDITOR" in refused.err
    assert "bd update" in refused.err


def test_what_others_change_meanwhile_stays(board: Clone, editor: Callable[[str], None], tmp_path: Path) -> None:
    """While the editor is open, another write changes another field: both survive."""
    import sys

    editor(
        f"(cd '{board.path}' && '{sys.executable}' -m bd update hub-bug --priority 4) >/dev/null; sed -i 's/^title: .*/title: Mine/' \"$1\""
    )
    board.here("edit", "hub-bug")
    bead = tip_bead(board.path, "hub-bug")
    assert bead is not None
    assert (bead.title, bead.priority) == ("Mine", 4)


def test_two_changes_of_one_text_are_refused_and_kept(board: Clone, editor: Callable[[str], None]) -> None:
    import sys

    editor(
        f"(cd '{board.path}' && '{sys.executable}' -m bd update hub-bug --title Theirs) >/dev/null; sed -i 's/^title: .*/title: Mine/' \"$1\""
    )
    refused = board.here("edit", "hub-bug", "--json", code=5)
    assert "title" in refused.json["error"]
    assert tip_bead(board.path, "hub-bug").title == "Theirs"


def test_a_claim_is_not_edited_away(board: Clone, editor: Callable[[str], None]) -> None:
    editor("s/^status: in_progress/status: open/")
    refused = board.here("edit", "hub-work", "--json", "--agent", "eve", code=5)
    assert refused.json["code"] == "stale_token"
    assert tip_bead(board.path, "hub-work").status == "in_progress"
