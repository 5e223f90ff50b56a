"""bd's section in files that belong to others, such as AGENTS.md.

This module writes, compares and removes the text between two markers; everything else in the file stays unchanged. The caller
knows the file and the content.
"""

from __future__ import annotations

import os

from bd.core import files
from bd.core.errors import BadInput

BEGIN, END = "<!-- bd: begin -->", "<!-- bd: end -->"


def with_section(text: str, section: str) -> str:
    """Return the text with this section, replacing the old one, or at the end. Raises BadInput for broken markers."""
    before, after = _around(text)
    block = f"{BEGIN}\n{section.rstrip()}\n{END}\n"
    if after is None:
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        return f"{before}{gap}{block}"
    return before + block + after


def without_section(text: str) -> str:
    """Return the text without bd's section."""
    before, after = _around(text)
    return before if after is None else before.removesuffix("\n") + after if before.endswith("\n\n") else before + after


def _around(text: str) -> tuple[str, str | None]:
    """Return the text before and after bd's section; None after it if there is no section. Raises BadInput."""
    if text.count(BEGIN) != text.count(END) or text.count(BEGIN) > 1 or text.find(END) < text.find(BEGIN):
        raise BadInput(f"the marks {BEGIN} and {END} must occur once each, in this order", hint="fix the file by hand")
    if BEGIN not in text:
        return text, None
    before, _, rest = text.partition(BEGIN)
    return before, rest.partition(END)[2].removeprefix("\n")


def read(path: str) -> str:
    """Return a file's text, "" if it does not exist. Raises BadInput if it is not a plain text file."""
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
    """Write a file atomically, or remove it if it would be empty. Raises BadInput."""
    try:
        if not text.strip():
            if os.path.exists(path):
                os.unlink(path)
            return
        files.replace(path, text)
    except OSError as error:
        raise BadInput(f"can't write {path}: {error.strerror or error}") from error
