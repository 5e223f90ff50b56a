"""Record `bd demo` in a terminal of its own: docs/demo.cast for players, docs/demo.svg for pages.

`make recording` does both; `python docs/record.py COMMAND...` records something else, into the folder `--to`.
The cast is asciinema's version 2: a line of JSON about the terminal, then one for each piece of output. What the terminal
showed is worked out by pyte; the picture is its frames side by side, each distinct row drawn once, moved past a
window by CSS alone. Hosts show such a picture in a README, and nothing in it runs or is loaded. (Of what draws casts,
termtosvg has been given up in 2020, svg-term-cli needs node, agg needs Rust.)
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
import time
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pyte

COLUMNS, ROWS = 88, 24
DEMO = [sys.executable, "-m", "bd", "demo", "--no-keep", "--seed", "7"]
BETWEEN = 0.4  # seconds between two frames of the picture: enough to follow, few enough to be small
REST = 0.03  # what comes sooner belongs to what came before: half a table is no frame
HOLD = 5.0  # how long the last frame stays
WIDE, HIGH, MARGIN = 8.4, 17, 12
COLOURS = {
    "default": "#d4d8de",
    "black": "#5c6370",
    "red": "#f07178",
    "green": "#98c379",
    "brown": "#e5c07b",
    "blue": "#6cb2f0",
    "magenta": "#c792ea",
    "cyan": "#56c8d8",
    "white": "#ffffff",
}
BACKGROUND = "#16191f"
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


class Said(NamedTuple):
    """Something that came out of the terminal, and how many seconds after the start."""

    at: float
    text: str


class Run(NamedTuple):
    """Characters of a row that look alike: where they begin, what they are, and how they look."""

    start: int
    text: str
    colour: str
    bold: bool


class Frame(NamedTuple):
    """What the terminal showed from a moment on."""

    at: float
    rows: tuple[tuple[Run, ...], ...]


def record(command: list[str]) -> list[Said]:
    """Run a command in a terminal, and everything it said there. A command that fails ends this program."""
    import fcntl
    import pty
    import struct
    import termios

    start = time.monotonic()
    size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)  # by the child itself: the command is not to start before
        os.environ.update(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.environ.pop("NO_COLOR", None)
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    said: list[Said] = []
    while data := _read(terminal):
        text = decoder.decode(data)
        if text:
            said.append(Said(round(time.monotonic() - start, 3), text))
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        sys.exit(f"{' '.join(command)} ended with {code}:\n{''.join(one.text for one in said)}")
    return said


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last process of the terminal has ended
        return b""


def cast(said: list[Said]) -> str:
    """A recording in asciinema's format, version 2."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "bd demo", "idle_time_limit": 1.5}
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in [head, *([one.at, "o", one.text] for one in said)])


def said_in(text: str) -> list[Said]:
    """What a cast has."""
    return [Said(at, said) for at, _, said in map(json.loads, text.splitlines()[1:])]


def frames(said: list[Said]) -> list[Frame]:
    """What the terminal showed, at most every `BETWEEN` seconds, and at the end."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    found: list[Frame] = []
    for place, one in enumerate(said):
        stream.feed(one.text)
        if place < len(said) - 1:
            is_drawing = said[place + 1].at - one.at < REST
            if is_drawing or (found and one.at - found[-1].at < BETWEEN):
                continue
        rows = _rows(screen)
        if not found or rows != found[-1].rows:
            found.append(Frame(one.at, rows))
    return found


def _rows(screen: pyte.Screen) -> tuple[tuple[Run, ...], ...]:
    rows = []
    for line in range(ROWS):
        cells = [screen.buffer[line][column] for column in range(COLUMNS)]
        runs, start = [], 0
        for (colour, bold), some in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
            text = "".join(cell.data for cell in some)
            if text.strip():
                skipped = len(text) - len(text.lstrip())
                runs.append(Run(start + skipped, text.strip(), colour, bold))
            start += len(text)
        rows.append(tuple(runs))
    return tuple(rows)


def picture(shown: list[Frame]) -> str:
    """The frames as one SVG that plays by itself, for ever; where nothing moves one sees the last one."""
    width, height = round(COLUMNS * WIDE) + 2 * MARGIN, ROWS * HIGH + 2 * MARGIN
    start = shown[0].at
    length = shown[-1].at - start + HOLD
    names: dict[tuple[Run, ...], str] = {}
    drawn = []
    for place, frame in enumerate(shown):
        uses = [
            f'<use href="#{names.setdefault(row, f"r{len(names)}")}" y="{line * HIGH}"/>'
            for line, row in enumerate(frame.rows)
            if row
        ]
        drawn.append(f'<g transform="translate({place * width})">{"".join(uses)}</g>')
    moves = [f"{100 * (frame.at - start) / length:.2f}%{{transform:{_left(place, width)}}}" for place, frame in enumerate(shown)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
            "<title>bd demo: four agents race through a hub</title>",
            "<style>",
            f"text{{font:14px {FONT};fill:{COLOURS['default']};white-space:pre}}.b{{font-weight:bold}}",
            f"@keyframes play{{{''.join(moves)}}}",
            f".strip{{animation:play {length:.1f}s step-end infinite;transform:{_left(len(shown) - 1, width)}}}",
            "@media(prefers-reduced-motion:reduce){.strip{animation:none}}",
            "</style>",
            f"<defs>{''.join(_row(name, row) for row, name in names.items())}</defs>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
            f'<g transform="translate({MARGIN} {MARGIN})"><g class="strip">',
            *drawn,
            "</g></g></svg>\n",
        ]
    )


def _left(place: int, width: int) -> str:
    return f"translateX({-place * width}px)"


def _row(name: str, row: tuple[Run, ...]) -> str:
    texts = []
    for run in row:
        fill = COLOURS.get(run.colour, f"#{run.colour}")
        looks = ("" if run.colour == "default" else f' fill="{fill}" style="fill:{fill}"') + (' class="b"' if run.bold else "")
        texts.append(
            f'<text x="{run.start * WIDE:.1f}" y="13" textLength="{len(run.text) * WIDE:.1f}"{looks}>{escape(run.text)}</text>'
        )
    return f'<g id="{name}">{"".join(texts)}</g>'


def main(arguments: list[str]) -> int:
    """Record, and write both files."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--to", type=Path, default=Path(__file__).parent, help="the folder for demo.cast and demo.svg")
    asked.add_argument("command", nargs=argparse.REMAINDER, help="what to record; the demo when left out")
    wanted = asked.parse_args(arguments)
    said = record(wanted.command or DEMO)
    for name, text in (("demo.cast", cast(said)), ("demo.svg", picture(frames(said)))):
        (wanted.to / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {wanted.to / name}, {len(text.encode()) / 1000:.0f} kB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
