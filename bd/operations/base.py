"""What operations share: frozen values with a pure `decide(snapshot, context) -> Change`.

A transaction calls `decide` again on every newer snapshot until the remote accepts the
result, so it does no I/O and takes everything from its arguments. The operation's JSON form
rides in the commit (`Bd-Op`) and is what a replay decides again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bd.core import ids, versions
from bd.core.errors import BdError, NoSuchBead
from bd.core.model import Change
from bd.core.operation import UnknownOperation
from bd.core.times import instant_of, time_text
from bd.policy import claims, lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import Any, ClassVar, Self

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


# The argument that `pinned` adds to those that were given: the uids of the beads that are named, by id.
_PINNED = {"uids"}


class Operation:
    """One intended change, made once and decided as often as needed. Frozen: what changes it returns another one.

    `uid` names the operation for ever; `at` is when it was asked for (its stamps say so, also
    when it is replayed hours later); `by` is who asks; `tokens` are the claim tokens the asker
    holds, by bead. `args` holds all else, as JSON: the operation's own copy, which nobody changes.
    `runtime` mints the names that are not given, and is not kept.
    """

    verb: ClassVar[str] = ""
    # The arguments that the verb has. Another one, or another meaning of one, is another version of the verb (core/versions.py).
    takes: ClassVar[frozenset[str]] = frozenset()
    brings_forward: ClassVar[bool] = False
    by: str
    at: str
    uid: str
    tokens: Mapping[str, str]
    args: Mapping[str, Any]

    def __init__(
        self,
        *,
        by: str,
        at: str,
        uid: str | None = None,
        tokens: Mapping[str, str] | None = None,
        runtime: Runtime | None = None,
        **args: Any,
    ) -> None:
        unknown = args.keys() - self.takes - _PINNED
        if unknown:
            raise UnknownOperation(f"the verb {self.verb!r} has no argument {min(unknown)!r}")
        uid, args = uid or minting(runtime).new_id(), _copy(args)
        self.prepare(args, runtime)
        self.__dict__.update(by=by, at=at, uid=uid, tokens=dict(tokens or {}), args=args)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} stays as it is")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} stays as it is")

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        """Mint every name the operation will ever need into the arguments that it is made of, where they have none yet. Raises BadInput."""

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        """The change on this snapshot; an empty one when it already holds this operation's result.

        Raises Refused and its kin. May be called many times.
        """
        raise NotImplementedError

    @property
    def asked_at(self) -> datetime:
        return instant_of(self.at)

    @property
    def needs_remote(self) -> bool:
        """Whether an answer without the remote would be a lie, as it is for a claim."""
        return False

    @property
    def needs_heartbeats(self) -> bool:
        """Whether `decide` has to see the heartbeats of claims, listed before the branch is fetched."""
        return False

    @property
    def is_portable(self) -> bool:
        """Whether another process may carry it out: `decide` needs nothing but the snapshot and this operation's form."""
        return not self.needs_heartbeats

    @property
    def agent(self) -> str:
        """The name the operation's author goes by, without the kind before the colon."""
        return self.by.split(":", 1)[-1]

    def token_for(self, bead_id: str) -> str | None:
        return self.tokens.get(bead_id) or self.tokens.get("*")

    def proof_for(self, bead: Bead, snapshot: Snapshot) -> str | None:
        """The token that speaks of this bead's claim: one given for any bead may be that of another one."""
        token = self.token_for(bead.id)
        if token and bead.claim is None and bead.id not in self.tokens:
            others = (other for other in snapshot.claimed(token) if other.id != bead.id)
            return None if any(claim.get("token") == token for other in others for claim in other.claims) else token
        return token

    def holder_of(self, bead: Bead, snapshot: Snapshot) -> str | None:
        """The agent in whose name the asker holds the bead: the token of its claim was given."""
        token = self.proof_for(bead, snapshot) if bead.claims else None
        return next((claim["agent"] for claim in bead.claims if token and claim.get("token") == token), None)

    def guard(self, bead: Bead, snapshot: Snapshot, *, force: bool | None = None) -> None:
        """Refuse to change another's claim. `force` is the argument of that name, and needs a `reason`.

        Raises StaleToken and BadInput.
        """
        token = self.proof_for(bead, snapshot)
        force = self.args.get("force", False) if force is None else force
        if force:
            lifecycle.refuse_silent_force(bead, token, self.args.get("reason"))
        lifecycle.guard(bead, token, force=force, at=self.asked_at)

    def form(self) -> dict[str, Any]:
        """The operation as it was asked for, for whoever carries it out in another process. Not `pinned`: nothing is decided."""
        return {**self._head(), "args": self.args, "tokens": self.tokens}

    def _head(self) -> dict[str, Any]:
        return {"verb": self.verb, "v": versions.operation(self.verb), "uid": self.uid, "by": self.by, "at": self.at}

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        """The JSON form for the commit: arguments with exact ids, and the uids a replay finds them by."""
        args = dict(self.args)
        if "ids" in args:
            args["ids"] = list(change.touched)
            uids = {}
            for bead_id in change.touched:
                bead = before.bead(bead_id)
                if bead is not None and bead.uid:
                    uids[bead_id] = bead.uid
            if uids:
                args["uids"] = uids
        used = {bead_id: self.tokens[bead_id] for bead_id in change.touched if bead_id in self.tokens}
        if "*" in self.tokens and not used:
            used = {"*": self.tokens["*"]}
        form: dict[str, Any] = {**self._head(), "args": args}
        if used:
            form["tokens"] = used
        return form

    def journal_fields(self) -> dict[str, Any]:
        """What crash recovery has to know of it: the agent that it claims for, and the beads that were named."""
        return {"agent": self.args.get("agent"), "ids": self.args.get("ids")}

    # --- what becomes of it ---

    def inheriting(self, entry: Mapping[str, Any]) -> Self | None:
        """The operation that takes over the claim which a dead process of the same agent won, by its journal entry; None for no heir."""
        return None

    def new_ids(self, change: Change) -> dict[str, str]:
        """The beads of this operation that a change of it gives other ids than it names: old -> new."""
        return {}

    def renamed(self, ids: Mapping[str, str]) -> Self:
        """The operation that names these beads by their new ids (old -> new)."""
        return self._with(self._renamed_args(ids))

    def _renamed_args(self, renamed: Mapping[str, str]) -> dict[str, Any]:
        return {key: _following(key, value, renamed) for key, value in self.args.items()}

    def _with(self, args: Mapping[str, Any]) -> Self:
        """The same operation, of the same uid, with other arguments."""
        return type(self)(by=self.by, at=self.at, uid=self.uid, tokens=self.tokens, **args)

    # --- for subclasses ---

    def find(self, typed: str, snapshot: Snapshot) -> Bead:
        """The bead that was meant, whole: by uid where it is known (its id may have been minted anew), else by id."""
        uid = (self.args.get("uids") or {}).get(typed)
        if uid:
            known = snapshot.by_uid(uid)
            if known is None:
                raise NoSuchBead(typed)
            return known
        found = snapshot.bead(ids.resolve(typed, snapshot.starting, snapshot.exists))
        if found is None:
            raise NoSuchBead(typed)
        return found

    def each(
        self,
        typed: Iterable[str],
        snapshot: Snapshot,
        do: Callable[[Bead], Bead | None],
    ) -> tuple[dict[str, Bead | None], list[str], list[dict[str, Any]]]:
        """Apply `do` to every bead named; what fails alone is collected, not raised.

        Returns the changed beads by id (None deletes), the ids done in order, and the failures
        as JSON. Raises the first failure when nothing succeeded.
        """
        beads: dict[str, Bead | None] = {}
        done: list[str] = []
        failed: list[dict[str, Any]] = []
        first: BdError | None = None
        for name in dict.fromkeys(typed):
            try:
                bead = self.find(name, snapshot)
                if bead.id in done:
                    continue
                after = do(bead)
            except BdError as error:
                first = first or error
                failed.append({"id": name, **error.as_json(), "exit_code": error.exit_code})
                continue
            done.append(bead.id)
            if after is None or after != bead:
                beads[bead.id] = self._with_sign(bead, after)
        if first is not None and not done:
            raise first
        return beads, done, failed

    def _with_sign(self, before: Bead, after: Bead | None) -> Bead | None:
        """A write under the claim's own token is a sign of life of its holder; one that ends it takes its notes along."""
        token = self.token_for(before.id)
        if after is None or not any(token == claim.get("token") for claim in before.claims):
            return after
        if any(token == claim.get("token") for claim in after.claims):
            return claims.signed(after, self.asked_at) if after.claim else after
        notes = (self.args.get("progress") or {}).get(before.id)
        return after.evolve(progress=notes) if notes else after


def _copy(value: Any) -> Any:
    """A JSON value that shares no map and no list with the given one."""
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _following(key: str, value: Any, renamed: Mapping[str, str]) -> Any:
    """An argument with the ids in it that were minted anew replaced: edges, parents, and what is named outright."""
    if isinstance(value, dict):
        if key == "links":
            return {**value, "id": renamed.get(value.get("id", ""), value.get("id"))}
        return {inner: _following(inner, one, renamed) for inner, one in value.items()}
    if isinstance(value, list):
        return [_following(key, one, renamed) for one in value]
    if not isinstance(value, str) or key not in ("ids", "depends_on", "deps", "parent"):
        return value
    kind, colon, named = value.strip().rpartition(":")
    return f"{kind}{colon}{renamed[named]}" if named in renamed else value


REGISTRY: dict[str, type[Operation]] = {}


def register(kind: type[Operation]) -> type[Operation]:
    """Class decorator: lets a replay find the operation by its verb."""
    REGISTRY[kind.verb] = kind
    return kind


def asked(runtime: Runtime, by: str, **args: Any) -> dict[str, Any]:
    """The arguments every operation takes, asked for now: who asks, when, and who mints its names."""
    return {"by": by, "at": time_text(runtime.now(), exact=True), "runtime": runtime, **args}


def minting(runtime: Runtime | None) -> Runtime:
    """Who mints what is not given. Raises TypeError where nobody does: for what was read back, which has its names."""
    if runtime is None:
        raise TypeError("a new operation needs a runtime, which mints its names")
    return runtime


def mint(args: dict[str, Any], key: str, runtime: Runtime | None) -> None:
    """Give the arguments a new name under this key, unless they have one."""
    if key not in args:
        args[key] = minting(runtime).new_id()


def subject(verb: str, done: Iterable[str], by: str, *, more: str = "") -> str:
    """The commit's first line: `<verb>: <id> by <agent>`; many ids are counted."""
    names = list(done)
    what = " ".join(names) if len(names) <= 3 else f"{len(names)} beads"
    return f"{verb}: {what}{more} by {by.split(':', 1)[-1]}"
