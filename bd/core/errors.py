"""Every error that a command can end with: its exit code, its JSON code, its hint.

The table of codes, and the `BdError` families. cli/output.py shows errors; the store's internal signals are in store/.
"""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    Written = Literal["no", "local", "unknown"]

# Every error by its code: the exit code; whether it is transient (the same command may succeed later); and when it occurs. The
# classes below take their exit codes from here, and docs/generate_commands.py writes the table of docs/exit-codes.md.
CODES: dict[str, tuple[int, bool, str]] = {
    "bug": (1, False, "a bug in bd; `log` is the path of the details"),
    "bad_input": (2, False, "the command line or a value is invalid"),
    "no_identity": (2, False, "the command needs an agent, and none is named"),
    "no_key": (2, False, "signatures are required here, and the author has no key on this machine"),
    "cant_sign": (
        2,
        False,
        "the key can't be used: permissions, a passphrase without ssh-agent, or no ssh-keygen",
    ),
    "ambiguous_id": (2, False, "the id is ambiguous; `candidates` lists the beads"),
    "nothing_ready": (3, False, "nothing that fits the agent is ready"),
    "agent_busy": (
        3,
        False,
        "the fleet is paused, or the agent is at its limit, overloaded, draining or offline, or its account rests; `reason` says which: `paused`, `busy`, `pool_full`, `overloaded`, `draining`, `offline`, `resting`",
    ),
    "not_found": (4, False, "no such thing"),
    "no_such_bead": (4, False, "no bead with that id; the hint may name the nearest"),
    "no_such_agent": (4, False, "no agent of that name; the hint may name the nearest"),
    "no_hub": (4, False, "there is no hub here, or its branch does not exist"),
    "refused": (5, False, "refused for a reason that has no code of its own"),
    "not_permitted": (
        5,
        False,
        "a command of `bd work` acts for its own claim only; `right` is what `may` in its agent file would have to give",
    ),
    "already_claimed": (5, False, "somebody works on it; `owner` says who"),
    "stale_token": (5, False, "the bead is held under another token, or no token was given"),
    "wrong_state": (5, False, "the bead's status does not allow it, or it was changed since"),
    "already_closed": (5, False, "cancelled or closed before"),
    "still_blocked": (5, False, "it waits for other beads, or has unfinished children; `blocked_by` names them"),
    "does_not_fit": (
        5,
        False,
        "routed to another, missing skills or capabilities, an `exclusive` name is in work, or the budget does not suffice; `reason` says which",
    ),
    "not_validated": (5, False, "its output did not pass what the bead asks for, could not be checked, or has changed since"),
    "url_not_allowed": (
        5,
        False,
        "the URL to validate has an address that is not public and not in `url_allow`; a claimed bead waits for a person",
    ),
    "would_cycle": (5, False, "beads would wait for each other; `cycle` lists them"),
    "over_capacity": (5, False, "the agent has no room for that many"),
    "agent_offline": (
        5,
        False,
        "nothing is assigned to an agent that is offline, or has been silent for three of its intervals; `--force` does",
    ),
    "older_agents": (5, False, "live agents run an older bd and could write nothing afterwards; `agents` names their versions"),
    "holds_beads": (5, False, "the agent holds beads; `beads` names them, `--release` gives them back"),
    "not_allowed": (5, False, "the hub does not trust the author's key: never allowed, or revoked"),
    "key_reused": (5, False, "an idempotency key was used before, for another request"),
    "id_taken": (5, False, "a bead with the id, or an agent with the name, that was asked for exists"),
    "server_refused": (
        5,
        False,
        "a hook, a protected branch, a limit; the message has all of the server's words. With `scope` `hub` it refuses whatever this clone asks: password, certificate, no such repository, no right",
    ),
    "unsafe_repository": (
        5,
        False,
        "git refuses the repository: another user owns it, or it is a bare one that was not named; the hint has the way out",
    ),
    "try_again": (6, True, "the system failed: a full disk, permissions, a deleted folder"),
    "remote_unreachable": (6, True, "the remote can't be reached, or did not answer"),
    "remote_lags": (
        6,
        True,
        "the remote shows an older state of the hub than this clone has seen: it is read from a copy that is behind",
    ),
    "lock_timeout": (6, True, "another bd command has been writing in this clone for too long"),
    "contention": (6, True, "other writers were faster until the time was up"),
    "damaged": (7, False, "a file that is needed can't be read"),
    "newer_format": (7, False, "the hub was upgraded by a newer bd: reads still work, writes need `pip install -U gitbeads`"),
    "newer_operation": (
        7,
        False,
        "this clone holds an unpublished write of a newer bd: it is kept; update bd here, then `bd sync`",
    ),
    "bd_too_old": (
        7,
        False,
        "the hub's `min_version` is newer than this bd: reads still work, writes need `pip install -U gitbeads`",
    ),
    "older_format": (7, False, "the hub has an older format: reads still work, writes need `bd upgrade` once"),
    "hub_rewritten": (7, False, "the hub's history was rewritten, or its branch is gone"),
    "interrupted": (130, False, "Ctrl-C"),
}
# The write of a command that ended with a transient error: never made, kept in this clone, or unknown.
WRITTEN = ("no", "local", "unknown")


class BdError(Exception):
    """An expected failure.

    `code` is the snake_case name in JSON and the key in `CODES`, which gives `exit_code` and `transient` (the same command may
    succeed later). `hint` is what to do next, often a command to type; `data` are further keys of the JSON error object.
    """

    code = "bug"
    exit_code, transient = CODES["bug"][:2]

    def __init_subclass__(cls) -> None:
        cls.exit_code, cls.transient = CODES[cls.code][:2]

    def __init__(self, message: str, *, hint: str | None = None, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.data = data

    def __str__(self) -> str:
        return self.message

    def as_json(self) -> dict[str, Any]:
        """Return the error object that `--json` prints."""
        shown: dict[str, Any] = {"error": self.message, "code": self.code}
        if self.hint:
            shown["hint"] = self.hint
        shown.update({key: value for key, value in self.data.items() if value is not None})
        return shown

    def as_failure(self, name: str) -> dict[str, Any]:
        """Return the error as one of several, of what has this name: for `Change.failures`, and for cli/output.py."""
        return {"id": name, **self.as_json(), "exit_code": self.exit_code}


# --- 2: bad input -----------------------------------------------------------------------


class BadInput(BdError):
    code = "bad_input"


class NoIdentity(BadInput):
    code = "no_identity"

    def __init__(self) -> None:
        super().__init__(
            "no agent is named",
            hint="give --agent NAME, or set BD_AGENT; `bd whoami` shows who you are",
        )


class NoKey(BadInput):
    code = "no_key"

    def __init__(self, name: str) -> None:
        hint = f"`bd identity init --agent {name}` makes one, and an allowed signer can add it: `bd identity allow {name} KEY`"
        super().__init__(f"signatures are required here, and {name} has no key on this machine", hint=hint)


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
    code = "nothing_ready"

    def __init__(self, message: str, *, hint: str | None = None, retry_after_s: int = 60, **data: Any) -> None:
        super().__init__(message, hint=hint, retry_after_s=retry_after_s, **data)


class AgentBusy(NothingReady):
    code = "agent_busy"


# --- 4: no such thing -------------------------------------------------------------------


class NotFound(BdError):
    code = "not_found"


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
    code = "refused"


class NotPermitted(Refused):
    """The caller is a command of `bd work`, and this goes beyond its claim; `right` is what its agent file would have to give."""

    code = "not_permitted"


class OlderAgents(Refused):
    """The hub can't require this version of bd while live agents run an older one: `agents` maps them to theirs."""

    code = "older_agents"

    def __init__(self, least: str, agents: Mapping[str, str | None]) -> None:
        names = ", ".join(f"{name} ({version or 'version unknown'})" for name, version in agents.items())
        super().__init__(
            f"live agents run a bd older than {least}: {names}",
            hint="update bd on their machines first; --force locks them out: they can only read",
            agents=dict(agents),
        )


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


class UrlNotAllowed(NotValidated):
    code = "url_not_allowed"


class WouldCycle(Refused):
    code = "would_cycle"


class OverCapacity(Refused):
    code = "over_capacity"


class AgentOffline(Refused):
    code = "agent_offline"


class HoldsBeads(Refused):
    code = "holds_beads"


class KeyReused(Refused):
    code = "key_reused"

    def __init__(self) -> None:
        super().__init__(
            "this idempotency key was used for another request in the last 24 hours", hint="send a new key with a new request"
        )


class NotAllowed(Refused):
    code = "not_allowed"

    def __init__(self, name: str) -> None:
        hint = f"an allowed signer can add it: `bd identity allow {name} KEY`; `bd identity list` shows who is"
        super().__init__(f"this hub does not trust {name}'s key", hint=hint)


class IdTaken(Refused):
    code = "id_taken"


class ServerRefused(Refused):
    code = "server_refused"


class UnsafeRepository(Refused):
    """Git refuses a repository: another user owns it, or it is a bare one inside a checkout."""

    code = "unsafe_repository"


# --- 6: try again -----------------------------------------------------------------------


class TryAgain(BdError):
    """Something outside bd is in the way. `written` is no, local or unknown."""

    code = "try_again"

    def __init__(self, message: str, *, hint: str | None = None, written: Written = "no", **data: Any) -> None:
        super().__init__(message, hint=hint, written=written, **data)


class RemoteUnreachable(TryAgain):
    code = "remote_unreachable"


class RemoteLags(TryAgain):
    """The remote shows an older state of the hub than this clone has seen there."""

    code = "remote_lags"


class LockTimeout(TryAgain):
    code = "lock_timeout"


class Contention(TryAgain):
    code = "contention"


# --- 7: damaged data --------------------------------------------------------------------


class Damaged(BdError):
    code = "damaged"


class HubRewritten(Damaged):
    code = "hub_rewritten"


class NewerFormat(Damaged):
    """The hub was upgraded by a newer bd: this one reads what it can, and writes nothing."""

    code = "newer_format"

    def __init__(self, version: int, own: int) -> None:
        hint = "upgrade bd here: pip install -U gitbeads; reads still work"
        super().__init__(f"this hub has format {version}, and this bd writes format {own}", hint=hint)


class NewerOperation(Damaged):
    """An unpublished write that only a newer bd can replay. It stays where it is, and nothing is written before it."""

    code = "newer_operation"

    def __init__(self, words: str) -> None:
        super().__init__(words, hint="update bd here, then `bd sync`; nothing is lost until then")


class TooOld(Damaged):
    """The hub's `min_version` is newer than this bd: it reads what it can, and writes nothing."""

    code = "bd_too_old"

    def __init__(self, least: str, own: str) -> None:
        super().__init__(
            f"this hub requires bd {least} or newer, and this is bd {own}",
            hint="update bd here: pip install -U gitbeads; reads still work",
            min_version=least,
        )


class OlderFormat(Damaged):
    """The hub has an older format: it can be read, but must be upgraded before it is written."""

    code = "older_format"

    def __init__(self, version: int, own: int) -> None:
        hint = "upgrade it with `bd upgrade` once every machine has this version of bd; reads still work"
        super().__init__(f"this hub has format {version}, and this bd writes format {own}", hint=hint)


class InterruptedWrite(KeyboardInterrupt):
    """Ctrl-C during a write that may still reach the hub."""


class Interrupted(BdError):
    code = "interrupted"

    @classmethod
    def by(cls, cause: BaseException | None) -> Interrupted:
        """Return the error for a command that Ctrl-C ended; with `written` if that is unknown."""
        if not isinstance(cause, InterruptedWrite):
            return cls("interrupted")
        hint = "the write may have reached the hub: this clone's next command finds out"
        return cls("interrupted", hint=hint, written="unknown")
