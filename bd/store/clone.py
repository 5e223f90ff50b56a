"""A clone of a hub: what the rest of bd reads from it and writes to it through.

Replica answers what this clone knows; what is added here changes the hub. Every write goes through `publish`, and is on
the hub, kept in this clone, or refused when it returns.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bd.core import times
from bd.core.identity import git_author
from bd.core.model import Change
from bd.core.operation import DecisionContext
from bd.core.settings import of_hub
from bd.store.local.tokens import Tokens
from bd.store.replica import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    from bd.core.operation import Operation
    from bd.core.queries import Derivation
    from bd.core.runtime import Runtime
    from bd.core.settings import Settings
    from bd.store.hub_location import Place
    from bd.store.local.tokens import Tokens
    from bd.store.rejected import KeptCommit
    from bd.store.snapshot import CachedSnapshot
    from bd.store.sync import Edits
    from bd.store.transaction.drafts import Chain
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.queue import Writing
    from bd.store.unknown_operations import UnknownHere

    class OperationReader(Protocol):
        """Reads operations back from what was kept of them."""

        def read(self, clone: Clone, form: Mapping[str, Any]) -> Operation:
            """The operation of a JSON form. Raises KeyError or TypeError for one that this version does not know."""

        def by_difference(
            self, clone: Clone, commit: str, parent: str, author: str, *, uid: str | None, force: bool, reason: str | None
        ) -> Operation:
            """What a commit that bd has not made changes against `parent`, as an operation; of another `uid` than its trailers name."""


class Clone(Replica):
    """An opened clone; made by the composition root (cli/app.py), which hands in all that the store does not know.

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
    ) -> None:
        super().__init__(
            place, runtime, flags, on_progress=on_progress, on_wait=on_wait, on_note=on_note, derivations=derivations
        )
        self._operations = operations

    def open_clone(self, place: Place) -> Clone:
        """Another clone on this machine, opened in the same way; the listeners are this one's alone."""
        return Clone(place, self._operations, runtime=self.runtime, flags=self.flags, derivations=self.derivations)

    # --- writing ---

    def publish(self, operation: Operation) -> Outcome:
        """Carry an operation out. Raises its refusal, TryAgain (with `written`), ServerRefused, Damaged."""
        outcome = self.writing().run(operation)
        self._has_written()
        return outcome

    def create_hub(self, operation: Operation) -> Outcome:
        """Carry out the operation that makes the hub itself: there need not be any yet. Raises the same."""
        return self.writing().run(operation, creates_hub=True)

    def catch_up(self) -> bool:
        """Publish what was kept in this clone while the hub was away, until when it sees nothing new; whether there was any.

        For what looks by itself, and may write nothing for long. Raises RemoteUnreachable, and what the hub refuses.
        """
        is_behind = bool(self.remote_name) and self.view() != (self.published() or self.view())
        if is_behind:
            self.writing().run(None)
        return is_behind

    def sync(self, by: str, *, force: bool = False, reason: str | None = None) -> tuple[Outcome, Edits]:
        """Publish everything local, hand edits included, and bring in what is new: the outcome, and what was edited by hand.

        `force` also takes hand edits of claims, for a `reason`. Raises RemoteUnreachable, ServerRefused, Damaged; what a
        newer hub refuses is kept and told.
        """
        from bd.store.sync import sync  # noqa: PLC0415  most commands publish what was typed alone

        outcome, edits = sync(self, self.writing(force=force, reason=reason), by)
        self._has_written()
        return outcome, edits

    def _has_written(self) -> None:
        if self.on_written:
            self.on_written()

    def writing(self, *, force: bool = False, reason: str | None = None) -> Writing:
        """What writes to this clone's hub; `force` also takes hand edits of claims, for a `reason`."""
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
        """What a decision may know besides the snapshot; `is_request`: by the hub's settings alone, for an operation of another clone."""
        if is_request:
            return DecisionContext(self.runtime.now(), of_hub(snapshot.config()), heartbeats, is_request=True)
        return DecisionContext(self.runtime.now(), self.settings(snapshot), heartbeats)

    def author(self, by: str, settings: Settings) -> str:
        """The git author for who asks."""
        return git_author(by, settings, self.place.user_name, self.place.user_mail)

    def _revive(self, form: Mapping[str, Any]) -> Operation:
        return self._operations.read(self, form)

    # --- what only this clone knows ---

    @cached_property
    def tokens(self) -> Tokens:
        """The fencing tokens of the claims that were made here."""
        return Tokens(self.place.folder)

    def unknown_writes(self) -> list[UnknownHere]:
        """The unpublished writes of this clone that only a newer bd can replay."""
        from bd.store import unknown_operations  # noqa: PLC0415  the doctor alone asks

        return unknown_operations.unpublished(self, self._revive)

    def unknown_requests(self) -> list[UnknownHere]:
        """The requests on the remote that only a newer bd can carry out. Raises RemoteUnreachable."""
        from bd.store import unknown_operations  # noqa: PLC0415  the same

        return unknown_operations.requested(self, self._revive)

    def kept(self) -> list[KeptCommit]:
        """The commits that the hub refused, until they are dismissed."""
        from bd.store import rejected  # noqa: PLC0415  hardly anything is refused

        return rejected.kept(self)

    def dismiss(self, uid: str) -> bool:
        """Let go of one of them; whether there was one."""
        from bd.store import rejected  # noqa: PLC0415  the same

        return rejected.dismiss(self, uid)

    def observe(self, signs: Mapping[str, str], *, note: str | None = None) -> dict[str, float]:
        """Note a successful look at signs (of claims, by token), and for how long each has been the same, in seconds.

        `note` names where those of another kind are kept.
        """
        from bd.store import observations  # noqa: PLC0415  most commands look at nobody

        return observations.since(self, note or observations.NAME, signs)

    def last_look_s(self) -> float | None:
        """How many seconds ago this clone last looked at the signs of claims; None when it never did."""
        from bd.store import observations  # noqa: PLC0415  the same

        return observations.last_look_s(self)

    # --- rehearsing ---

    def rehearsal(self, snapshot: CachedSnapshot) -> Rehearsal:
        """Operations decided one after another on a snapshot, and none of them published."""
        return Rehearsal(self, snapshot)

    def preview(self, snapshot: CachedSnapshot, *operations: Operation) -> Change:
        """What publishing operations one after another would change: the last one's change. Raises what publishing raises before it pushes."""
        change, steps = Change({}, ""), self.rehearsal(snapshot)
        for operation in operations:
            self.check_format(snapshot, operation)
            change = steps.add(operation)
        return change


class Rehearsal:
    """For dry runs, whose word has to be the real run's: every check of a write up to its files, and no write."""

    def __init__(self, clone: Clone, snapshot: CachedSnapshot) -> None:
        self._clone = clone
        self._snapshot = snapshot

    @cached_property
    def _chain(self) -> Chain:
        from bd.store.transaction.drafts import Chain  # noqa: PLC0415  readers need none of it

        return Chain(self._clone.repo, self._snapshot, self._clone.context(self._snapshot, None))

    @property
    def snapshot(self) -> Any:
        """The hub as it would be by now."""
        return self._chain.snapshot

    def settings(self) -> Settings:
        """The settings as they would hold by now."""
        return self._clone.settings(self.snapshot)

    def add(self, operation: Operation) -> Change:
        """Decide one more operation on what the ones before it would leave. Raises its refusal, Damaged."""
        settings = self.settings()
        context = self._clone.context(self.snapshot, None) if self._chain.steps else None
        author = self._clone.author(operation.by, settings)
        return self._chain.add(operation, author, times.unix_seconds(operation.at), tries=1, context=context)
