"""The errors of a write that gives up: nothing was written, or the outcome is unknown."""

from __future__ import annotations

from bd.core.errors import BdError, Contention, InterruptedWrite, RemoteLags, RemoteUnreachable, ServerRefused, TryAgain

_NEXT_FINDS_OUT = "this clone's next command finds out"


def doubt() -> RemoteUnreachable:
    """The remote has not said whether it took the write; this clone's next command finds out."""
    words = "the remote did not say whether it took the write"
    return RemoteUnreachable(words, hint=_NEXT_FINDS_OUT, written="unknown")


def in_doubt(error: BaseException) -> BaseException:
    """Return the error to report for a write that `error` ended, and that may still reach the hub."""
    if isinstance(error, TryAgain | ServerRefused):
        return doubt()
    if isinstance(error, KeyboardInterrupt):
        return InterruptedWrite()
    if isinstance(error, BdError):
        error.data["written"] = "unknown"
        error.hint = f"{error.hint + '; ' if error.hint else ''}the write may have reached the hub: {_NEXT_FINDS_OUT}"
    return error


def taken_over() -> RemoteUnreachable:
    """Another process of this clone has the write; this clone's next command finds out."""
    words = "another bd process in this clone took over the write and has not finished"
    return RemoteUnreachable(words, hint=_NEXT_FINDS_OUT, written="unknown")


def unread(error: Exception) -> TryAgain:
    """Another process of this clone has carried out the write, and this one can't read the result."""
    words = f"another bd process in this clone carried out the write, and the result can't be read: {error}"
    return TryAgain(words, hint=_NEXT_FINDS_OUT, written="unknown")


def out_of_time(tries: int, obstacle: BdError | None, *, in_doubt: bool) -> BdError:
    """The time for trying is over: other writers were faster, or there was an `obstacle` at last."""
    if in_doubt:
        return doubt()
    if obstacle is not None:
        return obstacle
    return Contention(f"{tries} tries, and another writer was faster each time", hint="try again in a moment")


def unsent(words: str) -> RemoteUnreachable:
    """The remote can be fetched from, but git can't begin a push."""
    hint = "`git remote -v` shows where git pushes to; check the network and your credentials, then try again"
    return RemoteUnreachable(f"the remote can't be pushed to: {words or 'git gave no reason'}", hint=hint)


def lagging(*, in_doubt: bool) -> TryAgain:
    """The remote shows an older state than this clone has seen there, for as long as one may wait."""
    if in_doubt:
        return doubt()
    hint = "try again in a moment; whoever runs the remote knows whether it is read from a copy that is behind"
    return RemoteLags("the remote shows an older state of the hub than this clone has seen there", hint=hint)


def stuck(words: str, *, in_doubt: bool) -> TryAgain:
    """The server takes no push, and the branch does not move either."""
    if in_doubt:
        return doubt()
    hint = "a lock left in the hub by a killed process? The server's words name it"
    return TryAgain(f"the server can't take the push, and nothing else moves: {words}", hint=hint)
