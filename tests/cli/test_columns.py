"""Tables and lines on terminals of any width: values stay to be seen, nothing is wider than the terminal, wide characters count."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bd.cli.columns import GAP, cells, cut, padded, widths
from tests.race.seeds import seed
from tests.running import HOOKED

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

WIDE = "日本語の題名はとても長いので切られます👍🏽é café " * 4
TEXTS = st.text(st.sampled_from("ab 日本👍é\u0301"), max_size=60)


@given(TEXTS, st.integers(1, 80))
def test_a_cut_text_fits_and_is_as_long_as_may_be(text: str, width: int) -> None:
    shown = cut(text, width)
    assert cells(shown) <= width
    assert shown == text or (shown.endswith("…") and text.startswith(shown[:-1]) and cells(text) > width)
    assert shown == text or cells(shown) >= width - 2, "a character of two columns may be the one that does not fit"
    assert cells(padded(shown, width)) == width
    assert cells(text) == cell_len(text)


@given(
    st.integers(2, 6).flatmap(lambda count: st.lists(st.lists(TEXTS, min_size=count, max_size=count), min_size=1, max_size=5)),
    st.integers(40, 200),
)
def test_the_columns_of_a_table_fit_and_short_ones_stay_whole(rows: list[list[str]], room: int) -> None:
    found = widths(rows, room)
    natural = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    gaps = GAP * (len(natural) - 1)
    assert all(given <= wanted for given, wanted in zip(found, natural, strict=True))
    if sum(natural) + gaps <= room:
        assert found == natural
    assert sum(found) + gaps <= room
    given_up = [given for given, wanted in zip(found, natural, strict=True) if given < wanted]
    whole = [given for given, wanted in zip(found[1:], natural[1:], strict=True) if given == wanted]
    assert all(short >= tall for short in given_up for tall in whole), "the widest give first"
    assert len(set(given_up[1:])) <= 1


def on_terminal(clone: Clone, width: int, *words: str, colours: bool = True) -> list[str]:
    """What a command shows on a terminal of so many columns; what sets its colours is taken out."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    a_month = str(30 * 86_400)  # ages in days are the same for each command
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "" if colours else "1", "BD_TEST_CLOCK_OFFSET_S": a_month}
    process = subprocess.Popen([*HOOKED, *words], cwd=clone.path, stdout=theirs, stderr=subprocess.DEVNULL, env=env)
    os.close(theirs)
    said = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # it has ended
            break
        if not chunk:
            break
        said += chunk
    os.close(ours)
    assert process.wait() == 0
    return re.sub("\x1b\\[[0-9;]*m", "", said.decode()).replace("\r", "").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 92, 200])
def test_every_table_fits_and_shows_its_values(width: int, local_hub: Clone) -> None:
    seed(local_hub, "hub-a")
    local_hub.here("create", WIDE, "--id", "hub-b", "--type", "epic")
    local_hub.here("create", "x" * 300, "--id", "hub-c", "--parent", "hub-b")
    local_hub.here("claim", "hub-a", "--agent", "coder")
    local_hub.here("fail", "hub-a", "--agent", "coder", "--reason", "budget_exceeded", "--error", f"revoked {WIDE}")
    rows = {
        ("config", "list"): "prefix +hub +hub",
        ("dlq", "list"): r"hub-a .* budget_exceeded.*\S{4}",
        ("list",): "hub-c",
        ("ready",): "hub-c",
        ("agent", "list"): "coder",
        ("epic", "status"): "hub-b",
        ("dag", "list"): "hub-b",
        ("metrics",): "claimed|beads|open",
        ("log",): "hub-b",
        ("dag", "show", "hub-b"): "hub-c",
        ("show", "hub-b"): "hub-c",
    }
    for words, value in rows.items():
        lines = on_terminal(local_hub, width, *words)
        assert any(re.search(value, line) for line in lines), (words, lines)
        if words != ("log",) or width >= 80:  # times, ids and names are never cut
            assert [line for line in lines if cell_len(line) > width] == [], words
    del rows["metrics",]  # says what time it is
    for words in (*rows, ("dep", "tree", "hub-b"), ("dlq", "show", "hub-a"), ("blocked",)):
        plain = on_terminal(local_hub, width, *words, colours=False)
        assert on_terminal(local_hub, width, *words) == plain, "colours take no room"
    listed = on_terminal(local_hub, width, "config", "list")
    assert listed[0].split()[:2] == ["setting", "value"]
