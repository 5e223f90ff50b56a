"""One push, and finding out what became of it by looking: the table of docs/protocol.md.

`landed`; `lost` (somebody was faster); `stuck` (rejected, and nothing moved); `unknown` (no
answer, it may still land); `refused` (for good); `unsided` (the refs beside the branch were refused).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bd.core.errors import ServerRefused
from bd.store.git.push import MOVED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.store.contract import PushAnswer, PushLine

# A server that says one of these will say it again.
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


# What git says when it never got as far as sending anything, and what when it did.
_NOT_REACHED = (
    "could not read from remote repository",
    "unable to access",
    "does not appear to be a git repository",
    "authentication failed",
    "could not read username",
)
_CUT_OFF = ("hung up", "unexpected disconnect", "rpc failed", "sideband", "broken pipe", "reset by peer")


class Verdict(NamedTuple):
    """What became of a push, the server's words, and which commit landed: an earlier one, where its answer was lost.

    Not `is_looked` where the answer alone said that somebody was faster: the published ref is as old as before.
    """

    kind: str
    words: str = ""
    commit: str = ""
    is_looked: bool = True


def seen(answer: PushAnswer, branch: str, commit: str, base: str | None, tip: str | None, holds: str | None) -> Verdict:
    """What a look says about a push of `commit` onto `base` that was not simply accepted; `holds` is the commit of ours in the tip."""
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
    """Whether the answer itself says that the branch has a newer tip: all that a look could add is which one."""
    return "fetch first" in summary or f"cannot lock ref '{branch}': is at" in words


def never_sent(words: str) -> bool:
    """Whether a push ended before anything was sent, so that it can't land later."""
    told = words.lower()
    return any(sign in told for sign in _NOT_REACHED) and not any(sign in told for sign in _CUT_OFF)


def beside(lines: Mapping[str, PushLine], branch: str) -> Verdict | None:
    """Whether the branch stayed where it was only because of a ref beside it: one that moved, or one the server refuses."""
    own = lines[branch].summary if branch in lines else ""
    others = [line.summary for ref, line in lines.items() if ref != branch and not line.landed and "atomic" not in line.summary]
    if not others or ("atomic" not in own and own not in others):
        return None
    told = " ".join(others).lower()
    if any(sign in told for sign in MOVED):
        return Verdict("lost", "beside")
    return Verdict("unsided", "; ".join(dict.fromkeys(others))) if "atomic" in own else None


def server_words(stderr: str, summary: str) -> str:
    """What the server said, without git's own framing."""
    lines = [line.strip().removeprefix("remote: ").strip() for line in stderr.splitlines()]
    told = [line for line in lines if line and not line.startswith(("error: failed to push", "To ", "hint:"))]
    return "; ".join(dict.fromkeys([*told, summary.strip()])).strip("; ") or "no words"


def refused_by_server(words: str) -> ServerRefused:
    """The error for a push that the server refuses for good."""
    hint = "the hub's owner decides what may be pushed; nothing was changed here"
    return ServerRefused(f"push refused by server: {words}", hint=hint)
