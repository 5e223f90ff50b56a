"""Object names: git's hash of some content, in the repository's own hash."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# What is worth a faster hash.
LARGE = 250_000
SHA256_LENGTH = 64


def is_oid(text: str) -> bool:
    """Whether the text is a whole object name, of SHA-1 or of SHA-256."""
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def name_of(kind: bytes, data: bytes, length: int) -> str:
    """The object name of some content, in the hash of a repository whose names have this length."""
    name: str = _hash(length, len(data))(kind + b" %d\0" % len(data) + data).hexdigest()
    return name


def _hash(length: int, size: int) -> Any:
    """Git's hash. The built-in SHA-1 where there is one: hashlib loads OpenSSL, which takes longer than a commit.

    Once that is loaded, it is the faster one for what is large.
    """
    if size > LARGE and length != SHA256_LENGTH and (loaded := sys.modules.get("hashlib")):
        return lambda data: loaded.sha1(data, usedforsecurity=False)
    if length == SHA256_LENGTH:
        from hashlib import sha256  # noqa: PLC0415  repositories with SHA-256 are rare

        return sha256
    try:
        from _sha1 import sha1  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError:
        from hashlib import sha1  # noqa: PLC0415
    return sha1
