"""The environment of commands that work for the hub: agents, what prepares and checks their work.

bd's own secrets stay with bd: an agent needs none of them, and reads texts from outside. A command that is isolated from the hub
gets nothing that leads there either: no variable of bd or git, and no credentials of git.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# bd's own: tokens for forges, gateways and servers, and the secrets of webhooks.
OWN_SECRETS = ("BD_FORGE_TOKEN*", "BD_HOOK_SECRET*", "BD_VIA_TOKEN", "BD_FORWARD_TOKEN", "BD_API_TOKEN*")
# What every program needs to run at all; it passes where a list says what else does.
_BASIC = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("SYSTEMROOT", "PATHEXT", "COMSPEC", "BD_*", "BEADS_*"),
)


# What leads to the hub: bd's variables, and the folder in which bd was started.
_TO_HUB = ("BD_*", "BEADS_*", "PWD", "OLDPWD")
# How git finds repositories, and proves to a server who it is.
_CREDENTIALS = (
    *("GIT_*", "SSH_*", "GH_*TOKEN", "GITHUB_*TOKEN", "GITLAB_*TOKEN", "GITEA_*TOKEN", "FORGEJO_*TOKEN", "CODEBERG_*TOKEN"),
    *("BITBUCKET_*TOKEN", "CI_JOB_TOKEN"),
)
_NO_CREDENTIALS = ("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
# An empty value makes git forget those of its configuration.
_FORGOTTEN = ("credential.helper", "http.extraHeader")
_ALONE = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(len(_FORGOTTEN)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_FORGOTTEN)},
    **{f"GIT_CONFIG_VALUE_{number}": "" for number in range(len(_FORGOTTEN))},
}


def passed_on(environment: Mapping[str, str], names: Sequence[str] = (), *, isolated: bool = False) -> dict[str, str]:
    """Return what such a command gets of an environment: all but bd's own secrets, or only `names` and what programs need.

    A name may have wildcards: `ANTHROPIC_*`. If it is `isolated`, it gets credentials of git only where `names` has them.
    """
    wanted = (*_BASIC, *names) if names else ("*",)
    refused = (*OWN_SECRETS, *_TO_HUB) if isolated else OWN_SECRETS
    found = {name: value for name, value in environment.items() if _is_in(name, wanted) and not _is_in(name, refused)}
    if not isolated:
        return found
    named = [*_NO_CREDENTIALS, *(name for name in names if name != "*")]
    kept = {name: value for name, value in found.items() if not _is_in(name, _CREDENTIALS) or _is_in(name, named)}
    return {**_ALONE, **kept}


def _is_in(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
