"""Terminal sessions written in a page, and a bash that types them.

Lines that begin with `$ ` are typed, `> ` goes on with the line before, what stands below has to
come out. Ids, tokens, commits, times and ages in a page stand for those of the run; an id that
was shown once stands for the same bead in every later line. A command ends with exit 0 unless a
comment behind it says `# exit 5`. A line `...` stands for any number of lines.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from tests.running import BD

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def with_bd(folder: Path, environment: dict[str, str], bd: Sequence[str] = BD) -> dict[str, str]:
    """The environment with this very bd first on the path, or another way to start it."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    script = programs / "bd"
    script.write_text(f'#!/bin/sh\nexec {" ".join(map(shlex.quote, bd))} "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    # Only what pages use, and the system's own: a crontab takes no long line, and whoever runs the tests may have a long path.
    used = (shutil.which(name, path=environment["PATH"]) for name in ("git", "bash", "python3", "jq", "ssh"))
    folders = dict.fromkeys([str(programs), *(os.path.dirname(path) for path in used if path), *os.defpath.split(os.pathsep)])
    return {**environment, "PATH": os.pathsep.join(folder for folder in folders if folder)}


class Typed(NamedTuple):
    """A command of a page: its line there, the text to run, the exit code it should have, and the lines shown below it."""

    line: int
    text: str
    code: int
    shown: list[str]


def typed_in(page: str) -> list[Typed]:
    """The commands of all ```console blocks of a page, in order."""
    found: list[Typed] = []
    is_console = is_open = False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            is_console = not is_console and line == "```console"
            is_open = False
        elif not is_console:
            continue
        elif line.startswith("$ "):
            expected = re.search(r"# exit (\d+)\s*$", line)
            found.append(Typed(number, line[2:], int(expected.group(1)) if expected else 0, []))
            is_open = True
        elif is_open and line.startswith("> "):
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line[2:]}")
        else:
            assert found, f"line {number}: output without a command"
            found[-1].shown.append(line)
            is_open = False
    return found


class Session:
    """A bash that types what a page says, and what the names in the page stand for in this run."""

    # A made-up id or token of a page stands for one of the run; the rest differs each time.
    NAME = r"hub-[0-9a-z]{4}(?:\.(?!yaml)[0-9a-z]{4})*(?![\w-])|\b[0-9A-HJKMNP-TV-Z]{26}\b"
    TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
    COMMIT = r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"
    AGE = r"\b\d+[smhd]\b"
    PARTS = re.compile(f"(?P<name>{NAME})|(?P<time>{TIME})|(?P<commit>{COMMIT})|(?P<age>{AGE})")
    ANY = {"time": TIME, "commit": r"[0-9a-f]{7,40}", "age": r"\d+[smhd]"}

    def __init__(self, home: Path, environment: dict[str, str]) -> None:
        self.home = home
        self.names: dict[str, str] = {}
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=home,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def close(self) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait()
        assert self._shell.stdout is not None
        self._shell.stdout.close()

    def type(self, text: str) -> tuple[int, list[str]]:
        """Run a command as a person would type it here: its exit code and what came out."""
        text = re.sub(self.NAME, lambda name: self.names.get(name.group(), name.group()), text)
        stdin, stdout = self._shell.stdin, self._shell.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(f"{{ {text.replace('/home/ada', str(self.home))}\n}} </dev/null\nprintf '\\n--ended %s--\\n' $?\n")
        stdin.flush()
        lines: list[str] = []
        for line in stdout:
            ended = re.match(r"--ended (\d+)--$", line)
            if ended:
                return int(ended.group(1)), [line for line in lines if line]
            host = re.compile(rf"(?<![\w.-]){re.escape(socket.gethostname())}(?![\w.-])")  # never inside of a minted id
            lines.append(host.sub("build-3", line.rstrip().replace(str(self.home), "/home/ada")))
        raise AssertionError(f"bash ended at: {text}")

    def missing(self, shown: list[str], came: list[str]) -> list[str]:
        """What of the shown lines did not come, and what came without being shown. The streams may mix as they like."""
        left = list(came)
        missing = []
        for line in shown:
            if line.strip() in ("", "..."):
                continue
            known = next((place for place, real in enumerate(left) if self._is(line, real)), None)
            if known is None:
                missing.append(f"did not come: {line}")
            else:
                left.pop(known)
        if "..." not in [line.strip() for line in shown]:
            missing += [f"not shown: {line}" for line in left]
        return missing

    def _is(self, line: str, real: str) -> bool:
        """Whether a line of the page is this line of the run; then what its names stand for is remembered."""
        names: list[str] = []
        pattern, end = "", 0
        text = " ".join(line.split())
        for part in self.PARTS.finditer(text):
            pattern += re.escape(text[end : part.start()])
            end = part.end()
            word, kind = part.group(), str(part.lastgroup)
            if kind != "name":
                pattern += self.ANY[kind]
            elif word in self.names:
                pattern += re.escape(self.names[word])
            elif word in names:
                pattern += f"(?P=n{names.index(word)})"
            else:
                pattern += f"(?P<n{len(names)}>{self.NAME})"
                names.append(word)
        pattern += re.escape(text[end:])
        match = re.fullmatch(pattern, " ".join(real.split()))
        if match is None:
            return False
        self.names.update({name: match[f"n{place}"] for place, name in enumerate(names)})
        return True
