"""Every error a command can end with: its exit code, its code for JSON, its hint.

Belongs here: the `BdError` families of docs/exit-codes.md. Does not belong here: how an
error is shown (cli/main.py) and the store's internal signals (store/).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class BdError(Exception):
    """An expected failure.

    `exit_code` is what the process ends with, `code` the snake_case name in JSON, `hint` the
    next thing to type, `data` further keys for the JSON error object.
    """

    exit_code = 1
    code = "bug"

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data = data

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> dict[str, Any]:
        """The error object that `--json` prints."""
        shown: dict[str, Any] = {"error": self.message, "code": self.code}
        if self.hint:
            shown["hint"] = self.hint
        shown.update({key: value for key, value in self.data.items() if value is not None})
        return shown


# --- 2: bad input -----------------------------------------------------------------------


class BadInput(BdError):
    exit_code, code = 2, "bad_input"


class NoIdentity(BadInput):
    code = "no_identity"

    def __init__(self) -> None:
        super().__init__(
            "who claims? No agent is named",
            hint="give --agent NAME, or set BD_AGENT; `bd whoami` shows who you are",
        )


class NoKey(BadInput):
    code = "no_key"

    def __init__(self, name: str) -> None:
        hint = (
            f"`bd identity init --agent {name}` makes one, and somebody who is allowed lets it in: `bd identity allow {name} KEY`"
        )
        super().__init__(f"what is written here has to be signed, and {name} has no key on this machine", hint=hint)


class CantSign(BadInput):
    code = "cant_sign"


class Ambiguous(BadInput):
    code = "ambiguous_id"

    def __init__(self, typed: str, candidates: Iterable[str]) -> None:
        names = sorted(candidates)
        super().__init__(
            f"{typed} could be {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}",
            hint="type more of the id",
            candidates=names,
        )


# --- 3: this agent gets no work now -----------------------------------------------------


class NothingReady(BdError):
    exit_code, code = 3, "nothing_ready"

    def __init__(self, message: str, *, hint: str | None = None, retry_after_s: int = 60, **data: Any) -> None:
        super().__init__(message, hint=hint, retry_after_s=retry_after_s, **data)


class AgentBusy(NothingReady):
    code = "agent_busy"


# --- 4: no such thing -------------------------------------------------------------------


class NotFound(BdError):
    exit_code, code = 4, "not_found"


class NoSuchBead(NotFound):
    code = "no_such_bead"

    def __init__(self, typed: str, nearest: str | None = None) -> None:
        super().__init__(
            f'no issue found matching "{typed}"',
            hint=f"did you mean {nearest}?" if nearest else "`bd list --all` shows every bead",
            id=typed,
        )


class NoSuchAgent(NotFound):
    code = "no_such_agent"

    def __init__(self, name: str, nearest: str | None = None) -> None:
        super().__init__(
            f"no agent {name!r}",
            hint=f"did you mean {nearest}?" if nearest else "`bd agent list` shows every agent, `bd agent add NAME` makes one",
            agent=name,
        )


class NoHub(NotFound):
    code = "no_hub"

    def __init__(self, message: str = "no hub here", hint: str | None = None) -> None:
        super().__init__(message, hint=hint or "`bd init` makes one, `bd clone URL` joins one")


class FolderGone(NoHub):
    def __init__(self) -> None:
        super().__init__("the folder you are in is gone", hint="cd to one that is there, or name one with -C")


# --- 5: this bead is refused ------------------------------------------------------------


class Refused(BdError):
    exit_code, code = 5, "refused"


class AlreadyClaimed(Refused):
    code = "already_claimed"


class StaleToken(Refused):
    code = "stale_token"


class WrongState(Refused):
    code = "wrong_state"


class AlreadyClosed(WrongState):
    code = "already_closed"


class StillBlocked(Refused):
    code = "still_blocked"


class DoesNotFit(Refused):
    code = "does_not_fit"


class NotValidated(Refused):
    code = "not_validated"


class WouldCycle(Refused):
    code = "would_cycle"


class OverCapacity(Refused):
    code = "over_capacity"


class AgentOffline(Refused):
    code = "agent_offline"


class HoldsBeads(Refused):
    code = "holds_beads"


class NotAllowed(Refused):
    code = "not_allowed"

    def __init__(self, name: str) -> None:
        hint = f"somebody who is allowed lets it in: `bd identity allow {name} KEY`; `bd identity list` shows who is"
        super().__init__(f"this hub believes no key that {name} has here", hint=hint)


class IdTaken(Refused):
    code = "id_taken"


class ServerRefused(Refused):
    code = "server_refused"


class UnsafeRepository(Refused):
    """Git refuses a repository: another user owns it, or it is a bare one inside of somebody's files."""

    code = "unsafe_repository"


# --- 6: try again -----------------------------------------------------------------------


class TryAgain(BdError):
    """Something outside is in the way; `written` is no, local or unknown."""

    exit_code, code = 6, "try_again"

    def __init__(self, message: str, *, hint: str | None = None, written: str = "no", **data: Any) -> None:
        super().__init__(message, hint=hint, written=written, **data)


class RemoteUnreachable(TryAgain):
    code = "remote_unreachable"


class LockTimeout(TryAgain):
    code = "lock_timeout"


class Contention(TryAgain):
    code = "contention"


# --- 7: damaged data --------------------------------------------------------------------


class Damaged(BdError):
    exit_code, code = 7, "damaged"


class HubRewritten(Damaged):
    code = "hub_rewritten"


class NewerFormat(Damaged):
    """The hub was brought forward by a newer bd: this one reads what it can, and writes nothing."""

    code = "newer_format"

    def __init__(self, version: int, own: int) -> None:
        hint = "upgrade bd here: pip install -U gitbeads; reads go on"
        super().__init__(f"this hub has format {version}, and this bd writes format {own}", hint=hint)


class OlderFormat(Damaged):
    """The hub is of an older format: it is read, and written once it has been brought forward."""

    code = "older_format"

    def __init__(self, version: int, own: int) -> None:
        hint = "`bd doctor --fix` brings it forward, once every machine has this version of bd; reads go on"
        super().__init__(f"this hub has format {version}, and this bd writes format {own}", hint=hint)


class Interrupted(BdError):
    exit_code, code = 130, "interrupted"
