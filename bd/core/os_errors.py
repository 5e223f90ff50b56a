"""Translation of operating-system errors that have a cause outside bd."""

from __future__ import annotations

import errno
import os

from bd import TYPE_CHECKING
from bd.core.errors import BdError, FolderGone, TryAgain

if TYPE_CHECKING:
    from bd.core.errors import Written

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EROFS, getattr(errno, "EDQUOT", None)}
_SHORT = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EPIPE, getattr(errno, "ESTALE", None)}
_MISPLACED = {errno.ENOTDIR, errno.EISDIR, errno.ELOOP}


def told(error: OSError, *, written: Written) -> BdError | None:
    """Return the error to report; None if bd itself must be at fault. `written` is what is known of the write."""
    if error.errno in _FULL:
        return TryAgain(f"the disk is full or read-only: {error}", hint="make room, then try again", written=written)
    if isinstance(error, PermissionError):
        hint = "check the permissions of that file and its folder"
        return TryAgain(f"permission denied: {error}", hint=hint, written=written)
    if error.errno in _SHORT:
        return TryAgain(f"the system failed: {error}", hint="try again later", written=written)
    if error.errno in _MISPLACED:
        words = f"something else is in the place of a file or folder that bd needs: {error}"
        return TryAgain(words, hint="move it away, then try again", written=written)
    if isinstance(error, FileNotFoundError):
        return _gone(error, written)
    return None


def _gone(error: FileNotFoundError, written: Written) -> BdError | None:
    """Return the error for a folder that disappeared during the command. A file missing from a folder is a bug in bd."""
    name = error.filename
    try:
        here = os.getcwd()
    except FileNotFoundError:
        if not isinstance(name, str) or not os.path.isabs(name):
            return FolderGone()
        here = ""
    if name is None:  # tempfile has tried every folder it knows
        return TryAgain(f"no temporary folder is writable: {error}", hint="make room, or set TMPDIR", written=written)
    folder = os.path.join(here, os.path.dirname(name)) if isinstance(name, str) else ""
    if not folder or os.path.isdir(folder):
        return None
    hint = "it was deleted; try again, and run `bd doctor` if that fails, too"
    return TryAgain(f"the folder {folder} is gone", hint=hint, written=written)
