"""Git's manners: the settings and the environment of every git process.

No prompts, editor, pager, hooks, automatic maintenance; `LC_ALL=C`; GIT_* cleared but for
`KEPT_VARIABLES`.
"""

from __future__ import annotations

import os

# Each for a reason: how to reach the remote, and where tests and users keep git's own settings.
KEPT_VARIABLES = frozenset(
    {
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
        "GIT_SSL_NO_VERIFY",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CEILING_DIRECTORIES",
        "GIT_EXEC_PATH",
        "GIT_ALLOW_PROTOCOL",
    }
)
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


def environment(ssh_command: str = "") -> dict[str, str]:
    """The environment of every git process; `ssh_command` is what the repository's own settings say."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_") or key in KEPT_VARIABLES}
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
    kept.pop("SSH_ASKPASS", None)
    kept["GIT_ASKPASS"] = "true" if os.name == "posix" else ""
    if "GIT_SSH" not in kept:
        kept["GIT_SSH_COMMAND"] = f"{kept.get('GIT_SSH_COMMAND') or ssh_command or 'ssh'} -o BatchMode=yes"
    return kept
