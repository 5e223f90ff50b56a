"""The error messages of git, ssh and servers: what they mean, and what a person can do about it.

Belongs here: reading words. Does not belong here: what a write does next (transaction/verdict.py).
"""

from __future__ import annotations

import os
import re

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import RemoteUnreachable, ServerRefused
from bd.core.value import Value

if TYPE_CHECKING:
    from bd.core.errors import BdError

# The hub refuses every request of this clone; it is busy; it can't do this at the moment; or none of these: it refuses this
# request, or the message is unknown.
CLOSED, BUSY, PASSING, OTHER = "closed", "busy", "passing", ""

# Git hides the Retry-After of a server.
RETRY_AFTER_S = 60

_RENEW = "the server does not accept this password, token or key: renew it where git looks for it (credential helper, ssh key)"
_CERTIFICATE = "git does not trust the server's certificate: `git config http.sslCAInfo FILE` names the one to trust"
_HOST_KEY = "ssh does not know this server: check its key, and add it to ~/.ssh/known_hosts"
_NO_REPOSITORY = "check the URL (`git remote -v`), and that the repository was shared with you"
_NO_RIGHT = "ask the hub's owner for the right to read and push"
_INCOMPATIBLE = "this git and the server's repository are not compatible; the message says why"


class Meaning(Value):
    """The meaning of a message, and a hint; empty if the message says enough."""

    kind: str
    hint: str = ""


# The first row that has a sign of the message counts. Signs are lower case.
_SIGNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (CLOSED, "another user owns it: `git config --global --add safe.directory FOLDER` trusts it", ("dubious ownership",)),
    (BUSY, "", ("too many requests", "rate limit", "in maintenance", "maintenance mode", "under maintenance", "try again later")),
    (BUSY, "", ("service unavailable", "temporarily unavailable", "internal api error")),
    (
        CLOSED,
        _HOST_KEY,
        ("host key verification failed", "remote host identification has changed"),
    ),
    (
        CLOSED,
        _CERTIFICATE,
        ("ssl certificate problem", "certificate verification failed", "certificate subject name", "certificate has expired"),
    ),
    (CLOSED, _CERTIFICATE, ("self-signed certificate", "self signed certificate", "unable to get local issuer certificate")),
    (
        CLOSED,
        _RENEW,
        (
            "authentication failed",
            "authentication required",
            "could not read username",
            "could not read password",
            "invalid username or password",
            "invalid credentials",
            "basic: access denied",
            "password authentication was removed",
            "permission denied (",
            "too many authentication failures",
            "terminal prompts disabled",
        ),
    ),
    (
        CLOSED,
        _NO_REPOSITORY,
        (
            "repository not found",
            "project not found",
            "looking for could not be found",
            "no such repository",
            "repository does not exist",
            "repository or object not found",
            "does not appear to be a git repository",
            "fatal: repository '",
            "repository not exported",
            "denied by fallthru",
            "unable to update url base from redirection",
            "-pack: command not found",
            "-pack: not found",
        ),
    ),
    (
        CLOSED,
        _NO_RIGHT,
        (
            "access denied",
            "access not granted",
            "unauthorized",
            "not authorized",
            "you are not allowed to push",
            "don't have permission",
            "do not have permission",
            "permission denied",
            "read-only",
            "read only",
            "is archived",
            "service not enabled",
            "insufficient permission",
            "denied by refs/",
            "error: permission to ",
        ),
    ),
    (
        CLOSED,
        _INCOMPATIBLE,
        (
            "hash algorithm",
            "mismatched algorithms",
            "expected git repo version",
            "unknown repository extension",
            "unable to find remote helper",
            "fatal: transport '",
            "is not a git command",
        ),
    ),
)
_GONE = "does not appear to be a git repository"
# Signs of a fault of this machine, in the messages of a fetch.
_OWN_SIGNS = ("couldn't write '", "for adding an object", "unable to create temporary", "no space left", "refs/bd/")
_OWN_HINT = "git can't write into this clone: check its disk and the rights of its .git folder, then try again"
# Signs that a push may succeed in a moment: locks, refs that moved, the server's machine.
_PASSING_SIGNS = (
    "lock ref",
    ".lock'",
    "failed to lock",
    "failed to update ref",
    "incorrect old value",
    "fetch first",
    "non-fast-forward",
    "stale info",
    "already exists",
    "atomic push failed",
    "no space left",
    "out of memory",
    "cannot allocate memory",
    "resource temporarily unavailable",
    "too many open files",
    "input/output error",
    "unable to write",
    "unable to create temporary file",
    "unable to create thread",
    "cannot fork",
    "died of signal",
    "internal server error",
    "timed out",
)
# Signs that a server refuses a push for good: hooks, protected branches, quotas.
_POLICY_SIGNS = (
    "hook declined",
    "aborted by hook",
    "protected branch",
    "prohibited",
    "quota",
    "deny updating",
    "refusing to update checked out branch",
    "branch is currently checked out",
    "shallow update",
    "exceeds maximum",
    "fsck error",
)
_PROTECTED = ("protected branch",)
# The connection broke: whatever was sent may have arrived.
_CUT_OFF = (
    "hung up",
    "unexpected disconnect",
    "rpc failed",
    "sideband",
    "broken pipe",
    "reset by peer",
    "early eof",
    "read error",
)
# The answer can't be read: the same.
_GARBLED = (
    "protocol error",
    "unexpected flush packet",
    "parse remote unpack status",
    "status line from remote",
    "ref status from",
)
_NO_ANSWER = (*_CUT_OFF, *_GARBLED, "timed out")
# Git failed before it sent anything.
_NOT_REACHED = (
    "could not read from remote repository",
    "unable to access",
    _GONE,
    "authentication failed",
    "could not read username",
    "unable to connect",
    "unable to look up",
    "could not resolve",
    "connection refused",
    "no route to host",
    "network is unreachable",
)
# What git says once it has talked to the server; before that it ends with `fatal:` alone.
_WENT_ON = "failed to push some refs"
# Lines that git prints around the reason, whatever it is.
_FRAMING = (
    f"error: {_WENT_ON}",
    "hint:",
    "cloning into",
    "fatal: could not read from remote repository",
    "please make sure you have the correct access rights",
    "and the repository exists.",
    "send-pack: unexpected disconnect",
    "fatal: the remote end hung up",
)
# Request timeout, too early.
_AGAIN_STATUSES = (408, 425)
_ENDS_BADLY = ("fatal:", "error:")
# Texts, which `re` compiles once they are needed: most remotes say nothing that has to be understood.
_STATUS = r"\b(?:error|http(?: code)?)\b\W*([45]\d\d)\b"
_PROGRESS = (
    r"(remote: *)?((Enumerating|Counting|Compressing|Receiving|Writing|Unpacking) objects|Resolving deltas|Updating files):"
    r"|(remote: *)?Delta compression using|(remote: *)?Total \d+ \(delta|From \S+$"
)


def meaning(words: str) -> Meaning:
    """Return the meaning of a message, whatever the server was asked for."""
    told = words.lower()
    for kind, hint, signs in _SIGNS:
        if any(sign in told for sign in signs):
            return Meaning(kind, hint)
    return _of_status(_http_status(told))


def says_no_repository(words: str) -> bool:
    """Return whether the message says that there is no repository at the URL, or none that this user may see."""
    return meaning(words).hint == _NO_REPOSITORY


def of_push(words: str) -> Meaning:
    """Return the meaning of a message about a push, to a server that was reachable a moment ago.

    An unknown reason is final: a server that gives a reason will give it again.
    """
    told = words.lower()
    known = meaning(words)
    if _GONE in told:  # it was there a moment ago: the next fetch finds out whether its disk is away
        return Meaning(PASSING)
    if known.kind == CLOSED or any(sign in told for sign in _PROTECTED):
        return Meaning(CLOSED, known.hint)
    if known.kind == BUSY:
        return known
    if any(sign in told for sign in _POLICY_SIGNS):
        return Meaning(OTHER)
    if any(sign in told for sign in _PASSING_SIGNS) or _http_status(told) >= 500:
        return Meaning(PASSING)
    return Meaning(OTHER)


def never_sent(words: str) -> bool:
    """Return whether a push failed before anything was sent, so that it can't land later."""
    own = "\n".join(line for line in words.lower().splitlines() if not line.lstrip().startswith("remote:"))  # else a hook spoke
    return any(sign in own for sign in _NOT_REACHED) and not any(sign in own for sign in (*_CUT_OFF, *_GARBLED, _WENT_ON))


def says_why(words: str) -> bool:
    """Return whether a push without an answer for the branch gives a reason.

    If not, the connection was cut, or the answer can't be read; it may still land.
    """
    if any(sign in words.lower() for sign in _POLICY_SIGNS):
        return True
    is_cut = any(sign in words.lower() for sign in _NO_ANSWER)
    for line in words.splitlines():
        told = line.strip().lower().removeprefix("remote: ")
        status = _http_status(told)
        if 400 <= status < 500 and status not in _AGAIN_STATUSES:
            return True
        if is_cut and line.strip().startswith("remote: "):  # a hook said something, and may have gone on
            continue
        if told.startswith(_ENDS_BADLY) and not told.startswith(_FRAMING) and not any(sign in told for sign in _NO_ANSWER):
            return status < 500
    return False


def _of_status(status: int) -> Meaning:
    """Return the meaning of an HTTP status."""
    if status in (429, 502, 503, 504):
        return Meaning(BUSY)
    if status in (401, 407):
        return Meaning(CLOSED, _RENEW)
    if status in (404, 410):
        return Meaning(CLOSED, _NO_REPOSITORY)
    return Meaning(CLOSED, _NO_RIGHT) if status == 403 else Meaning(OTHER)


def _http_status(told: str) -> int:
    """Return the HTTP status in a message; 0 for none."""
    found = re.search(_STATUS, told)
    return int(found[1]) if found else 0


def reason(words: str) -> str:
    """Join the lines of a message that say something, without git's framing and without passwords in URLs."""
    lines = [line.strip() for line in words.replace("\r", "\n").splitlines()]
    lines = [line for line in lines if not re.match(_PROGRESS, line)]
    told = [line for line in lines if not line.lower().startswith(_FRAMING)]
    said = [line.removeprefix("remote:").strip().removeprefix("fatal: ") for line in (told if any(told) else lines)]
    return re.sub(r"\S+", lambda word: urls.without_password(word[0]), "; ".join(dict.fromkeys(filter(None, said))))


def unreachable(named: str, url: str, words: str, *, folder: str) -> BdError:
    """Return the error for a server that git could not reach: it refuses this clone, or is away.

    A relative path as `url` is taken from `folder`.
    """
    told = words.lower()
    is_own = any(sign in told for sign in _OWN_SIGNS)
    found = Meaning(OTHER) if is_own or is_not_mounted(url, folder) else meaning(words)
    said = reason(words) or "git gave no reason"
    if found.kind == CLOSED:
        return closed(f"{named} refuses this clone: {said}", found.hint)
    away = f"{named} can't be reached: {said}"
    if found.kind == BUSY:
        return busy(away)
    return RemoteUnreachable(away, hint=_OWN_HINT if is_own else "check the network and your credentials, then try again")


def is_not_mounted(url: str, folder: str) -> bool:
    """Return whether a URL is a missing or empty folder of this machine: its disk may not be mounted."""
    path = urls.local_path(url)
    if not path:
        return False
    path = os.path.join(folder, path)
    return not os.path.exists(path) or (os.path.isdir(path) and not os.listdir(path))


def closed(message: str, hint: str) -> ServerRefused:
    """Return the error for a hub that refuses every request of this clone."""
    return ServerRefused(message, hint=hint, scope="hub")


def busy(message: str) -> RemoteUnreachable:
    """Return the error for a server that is busy."""
    hint = f"the server is busy or in maintenance: try again in {RETRY_AFTER_S} s"
    return RemoteUnreachable(message, hint=hint, retry_after_s=RETRY_AFTER_S)
