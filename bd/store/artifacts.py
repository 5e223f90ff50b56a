"""Artifact references: a URL, a path in a commit, or a file. Only references are kept, never copies."""

from __future__ import annotations

import os
import re

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import BadInput
from bd.store.worktree.checkout import is_checked_out

if TYPE_CHECKING:
    from bd.store.replica import Replica

_IN_COMMIT = re.compile(r"[^\s@:]+@[0-9a-fA-F]{7,64}:\S.*\Z")


def is_elsewhere(typed: str) -> bool:
    """Return whether it is an address: a URL, or a path in a commit."""
    is_url = urls.is_url(typed) and not any(character.isspace() for character in typed)
    return is_url or _IN_COMMIT.match(typed) is not None


def reference(replica: Replica, typed: str) -> str:
    """Return the reference to keep: a file of the hub by its path there, any other file by its absolute path.

    Raises BadInput if the file does not exist.
    """
    if not typed.isprintable():
        raise BadInput("an artifact with a control character in it")
    if is_elsewhere(typed):
        return typed
    full = os.path.abspath(typed)
    if os.path.exists(full):
        root = (
            os.path.realpath(replica.repo.work_tree)
            if replica.repo.work_tree and is_checked_out(replica.repo, replica.branch)
            else None
        )
        real = os.path.realpath(full)
        inside = root is not None and real.startswith(root + os.sep)
        return os.path.relpath(real, root).replace(os.sep, "/") if inside else full
    path = os.path.normpath(typed).replace(os.sep, "/")
    if not path.startswith(("/", "..")) and replica.repo.objects.read(f"{replica.view()}:{path}") is not None:
        return path
    raise BadInput(f"there is no {typed}", hint="an artifact is a file, a URL, or REPOSITORY@COMMIT:PATH")
