"""Folders of this user and machine for code repositories, below the state folder; nobody else may read them."""

from __future__ import annotations

import hashlib
import os

from bd.core.errors import TryAgain


def state_folder(*parts: str) -> str:
    """Return a path below bd's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "bd", *parts)


def user_files(repo: str) -> str:
    """Return the folder from which `copy` takes a repository's local files."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "bd", "repos", repo)


def digest_of(text: str) -> str:
    """Return a short name for a text, such as a URL."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def made(folder: str) -> str:
    """Make a folder, and what is missing above it, for this user alone. Raises TryAgain."""
    try:
        missing = []
        above = folder
        while not os.path.isdir(above):
            missing.append(above)
            above = os.path.dirname(above)
        for path in reversed(missing):
            os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise TryAgain(f"can't make the folder {folder}: {error.strerror}", hint="check the disk and its permissions") from error
    return folder
