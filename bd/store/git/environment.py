"""The settings and the environment of every git process.

No prompts, editor, pager, hooks or automatic maintenance; `LC_ALL=C`. Of the GIT_* variables, those that say how to reach the
remote, how to authenticate, and git's settings are passed on; those that redirect git to another repository, index or work tree
are not.
"""

from __future__ import annotations

import os

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables for reaching a remote, for authentication, and for settings; families by their prefix.
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
# Git's traces are allowed only into a file, since bd reads git's standard error. The switches only reduce what is traced.
_TRACES = ("GIT_TRACE", "GIT_TR2")
_TRACE_SWITCHES = frozenset({"GIT_TRACE_CURL_NO_DATA", "GIT_TRACE_REDACT"})
# Values of GIT_SSH_VARIANT for ssh programs that have no `-o`.
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
    # With bitmaps, git skips looking for delta bases that the server has, and sends whole trees.
    "-c",
    "pack.useBitmaps=false",
)
# Commands that update a checkout use git's settings; all others ask no file watcher, which would be a command of the
# repository's.
UPDATES_CHECKOUT = frozenset({"checkout", "checkout-index", "read-tree", "update-index"})
NO_WATCHER = ("-c", "core.fsmonitor=false")


def passes(name: str, value: str) -> bool:
    """Return whether a variable of the user's is passed on to git. All that are not GIT_* are."""
    if not name.startswith("GIT_"):
        return True
    if name.startswith(_TRACES) and name not in _TRACE_SWITCHES:
        return os.path.isabs(value)
    return name in _PASSING or name in _TRACE_SWITCHES or name.startswith(_PASSING_FAMILIES)


def settings_of(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the variables that carry settings (`GIT_CONFIG_COUNT`, `git -c` around bd), in order."""
    return sorted((name, value) for name, value in environ.items() if name.startswith("GIT_CONFIG_"))


def environment(ssh_command: str = "") -> dict[str, str]:
    """Return the environment of every git process; `ssh_command` comes from the repository's settings."""
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
        # Git tries SSH_ASKPASS last, after GIT_ASKPASS and core.askPass: without any of them there is no password.
        kept.setdefault("SSH_ASKPASS", "true")
    if "GIT_SSH" not in kept:
        batch = "" if kept.get("GIT_SSH_VARIANT") in _NOT_OPENSSH else " -o BatchMode=yes"
        kept["GIT_SSH_COMMAND"] = f"{kept.get('GIT_SSH_COMMAND') or ssh_command or 'ssh'}{batch}"
    return kept
