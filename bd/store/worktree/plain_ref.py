"""A checked-out branch moved as git moves it, without git: its lock, its value, the two reflogs.

What is out of the ordinary (refs in tables or packs, no name for the reflog, settings that have a say) is left to git.
The lock is a hard link to a file of bd's own, as the index's is (checkout.py): one that a killed bd left can be told
from everybody else's, and only that one is removed.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from bd.core import times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from bd.store.git.repository import GitRepo

OWNER = "index-owner"
_ON = ("true", "yes", "on", "1", "always")


def move(repo: GitRepo, branch: str, new: str, old: str, now: datetime) -> bool:
    """Move the branch that is checked out here from `old` to `new`; whether that was the plain case. Else nothing has moved."""
    path = os.path.join(repo.common_dir, branch)
    logs = [os.path.join(repo.git_dir, "logs", "HEAD"), os.path.join(repo.common_dir, "logs", branch)]
    lock, owner = f"{path}.lock", os.path.join(repo.common_dir, "bd", OWNER)
    remove_own_lock(lock, owner)
    who = _who(repo, now)
    if who is None or os.name != "posix" or not all(_is_plain_file(file) for file in (path, owner, *logs)):
        return False
    try:
        os.link(owner, lock)
    except OSError:  # somebody's, or no links here
        return False
    try:
        with open(path, "rb") as file:
            if file.read() != f"{old}\n".encode():
                return False
        fresh = os.path.join(repo.common_dir, "bd", "branch")
        with open(fresh, "wb") as made:
            made.write(f"{new}\n".encode())
        line = f"{old} {new} {who}\n".encode()
        for log in logs:
            with open(log, "ab") as lines:
                lines.write(line)
        os.rename(fresh, path)
    except OSError:
        return False
    finally:
        os.unlink(lock)
    return True


def remove_own_lock(lock: str, owner: str) -> None:
    """Remove a lock that a killed bd has left; we hold the clone's lock, so nobody of ours lives."""
    with suppress(OSError):
        if os.path.samefile(owner, lock):
            os.unlink(lock)


def _is_plain_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _who(repo: GitRepo, now: datetime) -> str | None:
    """Who moves it, and when, as git's reflog has it; None where that is git's to find out, or no reflog is kept."""
    settings: Mapping[str, Sequence[str]] = repo.known_settings or {}
    name, mail = ((settings.get(f"user.{key}") or [""])[-1] for key in ("name", "email"))
    is_logged = (settings.get("core.logallrefupdates") or ["true"])[-1].lower() in _ON
    is_odd = "core.sharedrepository" in settings or any(key.startswith("committer.") for key in settings)
    is_plain = all(text.isascii() and text.isprintable() and text.strip(" .,:;<>\"\\'") == text for text in (name, mail))
    if not name or not mail or not is_logged or is_odd or not is_plain or set("<>") & set(name + mail):
        return None
    offset_s = times.local_offset_s(now)
    sign, minutes = "-" if offset_s < 0 else "+", abs(offset_s) // 60
    return f"{name} <{mail}> {int(now.timestamp())} {sign}{minutes // 60:02}{minutes % 60:02}"
