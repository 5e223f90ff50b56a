"""Automatic export: keeps `.beads/issues.jsonl` up to date after writes, for viewers, if the setting `export_auto` is on.

The file is not part of the hub: git ignores it, and bd never reads it.
"""

from __future__ import annotations

import os
from collections import Counter

from bd import TYPE_CHECKING
from bd.compat.jsonl_export import lines_of, records_of, write_whole
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from bd.store import CachedSnapshot, Clone

NAME = "issues.jsonl"


def refresh(hub: Clone, snapshot: CachedSnapshot) -> str:
    """Write the file if its content has changed. Returns a message for the user if it can't be written, else ""."""
    folder = hub.client_folder()
    path = os.path.join(folder, NAME)
    if os.path.islink(folder) or os.path.islink(path):
        return f"not exported: {path} is a symbolic link"
    if hub.repo.objects.read(f"{snapshot.commit}:.beads/{NAME}", at_most=1) is not None:
        return f"not exported: .beads/{NAME} is tracked, and would be edited by every write: git rm --cached .beads/{NAME}"
    lines = list(lines_of(records_of(snapshot, Counter())))
    try:
        if not _says(path, "".join(lines)):
            write_whole(path, lines)
    except (OSError, BadInput) as error:
        return f"not exported: {error}"
    return ""


def _says(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read() == text
    except (FileNotFoundError, UnicodeDecodeError):
        return False
