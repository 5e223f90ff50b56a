"""The file of tokens for `bd serve`: reading and creating it. Its format is described in authentication.py."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bd.core.errors import BadInput
from bd.web import authentication

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.web.authentication import Person


def people_of(path: str, starter: Callable[[], str], tell: Callable[[str], None]) -> tuple[Person, ...]:
    """Return the people in the file. If it does not exist, create it with a token for who starts the server. Raises BadInput."""
    try:
        if not os.path.exists(path):
            _make(path, starter(), tell)
        elif os.name == "posix" and os.stat(path).st_mode & 0o077:
            tell(f"warning: others on this machine may read {path}: chmod 600 {path}")
        with open(path, encoding="utf-8") as file:
            return authentication.read(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the token file can't be read or made: {error}", hint="name a file in a folder that is there") from error


def _make(path: str, name: str, tell: Callable[[str], None]) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"# a name, a blank, the token: who may change things\n{name} {authentication.fresh()}\n")
    tell(f"made {path}, with a token for {name}")
