"""Files: reading one that was typed, replacing one whole or not at all, and files that are nobody else's business."""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from contextlib import suppress

PRIVATE = 0o600


def typed_bytes(source: str) -> bytes:
    """Return the content of a file that a person named, or of stdin for `-`. Raises OSError."""
    if source == "-":
        stream = getattr(sys.stdin, "buffer", None)
        return stream.read() if stream is not None else sys.stdin.read().encode()
    with open(source.encode("utf-8", "surrogateescape"), "rb") as file:  # a name of bytes is the same in every locale
        return file.read()


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read: an `opener` for `open`. An existing file loses the rights of others."""
    descriptor = os.open(path, flags, PRIVATE)
    with suppress(OSError, AttributeError):  # another user's file, or a file system without rights
        if os.fstat(descriptor).st_mode & 0o077:
            os.fchmod(descriptor, PRIVATE)
    return descriptor


def replace(
    path: str, content: str | bytes, *, durably: bool = False, errors: str = "strict", suffix: str = "", only_mine: bool = False
) -> None:
    """Replace a file by content (text as UTF-8, its line ends unchanged). A missing folder is created.

    Readers see the old content or the new one. `durably`: it is on the disk when this returns. `suffix` is added to the name of
    the temporary file. `only_mine`: nobody else may read the file. Raises OSError; then nothing is left behind.
    """
    data = content.encode("utf-8", errors) if isinstance(content, str) else content
    opener = private if only_mine else None
    fresh = f"{path}.{os.getpid()}-{get_ident()}{suffix}"  # threads of one process replace files at the same time
    try:
        file = open(fresh, "wb", opener=opener)  # noqa: SIM115  the folder nearly always exists
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(fresh, "wb", opener=opener)  # noqa: SIM115
    try:
        with file:
            file.write(data)
            if durably:
                file.flush()
                os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(fresh)
        raise
