"""bd's blocks in the user's crontab, and the calls of the `crontab` program.

The first and last line of a block name the agent and the hub; everything outside stays unchanged. invocation.py makes the
command, interval.py the times.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, Damaged, NotFound, TryAgain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.schedule.interval import Timetable
    from bd.schedule.invocation import Station

# Common crons read at most this many characters of a command, and run what they have read.
LONGEST = 998
PATIENCE_S = 60
_NONE_YET = ("no crontab for", "can't open")  # the second is from busybox


# --- the line -----------------------------------------------------------------------------


def quoted(word: str) -> str:
    r"""Quote a word for the shell behind cron.

    Cron ends a command at a bare `%` and turns `\%` into `%`; some also turn `\\` into one backslash. So `%` is put outside
    of the quotes, and a backslash never follows another.
    """
    parts = [re.sub(r"\\(?=\\)", r"\\''", shlex.quote(part)) if part else "" for part in word.split("%")]
    return "\\%".join(parts) if word else "''"


def line(station: Station, times: Timetable) -> str:
    """Return the crontab line of a station. Raises BadInput if it is too long for cron."""
    env = shutil.which("env") or "/usr/bin/env"
    variables = [f"{name}={value}" for name, value in station.environment.items()]
    words = [quoted(word) for word in (env, *variables, *station.words)]
    command = f"cd {quoted(station.clone)} && {' '.join(words)} >> {quoted(station.log)} 2>&1"
    if len(os.fsencode(command)) > LONGEST:
        raise BadInput(
            f"the line would have {len(command)} characters; many crons read {LONGEST}",
            hint="type it with a shorter PATH (`PATH=/usr/bin:/bin bd cron install ...`), or use --systemd",
        )
    return f"{times.cron} {command}"


def block(station: Station, times: Timetable) -> str:
    """Return the marked block of a station, ending in a newline."""
    return f"# bd: begin {station.key}\n{line(station, times)}\n# bd: end {station.key}\n"


class Lines(NamedTuple):
    """A station's block, parsed: its lines, PATH, log, minutes, and hours (empty for every hour)."""

    lines: list[str]
    path: str
    log: str
    minutes: list[int]
    hours: list[int]


def read_block(text: str) -> Lines:
    """Parse a block that `block` has made. Raises Damaged if it was edited beyond recognition."""
    lines = text.splitlines()
    try:
        fields = lines[1].split(None, 5)
        words = shlex.split(fields[5].replace("\\%", "%"))
        path = next(word for word in words if word.startswith("PATH="))[5:]
        log = words[words.index(">>") + 1]
        minutes = list(range(60)) if fields[0] == "*" else [int(minute) for minute in fields[0].split(",")]
        hours = [int(hour) for hour in fields[1].split(",")] if fields[1] != "*" else []
    except (ValueError, IndexError, StopIteration):
        raise Damaged(
            f"bd's block in the crontab is not as bd writes it:\n{text}", hint="`bd cron install` replaces it"
        ) from None
    return Lines(lines, path, log, minutes, hours)


# --- the crontab's text -------------------------------------------------------------------


def _span(text: str, key: str) -> tuple[int, int] | None:
    """Return the start and end of a key's block in a crontab. Raises Damaged if its end is missing or there are two."""
    padded = f"\n{text}" if text.endswith("\n") else f"\n{text}\n"
    begin, end = f"\n# bd: begin {key}\n", f"\n# bd: end {key}\n"
    start = padded.find(begin)
    if start < 0 and end not in padded:
        return None
    stop = padded.find(end, start + len(begin) - 1) if start >= 0 else -1
    inside = padded[start + len(begin) - 1 : stop + 1]
    lines = padded.split("\n")
    if stop < 0 or "\n# bd: begin " in inside or lines.count(begin.strip()) > 1 or lines.count(end.strip()) > 1:
        raise Damaged(
            f"bd's block of {key.partition(' ')[0]} in the crontab is broken: it has to begin and end once",
            hint=f"`crontab -e`, and remove the lines between `# bd: begin {key}` and `# bd: end {key}`, and these two",
        )
    return start, min(stop + len(end) - 1, len(text))


def found_in(text: str, key: str) -> str | None:
    """Return the block of a key in a crontab's text."""
    span = _span(text, key)
    return text[span[0] : span[1]] if span else None


def with_block(text: str, key: str, block: str) -> str:
    """Return the crontab's text with this block, replacing the key's former block, or at the end."""
    span = _span(text, key)
    if span:
        return text[: span[0]] + block + text[span[1] :]
    return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{block}"


def without_block(text: str, key: str) -> str:
    """Return the crontab's text without the key's block."""
    span = _span(text, key)
    return text[: span[0]] + text[span[1] :] if span else text


# --- the program --------------------------------------------------------------------------


def read() -> str:
    """Return the user's crontab; "" if there is none. Raises NotFound if the program is missing, TryAgain if it fails."""
    ended = _crontab(["-l"])
    words = _text(ended.stderr).strip()
    if ended.returncode == 0:
        return _text(ended.stdout)
    if ended.returncode == 1 and not ended.stdout and any(said in words for said in _NONE_YET) and "permitted" not in words:
        return ""
    raise TryAgain(f"crontab -l: {words or f'exit {ended.returncode}'}", hint="nothing was changed")


def write(text: str) -> None:
    """Replace the user's crontab. Raises TryAgain if the program refuses the text."""
    ended = _crontab(["-"], text.encode("utf-8", "surrogateescape"))
    if ended.returncode:
        words = _text(ended.stderr).strip() or f"exit {ended.returncode}"
        raise TryAgain(f"crontab refused the new text: {words}", hint="the crontab is as it was")


def installed(station: Station) -> Lines:
    """Return what the crontab contains for a station. Raises NotFound if there is nothing."""
    found = found_in(read(), station.key)
    if found is None:
        hint = "`bd cron show -- CMD` shows what install would write"
        raise NotFound(f"the crontab has no lines for {station.agent} on this hub", hint=hint)
    return read_block(found)


def install(station: Station, times: Timetable) -> bool:
    """Put the station's block into the crontab; return whether that changed anything."""
    return _edit(lambda text: with_block(text, station.key, block(station, times)))


def remove(key: str) -> bool:
    """Remove the block of a key from the crontab; return whether there was one."""
    return _edit(lambda text: without_block(text, key))


def _edit(change: Callable[[str], str]) -> bool:
    before = read()
    after = change(before)
    if after != before:
        write(after)
    return after != before


def _crontab(arguments: Sequence[str], data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("crontab")
    if program is None:
        hint = "`bd cron show --agent NAME -- CMD` prints the line for another scheduler; --systemd makes a service and a timer"
        raise NotFound("there is no `crontab` program here", hint=hint)
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            [program, *arguments], input=data, check=False, capture_output=True, timeout=PATIENCE_S, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TryAgain(f"crontab {arguments[0]}: {error}", hint="`bd cron show` says what the crontab now holds") from None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
