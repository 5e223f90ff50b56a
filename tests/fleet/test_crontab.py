"""The crontab's line and bd's block in it: what cron and the shell make of the line, and that nothing else changes."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.errors import BadInput, Damaged
from bd.schedule import crontab
from bd.schedule.interval import EXPRESSIBLE, timetable
from bd.schedule.invocation import Station

KEY = "codemonkey 01HUB"


def make_station(**fields: Any) -> Station:
    common = {
        "agent": "codemonkey",
        "hub_id": "01HUB",
        "prefix": "hub",
        "clone": "/srv/hub",
        "folder": "/srv/hub/.git/bd",
        "program": ("/opt/bd/bin/bd",),
        "command": ("/srv/worker.sh",),
        "environment": {"PATH": "/opt/bin:/usr/bin"},
    }
    return Station(**{**common, **fields})


# --- when ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked_s", "kept_s"),
    [
        (60, 60),
        (90, 60),
        (7 * 60, 6 * 60),
        (15 * 60, 15 * 60),
        (30 * 60, 30 * 60),
        (45 * 60, 30 * 60),
        (59 * 60, 30 * 60),
        (3600, 3600),
        (90 * 60, 3600),
        (2 * 3600, 2 * 3600),
        (5 * 3600, 4 * 3600),
        (86400, 86400),
        (7 * 86400, 86400),
    ],
)
def test_an_interval_becomes_the_next_shorter_one_that_lists_can_say(asked_s: int, kept_s: int) -> None:
    times = timetable("codemonkey", asked_s)
    assert times.interval_s == kept_s
    assert times.is_rounded == (asked_s != kept_s)


@given(agent=st.from_regex(r"[a-z0-9][a-z0-9-]{0,30}", fullmatch=True), interval=st.sampled_from(EXPRESSIBLE))
def test_starts_are_evenly_spaced_over_the_day(agent: str, interval: int) -> None:
    times = timetable(agent, interval * 60)
    starts = [hour * 60 + minute for hour in (times.hours or range(24)) for minute in times.minutes]
    assert len(starts) == 24 * 60 // interval
    assert {second - first for first, second in itertools.pairwise(starts)} <= {interval}
    assert timetable(agent, interval * 60) == times


def test_agents_are_spread_and_stay_where_they_are() -> None:
    assert len({timetable(f"agent-{number}", 1800).minutes for number in range(60)}) > 15
    assert timetable("codemonkey", 1800).cron == "4,34 * * * *", "a stable hash: the same on every machine, for ever"
    assert timetable("codemonkey", 60).cron == "* * * * *"
    assert re.fullmatch(r"\d+ \d+ \* \* \*", timetable("codemonkey", 86400).cron)


def test_less_than_a_minute_is_refused() -> None:
    with pytest.raises(BadInput, match="one minute"):
        timetable("codemonkey", 30)


# --- the line -----------------------------------------------------------------------------


def read_by_cron(command: str, *, collapses: bool) -> str:
    r"""What cron gives to the shell: up to the first bare `%`, with `\%` made `%`, and by some `\\` made one backslash."""
    kept, escaped = "", False
    for char in command:
        if escaped:
            kept = kept[:-1] + char if char == "%" or (collapses and char == "\\") else kept + char
            escaped = False
        elif char == "%":
            break
        else:
            kept += char
            escaped = char == "\\"
    return kept


WORDS = st.lists(st.text(st.sampled_from("a %\\'\"$`~*#;é-\t"), max_size=8), min_size=1, max_size=4)


@pytest.mark.parametrize("collapses", [False, True])
@given(words=WORDS)
def test_cron_and_the_shell_read_the_words_as_they_are(collapses: bool, words: list[str]) -> None:
    text = " ".join(crontab.quoted(word) for word in words)
    shown = subprocess.run(
        ["/bin/sh", "-c", f"printf '<%s>\\n' {read_by_cron(text, collapses=collapses)}"], capture_output=True, text=True
    )
    assert shown.stdout == "".join(f"<{word}>\n" for word in words)


def test_the_line_is_whole() -> None:
    line = crontab.line(make_station(command=("/srv/work er.sh", "50%")), timetable("codemonkey", 1800))
    env = shutil.which("env")
    assert line == (
        f"4,34 * * * * cd /srv/hub && {env} PATH=/opt/bin:/usr/bin /opt/bd/bin/bd work --agent codemonkey --once -C /srv/hub "
        "-- '/srv/work er.sh' 50\\% >> /srv/hub/.git/bd/logs/codemonkey.log 2>&1"
    )


def test_without_a_command_bd_starts_what_the_agent_s_file_names() -> None:
    assert make_station(command=()).words == ["/opt/bd/bin/bd", "work", "--agent", "codemonkey", "--once", "-C", "/srv/hub"]


def test_a_line_that_cron_would_cut_is_refused() -> None:
    with pytest.raises(BadInput, match="many crons read 998"):
        crontab.line(make_station(environment={"PATH": "/x" * 500}), timetable("codemonkey", 1800))


def test_a_block_is_read_back() -> None:
    station = make_station(command=("/srv/100%", "it's"), environment={"PATH": "/a b:/c%d"})
    block = crontab.block(station, timetable("codemonkey", 2 * 3600))
    found = crontab.read_block(block)
    assert found.lines == block.splitlines()
    assert (found.path, found.log) == ("/a b:/c%d", station.log)
    times = timetable("codemonkey", 2 * 3600)
    assert (tuple(found.minutes), tuple(found.hours)) == (times.minutes, times.hours)


# --- the block in the text ----------------------------------------------------------------

BLOCK = f"# bd: begin {KEY}\n4,34 * * * * work\n# bd: end {KEY}\n"
OTHER = "# bd: begin codemonkey 01OTHER\n1 * * * * other\n# bd: end codemonkey 01OTHER\n"
LINES = st.lists(st.sampled_from(["MAILTO=me", "0 4 * * * backup % x", "", "# bd: a note", "\tweird\x0c\u2028", "\udcff"]))


@given(above=LINES, below=LINES, ends=st.booleans())
def test_every_other_byte_stays(above: list[str], below: list[str], ends: bool) -> None:
    before = "".join(f"{line}\n" for line in above) + OTHER + "\n".join(below) + ("\n" if ends else "")
    whole = before if before.endswith("\n") else f"{before}\n"
    once = crontab.with_block(before, KEY, BLOCK)
    assert once == whole + BLOCK
    assert crontab.found_in(once, KEY) == BLOCK
    assert crontab.with_block(once, KEY, BLOCK) == once
    assert crontab.without_block(once, KEY) == whole
    assert crontab.without_block(before, KEY) == before


def test_a_block_is_replaced_where_it_is() -> None:
    text = f"0 1 * * * a\n{BLOCK}0 2 * * * b\n{OTHER}"
    newer = BLOCK.replace("4,34", "5,35")
    assert crontab.with_block(text, KEY, newer) == f"0 1 * * * a\n{newer}0 2 * * * b\n{OTHER}"
    assert crontab.without_block(text, KEY) == f"0 1 * * * a\n0 2 * * * b\n{OTHER}"


def test_a_block_at_the_end_without_a_line_break() -> None:
    assert crontab.without_block("a\n" + BLOCK.rstrip("\n"), KEY) == "a\n"
    assert crontab.with_block(BLOCK.rstrip("\n"), KEY, BLOCK) == BLOCK


@pytest.mark.parametrize(
    "text",
    [
        BLOCK.replace(f"# bd: end {KEY}\n", ""),
        BLOCK.replace(f"# bd: begin {KEY}\n", ""),
        BLOCK + BLOCK,
        f"# bd: begin {KEY}\n{BLOCK}",
        f"{BLOCK}# bd: end {KEY}\n",
        f"# bd: begin {KEY}\n{OTHER}# bd: end {KEY}\n",
        f"# bd: end {KEY}\n# bd: begin {KEY}\n",
    ],
)
def test_a_block_that_was_broken_by_hand_is_left_alone(text: str) -> None:
    for act in (lambda: crontab.with_block(text, KEY, BLOCK), lambda: crontab.without_block(text, KEY)):
        with pytest.raises(Damaged, match="begin and end once"):
            act()
