"""Disks that are full, and folders that can't be written."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
from typing import TYPE_CHECKING

from tests.torture.faults.registry import of_a_call, of_a_round

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.torture.calls import Call
    from tests.torture.yard import Yard

NOBODY = 65534


@of_a_call("disk full")
def disk_full(yard: Yard, call: Call) -> None:
    """No file grows beyond a limit (RLIMIT_FSIZE): what bd writes fails with an error, its git is killed by SIGXFSZ."""
    limit = yard.rng.choice([0, 200, 1000, 4000])
    call.setup.append(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))


@of_a_round("disk full, of a small tmpfs", first=True)
def tmpfs_full(yard: Yard) -> Iterator[None]:
    """The clone's own file system has no room left, for all that write in it. Where mounting is not allowed: nothing."""
    clone = yard.rng.choice(yard.clones)
    git_folder = yard.path(clone) / ".git"
    if not _mounted(yard, git_folder):
        yield
        return
    free = os.statvfs(git_folder)
    spare = yard.rng.choice([0, 1, 2, 4]) * free.f_frsize
    ballast = git_folder / "ballast"
    with contextlib.suppress(OSError):
        ballast.write_bytes(b"x" * (free.f_bavail * free.f_frsize - spare))
    yield
    ballast.unlink()


def _mounted(yard: Yard, folder: os.PathLike[str]) -> bool:
    """Move a clone's .git onto a small tmpfs, once; whether that is possible here."""
    if os.path.ismount(folder):
        return True
    if not hasattr(os, "geteuid") or os.geteuid():
        return False
    kept = os.fspath(yard.fresh("moved"))
    os.rename(folder, kept)
    os.mkdir(folder)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", folder], capture_output=True)
    if done.returncode:
        os.rmdir(folder)
        os.rename(kept, folder)
        return False
    yard.undo.append(lambda: subprocess.run(["umount", "--lazy", folder], capture_output=True))
    subprocess.run(["cp", "-a", f"{kept}/.", folder], check=True)
    return True


@of_a_call("read-only clone")
def read_only_clone(yard: Yard, call: Call) -> None:
    """The caller may read the clone and not write it: as root by becoming somebody else, else by its mode."""
    folder = yard.path(call.clone) / ".git"
    if os.geteuid() == 0:
        call.setup.append(lambda: (os.setgid(NOBODY), os.setuid(NOBODY)))
    else:
        call.setup.append(lambda: os.chmod(folder, 0o500))
        yard.undo.append(lambda: os.chmod(folder, 0o700))
