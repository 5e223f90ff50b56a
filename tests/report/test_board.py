"""The board: what stands where, that it says the same while nothing happens, and that no text of a bead is markup."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from bd.report import html_page
from bd.report.board import board_page, markdown
from bd.report.board.board import Agent, Board, Entry
from tests.running import BD
from tests.truth import git, tip, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)

EVIL = 'a | b\n# c <script>alert(1)</script> `x` [y](http://z) \x1b[31m \u202e "q" &amp; **d**'


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """One session, which holds what it claims."""
    monkeypatch.setenv("BD_SESSION", "test")


@pytest.fixture
def busy(local_hub: Clone, clock: FakeClock) -> Clone:
    """A bead in every place of the board."""
    here = local_hub.here
    clock.set("2026-02-21T12:00:00Z")
    here("agent", "add", "ann")
    for name, *more in (
        ("ready", "-p", "0"),
        ("later", "--deps", "hub-ready"),
        ("late", "--expected", "5m"),
        ("asked",),
        ("given",),
        ("done",),
    ):
        here("create", name.title(), "--id", f"hub-{name}", *more)
    here("claim", "hub-late", "--agent", "ann")
    here("claim", "hub-asked", "--agent", "bob")
    here("wait-human", "hub-asked", "--reason", "Red or green?", "--agent", "bob")
    here("claim", "hub-given", "--agent", "bob")
    here("fail", "hub-given", "--reason", "budget_exceeded", "--error", "revoked", "--agent", "bob")
    here("close", "hub-done", "--reason", "merged")
    clock.set("2026-02-21T13:00:00Z")
    return local_hub


def published(clone: Clone, path: str) -> str:
    return (tip_file(clone.path, path) or b"").decode()


def test_everything_has_its_place(busy: Clone) -> None:
    board = busy.here("board", "--json").json
    assert {crew["name"]: crew["beads"] for crew in board["agents"]}["ann"] == ["hub-late"]
    assert [(one["id"], one["crew"], one["is_delayed"]) for one in board["flying"]] == [("hub-late", "ann", True)]
    assert {tier: [one["id"] for one in entries] for tier, entries in board["ready"].items()} == {"critical": ["hub-ready"]}
    assert [(one["id"], one["text"]) for one in board["blocked"]] == [("hub-later", "waits on hub-ready (open)")]
    assert [(one["id"], one["text"]) for one in board["waiting"]] == [("hub-asked", "Red or green?")]
    assert [(one["id"], one["text"]) for one in board["dead"]] == [("hub-given", "budget_exceeded: revoked")]
    assert [(one["id"], one["text"]) for one in board["finished"]] == [("hub-done", "merged")]
    assert board["flow"]["throughput"]["closed"] == 1


def test_a_quiet_day_has_one_board(busy: Clone, clock: FakeClock) -> None:
    """Nothing but the stamp moves with the clock; what the clock decides (bob is gone by then) was decided before."""
    clock.move(hours=12)
    before = [busy.here("board", *words).out for words in ((), ("--html",))]
    clock.move(hours=7, minutes=13)
    after = [busy.here("board", *words).out for words in ((), ("--html",))]
    for old, new in zip(before, after, strict=True):
        assert old != new
        assert not markdown.is_news(old, new)


def test_it_is_published_when_it_says_anything_new_and_not_too_often(busy: Clone, clock: FakeClock) -> None:
    assert "✓ Published BOARD.md" in busy.here("board", "--publish").out
    first = tip(busy.path)
    assert git(busy.path, "show", "--format=", "--name-only", first).split() == ["BOARD.md"]
    clock.move(minutes=20)
    assert busy.here("board", "--publish", "--json").json["reason"] == "nothing new"
    assert tip(busy.path) == first
    busy.here("close", "hub-ready", "--reason", "done")
    assert busy.here("board", "--publish", "--json").json["published"] is True
    second = tip(busy.path)
    busy.here("create", "Another")
    clock.move(minutes=14)
    moved = tip(busy.path)
    assert "younger than 15m" in busy.here("board", "--publish").out
    assert tip(busy.path) == moved
    assert second != moved
    clock.move(minutes=2)
    busy.here("board", "--publish")
    assert "Another" in published(busy, "BOARD.md")
    assert busy.here("audit", "--json").json["verified"] is True


def test_a_day_without_news_makes_no_commits(busy: Clone, clock: FakeClock) -> None:
    clock.move(hours=12)
    busy.here("board", "--publish")
    first = tip(busy.path)
    for _ in range(24):
        clock.move(hours=1)
        busy.here("board", "--publish")
    assert tip(busy.path) == first


def test_where_it_is_published(busy: Clone) -> None:
    busy.here("board", "--publish", "--html")
    assert published(busy, "board.html").startswith("<!doctype html>")
    busy.here("config", "set", "board_path", "docs/fleet.md")
    busy.here("board", "--publish")
    assert "# hub" in published(busy, "docs/fleet.md")
    busy.here("config", "set", "board_path", "beads/board.md")
    assert "can't be a board's path" in busy.here("board", "--publish", code=2).err


class Terminal:
    """A terminal of so many lines with `bd board --watch` in it. LINES and COLUMNS are somebody else's, and have no say."""

    def __init__(self, folder: Path, lines: int) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 120, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "LINES": "24", "COLUMNS": "80"}
        self.process = subprocess.Popen(
            [*BD, "board", "--watch"], cwd=folder, env=environment, stdin=follower, stdout=follower, stderr=follower
        )
        os.close(follower)

    def read_until(self, text: str) -> str:
        """What is drawn until this is."""
        shown = b""
        while text.encode() not in shown:
            shown += os.read(self._leader, 65536)
        return shown.decode("utf-8", "replace")

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the terminal is gone when its last process is
            while os.read(self._leader, 65536):
                pass
        return self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._leader)


@pytest.fixture
def terminal() -> Iterator[Callable[[Path, int], Terminal]]:
    opened: list[Terminal] = []

    def open_one(folder: Path, lines: int) -> Terminal:
        opened.append(Terminal(folder, lines))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def test_watching_it_in_a_terminal(busy: Clone, terminal: Callable[[Path, int], Terminal]) -> None:
    seen = terminal(busy.path, 80)
    assert "lines more" not in seen.read_until("lost to others")
    busy.here("create", "Unheard of", "--id", "hub-new", "-p", "0")
    seen.read_until("Unheard of")
    assert seen.interrupt() == 130


def test_a_low_terminal_says_what_it_has_no_room_for(busy: Clone, terminal: Callable[[Path, int], Terminal]) -> None:
    seen = terminal(busy.path, 12)
    first = seen.read_until("prints all of it")
    more = int(first.rpartition("… ")[2].split()[0])
    busy.here("create", "Unheard of", "--id", "hub-new", "-p", "0")
    seen.read_until(f"… {more + 1} lines more")
    assert seen.interrupt() == 130


# --- texts are texts ------------------------------------------------------------------------

ENTRY = Entry("hub-a", EVIL, "running", EVIL, EVIL, "2026-02-21T12:00:00Z", EVIL)
FLOW = {
    "since": "2026-02-21T12:00:00Z",
    "until": "2026-02-21T12:00:00Z",
    "wait_s": {"count": 0},
    "work_s": {"count": 0},
    "throughput": {"closed": 0, "created": 0},
    "contention": {"pushes_per_claim": 0, "conflict_rate": 0},
    "attempts": {"failed": 0, "succeeded": 0},
    "cost": {"usd": 0},
}
BOARD = Board(
    EVIL, EVIL, [Agent("ann", EVIL, EVIL, ("hub-a",), 1)], [ENTRY], {"low": [ENTRY]}, [ENTRY], [ENTRY], [ENTRY], [ENTRY], FLOW
)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [key for key, _ in attrs if key in ("href", "src") or key.startswith("on")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_no_text_is_markup_in_the_page() -> None:
    made = board_page.html(BOARD, "2026-02-21T12:00:00Z")
    tags = _Tags()
    tags.feed(made)
    assert tags.open == []
    assert not tags.seen & {"script", "img", "link", "iframe", "a"}
    assert tags.links == []
    assert "&lt;script&gt;" in made
    assert not {"\x1b", "\u202e"} & set(made)
    assert "prefers-color-scheme: dark" in made
    assert "width=device-width" in made


def test_no_text_is_markup_in_the_markdown() -> None:
    made = markdown.markdown(BOARD, "2026-02-21T12:00:00Z")
    assert "<script" not in made.replace("\\<script", "")
    assert not {"\x1b", "\u202e"} & set(made)
    tables = [part.splitlines() for part in made.split("\n\n") if part.startswith("|")]
    assert any("hub-a" in table[-1] for table in tables)
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table}) == 1, "each row has its table's columns"
    assert not any(line.startswith("# c") for line in made.splitlines())


def test_a_cell_made_here_stays_as_it_is_and_no_other() -> None:
    assert html_page.text(html_page.text("<b>")) == "&lt;b&gt;"
    assert html_page.text("<b>") == "&lt;b&gt;"


@pytest.mark.parametrize(("old", "seconds"), [(None, None), ("# typed by hand", None), ("<!-- as of 2026 -->", None)])
def test_the_age_of_a_board_without_a_stamp(old: str | None, seconds: float | None, clock: FakeClock) -> None:
    assert markdown.age_s(old, clock.read()) == seconds
