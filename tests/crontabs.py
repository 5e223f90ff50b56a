"""A `crontab` program that keeps a file, as the real one does: the tests never touch the user's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_KEEPS = """\
#!/bin/sh
case "$1" in
-l) test -f "{file}" && exec cat "{file}"; echo "no crontab for $LOGNAME" >&2; exit 1 ;;
-) cat > "{file}.new" && mv "{file}.new" "{file}"; echo written >> "{file}.calls" ;;
*) echo "usage" >&2; exit 2 ;;
esac
"""
_REFUSES = """\
#!/bin/sh
case "$1" in
-l) test -f "{file}" && exec cat "{file}"; echo "no crontab for $LOGNAME" >&2; exit 1 ;;
*) cat > /dev/null; echo "errors in crontab file, can't install." >&2; exit 1 ;;
esac
"""
_FORBIDDEN = """\
#!/bin/sh
echo "You ($LOGNAME) are not allowed to use this program (crontab)" >&2
exit 1
"""


class FakeCrontab(NamedTuple):
    """`folder` goes on PATH; `file` is what the program keeps."""

    folder: Path
    file: Path

    @property
    def text(self) -> bytes:
        return self.file.read_bytes() if self.file.exists() else b""

    @property
    def writes(self) -> int:
        """How often a new text was put in."""
        calls = self.file.with_name(f"{self.file.name}.calls")
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def behave(self, script: str) -> None:
        program = self.folder / "crontab"
        program.write_text(script.format(file=self.file), encoding="utf-8")
        program.chmod(0o755)

    def keep(self) -> None:
        self.behave(_KEEPS)

    def refuse(self) -> None:
        """Show the crontab, and take no new one."""
        self.behave(_REFUSES)

    def forbid(self) -> None:
        """Do nothing for this user."""
        self.behave(_FORBIDDEN)


def fake_crontab(folder: Path) -> FakeCrontab:
    """A program in `folder/programs`, found first with `path_with`."""
    programs = folder / "crontab-programs"
    programs.mkdir()
    fake = FakeCrontab(programs, folder / "crontab.txt")
    fake.keep()
    return fake


def path_with(fake: FakeCrontab) -> str:
    """A PATH that finds the fake first; short, as a cron's line has to be."""
    return os.pathsep.join([str(fake.folder), "/usr/local/bin", "/usr/bin", "/bin"])
