"""A clone of a hub: the interface through which the rest of bd reads and writes it.

`Replica` reads what this clone knows; `Clone` adds what changes the hub. Every write goes through `publish`. When that returns,
the write is on the hub, kept in this clone, or refused.
"""

from __future__ import annotations

from functools import cached_property

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import TryAgain
from bd.core.identity import git_author
from bd.core.model import Change
from bd.core.operation import DecisionContext
from bd.core.settings import of_hub
from bd.store import observations, offline_queue, rejected
from bd.store.contract import VIEW
from bd.store.local.tokens import Tokens
from bd.store.replica import Replica
from bd.store.transaction.drafts import Chain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, Protocol

    from bd.core.operation import Operation
    from bd.core.queries import Derivation
    from bd.core.runtime import Runtime
    from bd.core.settings import Settings
    from bd.store.hub_location import Place
    from bd.store.offline_queue import QueuedWrite
    from bd.store.rejected import KeptCommit
    from bd.store.snapshot import CachedSnapshot
    from bd.store.sync import Edits
    from bd.store.transaction.drafts import Chain
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.queue import Writing
    from bd.store.unknown_operations import UnknownHere

    class OperationReader(Protocol):
        """Turns stored forms of operations back into operations."""

        def read(self, clone: Clone, form: Mapping[str, Any]) -> Operation:
            """Read an operation from its JSON form.

            Raises UnknownOperation for a form that only a newer bd can read, KeyError or TypeError for one that is damaged.
            """

        def by_difference(
            self, clone: Clone, commit: str, parent: str, author: str, *, uid: str | None, force: bool, reason: str | None
        ) -> Operation:
            """Return a hand-made commit's change against `parent` as an operation. `uid` replaces the one in its trailers."""


class Clone(Replica):
    """An opened clone. cli/app.py makes it, and passes in everything the store does not know itself.

    `operations` reads operations back from commits.
    """

    def __init__(
        self,
        place: Place,
        operations: OperationReader,
        *,
        runtime: Runtime,
        flags: Mapping[str, Any] | None = None,
        on_progress: Callable[[int, int, str], None] | None = None,
        on_wait: Callable[[], None] | None = None,
        on_note: Callable[[str], None] | None = None,
        derivations: Sequence[Derivation] = (),
        cache: Any = None,
    ) -> None:
        super().__init__(
            place,
            runtime,
            flags,
            on_progress=on_progress,
            on_wait=on_wait,
            on_note=on_note,
            derivations=derivations,
            cache=cache,
        )
        self._operations = operations

    def open_clone(self, place: Place) -> Clone:
        """Open another clone on this machine with the same runtime, flags and derivations, but without the listeners."""
        return Clone(place, self._operations, runtime=self.runtime, flags=self.flags, derivations=self.derivations)

    # --- writing ---

    def publish(self, operation: Operation) -> Outcome:
        """Carry out an operation. Raises its refusal, TryAgain (with `written`), ServerRefused, Damaged."""
        try:
            outcome = self.writing().run(operation)
        finally:
            self._has_tried()
        self._has_written()
        return outcome

    def create_hub(self, operation: Operation) -> Outcome:
        """Carry out the operation that makes the hub, which need not exist yet. Raises the same as `publish`."""
        return self.writing().run(operation, creates_hub=True)

    def catch_up(self) -> bool:
        """Publish what was kept in this clone while the hub was unreachable. Return whether there was anything.

        For processes that only read for a long time. Raises RemoteUnreachable, and the hub's refusals.
        """
        is_behind = bool(self.remote_name) and self.view() != (self.published() or self.view())
        if is_behind:
            self.writing().run(None)
        return is_behind

    def sync(self, by: str, *, force: bool = False, reason: str | None = None) -> tuple[Outcome, Edits]:
        """Publish everything local, including hand edits, and fetch. Return the outcome, and what was edited by hand.

        `force` also publishes hand edits of claims, for a `reason`. Raises RemoteUnreachable, ServerRefused, Damaged; what a
        newer hub refuses is kept and reported.
        """
        from bd.store.sync import sync  # noqa: PLC0415  most commands publish what was typed alone

        try:
            outcome, edits = sync(self, self.writing(force=force, reason=reason), by)
        finally:
            self._has_tried()
        self._has_written()
        return outcome, edits

    def _has_tried(self) -> None:
        if self.on_tried:
            self.on_tried()

    def _has_written(self) -> None:
        if self.on_written:
            self.on_written()

    def writing(self, *, force: bool = False, reason: str | None = None) -> Writing:
        """Return the writer of this clone's hub. `force` also publishes hand edits of claims, for a `reason`."""
        from bd.store.transaction.queue import Writing  # noqa: PLC0415  readers need none of it

        def by_difference(commit: str, parent: str, author: str, uid: str | None) -> Operation:
            return self._operations.by_difference(self, commit, parent, author, uid=uid, force=force, reason=reason)

        return Writing(
            self,
            context=self.context,
            author=self.author,
            revive=self._revive,
            by_difference=by_difference,
            on_step=self.runtime.on_step,
        )

    def context(
        self, snapshot: CachedSnapshot, heartbeats: Mapping[str, str] | None, *, is_request: bool = False
    ) -> DecisionContext:
        """Return the decision context for a snapshot. `is_request`: for another clone's operation, by the hub's settings."""
        if is_request:
            return DecisionContext(self.runtime.now(), of_hub(snapshot.config()), heartbeats, is_request=True)
        return DecisionContext(self.runtime.now(), self.settings(snapshot), heartbeats)

    def author(self, by: str, settings: Settings) -> str:
        """Return the git author for an agent or person."""
        return git_author(by, settings, self.place.user_name, self.place.user_mail)

    def _revive(self, form: Mapping[str, Any]) -> Operation:
        return self._operations.read(self, form)

    # --- what only this clone knows ---

    @cached_property
    def tokens(self) -> Tokens:
        """The fencing tokens of the claims made in this clone."""
        return Tokens(self.place.folder)

    def keep_unheard_tokens(self, agent: str, session: str) -> dict[str, str]:
        """Keep, and return by bead, the tokens of the agent's claims that the hub has but that nobody was told of.

        That is so if the hub's answer was lost, or if the claiming process was killed. They now count as told.
        """
        found: dict[str, str] = {}
        if self.journal.is_empty():
            return found
        snapshot = self.snapshot()
        with self.lock():
            for entry in self.journal.of_the_dead():
                if entry.data.get("agent") != agent:
                    continue
                tokens = entry.data.get("tokens") or []
                held = {bead.id: token for token in tokens for bead in snapshot.claimed(token) if bead.claim_under(token)}
                for bead_id, token in held.items():
                    self.tokens.keep(bead_id, agent, session, token)
                found.update(held)
                # Once the tokens are kept. What is not `won` yet stays: the next write settles the rest of its push.
                if held and entry.data.get("state") == "won":
                    entry.remove()
        return found

    def unsettled(self) -> dict[str, str]:
        """Return the operations of dead processes whose push may still reach the hub: uid -> verb.

        Nothing while another process writes, which is about to settle them, or where this clone can't be written.
        """
        if self.journal.is_empty():
            return {}
        lock = self.lock()
        try:
            if not lock.try_enter():
                return {}
        except TryAgain:
            return {}
        try:
            return {entry.uid: str(entry.data.get("verb")) for entry in self.journal.of_the_dead() if entry.data.get("commits")}
        finally:
            lock.__exit__()

    def unknown_writes(self) -> list[UnknownHere]:
        """The unpublished writes of this clone that only a newer bd can replay."""
        from bd.store import unknown_operations  # noqa: PLC0415  the doctor alone asks

        return unknown_operations.unpublished(self, self._revive)

    def unknown_requests(self) -> list[UnknownHere]:
        """The requests on the remote that only a newer bd can carry out. Raises RemoteUnreachable."""
        from bd.store import unknown_operations  # noqa: PLC0415  the same

        return unknown_operations.requested(self, self._revive)

    def kept(self) -> list[KeptCommit]:
        """Return the rejected changes: commits that the hub refused and nobody has dismissed."""
        return rejected.kept(self)

    def queued(self) -> list[QueuedWrite]:
        """Return the unpublished writes of this clone, oldest first."""
        return offline_queue.queued(self)

    def left_behind(self, before: datetime) -> tuple[list[QueuedWrite], list[QueuedWrite]]:
        """Return the writes that this clone has kept since before an instant: unpublished ones, and refused ones."""
        is_waiting, may_keep = self.remote_name and self.repo.ref(VIEW) != self.published(), rejected.may_keep(self)
        if not is_waiting and not may_keep:
            return [], []
        waiting = offline_queue.queued(self)
        known = {one.uid for one in waiting}
        kept = rejected.kept(self) if may_keep else []
        refused = [offline_queue.written(self, item.commit).replace(uid=item.uid) for item in kept if item.uid not in known]
        old = [[one for one in found if times.instant_of(one.since) <= before] for found in (waiting, refused)]
        return old[0], old[1]

    def dismiss(self, uid: str) -> bool:
        """Dismiss a rejected change. Return whether there was one."""
        return rejected.dismiss(self, uid)

    def observe(self, signs: Mapping[str, str], *, note: str | None = None) -> dict[str, float]:
        """Record an observation of heartbeats (claim token -> object). Return for how many seconds each has been the same.

        `note` names another note to keep other kinds of observations in.
        """
        return observations.since(self, note or observations.NAME, signs)

    def last_look_s(self) -> float | None:
        """Return how many seconds ago this clone last observed heartbeats; None if it never did."""
        return observations.last_look_s(self)

    # --- dry runs ---

    def rehearsal(self, snapshot: CachedSnapshot) -> Rehearsal:
        """Return a rehearsal: operations decided one after another on a snapshot, none of them published."""
        return Rehearsal(self, snapshot)

    def preview(self, snapshot: CachedSnapshot, *operations: Operation) -> Change:
        """Return the change that publishing these operations in order would make (the last one's).

        Raises what publishing raises before the push.
        """
        change, steps = Change({}, ""), self.rehearsal(snapshot)
        for operation in operations:
            self.check_format(snapshot, operation)
            change = steps.add(operation)
        return change


class Rehearsal:
    """Operations decided for a dry run, with every check of a real write up to its files, but without writing."""

    def __init__(self, clone: Clone, snapshot: CachedSnapshot) -> None:
        self._clone = clone
        self._snapshot = snapshot

    @cached_property
    def _chain(self) -> Chain:
        return Chain(self._clone.repo, self._snapshot, self._clone.context(self._snapshot, None))

    @property
    def snapshot(self) -> Any:
        """The hub as it would be after the operations so far."""
        return self._chain.snapshot

    def settings(self) -> Settings:
        """Return the settings as they would be after the operations so far."""
        return self._clone.settings(self.snapshot)

    def add(self, operation: Operation) -> Change:
        """Decide one more operation on the result of the earlier ones. Raises its refusal, Damaged."""
        settings = self.settings()
        context = self._clone.context(self.snapshot, None) if self._chain.steps else None
        author = self._clone.author(operation.by, settings)
        return self._chain.add(operation, author, times.unix_seconds(operation.at), tries=1, context=context)
