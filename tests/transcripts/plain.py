"""What differs from one run to the next, under names that don't: ids, commits, ULIDs, keys, paths, versions."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_CROCKFORD = "0-9a-hjkmnp-tv-z"
# What is numbered by its first appearance in a case.
_NUMBERED = {
    "ulid": rf"(?<![0-9A-Za-z])(?:[{_CROCKFORD.upper()}]{{26}}|[{_CROCKFORD}]{{26}})(?![0-9A-Za-z])",
    "commit": r"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])",
    "key": r"AAAA[0-9A-Za-z+/]{30,}=*",
    "fingerprint": r"SHA256:[0-9A-Za-z+/]{20,}",
    "short": r"(?<![0-9A-Za-z#-])(?:(?=[0-9]*[a-f])(?=[a-f]*[0-9])|(?<=Published as )|(?<=hub at )|(?<=Looked at )|(?<=read at )|(?<=commits to )|(?<=\d\dZ  ))[0-9a-f]{7,12}(?![0-9A-Za-z-])",
    "id": rf"(?<![0-9A-Za-z-])(?<=\b)(?:hub|ab)-[{_CROCKFORD}]{{4,16}}(?![0-9A-Za-z])",
    "child": rf"(?<=\.)(?=[{_CROCKFORD}]*[0-9])[{_CROCKFORD}]{{4}}(?![0-9A-Za-z])",
}
_REPLACED = (
    (r"(?<=signature: ).{40,}|-----BEGIN SSH SIGNATURE-----[^\0]*?-----END SSH SIGNATURE-----", "<signature>"),
    (r"bd-crash-\w+\.log", "bd-crash-<name>.log"),
    (r"\b\d+(?:\.\d+)? ms\b", "<time> ms"),
    (r'(?<="ms": )[\d.]+|(?<=_ms": )[\d.]+', "<time>"),
)


class Plain:
    """The names of one case; `paths` are told as they are named there."""

    def __init__(self, paths: Mapping[str, str], typed: str) -> None:
        import bd

        self._typed = set(re.findall(r"[\w.-]+", typed))
        found = {**paths, sys.executable: "<python>", sys.prefix: "<prefix>", f"git version {_git()}": "git version <git>"}
        self._texts = dict(sorted(found.items(), key=lambda pair: -len(pair[0])))
        self._versions = {
            bd.__version__: "<version>",
            _git(): "<git>",
            platform.node(): "<machine>",
            platform.python_version(): "<python version>",
        }
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def of(self, text: str) -> str:
        """The text with what differs under its names."""
        for literal, name in self._texts.items():
            text = text.replace(literal, name)
        for literal, name in self._versions.items():
            text = re.sub(rf"(?<![\w.]){re.escape(literal)}(?![\w]|\.\d)", name, text)
        for pattern, name in _REPLACED:
            text = re.sub(pattern, name, text)
        for kind, pattern in _NUMBERED.items():
            text = re.sub(pattern, lambda match, kind=kind: self._name(kind, match.group()), text)  # type: ignore[misc]
        return text

    def _name(self, kind: str, value: str) -> str:
        if value in self._typed or (kind == "id" and value in KNOWN):
            return value
        if value not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[value] = f"<{kind}{self._counts[kind]}>"
        return self._names[value]


def _git() -> str:
    if not _FOUND:
        _FOUND.append(subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2])
    return _FOUND[0]


_FOUND: list[str] = []
# Ids that are typed in stories and examples, and look as if they were made.
KNOWN: set[str] = set()
