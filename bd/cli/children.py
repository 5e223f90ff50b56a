"""Commands that are refused inside a command of `bd work`: they decide what this machine may run for a hub."""

from __future__ import annotations

import os

from bd.core.errors import Refused

# What a worker gives its commands.
_SIGNS = ("BD_TOKEN", "BD_BEAD_FILE")


def refuse_child(what: str) -> None:
    """Refuse something inside a command of `bd work`, whose agent reads texts from the hub. Raises Refused."""
    if any(os.environ.get(name) for name in _SIGNS):
        hint = f"do it in a terminal of your own, without {' and '.join(name for name in _SIGNS if os.environ.get(name))}"
        raise Refused(f"an agent can't {what}", hint=hint)
