"""What bd says is what it said, word for word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.transcripts.hubs import HUBS
from tests.transcripts.plain import Plain

HERE = Path(__file__).parent
# Each process imports all of bd: few of them, yet more than one for the cores there are. All of them take three minutes of two.
QUICK = ["empty"]
BOARD = [name for name in HUBS if name.startswith("board-")]
OTHERS = [name for name in HUBS if name not in (*BOARD, *QUICK)]
PARTS = [
    pytest.param(QUICK, id="quick"),
    pytest.param(BOARD, id="board", marks=pytest.mark.slow),
    pytest.param(OTHERS, id="others", marks=pytest.mark.slow),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="transcripts are played in forked processes")
@pytest.mark.parametrize("names", PARTS)
def test_what_bd_says_is_what_was_recorded(names: list[str]) -> None:
    words = [sys.executable, "-m", "tests.transcripts", *names]
    done = subprocess.run(words, cwd=HERE.parents[1], capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_every_recording_is_of_a_hub() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == set(HUBS)


def test_every_command_is_typed_and_its_help_is_read() -> None:
    heard = (HERE / "help.txt").read_text(encoding="utf-8")
    overview = heard.partition("$ help --all\n")[2].partition("\n\n")[0]
    known = [line.split()[1] for line in overview.splitlines() if line.startswith("|   ")]
    assert len(known) > 100
    assert [name for name in known if f"$ {name} --help\n" not in heard] == []
    typed = "".join((HERE / f"{name}.txt").read_text(encoding="utf-8") for name in HUBS if name not in ("help", "nowhere"))
    assert [name for name in known if f"$ {name}" not in typed] == ["serve", "demo", "help"]  # tests of their own; and help.txt


def test_what_differs_gets_names_and_what_does_not_stays() -> None:
    plain = Plain({"/some/folder": "<folder>"}, "show hub-typed")
    told = plain.of(
        "hub-0a1b /some/folder/x 01J00000000000000000000000 hub-typed hub-0a1b 0123456789abcdef0123456789abcdef01234567\n"
    )
    assert told == "<id1> <folder>/x <ulid1> hub-typed <id1> <commit1>\n"
