"""Webhook secrets, from a file with one line per forge or from environment variables. They are never printed."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.policy.triggers import FORGES

if TYPE_CHECKING:
    from collections.abc import Mapping

# Long enough that a secret cannot be guessed.
SHORTEST = 16
VARIABLE = "BD_HOOK_SECRET_"


def read(text: str, where: str) -> dict[str, str]:
    """Return the secrets in a file by forge. Raises BadInput with the number of a wrong line, but never with its content."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        forge, _, secret = line.strip().partition(" ")
        if forge not in FORGES:
            raise BadInput(
                f"{where}, line {number}: expected a forge, a space and its secret", hint=f"the forges are {', '.join(FORGES)}"
            )
        found[forge] = _checked(secret.strip(), f"{where}, line {number}")
    return found


def of_file(path: str) -> dict[str, str]:
    """Return the secrets in a file, which nobody else may be able to read. Raises BadInput."""
    try:
        if os.name == "posix" and os.stat(path).st_mode & 0o077:
            raise BadInput(f"others on this machine may read {path}", hint=f"chmod 600 {path}")
        with open(path, encoding="utf-8") as file:
            return read(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the secrets can't be read: {error}") from error


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets in `BD_HOOK_SECRET_GITHUB` and the like. Raises BadInput."""
    names = {forge: VARIABLE + forge.upper() for forge in FORGES}
    return {forge: _checked(environment[name], name) for forge, name in names.items() if environment.get(name)}


def _checked(secret: str, where: str) -> str:
    if len(secret) < SHORTEST or not secret.isascii() or not secret.isprintable():
        raise BadInput(f"{where}: a secret has at least {SHORTEST} plain characters", hint="`openssl rand -hex 32` makes one")
    return secret
