"""The environment of commands that work for the hub: agents, what prepares and checks their work.

bd's own secrets stay with bd: an agent needs none of them, and reads texts from outside.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# bd's own: tokens for forges, gateways and servers, and the secrets of webhooks.
OWN_SECRETS = ("BD_FORGE_TOKEN*", "BD_HOOK_SECRET*", "BD_VIA_TOKEN", "BD_FORWARD_TOKEN", "BD_API_TOKEN*")
# What every program needs to run at all; it passes where a list says what else does.
_BASIC = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("SYSTEMROOT", "PATHEXT", "COMSPEC", "BD_*", "BEADS_*"),
)


def passed_on(environment: Mapping[str, str], names: Sequence[str] = ()) -> dict[str, str]:
    """Return what such a command gets of an environment: all but bd's own secrets, or only `names` and what programs need.

    A name may have wildcards: `ANTHROPIC_*`.
    """
    wanted = (*_BASIC, *names) if names else ("*",)
    return {name: value for name, value in environment.items() if _is_in(name, wanted) and not _is_in(name, OWN_SECRETS)}


def _is_in(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
