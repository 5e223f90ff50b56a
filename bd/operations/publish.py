"""Where operations meet the store: run one as a transaction of this clone's hub."""

from __future__ import annotations

from bd.core import clock
from bd.core.model import Change
from bd.operations.base import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from bd.core.settings import Settings
    from bd.operations.base import Operation
    from bd.store.replica import Replica
    from bd.store.snapshot import CachedSnapshot
    from bd.store.transaction.drafts import Chain
    from bd.store.transaction.outcome import Outcome
    from bd.store.transaction.queue import Writing


def author_of(hub: Replica, by: str, settings: Settings) -> str:
    """The git author for who asks: a person under git's own name and mail, an agent under its owner identity."""
    kind, _, name = by.rpartition(":")
    mail = settings.owner(name)
    if kind == "human" and hub.place.user_name:
        name, mail = hub.place.user_name, hub.place.user_mail or mail
    clean = str.maketrans("", "", "<>\n\r\0")
    return f"{name.translate(clean).strip() or 'unknown'} <{mail.translate(clean).strip()}>"


def transaction(
    hub: Replica, on_step: Callable[[str], None] | None = None, *, force: bool = False, reason: str | None = None
) -> Writing:
    """What writes, and knows every operation of this package; `force` also takes hand edits of claims, for a `reason`."""
    from bd.store.transaction.queue import Writing as Writer  # noqa: PLC0415  readers need none of it

    def world(snapshot: CachedSnapshot, beats: Mapping[str, str] | None, *, is_folded: bool = False) -> World:
        if is_folded:
            from bd.core.settings import of_hub  # noqa: PLC0415  only for what others ask

            return World(clock.now(), of_hub(snapshot.config()), beats, is_folded)
        return World(clock.now(), hub.settings(snapshot), beats)

    def author(by: str, settings: Settings) -> str:
        return author_of(hub, by, settings)

    def by_difference(commit: str, parent: str, author_text: str) -> Operation:
        from bd.operations.difference import operation_of  # noqa: PLC0415  only for hand-made commits

        return operation_of(hub, commit, parent, author_text, force=force, reason=reason)

    def revive(form: Mapping[str, Any]) -> Operation:
        from bd.operations.registry import from_json  # noqa: PLC0415  only for replays
        from bd.operations.stored_outputs import with_contents  # noqa: PLC0415  only for replays

        return from_json(with_contents(hub, form))

    return Writer(hub, world=world, author=author, revive=revive, by_difference=by_difference, on_step=on_step or _kill_hook())


def publish(hub: Replica, operation: Operation) -> Outcome:
    """Carry an operation out. Raises its refusal, TryAgain, ServerRefused, Damaged."""
    outcome = transaction(hub).run(operation)
    if hub.on_written:
        hub.on_written()
    return outcome


def preview(hub: Replica, snapshot: CachedSnapshot, *operations: Operation) -> Change:
    """What publishing operations one after another would change: every check of a write up to its files, and no write.

    For dry runs, whose word has to be the real run's. The last one's change. Raises what publishing raises before it pushes.
    """
    from bd.store.transaction.drafts import Chain as Steps  # noqa: PLC0415  readers need none of it

    change = Change({}, "")
    chain = Steps(hub.repo, snapshot, World(clock.now(), hub.settings(snapshot)))
    for operation in operations:
        hub.check_format(snapshot, operation)
        change = add(chain, hub, operation)
    return change


def add(chain: Chain, hub: Replica, operation: Operation) -> Change:
    """Decide an operation on a chain's end, with the settings that hold there. Raises its refusal, Damaged."""
    snapshot: Any = chain.snapshot  # its settings are all that is asked of it
    settings = hub.settings(snapshot)
    world = World(clock.now(), settings) if chain.steps else None
    at_s = int(clock.instant_of(operation.at).timestamp())
    return chain.add(operation, author_of(hub, operation.by, settings), at_s, tries=1, world=world)


def catch_up(hub: Replica) -> bool:
    """Publish what was kept in this clone while the hub was away, until when it sees nothing new; whether there was any.

    For what looks by itself, and may write nothing for long. Raises RemoteUnreachable, and what the hub refuses.
    """
    is_behind = bool(hub.remote) and hub.view() != (hub.published() or hub.view())
    if is_behind:
        transaction(hub).run(None)
    return is_behind


def _kill_hook() -> Callable[[str], None] | None:
    """`BD_TEST_STOP_AT=step`: end the process as kill -9 would at a named step (crash tests only)."""
    import os  # noqa: PLC0415

    wanted = os.environ.get("BD_TEST_STOP_AT")
    if not wanted:
        return None

    def stop(name: str) -> None:
        if name == wanted:
            os._exit(137)

    return stop
