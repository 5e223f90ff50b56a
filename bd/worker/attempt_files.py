"""The folder of an attempt's own files: what its command reads, and may write besides its work.

It lies in the clone, or in this user's state folder where the command is isolated and must not learn where the clone is.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING
from bd.repos.folders import digest_of, state_folder
from bd.schedule.invocation import hub_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bd.store import Clone


def folder_of(hub: Clone, token: str, *, isolated: bool) -> str:
    """Return the path of the folder for the attempt under this fencing token. It is not made."""
    above, name = (_isolated(hub), digest_of(token)) if isolated else (_in_clone(hub), token)
    return os.path.join(above, name)


def names_of(token: str) -> tuple[str, str]:
    """Return the names that the folder of an attempt may have."""
    return token, digest_of(token)


def folders(hub: Clone) -> Iterator[str]:
    """Yield the folders that are there, also those that killed workers left."""
    for above in (_in_clone(hub), _isolated(hub)):
        try:
            names = sorted(os.listdir(above))
        except OSError:
            continue
        yield from (os.path.join(above, name) for name in names)


def _in_clone(hub: Clone) -> str:
    return os.path.join(hub.place.folder, "work")


def _isolated(hub: Clone) -> str:
    return state_folder("attempts", hub_id(hub))
