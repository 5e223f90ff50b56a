"""Keep a write in this clone while the remote can't be reached."""

from __future__ import annotations

from contextlib import suppress

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import BdError, ServerRefused, TryAgain
from bd.store import rejected
from bd.store.contract import PUBLISHED, VIEW
from bd.store.transaction.drafts import Chain
from bd.store.transaction.finish import note_last
from bd.store.transaction.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.core.errors import RemoteUnreachable
    from bd.core.model import Change
    from bd.core.operation import Operation
    from bd.store.replica import Replica
    from bd.store.snapshot import CachedSnapshot
    from bd.store.transaction.batch import Batches


def keep_here(
    replica: Replica,
    batches: Batches,
    operation: Operation | None,
    error: RemoteUnreachable | ServerRefused,
    on_step: Callable[[str], None],
) -> Outcome:
    """Keep an operation on this clone's view.

    Raises `error` for claims. With the operation kept, raises TryAgain if it names a token, and ServerRefused if the hub refuses
    this clone.
    """
    if operation is None or operation.needs_remote:
        raise error
    base = replica.view()
    snapshot = replica.snapshot(base)
    replica.check_format(snapshot)
    chain = Chain(replica.repo, snapshot, batches.context(snapshot))
    change = chain.add(operation, batches.author(operation.by, snapshot), times.unix_seconds(operation.at), tries=1)
    if not chain.steps:
        return Outcome(change, published=False, commit=base)
    needs_to_be_told = _names_token(operation, change, snapshot)
    commits = replica.repo.write_commits(base, chain.drafts)
    on_step("keep")
    first: list[tuple[str, str | None, str | None]] = [] if replica.repo.ref(PUBLISHED) else [(PUBLISHED, base, None)]
    try:
        replica.repo.update_refs([*first, (VIEW, commits[-1], replica.repo.ref(VIEW))])
    except TryAgain:
        if replica.repo.ref(VIEW) != commits[-1]:  # git can be killed after it has done it
            raise
    with suppress(BdError, OSError):  # it is kept, whatever this clone can't note about it
        replica.cache.advance(chain.rows(), commits[-1])
        replica.stamp()
        note_last(replica, change, commits[-1])
        if isinstance(error, ServerRefused):
            rejected.note_reason(replica, operation.uid, f"{change.subject}: {error.message}")
    note = f"kept in this clone: {error.message}"
    if isinstance(error, ServerRefused):
        hint = f"{error.hint}; what was written is kept in this clone, and `bd sync` publishes it then"
        raise ServerRefused(error.message, hint=hint, **error.data, written="local")
    if needs_to_be_told:
        raise TryAgain(note, hint="`bd sync` publishes it", written="local")
    return Outcome(change, published=False, commit=commits[-1], notes=(f"{note}; `bd sync` publishes it",))


def _names_token(operation: Operation, change: Change, snapshot: CachedSnapshot) -> bool:
    claims = (snapshot.bead(bead_id) for bead_id in change.touched)
    return any(operation.token_for(bead.id) in bead.tokens for bead in claims if bead)
