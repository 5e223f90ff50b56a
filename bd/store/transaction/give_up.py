"""The errors of a write that gives up: nothing was written, or the outcome is unknown."""

from __future__ import annotations

from bd.core.errors import Contention, RemoteUnreachable, TryAgain


def doubt() -> RemoteUnreachable:
    """The remote has not said whether it took the write; this clone's next command finds out."""
    words = "the remote did not say whether it took the write"
    return RemoteUnreachable(words, hint="this clone's next command finds out", written="unknown")


def out_of_time(tries: int, *, in_doubt: bool) -> TryAgain:
    """Other writers were faster until the time for trying was over."""
    if in_doubt:
        return doubt()
    return Contention(f"{tries} tries, and each time somebody was faster", hint="try again in a moment")


def stuck(words: str, *, in_doubt: bool) -> TryAgain:
    """The server takes no push, and the branch does not move either."""
    if in_doubt:
        return doubt()
    hint = "a lock left in the hub by a killed process? The server's words name it"
    return TryAgain(f"the server can't take the push, and nothing else moves: {words}", hint=hint)
