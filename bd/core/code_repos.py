"""Code repositories: the `repos` map of a hub's settings, one entry for each repository that beads may be about.

Belongs here: which keys an entry has, and what each may say. Does not belong here: what is done with a repository (bd/repos), and
who trusts an entry (notify/command_pins.py).
"""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import BadInput
from bd.core.nearest import SIMILAR, nearest
from bd.core.schema import CLONE_KEYS, DEVICES, REPO_KEYS, REPOS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

NONE, PUSH, PULL_REQUEST = "none", "push", "pull-request"
DELIVERIES = (NONE, PUSH, PULL_REQUEST)
_SCHEMES = ("https", "http", "ssh", "git", "file")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,62}\Z")
_BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|/\.|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\./-][^\x00-\x20\x7f~^:?*\[\\]*(?<![./])\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
# Variables that decide which programs run, or that bd and git set themselves.
_NOT_A_CACHE = re.compile(
    r"(?:BD_|BEADS_|GIT_|LD_|DYLD_)|(?:PATH|HOME|IFS|ENV|BASH_ENV|SHELL|PYTHONPATH|PYTHONHOME|NODE_OPTIONS)\Z"
)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([kMGT]?)B?\Z")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_FILTER = re.compile(r"(?:blob:none|blob:limit=\d+[kmg]?|tree:\d+)\Z")
_LONGEST = 4000


class Cloning(NamedTuple):
    """How a workspace is cloned: git's object filter, sparse folders, submodules, LFS, and the free bytes a disk must have."""

    filter: str = ""
    sparse: tuple[str, ...] = ()
    submodules: bool = False
    lfs: bool = False
    min_free: int = 0


class Repo(NamedTuple):
    """One entry. `copy` are files of the user's settings folder; `cache` maps variables to shared folders, by name."""

    name: str
    url: str
    base: str
    deliver: str = PUSH
    setup: str = ""
    teardown: str = ""
    copy: tuple[str, ...] = ()
    cache: Mapping[str, str] = {}
    clone: Cloning = Cloning()

    @property
    def is_delivered(self) -> bool:
        """Return whether commits are pushed."""
        return self.deliver != NONE


def check_name(name: str) -> str:
    """Return the name if a repository can have it; it names a folder, too. Raises BadInput."""
    if not _NAME.match(name) or name.partition(".")[0] in DEVICES or name.endswith(".lock"):
        raise BadInput(f"{name!r} can't be a repository's name", hint="lower case letters, digits, - and _, such as relay")
    return name


def read_repo(name: str, fields: Any) -> Repo:
    """Read an entry. Raises BadInput, which names the key."""
    check_name(name)
    if not isinstance(fields, dict):
        raise BadInput(f"{REPOS}.{name} is not a map", hint=f"`bd repo add {name} URL` writes one")
    _refuse_unknown(fields, REPO_KEYS, f"{REPOS}.{name}")
    missing = next((key for key in ("url", "base") if not fields.get(key)), None)
    if missing:
        raise BadInput(f"{REPOS}.{name} has no {missing}", hint=f"`bd repo add {name} URL` writes it")
    found = {key: _read(_READERS[key], value, f"{REPOS}.{name}.{key}") for key, value in fields.items() if value is not None}
    return Repo(name, **found)


def repos_of(config: Mapping[str, Any]) -> tuple[dict[str, Repo], dict[str, str]]:
    """Return the entries of a hub's settings by name, and what is wrong with the others."""
    given = config.get(REPOS)
    found, wrong = {}, {}
    for name, fields in sorted(given.items(), key=lambda one: str(one[0])) if isinstance(given, dict) else ():
        try:
            found[str(name)] = read_repo(str(name), fields)
        except BadInput as error:
            wrong[str(name)] = str(error)
    return found, wrong


def entry_text(fields: Any) -> str:
    """Return an entry as text, a line for each key, in a fixed order: what a pin covers. Also of one that is not valid."""
    if not isinstance(fields, dict):
        return json.dumps(fields, default=str)
    keys = [*(key for key in REPO_KEYS if key in fields), *sorted(str(key) for key in fields if key not in REPO_KEYS)]
    return "\n".join(f"{key}: {_shown(fields.get(key))}" for key in keys)


def _shown(value: Any) -> str:
    return (
        value
        if isinstance(value, str) and "\n" not in value
        else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    )


def check_url(url: str) -> str:
    """Return the address of a code repository: no option, no transport that runs a command, no password. Raises BadInput."""
    hint = "an https:// or ssh:// URL, user@host:path, or an absolute path"
    parts = urls.parsed(url)
    if not url.isprintable() or not url or url.startswith("-") or len(url) > _LONGEST or urls.names_helper(url):
        raise BadInput(f"{urls.without_password(url)!r} is not the URL of a repository", hint=hint)
    if parts is None:
        if not os.path.isabs(url):
            raise BadInput(f"{url!r} is neither a URL nor an absolute path", hint=hint)
        return url
    if parts.scheme not in _SCHEMES or (parts.scheme != "file" and not parts.host) or parts.host.startswith("-"):
        raise BadInput(f"{urls.without_password(url)!r} is not the URL of a repository", hint=hint)
    if parts.password is not None:
        hint = "leave it out: git's credential helper knows it, and everybody can read the hub"
        raise BadInput(f"the URL {urls.without_password(url)} has a password in it", hint=hint)
    return url


def check_branch(name: str) -> str:
    """Return the name if a branch can have it. Raises BadInput."""
    if not _BRANCH.match(name) or name == "HEAD" or name.startswith("refs/") or len(name) > _LONGEST:
        raise BadInput(f"{name!r} can't be a branch", hint="the name of a branch of the repository, such as main")
    return name


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput(f"must be text, not {value!r}")
    return value


def _command(value: Any) -> str:
    if "\0" in _text(value):
        raise BadInput("can't contain NUL")
    return str(value)


def _delivery(value: Any) -> str:
    if value not in DELIVERIES:
        raise BadInput(f"must be one of {', '.join(DELIVERIES)}, not {value!r}")
    return str(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"must be true or false, not {value!r}")
    return value


def inner_path(text: Any) -> str:
    """Return a relative path that stays within its folder, and outside of `.git`. Raises BadInput."""
    parts = _text(text).split("/")
    if not text or not text.isprintable() or {"", ".", "..", ".git"}.intersection(part.lower() for part in parts) or "\\" in text:
        raise BadInput(f"{text!r} is not a relative path within a folder")
    return str(text)


def _list(read: Callable[[Any], str]) -> Callable[[Any], tuple[str, ...]]:
    def listed(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise BadInput(f"must be a list, not {value!r}")
        return tuple(read(one) for one in value)

    return listed


def _caches(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadInput(f"must be a map of variables to names, not {value!r}")
    for variable, folder in value.items():
        if not _VARIABLE.match(str(variable)) or _NOT_A_CACHE.match(str(variable)):
            raise BadInput(f"{variable!r} can't be the variable of a cache", hint="such as PIP_CACHE_DIR: pip")
        if not _NAME.match(_text(folder)):
            raise BadInput(f"{folder!r} can't be the name of a cache", hint="such as PIP_CACHE_DIR: pip")
    return {str(variable): str(folder) for variable, folder in value.items()}


def is_filter(text: str) -> bool:
    """Return whether a text is a filter of git's for the objects to fetch."""
    return bool(_FILTER.match(text))


def _filter(value: Any) -> str:
    if not is_filter(_text(value)):
        raise BadInput(f"must be a filter of git's, not {value!r}", hint="such as blob:none or blob:limit=1m")
    return str(value)


def _bytes(value: Any) -> int:
    match = _SIZE.match(str(value))
    if isinstance(value, bool) or match is None:
        raise BadInput(f"must be a size, not {value!r}", hint="such as 5GB")
    return int(float(match[1]) * _UNITS[match[2]])


def _cloning(value: Any) -> Cloning:
    if not isinstance(value, dict):
        raise BadInput(f"must be a map, not {value!r}")
    _refuse_unknown(value, CLONE_KEYS, "clone")
    return Cloning(**{key: _read(_CLONE_READERS[key], one, f"clone.{key}") for key, one in value.items() if one is not None})


_CLONE_READERS: Mapping[str, Callable[[Any], Any]] = {
    "filter": _filter,
    "sparse": _list(inner_path),
    "submodules": _truth,
    "lfs": _truth,
    "min_free": _bytes,
}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "url": lambda value: check_url(_text(value)),
    "base": lambda value: check_branch(_text(value)),
    "deliver": _delivery,
    "setup": _command,
    "teardown": _command,
    "copy": _list(inner_path),
    "cache": _caches,
    "clone": _cloning,
}


def _read(read: Callable[[Any], Any], value: Any, where: str) -> Any:
    try:
        return read(value)
    except BadInput as error:
        raise BadInput(f"{where}: {error}", hint=error.hint) from error


def _refuse_unknown(fields: Iterable[Any], known: tuple[str, ...], where: str) -> None:
    for key in fields:
        if key not in known:
            near = nearest(str(key), known, SIMILAR)
            hint = f"did you mean {near}?" if near else f"one of {', '.join(known)}"
            raise BadInput(f"{where} has the unknown key {key}", hint=hint)
