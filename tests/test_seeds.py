"""docs/seeds.md: every point of the designs that bd follows, and that its command prints what the page says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from bd.core.times import duration_s
from tests.running import HOOKED
from tests.runtime import CLOCK, UPTIME
from tests.terminal import with_bd

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Clone

PAGE = Path(__file__).parents[1] / "docs" / "seeds.md"
EXAMPLES = Path(__file__).parents[1] / "examples"
POINTS = 170
# So many points may be otherwise than written.
OTHERWISE = 10
_ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.*?) \| (.*?) \| (.+?) \|$", re.MULTILINE)


class Row(NamedTuple):
    """A point of the page: its number, the commands that show it, what they print, and how the product has it."""

    number: int
    point: str
    command: str
    prints: tuple[str, ...]
    state: str

    @property
    def is_pending(self) -> bool:
        return self.state.startswith("not yet")


class Part(NamedTuple):
    """A part of the page with a hub of its own: what is typed first, and its rows."""

    title: str
    setup: tuple[str, ...]
    rows: tuple[Row, ...]


def parts() -> list[Part]:
    """The parts of the page, one for each heading."""
    found = []
    for text in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"^```shell\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        rows = [
            Row(int(number), point, _code(command), tuple(re.findall(r"`([^`]+)`", prints)), state)
            for number, point, command, prints, state in _ROW.findall(text.replace("\\|", "¦"))
        ]
        if rows:
            found.append(Part(text.partition("\n")[0], tuple(line for block in blocks for line in _lines(block)), tuple(rows)))
    return found


def _code(cell: str) -> str:
    return " && ".join(re.findall(r"`([^`]+)`", cell)).replace("¦", "|")


def _lines(block: str) -> list[str]:
    """The commands of a block: a line each, with what a here-document adds to it."""
    found: list[str] = []
    end = ""
    for line in block.splitlines():
        if end:
            found[-1] += f"\n{line}"
            end = "" if line == end else end
            continue
        found.append(line)
        opened = re.search(r"<<'(\w+)'", line)
        end = opened.group(1) if opened else ""
    return found


class Typist:
    """Types lines in a clone: bd in this process, everything else in a shell; `later 2h` moves the clocks of both."""

    def __init__(self, clone: Clone, environment: dict[str, str]) -> None:
        self.clone, self.environment, self.ahead_s = clone, environment, 0.0

    def type(self, line: str) -> str:
        """Type a line, and return all that came of its last command, on both streams."""
        return self._in_shell(line) if "\n" in line else [self._one(part) for part in line.split(" && ")][-1]

    def _one(self, text: str) -> str:
        before, _, _ = text.partition(" -- ")
        if before.startswith("later "):
            self.ahead_s += duration_s(before.removeprefix("later "))
        elif not before.startswith("bd ") or set(before) & set("|<>$&;"):
            return self._in_shell(text)
        else:
            ended = self.clone.here(*shlex.split(text)[1:], env=self._surroundings(), check=False)
            assert ended.code != 1, ended
            return f"{ended.out}\n{ended.err}\n"
        return ""

    def _in_shell(self, text: str) -> str:
        environment = {**os.environ, **self._surroundings()}
        ended = subprocess.run(
            ["bash", "-c", text], cwd=self.clone.path, env=environment, capture_output=True, text=True, check=False
        )
        return f"{ended.stdout}\n{ended.stderr}\n"

    def _surroundings(self) -> dict[str, str]:
        return {**self.environment, CLOCK: str(self.ahead_s), UPTIME: str(self.ahead_s)}


def _plain(text: str) -> str:
    return " ".join(text.replace("¦", "|").split())


def test_every_point_has_one_row() -> None:
    rows = [row for part in parts() for row in part.rows]
    assert [row.number for row in rows] == list(range(1, POINTS + 1))
    states = Counter(row.state.partition(":")[0] for row in rows)
    assert set(states) <= {"as written", "otherwise", "not yet"}
    assert states["otherwise"] <= OTHERWISE
    for row in rows:
        assert bool(row.command and row.prints) != row.is_pending, row
        assert row.state == "as written" or len(row.state.partition(": ")[2]) > 10, row


def test_the_tests_that_show_a_point_are_there() -> None:
    named = [found for part in parts() for row in part.rows for found in re.findall(r"`(tests/[^`:]+)::(\w+)`", row.state)]
    assert named
    for file, test in named:
        assert f"def {test}(" in (PAGE.parents[1] / file).read_text(encoding="utf-8"), (file, test)


@pytest.mark.one_in(14)
@pytest.mark.parametrize("part", parts(), ids=lambda part: part.title)
def test_the_commands_print_what_the_page_says(part: Part, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    surroundings = with_bd(tmp_path, dict(os.environ), HOOKED)
    typist = Typist(clone("alice"), {"PATH": surroundings["PATH"], "EXAMPLES": str(EXAMPLES)})
    for line in part.setup:
        typist.type(line)
    wrong = []
    for row in part.rows:
        came = _plain(typist.type(row.command)) if row.command else ""
        missing = [words for words in row.prints if _plain(words) not in came]
        if missing:
            wrong.append(f"{row.number} {row.command}: {missing} is not in: {came}")
    assert not wrong, "\n".join(wrong)
