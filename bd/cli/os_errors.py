"""Translation of operating-system errors that have a cause outside bd. Imported only when there is one."""

from __future__ import annotations

import errno
import os

from bd.cli.output import lost_output
from bd.core.errors import BdError, FolderGone, TryAgain

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EROFS, getattr(errno, "EDQUOT", None)}
_SHORT = {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EPIPE, getattr(errno, "ESTALE", None)}
_MISPLACED = {errno.ENOTDIR, errno.EISDIR, errno.ELOOP}


def told(error: OSError) -> BdError | None:
    """Return the error to report; None if bd itself must be at fault."""
    if error is lost_output():
        words = f"could not write the output: {error.strerror or error}"
        return TryAgain(words, hint="make room, or send the output elsewhere")
    if error.errno in _FULL:
        return TryAgain(f"the disk is full or read-only: {error}", hint="make room, then try again", written="unknown")
    if isinstance(error, PermissionError):
        return TryAgain(
            f"permission denied: {error}", hint="check the permissions of that file and its folder", written="unknown"
        )
    if error.errno in _SHORT:
        return TryAgain(f"the system failed: {error}", hint="try again later", written="unknown")
    if error.errno in _MISPLACED:
        words = f"something else is in the place of a file or folder that bd needs: {error}"
        return TryAgain(words, hint="move it away, then try again", written="unknown")
    if isinstance(error, FileNotFoundError):
        return _gone(error)
    return None


def _gone(error: FileNotFoundError) -> BdError | None:
    """Return the error for a folder that disappeared during the command. A file missing from a folder is a bug in bd."""
    name = error.filename
    try:
        here = os.getcwd()
    except FileNotFoundError:
        if not isinstance(name, str) or not os.path.isabs(name):
            return FolderGone()
        here = ""
    if name is None:  # tempfile has tried every folder it knows
        return TryAgain(f"no temporary folder is writable: {error}", hint="make room, or set TMPDIR", written="unknown")
    folder = os.path.join(here, os.path.dirname(name)) if isinstance(name, str) else ""
    if not folder or os.path.isdir(folder):
        return None
    hint = "it was deleted; try again, and run `bd doctor` if that fails, too"
    return TryAgain(f"the folder {folder} is gone", hint=hint, written="unknown")
