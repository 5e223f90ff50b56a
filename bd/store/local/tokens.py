"""The fencing tokens that this clone has held, by bead, agent and session, so that nobody has to type them.

One small file per bead, only ever appended to. If this clone has held several tokens of a bead for one agent, none is supplied:
there may be two processes of the same name.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.schema import suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_FOLDER_LIMIT = 4000


class Tokens:
    """The token files of one clone."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "tokens")

    def keep(self, bead_id: str, agent: str, session: str, token: str) -> None:
        """Record a token that was just won."""
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            path = os.path.join(self._folder, bead_id)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            descriptor = os.open(path, flags, 0o600)
            try:
                os.write(descriptor, f"{token} {agent} {session}\n".encode())
            finally:
                os.close(descriptor)

    def supply(self, typed: Iterable[str], agent: str, session: str) -> dict[str, str]:
        """Return the tokens for the beads that were typed (ids or prefixes), where there is only one candidate."""
        wanted = [text.strip() for text in typed]
        try:
            names = os.listdir(self._folder)
        except OSError:
            return {}
        found: dict[str, str] = {}
        for name in names:
            if not any(name == text or name.startswith(text) or suffix_of(name).startswith(text) for text in wanted):
                continue
            held = [line for line in self._held(name) if line[1] == agent]
            if len({token for token, _, _ in held}) == 1 and held[0][2] == session:
                found[name] = held[0][0]
        if len(names) > _FOLDER_LIMIT:
            self._thin_out(names)
        return found

    def forget(self, bead_id: str, token: str) -> None:
        """Remove the token of a claim that its holder has ended, so that it does not make a later one ambiguous."""
        path = os.path.join(self._folder, bead_id)
        rest = [" ".join(line) for line in self._held(bead_id) if line[0] != token]
        with suppress(OSError):
            if rest:
                files.replace(path, "".join(f"{line}\n" for line in rest), only_mine=True)
            else:
                os.unlink(path)

    def count(self, bead_id: str) -> int:
        """Return how many tokens this clone has held for a bead."""
        return len({token for token, _, _ in self._held(bead_id)})

    def damaged(self) -> list[str]:
        """Return the paths of token files with unreadable lines."""
        found = []
        with suppress(OSError):
            for name in sorted(os.listdir(self._folder)):
                path = os.path.join(self._folder, name)
                with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
                    if any(line.count(" ") < 2 or "\ufffd" in line for line in file):
                        found.append(path)
        return found

    def _held(self, name: str) -> list[tuple[str, str, str]]:
        try:
            # A damaged line is skipped; the rest of the file still counts.
            with open(os.path.join(self._folder, name), encoding="utf-8", errors="replace") as file:
                lines = [line.rstrip("\n").split(" ", 2) for line in file]
        except OSError:
            return []
        return [(line[0], line[1], line[2]) for line in lines if len(line) == 3]

    def _thin_out(self, names: list[str]) -> None:
        paths = [os.path.join(self._folder, name) for name in names]
        with suppress(OSError):
            paths.sort(key=os.path.getmtime)
            for path in paths[: _FOLDER_LIMIT // 2]:
                os.unlink(path)


def session() -> str:
    """Return what distinguishes callers of one clone: BD_SESSION, else the terminal, else "-"."""
    named = os.environ.get("BD_SESSION")
    if named:
        return named.replace("\n", " ")
    for descriptor in (0, 1, 2):
        with suppress(OSError, AttributeError):
            return os.ttyname(descriptor)
    return "-"
