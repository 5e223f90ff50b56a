"""A systemd user service and timer for one agent.

The first line of a file names its owner; files without it are never touched. Starting and stopping the units is up to the user.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import Refused, TryAgain

if TYPE_CHECKING:
    from bd.schedule.interval import Timetable
    from bd.schedule.invocation import Station

# `work` ends its command, gives the bead back and publishes that; the push may be slow.
STOP_TIMEOUT = "10min"
# The exit code of `work` if there is nothing to do.
NO_WORK = 3
_SAFE = re.compile(r"[\w@:+=,./-]+\Z", re.ASCII)


class Units(NamedTuple):
    """The two files of a station: their common name, their folder, and the line that marks them."""

    name: str
    folder: str
    mark: str

    @property
    def service(self) -> str:
        return os.path.join(self.folder, f"{self.name}.service")

    @property
    def timer(self) -> str:
        return os.path.join(self.folder, f"{self.name}.timer")

    @property
    def wanted(self) -> str:
        """The link that systemd creates when the timer is enabled."""
        return os.path.join(self.folder, "timers.target.wants", f"{self.name}.timer")


def user_units() -> str:
    """Return the folder where systemd looks for the user's own units."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "systemd", "user")


def units(station: Station, folder: str | None = None) -> Units:
    """Return the names of a station's units."""
    prefix = re.sub(r"[^A-Za-z0-9_.-]", "-", station.prefix)
    return Units(f"bd-{prefix}-{station.agent}", os.path.abspath(folder or user_units()), f"# bd: unit {station.key}")


def texts(station: Station, times: Timetable, files: Units) -> dict[str, str]:
    """Return the text of each file, by its path."""
    return {files.service: _service(station, files), files.timer: _timer(station, times, files)}


def _service(station: Station, files: Units) -> str:
    path, *words = station.words
    variables = "\n".join(f"Environment={_quoted(f'{name}={value}')}" for name, value in station.environment.items())
    return f"""\
{files.mark}
[Unit]
Description=bd: {station.agent} works on the hub {_plain(station.prefix)}

[Service]
Type=oneshot
WorkingDirectory={_plain(station.clone)}
{variables}
ExecStart={" ".join([_quoted(path), *(_quoted(word).replace("$", "$$") for word in words)])}
SuccessExitStatus={NO_WORK}
StandardOutput=append:{_plain(station.log)}
StandardError=append:{_plain(station.log)}
TimeoutStartSec=infinity
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec={STOP_TIMEOUT}
"""


def _timer(station: Station, times: Timetable, files: Units) -> str:
    return f"""\
{files.mark}
[Unit]
Description=bd: when {station.agent} looks for work

[Timer]
OnCalendar={times.calendar}
RandomizedDelaySec={times.spread_s}s
Persistent=true

[Install]
WantedBy=timers.target
"""


def _plain(text: str) -> str:
    """Escape a value that extends to the end of its line: `%` would start a specifier."""
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """Quote a word of a command or an assignment. A `$` stays, because it is special only in the arguments of a command."""
    if _SAFE.match(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_plain(escaped)}"'


# --- the files ----------------------------------------------------------------------------


def lines(station: Station, times: Timetable, files: Units) -> list[str]:
    """Return both files, each below its path."""
    return [line for path, text in texts(station, times, files).items() for line in (f"# {path}", *text.splitlines())]


def install(station: Station, times: Timetable, files: Units) -> bool:
    """Write the files that differ; return whether any was written. Raises Refused if other files are in the way."""
    wanted = texts(station, times, files)
    present = {path: _read(path) for path in wanted}
    for path, text in present.items():
        if text is not None and not _is_marked(text, files):
            raise Refused(
                f"{path} exists, and belongs to another agent or hub", hint="move it away, or give another folder: --units DIR"
            )
    changed = {path: text for path, text in wanted.items() if present[path] != text}
    for path, text in changed.items():
        _write(path, text)
    return bool(changed)


def remove(files: Units) -> bool:
    """Delete the files with the station's mark and the timer's link; return whether there were any."""
    ours = [path for path in (files.service, files.timer) if _is_marked(_read(path) or "", files)]
    if files.timer in ours and os.path.islink(files.wanted):
        ours.append(files.wanted)
    try:
        for path in ours:
            os.unlink(path)
    except OSError as error:
        raise TryAgain(f"can't remove {error.filename}: {error.strerror}") from None
    return bool(ours)


def to_enable(files: Units) -> list[str]:
    """Return the commands that the user types after installing."""
    return [
        "  systemctl --user daemon-reload",
        f"  systemctl --user enable --now {files.name}.timer",
        "  loginctl enable-linger    # so that it goes on when you are logged out",
    ]


def to_forget(files: Units) -> list[str]:
    """Return the commands that the user types after removing."""
    return [f"  systemctl --user stop {files.name}.timer", "  systemctl --user daemon-reload"]


def _is_marked(text: str, files: Units) -> bool:
    return text.startswith(f"{files.mark}\n")


def _read(path: str) -> str | None:
    """Return the text of a file, or None if it does not exist."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TryAgain(f"can't read {path}: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    try:
        files.replace(path, text, errors="surrogateescape")
    except OSError as error:
        raise TryAgain(f"can't write {path}: {error.strerror}", hint="give another folder: --units DIR") from None
