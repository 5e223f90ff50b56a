"""The base class of operations: frozen values with a pure `decide(snapshot, context) -> Change`.

A transaction calls `decide` on every newer snapshot until the remote accepts the result, so it does no I/O and takes everything
from its arguments. The operation's JSON form is stored in the commit (`Bd-Op`), and a replay decides it again.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import ids, versions
from bd.core.errors import BdError, NoSuchBead
from bd.core.model import Change
from bd.core.operation import Once, UnknownOperation
from bd.core.times import instant_of, time_text
from bd.policy import claims, lifecycle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import Any, ClassVar, Self

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


# The arguments that a commit's form adds to the given ones: `uids` of the named beads, by id (written by `pinned`), and
# `is_exact`, which a replay adds: all ids are whole ones.
_PINNED = {"uids", "is_exact"}


class Operation:
    """One intended change, made once and decided as often as needed. Frozen: methods that change it return a new one.

    `uid` is its permanent identity; `at` is when it was made (it keeps that time when it is replayed hours later); `by` is its
    author; `tokens` are the claim tokens that the author holds, by bead. `once` is the idempotency key of a request. `args` has
    everything else, as JSON: the operation's own copy, which nobody changes. `runtime` mints ids that are not given, and is not
    kept.
    """

    verb: ClassVar[str] = ""
    # The arguments of the verb. A new argument, or a new meaning of one, requires a new version of the verb (core/versions.py).
    takes: ClassVar[frozenset[str]] = frozenset()
    # Whether it may end a claim of somebody else when it has `force`.
    force_ends_claims: ClassVar[bool] = True
    brings_forward: ClassVar[bool] = False
    by: str
    at: str
    uid: str
    tokens: Mapping[str, str]
    once: Once | None
    args: Mapping[str, Any]

    def __init__(
        self,
        *,
        by: str,
        at: str,
        uid: str | None = None,
        tokens: Mapping[str, str] | None = None,
        runtime: Runtime | None = None,
        once: Once | None = None,
        **args: Any,
    ) -> None:
        unknown = args.keys() - self.takes - _PINNED
        if unknown:
            raise UnknownOperation(f"the verb {self.verb!r} has no argument {min(unknown)!r}")
        uid, args = uid or minting(runtime).new_id(), _copy(args)
        self.prepare(args, runtime)
        self.__dict__.update(by=by, at=at, uid=uid, tokens=dict(tokens or {}), once=once, args=args)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} stays as it is")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} stays as it is")

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        """Mint every id and random value that the operation will ever need into its arguments, unless given. Raises BadInput."""

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        """Return the change on this snapshot; an empty one if the snapshot already contains this operation's result.

        Raises Refused and its subclasses. May be called many times.
        """
        raise NotImplementedError

    @property
    def asked_at(self) -> datetime:
        return instant_of(self.at)

    @property
    def needs_remote(self) -> bool:
        """True if a result without the remote would be meaningless, as for a claim.

        So is that of a request with a key: a write that is kept in this clone can't be known elsewhere as carried out.
        """
        return self.once is not None

    @property
    def needs_heartbeats(self) -> bool:
        """True if `decide` needs the heartbeats of claims and the agents' records, listed before the branch is fetched.

        The notes of somebody else, whose claim it may end, are in such a record.
        """
        return self.force_ends_claims and bool(self.args.get("force"))

    @property
    def is_portable(self) -> bool:
        """True if another process may carry it out: `decide` needs only the snapshot and this operation's form."""
        return not self.needs_heartbeats

    @property
    def agent(self) -> str:
        """The author's name, without the kind before the colon."""
        return self.by.split(":", 1)[-1]

    def token_for(self, bead_id: str) -> str | None:
        return self.tokens.get(bead_id) or self.tokens.get("*")

    def proof_for(self, bead: Bead, snapshot: Snapshot) -> str | None:
        """Return the token for this bead's claim: a token given for any bead may belong to another one."""
        token = self.token_for(bead.id)
        if token and bead.claim is None and bead.id not in self.tokens:
            others = (other for other in snapshot.claimed(token) if other.id != bead.id)
            return None if any(token in other.tokens for other in others) else token
        return token

    def holder_of(self, bead: Bead, snapshot: Snapshot) -> str | None:
        """Return the agent under whose claim the author holds the bead, if its token was given."""
        token = self.proof_for(bead, snapshot) if bead.claims else None
        claim = bead.claim_under(token)
        return claim["agent"] if claim else None

    def guard(self, bead: Bead, snapshot: Snapshot, *, force: bool | None = None) -> None:
        """Refuse to change another agent's claim. `force` defaults to the argument of that name, and needs a `reason`.

        Raises StaleToken and BadInput.
        """
        token = self.proof_for(bead, snapshot)
        force = self.args.get("force", False) if force is None else force
        if force:
            lifecycle.refuse_silent_force(bead, token, self.args.get("reason"))
        lifecycle.guard(bead, token, force=force, at=self.asked_at)

    def form(self) -> dict[str, Any]:
        """Return its JSON form as it was made, for another process to carry it out. Unlike `pinned`, nothing is decided yet."""
        once = {"once": self.once.as_dict()} if self.once else {}
        return {**self._head(), "args": self.args, "tokens": self.tokens, **once}

    def _head(self) -> dict[str, Any]:
        return {"verb": self.verb, "v": versions.operation(self.verb), "uid": self.uid, "by": self.by, "at": self.at}

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        """Return the JSON form for the commit: arguments with exact ids, and the uids by which a replay finds the beads.

        The form has the uid of every bead that it names: by then, another bead may have the id.
        """
        form = self.exact_form(change, before)
        if self.once:
            form = {**form, "once": {"key": self.once.key, "body": self.once.body}}
        if form.get("by_difference"):
            return form
        uids = {}
        for bead_id in self.named_in(form["args"]):
            bead = before.bead(bead_id)
            if bead is not None and bead.uid:
                uids[bead_id] = bead.uid
        args = {key: value for key, value in form["args"].items() if key != "is_exact"}
        if isinstance(args.get("uids"), dict):  # the operation was read back from a commit
            del args["uids"]
        return {**form, "args": {**args, **({"uids": uids} if uids else {})}}

    def named_in(self, args: Mapping[str, Any]) -> list[str]:
        """Return the ids of the beads that the form's arguments name."""
        return named_by(args)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        """Return the form without the uids."""
        args = dict(self.args)
        if "ids" in args:
            args["ids"] = list(change.touched)
        used = {bead_id: self.tokens[bead_id] for bead_id in change.touched if bead_id in self.tokens}
        if "*" in self.tokens and not used:
            used = {"*": self.tokens["*"]}
        form: dict[str, Any] = {**self._head(), "args": args}
        if used:
            form["tokens"] = used
        return form

    def journal_fields(self) -> dict[str, Any]:
        """Return what crash recovery needs: the agent that it claims for, and the beads that were named."""
        return {"agent": self.args.get("agent"), "ids": self.args.get("ids")}

    # --- changed by what happens to it ---

    def inheriting(self, entry: Mapping[str, Any]) -> Self | None:
        """Return the operation that takes over the claim that a dead process of the same agent won.

        `entry` is that process's journal entry. None if this operation does not take it over.
        """
        return None

    def new_ids(self, change: Change) -> dict[str, str]:
        """Return the beads of this operation that a change gives other ids than it names: old -> new."""
        return {}

    def renamed(self, ids: Mapping[str, str]) -> Self:
        """Return the operation with these beads named by their new ids (old -> new)."""
        return self._with(self._renamed_args(ids))

    def _renamed_args(self, renamed: Mapping[str, str]) -> dict[str, Any]:
        return {key: following(key, value, renamed) for key, value in self.args.items()}

    def _with(self, args: Mapping[str, Any]) -> Self:
        """Return the operation with the same uid and other arguments."""
        return self._made_again(args, self.tokens)

    def _made_again(self, args: Mapping[str, Any], tokens: Mapping[str, str]) -> Self:
        return type(self)(by=self.by, at=self.at, uid=self.uid, tokens=tokens, once=self.once, **args)

    def holding(self, tokens: Mapping[str, str]) -> Self:
        """Return the same operation with these tokens, each in place of an older one for its bead."""
        return self._made_again(self.args, {**self.tokens, **tokens})

    # --- for subclasses ---

    def find(self, typed: str, snapshot: Snapshot) -> Bead:
        """Return the bead that was named, whole: by uid if known (its id may have changed), else by id."""
        known = self.known_by_uid(typed, snapshot)
        if known is not None:
            return known
        if self.args.get("is_exact") and not snapshot.exists(typed.strip()):
            raise NoSuchBead(typed)
        found = snapshot.bead(ids.resolve(typed, snapshot.starting, snapshot.exists))
        if found is None:
            raise NoSuchBead(typed)
        return found

    def known_by_uid(self, named: str, snapshot: Snapshot) -> Bead | None:
        """Return the bead with the uid that an id stands for; None if the uid is unknown. Raises NoSuchBead if the bead is gone."""
        uids = self.args.get("uids")
        uid = uids.get(named) if isinstance(uids, dict) else None  # a list is another verb's own argument
        if not uid:
            return None
        known = snapshot.by_uid(uid)
        if known is None:
            raise NoSuchBead(named)
        return known

    @property
    def pinned_names(self) -> dict[str, Any]:
        """The arguments about named beads, for an operation that is a part of this one."""
        return {key: self.args[key] for key in ("uids", "is_exact") if key in self.args}

    def each(
        self,
        typed: Iterable[str],
        snapshot: Snapshot,
        do: Callable[[Bead], Bead | None],
    ) -> tuple[dict[str, Bead | None], list[str], list[dict[str, Any]]]:
        """Apply `do` to every named bead; failures of single beads are collected, not raised.

        Returns the changed beads by id (None deletes), the ids done in order, and the failures as JSON. Raises the first failure
        if nothing succeeded.
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
                failed.append(error.as_failure(name))
                continue
            done.append(bead.id)
            if after is None or after != bead:
                beads[bead.id] = self._with_sign(bead, after)
        if first is not None and not done:
            raise first
        return beads, done, failed

    def _with_sign(self, before: Bead, after: Bead | None) -> Bead | None:
        """Count a write under the claim's own token as a heartbeat; one that ends the claim takes its progress notes along."""
        token = self.token_for(before.id)
        if after is None or token not in before.tokens:
            return after
        if token in after.tokens:
            return claims.signed(after, self.asked_at) if after.claim else after
        notes = (self.args.get("progress") or {}).get(before.id)
        return after.evolve(progress=notes) if notes else after


def _copy(value: Any) -> Any:
    """Copy a JSON value, including all maps and lists in it."""
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def following(key: str, value: Any, renamed: Mapping[str, str]) -> Any:
    """Replace ids that were minted again in an argument: edges, parents, and beads named directly."""
    if isinstance(value, dict):
        if key == "uids":
            return {renamed.get(inner, inner): uid for inner, uid in value.items()}
        if key == "links":
            return {**value, "id": renamed.get(value.get("id", ""), value.get("id"))}
        return {inner: following(inner, one, renamed) for inner, one in value.items()}
    if isinstance(value, list):
        return [following(key, one, renamed) for one in value]
    if not isinstance(value, str) or key not in ("ids", "depends_on", "deps", "parent"):
        return value
    kind, colon, named = value.strip().rpartition(":")
    return f"{kind}{colon}{renamed[named]}" if named in renamed else value


def named_by(args: Mapping[str, Any]) -> list[str]:
    """Return the ids that an operation's arguments name: directly, or as parents, edges and references of new beads."""
    named = [*(args.get("ids") or [])]
    beads = args.get("beads")
    specs = [*(beads if isinstance(beads, list) else ()), *(args.get(key) for key in ("new", "set", "schedule"))]
    for spec in filter(None, specs):
        named += [spec["parent"]] if spec.get("parent") else []
        named += [entry.rpartition(":")[2].strip() for key in ("depends_on", "deps") for entry in spec.get(key) or ()]
        named += [link["id"] for link in spec.get("links") or () if "id" in link and not link.get("hub")]
        named += referred_by(spec)
    return [one for one in dict.fromkeys(named) if isinstance(one, str)]


def referred_by(fields: Mapping[str, Any]) -> list[str]:
    """Return the ids in a bead's `context_refs` (`task:ID:output`)."""
    spec = fields.get("spec")
    refs = spec.get("context_refs") if isinstance(spec, dict) else None
    parts = [str(ref).split(":") for ref in refs] if isinstance(refs, list) else []
    return [part[1] for part in parts if part[0] == "task" and len(part) > 1]


REGISTRY: dict[str, type[Operation]] = {}


def register(kind: type[Operation]) -> type[Operation]:
    """Class decorator: makes the operation available to replays by its verb."""
    REGISTRY[kind.verb] = kind
    return kind


def asked(runtime: Runtime, by: str, **args: Any) -> dict[str, Any]:
    """Return the arguments of every operation made now: author, time, and the runtime that mints ids."""
    return {"by": by, "at": time_text(runtime.now(), exact=True), "runtime": runtime, **args}


def minting(runtime: Runtime | None) -> Runtime:
    """Return the runtime. Raises TypeError if there is none, as for an operation read back, which has its ids."""
    if runtime is None:
        raise TypeError("a new operation needs a runtime, which mints its names")
    return runtime


def mint(args: dict[str, Any], key: str, runtime: Runtime | None) -> None:
    """Mint a new id under this key, unless the arguments have one."""
    if key not in args:
        args[key] = minting(runtime).new_id()


def subject(verb: str, done: Iterable[str], by: str, *, more: str = "") -> str:
    """Compose the commit's first line: `<verb>: <id> by <agent>`; many ids are counted."""
    names = list(done)
    what = " ".join(names) if len(names) <= 3 else f"{len(names)} beads"
    return f"{verb}: {what}{more} by {by.split(':', 1)[-1]}"
