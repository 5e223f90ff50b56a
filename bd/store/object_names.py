"""Object names: git's hash of some content, in the repository's own hash."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SHA256_LENGTH = 64


def is_oid(text: str) -> bool:
    """Whether the text is a whole object name, of SHA-1 or of SHA-256."""
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def name_of(kind: bytes, data: bytes, length: int) -> str:
    """The object name of some content, in the hash of a repository whose names have this length."""
    name: str = _hash(length, kind + b" %d\0" % len(data) + data).hexdigest()
    return name


def _hash(length: int, data: bytes) -> Any:
    """Git's hash of the repositories whose names have this length."""
    return hashlib.sha256(data) if length == SHA256_LENGTH else hashlib.sha1(data, usedforsecurity=False)
