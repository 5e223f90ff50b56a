"""Format versions: which ones this bd writes, and the errors for those it does not.

Reads accept a hub of any version as far as they understand it. Writes never upgrade a hub by the way; that is
operations/upgrade.py.
"""

from __future__ import annotations

import re

from bd import TYPE_CHECKING, __version__
from bd.core import versions
from bd.core.errors import Damaged, NewerFormat, NoHub, OlderFormat, TooOld
from bd.core.schema import CONFIG_PATH, FILE_LIMIT

if TYPE_CHECKING:
    from bd.store.contract import Repository
    from bd.store.snapshot import CachedSnapshot

# A newer format's settings may be unreadable for this bd, but the line with its version is not.
_LINE = r"(?m)^format:[ \t]*(\d{1,9})[ \t]*(?:#.*)?\r?$"


def version_of(repo: Repository, snapshot: CachedSnapshot) -> int | None:
    """Return the format version in a hub's settings; None if they name none."""
    version = snapshot.config().get("format")
    if isinstance(version, int) or snapshot.record(CONFIG_PATH) is not None:
        return version
    data = repo.objects.read(f"{snapshot.commit}:{CONFIG_PATH}", at_most=FILE_LIMIT) or b""
    found = re.search(_LINE, data.decode("utf-8", "replace"))
    return int(found[1]) if found else None


def check(repo: Repository, snapshot: CachedSnapshot, branch_name: str, *, brings_forward: bool = False) -> None:
    """Refuse to write if there is no hub, if its format is another one, or if its settings can't be read.

    `brings_forward`: for the write that upgrades an older format. Raises NoHub, NewerFormat, OlderFormat, TooOld, Damaged.
    """
    least = snapshot.config().get("min_version")
    if versions.is_older(__version__, least):
        raise TooOld(str(least), __version__)
    if (
        versions.WRITABLE_SINCE <= snapshot.config().get("format", 0) <= versions.FORMAT
        and snapshot.record(CONFIG_PATH) is not None
    ):
        return  # the usual case, checked with every write
    version = version_of(repo, snapshot)
    if version is not None and version > versions.FORMAT:
        raise NewerFormat(version, versions.FORMAT)
    broken = next((damage for damage in snapshot.damages if damage.path == CONFIG_PATH), None)
    if broken:
        hint = "edit that file, commit it and `git push`; bd writes nothing until then"
        raise Damaged(f"{CONFIG_PATH} {broken.reason}", hint=hint)
    if version is not None and version < versions.WRITABLE_SINCE and not brings_forward:
        raise OlderFormat(version, versions.FORMAT)
    if snapshot.record(CONFIG_PATH) is None:
        raise NoHub(f"the branch {branch_name} holds no hub", hint="`bd init` makes one")
    if version is None:  # don't assume defaults: ids would get another prefix
        hint = f"`git log -p {CONFIG_PATH}` shows the previous content; write it again, commit it and `git push`"
        raise Damaged(f"{CONFIG_PATH} names no format", hint=hint)
