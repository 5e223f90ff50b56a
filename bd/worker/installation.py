"""What an agent works with here: the kind of agent, on this host, of this user. Without a stated account it stands for one."""

from __future__ import annotations

import getpass
import os
import socket

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from bd.worker.job import Command


def as_claim_args(command: Command) -> dict[str, str]:
    """Return what a claim says of where its command runs: `host`, and `account`, the installation: KIND@HOST/USER."""
    host = socket.gethostname()
    kind = command.program.name if command.program is not None else os.path.basename(command.words[0])
    return {"host": host, "account": f"{kind}@{host}/{_user()}"}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):  # a container's user may have no name; elsewhere none is looked up
        return str(os.getuid()) if hasattr(os, "getuid") else "somebody"
