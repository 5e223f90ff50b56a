"""Git's manners: the settings and the environment of every git process.

No prompts, editor, pager, hooks, automatic maintenance; `LC_ALL=C`. Of GIT_* passes what says how to reach the remote
and to authenticate there, and git's own settings; what redirects to another repository, index or work tree does not.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# How to reach a remote, how to authenticate, and where settings come from; numbered and family names by their beginning.
_PASSING = frozenset(
    {
        "GIT_ALLOW_PROTOCOL",
        "GIT_ASKPASS",
        "GIT_CEILING_DIRECTORIES",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
        "GIT_PROTOCOL_FROM_USER",
        "GIT_SSH",
    }
)
_PASSING_FAMILIES = ("GIT_CONFIG_", "GIT_HTTP_", "GIT_PROXY_", "GIT_SSH_", "GIT_SSL_")
# What git writes while it works; only into a file, since bd reads its standard error. The others say what is left out.
_TRACES = ("GIT_TRACE", "GIT_TR2")
_TRACE_SWITCHES = frozenset({"GIT_TRACE_CURL_NO_DATA", "GIT_TRACE_REDACT"})
# Programs in the place of ssh that know no `-o`: what GIT_SSH_VARIANT calls them.
_NOT_OPENSSH = frozenset({"plink", "putty", "simple", "tortoiseplink"})
QUIET = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.quotePath=off",
    "-c",
    "push.pushOption=",
    # By a bitmap git finds what to push without a look at what the server has to make deltas against: whole trees are sent.
    "-c",
    "pack.useBitmaps=false",
)
# What updates a checkout does as git does; everything else asks no file watcher: it is a command of the repository's.
UPDATES_CHECKOUT = frozenset({"checkout", "checkout-index", "read-tree", "update-index"})
NO_WATCHER = ("-c", "core.fsmonitor=false")


def passes(name: str, value: str) -> bool:
    """Whether a variable of the user's reaches git. Every one that is not git's own does."""
    if not name.startswith("GIT_"):
        return True
    if name.startswith(_TRACES) and name not in _TRACE_SWITCHES:
        return os.path.isabs(value)
    return name in _PASSING or name in _TRACE_SWITCHES or name.startswith(_PASSING_FAMILIES)


def settings_of(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The variables by which settings come from the environment (`GIT_CONFIG_COUNT`, `git -c` around bd), in order."""
    return sorted((name, value) for name, value in environ.items() if name.startswith("GIT_CONFIG_"))


def environment(ssh_command: str = "") -> dict[str, str]:
    """Return the environment of every git process; `ssh_command` is what the repository's own settings say."""
    kept = {name: value for name, value in os.environ.items() if passes(name, value)}
    kept.update(
        LC_ALL="C",
        LANGUAGE="",
        GIT_TERMINAL_PROMPT="0",
        GCM_INTERACTIVE="never",
        GIT_EDITOR="true",
        GIT_PAGER="cat",
        GIT_OPTIONAL_LOCKS="0",
        GIT_MERGE_AUTOEDIT="no",
        SSH_ASKPASS_REQUIRE="never",
    )
    if os.name == "posix":
        # The last that git asks for a password, after GIT_ASKPASS and core.askPass: who has none of them has no password.
        kept.setdefault("SSH_ASKPASS", "true")
    if "GIT_SSH" not in kept:
        batch = "" if kept.get("GIT_SSH_VARIANT") in _NOT_OPENSSH else " -o BatchMode=yes"
        kept["GIT_SSH_COMMAND"] = f"{kept.get('GIT_SSH_COMMAND') or ssh_command or 'ssh'}{batch}"
    return kept
