"""The verdict on a push, from its answer and a fetch: the table in docs/protocol.md.

`landed`; `lost` (another writer was faster); `stuck` (rejected, and nothing moved); `unknown` (no answer; it may still land);
`refused` (for good); `busy` (the server is busy); `unsided` (the side refs were refused).
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import ServerRefused
from bd.core.value import Value
from bd.store.git import server_words
from bd.store.git.push import MOVED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bd.core.errors import RemoteUnreachable
    from bd.store.contract import PushAnswer, PushLine

_HINT = "the hub's owner decides what may be pushed"


class Verdict(Value):
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
    if holds:
        return Verdict("landed", commit=holds)
    if tip != base:
        return Verdict("lost")
    words = server_words.reason(f"{answer.words}\n{line.summary if line else ''}")
    found = server_words.of_push(words)
    if server_words.never_sent(answer.words):
        is_known = found.kind in (server_words.CLOSED, server_words.BUSY)
    else:
        is_known = server_words.says_why(answer.words)
    if line is None and not is_known:
        return Verdict("unknown", words)
    return Verdict({server_words.BUSY: "busy", server_words.PASSING: "stuck"}.get(found.kind, "refused"), words or "no words")


def was_overtaken(summary: str, words: str, branch: str) -> bool:
    """Return whether the answer itself says that the branch has a newer tip; a fetch could only add which one."""
    return "fetch first" in summary or f"cannot lock ref '{branch}': is at" in words


def never_sent(words: str) -> bool:
    """Return whether a push without an answer failed before anything was sent."""
    return server_words.never_sent(words)


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


def refused_by_server(words: str) -> ServerRefused:
    """Return the error for a push that the server refuses for good, with scope `hub` if it would refuse any push."""
    found, told = server_words.of_push(words), f"push refused by server: {words}"
    if found.kind == server_words.CLOSED:
        return server_words.closed(told, found.hint or _HINT)
    return ServerRefused(told, hint=_HINT)


def asked_to_wait(words: str) -> RemoteUnreachable:
    """Return the error for a push that a busy server did not accept."""
    return server_words.busy(f"the server did not take the push: {words}")
