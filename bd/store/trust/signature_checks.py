"""Checks many signatures: remembered by commit, else in this process, else with ssh-keygen, several at once.

A commit's name covers its every byte, so the result of a check stays true. signatures.py parses signatures; authority.py says
which keys are trusted.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from bd import TYPE_CHECKING
from bd.store.trust import signatures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.store.git.repository import GitRepo
    from bd.store.trust.signatures import Signature

NAME = "signatures"
# From this many on, looking up in a set is faster than in the text.
_MANY = 50


class Checks:
    """The checked signatures of one repository. Only good ones are remembered, in bd's folder of the clone, if there is one."""

    def __init__(self, repo: GitRepo) -> None:
        self._path = os.path.join(repo.common_dir, "bd", NAME)
        self._known: dict[str, bool] = {}
        self._noted: str | None = None
        self._fresh: list[str] = []

    def learn(self, wanted: Mapping[str, Signature]) -> None:
        """Check the signatures of these commits that are not known yet."""
        noted = self._read() if len(wanted) < _MANY else {*self._read().split("\n")}
        self._known = {name: True for name in wanted if name in noted}  # the ones before are not needed again
        left = {name: one for name, one in wanted.items() if name not in self._known}
        slow: list[str] = []
        for name, signature in left.items():
            if signatures.is_good_at_once(signature):
                self._found(name, is_good=True)
            else:
                slow.append(name)
        for name, is_good in zip(slow, _at_once([left[name] for name in slow]), strict=True):
            self._found(name, is_good=is_good)

    def is_good(self, name: str, signature: Signature) -> bool:
        """Return whether the key in a commit's signature signed exactly this commit. Raises CantSign without ssh-keygen."""
        if name not in self._known:
            if name in self._read():
                self._known[name] = True
            else:
                self._found(name, is_good=signatures.is_good(signature))
        return self._known[name]

    def _found(self, name: str, *, is_good: bool) -> None:
        self._known[name] = is_good
        if is_good:
            self._fresh.append(name)

    def note(self) -> None:
        """Write the new results to disk. Best effort."""
        fresh, self._fresh = self._fresh, []
        if fresh and os.path.isdir(os.path.dirname(self._path)):
            with suppress(OSError), open(self._path, "a", encoding="ascii") as file:
                file.write("".join(f"{name}\n" for name in fresh))

    def _read(self) -> str:
        """Return the remembered commits, one name per line."""
        if self._noted is None:
            self._noted = ""
            with suppress(OSError, ValueError), open(self._path, encoding="ascii") as file:
                self._noted = file.read()
        return self._noted


def _at_once(wanted: list[Signature]) -> list[bool]:
    """Check these with ssh-keygen, on all processors."""
    if len(wanted) < 2:
        return [signatures.is_good(signature) for signature in wanted]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(signatures.is_good, wanted))
