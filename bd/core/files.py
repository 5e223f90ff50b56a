"""The one way in which bd replaces a file: whole or not at all."""

from __future__ import annotations

import os
from _thread import get_ident
from contextlib import suppress


def replace(path: str, content: str | bytes, *, durably: bool = False, errors: str = "strict", suffix: str = "") -> None:
    """Put content (text as UTF-8, its line ends as they are) in the place of a file, whose folder is made where there is none.

    Who reads the file sees the old content or the new one. `durably`: it is on the disk when this returns. `suffix` ends the
    name of the file that is written first. Raises OSError; then nothing of it is left.
    """
    data = content.encode("utf-8", errors) if isinstance(content, str) else content
    fresh = f"{path}.{os.getpid()}-{get_ident()}{suffix}"  # threads of one process replace files at the same time
    try:
        file = open(fresh, "wb")  # noqa: SIM115  the folder is there nearly always
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = open(fresh, "wb")  # noqa: SIM115
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
