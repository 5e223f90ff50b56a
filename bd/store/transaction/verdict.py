"""The verdict on a push, from its answer and a fetch: the table in docs/protocol.md.

`landed`; `lost` (another writer was faster); `stuck` (rejected, and nothing moved); `unknown` (no answer; it may still land);
`refused` (for good); `unsided` (the side refs were refused).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import ServerRefused
from bd.store.git.push import MOVED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.store.contract import PushAnswer, PushLine

# Words of a server that will refuse the same push again.
_FOR_GOOD = (
    "hook declined",
    "protected branch",
    "permission",
    "denied",
    "not allowed",
    "prohibited",
    "quota",
    "read-only",
    "read only",
    "refusing to update checked out branch",
    "deny updating",
    "shallow update",
    "error: 403",
    "is archived",
)


# Git's messages when it failed before sending anything, and when it failed later.
_NOT_REACHED = (
    "could not read from remote repository",
    "unable to access",
    "does not appear to be a git repository",
    "authentication failed",
    "could not read username",
)
_CUT_OFF = ("hung up", "unexpected disconnect", "rpc failed", "sideband", "broken pipe", "reset by peer")


class Verdict(NamedTuple):
    """The verdict on a push, the server's words, and the commit that landed: an earlier one if its answer was lost.

    `is_looked` is False if the answer alone showed that another writer was faster; then the published ref has not been updated.
    """

    kind: str
    words: str = ""
    commit: str = ""
    is_looked: bool = True


def seen(answer: PushAnswer, branch: str, commit: str, base: str | None, tip: str | None, holds: str | None) -> Verdict:
    """Judge a push of `commit` onto `base` after a fetch that found `tip`. `holds` is our commit that the tip contains."""
    line = answer.lines.get(branch)
    words = server_words(answer.words, line.summary if line else "")
    if holds:
        return Verdict("landed", commit=holds)
    if tip != base:
        return Verdict("lost")
    if any(sign in words.lower() for sign in _FOR_GOOD):
        return Verdict("refused", words)
    return Verdict("stuck" if line else "unknown", words)


def was_overtaken(summary: str, words: str, branch: str) -> bool:
    """Return whether the answer itself says that the branch has a newer tip; a fetch could only add which one."""
    return "fetch first" in summary or f"cannot lock ref '{branch}': is at" in words


def never_sent(words: str) -> bool:
    """Return whether a push failed before anything was sent, so that it can't land later."""
    told = words.lower()
    return any(sign in told for sign in _NOT_REACHED) and not any(sign in told for sign in _CUT_OFF)


def beside(lines: Mapping[str, PushLine], branch: str) -> Verdict | None:
    """Return "lost" or "unsided" if only a side ref, moved or refused by the server, kept the branch from moving; else None."""
    own = lines[branch].summary if branch in lines else ""
    others = [line.summary for ref, line in lines.items() if ref != branch and not line.landed and "atomic" not in line.summary]
    if not others or ("atomic" not in own and own not in others):
        return None
    told = " ".join(others).lower()
    if any(sign in told for sign in MOVED):
        return Verdict("lost", "beside")
    return Verdict("unsided", "; ".join(dict.fromkeys(others))) if "atomic" in own else None


def server_words(stderr: str, summary: str) -> str:
    """Extract the server's own words from git's output."""
    lines = [line.strip().removeprefix("remote: ").strip() for line in stderr.splitlines()]
    told = [line for line in lines if line and not line.startswith(("error: failed to push", "To ", "hint:"))]
    return "; ".join(dict.fromkeys([*told, summary.strip()])).strip("; ") or "no words"


def refused_by_server(words: str) -> ServerRefused:
    """Return the error for a push that the server refuses for good."""
    hint = "the hub's owner decides what may be pushed; nothing was changed here"
    return ServerRefused(f"push refused by server: {words}", hint=hint)
