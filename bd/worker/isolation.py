"""Isolation of a worker's commands from the hub: instead of a clone they get access to an API, for their one claim.

Belongs here: what the worker asks of that API, and what an isolated command must not see. The API itself is bd/web/attempt_api.py.
"""

from __future__ import annotations

import os
from typing import Protocol

from bd import TYPE_CHECKING
from bd.core.urls import local_path
from bd.repos.folders import made, state_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.brief.verbs import Verbs
    from bd.core.model import Bead
    from bd.store import Clone

# What only a command with a clone of the hub has a use for.
_OF_A_CLONE = frozenset({"BD_TOKEN", "BEADS_DIR"})


class Access(Protocol):
    """One attempt's access to the API, from its start until `close`, which may be called twice."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that its command gets."""

    @property
    def programs(self) -> str:
        """The folder of programs that it finds before others."""

    def verbs(self, bead_id: str) -> Verbs:
        """Return how its brief says what to call."""

    def close(self) -> None: ...


class Api(Protocol):
    """The API of a worker."""

    def admit(self, bead: Bead, files: str) -> Access:
        """Return access for the claim of a bead; `files` is the folder of the attempt's files. Raises BdError and OSError."""


def isolated(environment: Mapping[str, str], access: Access) -> dict[str, str]:
    """Return the environment of an attempt's command with its access, and without what needs a clone."""
    kept = {name: value for name, value in environment.items() if name not in _OF_A_CLONE}
    path = os.pathsep.join(filter(None, [access.programs, kept.get("PATH", os.defpath)]))
    return {**kept, **access.environment, "PATH": path}


def hidden_from(hub: Clone) -> list[str]:
    """Return the folders that an isolated command must not see: the hub's clone, its server's folder, and bd's own folders.

    Raises TryAgain.
    """
    served = local_path(hub.place.url) if hub.place.url else None
    own = made(state_folder())
    found = [hub.checkout, hub.repo.git_dir, hub.repo.common_dir, *([served] if served else []), own]
    folders = {os.path.realpath(path) for path in found if os.path.isdir(path)}
    return sorted(path for path in folders if not any(is_within(path, other) for other in folders if other != path))


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or below it."""
    return os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(folder), ""))
