"""bd's own section in files that belong to somebody else, such as AGENTS.md.

Belongs here: writing, comparing and removing what stands between the two marks; every other byte
stays. Which file a tool reads, and what it is told, the caller knows.
"""

from __future__ import annotations

import os

from bd.core import files
from bd.core.errors import BadInput

BEGIN, END = "<!-- bd: begin -->", "<!-- bd: end -->"


def with_section(text: str, section: str) -> str:
    """The text with this section: in place of the one that is there, else at the end. Raises BadInput for broken marks."""
    before, after = _around(text)
    block = f"{BEGIN}\n{section.rstrip()}\n{END}\n"
    if after is None:
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        return f"{before}{gap}{block}"
    return before + block + after


def without_section(text: str) -> str:
    """The text without bd's section."""
    before, after = _around(text)
    return before if after is None else before.removesuffix("\n") + after if before.endswith("\n\n") else before + after


def _around(text: str) -> tuple[str, str | None]:
    """What stands before bd's section and behind it; None behind where there is no section. Raises BadInput."""
    if text.count(BEGIN) != text.count(END) or text.count(BEGIN) > 1 or text.find(END) < text.find(BEGIN):
        raise BadInput(f"the marks {BEGIN} and {END} do not stand there once each, in this order", hint="mend the file by hand")
    if BEGIN not in text:
        return text, None
    before, _, rest = text.partition(BEGIN)
    return before, rest.partition(END)[2].removeprefix("\n")


def read(path: str) -> str:
    """A file's text, empty where there is none. Raises BadInput for what is no plain file of text."""
    if os.path.islink(path):
        raise BadInput(f"{path} is a symbolic link", hint="bd writes only into plain files")
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't read {path}: {error}") from error


def write(path: str, text: str) -> None:
    """Write a file whole; one that would be empty is removed. Raises BadInput."""
    try:
        if not text.strip():
            if os.path.exists(path):
                os.unlink(path)
            return
        files.replace(path, text)
    except OSError as error:
        raise BadInput(f"can't write {path}: {error.strerror or error}") from error
