"""The files of tokens for `bd serve`: reading, creating and changing them. Their format is described in authentication.py."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core import files
from bd.core.errors import BadInput, NotFound
from bd.store.local.lock import CloneLock
from bd.web import authentication

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bd.core.runtime import Runtime
    from bd.web.authentication import Account

# The file of a clone, beside the rest of what only this clone knows.
NAME = "api-tokens"
_HEAD = "# a name, a blank, the token: who may change things\n"
_LOCK_S = 10.0


def own_file(folder: str) -> str:
    """Return the path of a clone's own token file."""
    return os.path.join(folder, NAME)


class TokenFiles:
    """Token files as they are now: what is added or revoked counts at once.

    A file that is not there has no accounts. One that becomes unreadable while the server runs is reported, and ends all of its
    accounts: a token that was revoked must not live on.
    """

    def __init__(self, paths: Iterable[str], tell: Callable[[str], None]) -> None:
        self._paths, self._tell = tuple(paths), tell
        self._seen: dict[str, tuple[int, int, int] | None] = {}
        self._accounts: dict[str, tuple[Account, ...]] = {}
        self._all: tuple[Account, ...] = ()

    def accounts(self) -> tuple[Account, ...]:
        """Return the accounts of all files."""
        changed = [path for path in self._paths if self._has_changed(path)]
        for path in changed:
            self._accounts[path] = self._read(path)
        if changed:
            self._all = tuple(account for path in self._paths for account in self._accounts[path])
        return self._all

    def _has_changed(self, path: str) -> bool:
        """Return whether a file is another one than at the last call."""
        stamp = _stamp(path)
        if path in self._seen and self._seen[path] == stamp:
            return False
        self._seen[path] = stamp
        return True

    def _read(self, path: str) -> tuple[Account, ...]:
        try:
            return accounts_in(path, self._tell)
        except BadInput as error:
            self._tell(f"warning: {error}; its tokens are not accepted")
            return ()


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def accounts_in(path: str, tell: Callable[[str], None]) -> tuple[Account, ...]:
    """Return the accounts in a file; none if it does not exist. Raises BadInput."""
    try:
        with open(path, encoding="utf-8") as file:
            if os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                tell(f"warning: others on this machine may read {path}: chmod 600 {path}")
            return authentication.read(file.read(), path)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(error) from error


def accounts_of(path: str, starter: Callable[[], str], tell: Callable[[str], None]) -> tuple[Account, ...]:
    """Return the accounts in the file. If it does not exist, create it with a token for who starts the server. Raises BadInput."""
    if not os.path.exists(path):
        name = starter()
        _append(path, f"{name} {authentication.fresh()}\n")
        tell(f"made {path}, with a token for {name}")
    found = accounts_in(path, tell)
    if not found:
        raise BadInput(
            f"{path} has no token in it", hint=f"a name, a blank, a token, such as: Ada Lovelace {authentication.fresh()}"
        )
    return found


def add(path: str, account: Account, runtime: Runtime) -> None:
    """Add an account, by its token's digest. Raises BadInput and TryAgain."""
    with _lock(path, runtime):
        _append(path, f"{account.label} {account.digest}\n")


def remove(path: str, account_id: str, runtime: Runtime) -> Account:
    """Remove the account that `bd token list` calls so. Raises NotFound, BadInput and TryAgain."""
    with _lock(path, runtime):
        found = [one for one in accounts_in(path, lambda _: None) if one.id == account_id]
        if not found:
            raise NotFound(f"no token {account_id}", hint="`bd token list` shows them")
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.readlines()
            kept = [line for line in lines if line.strip().startswith("#") or line.split()[-1:] != [found[0].token]]
            files.replace(path, "".join(kept), only_mine=True)
        except OSError as error:
            raise _unusable(error) from error
    return found[0]


def _lock(path: str, runtime: Runtime) -> CloneLock:
    """Return the lock of a file that is changed: of two removals at once, neither brings back what the other one removed."""
    whole = os.path.abspath(path)
    folder = os.path.dirname(whole)
    if not os.access(folder, os.W_OK):  # the lock would make it, or speak of a clone
        raise _unusable(f"{folder} can't be written")
    return CloneLock(f"{whole}.lock", _LOCK_S, runtime)


def _append(path: str, line: str) -> None:
    """Add a line, whole or not at all, on a line of its own also if somebody's editor left the last one without an end."""
    is_there = os.path.exists(path)
    try:
        with open(path, "a+b", buffering=0, opener=lambda name, flags: os.open(name, flags, files.PRIVATE)) as file:
            size = file.tell()
            file.seek(max(0, size - 1))
            gap = "" if file.read(1) in (b"", b"\n") else "\n"
            rest = f"{gap if size else _HEAD}{line}".encode()
            try:
                while rest:  # a disk that is nearly full takes a part first
                    rest = rest[file.write(rest) :]
            except OSError:
                if is_there:
                    file.truncate(size)
                else:
                    os.unlink(path)
                raise
    except OSError as error:
        raise _unusable(error) from error


def _unusable(reason: object) -> BadInput:
    return BadInput(f"the token file can't be read or made: {reason}", hint="name a file in a folder that is there")
