"""Object names: git's hash of a content, SHA-1 or SHA-256 as the repository has it."""

from __future__ import annotations

import hashlib

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SHA256_LENGTH = 64


def is_oid(text: str) -> bool:
    """Return whether the text is a full object name."""
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def name_of(kind: bytes, data: bytes, length: int) -> str:
    """Return the object name of a content; `length` (40 or 64) selects the hash."""
    name: str = _hash(length, kind + b" %d\0" % len(data) + data).hexdigest()
    return name


def _hash(length: int, data: bytes) -> Any:
    """Hash the data as repositories with names of this length do."""
    return hashlib.sha256(data) if length == SHA256_LENGTH else hashlib.sha1(data, usedforsecurity=False)
