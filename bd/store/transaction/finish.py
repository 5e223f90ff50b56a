"""The end of a write: update this clone to what the hub has, keep what was refused, and note the last write."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.core.value import Value
from bd.store import rejected
from bd.store.contract import PUBLISHED, VIEW
from bd.store.group_commit import answer as answers
from bd.store.transaction.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bd.core.model import Change
    from bd.store.contract import SideRef
    from bd.store.group_commit.member import Member
    from bd.store.replica import Replica
    from bd.store.transaction.batch import Batch, Batches

# How many writes of a clone can be undone.
_UNDOABLE = 50


class Arrival(Value):
    """The point a transaction has reached: at `tip`, the hub holds everything of this clone.

    `made` is the batch that settled it, decided on `base`; None if others did. `landed`: the tip is its last commit. `first_view`
    is where this clone stood, `hand` the tip of a person's commits, `half_way` the commits that dead processes left half checked
    out.
    """

    tip: str
    made: Batch | None
    base: str | None
    first_view: str | None
    hand: str | None
    half_way: list[str]
    landed: bool


def arrive(replica: Replica, arrival: Arrival, own: Member | None, batches: Batches, on_step: Callable[[str], None]) -> Outcome:
    """Keep what was refused; move the private refs, the checkout and the cache.

    An error here becomes a note, because the write itself is done. A sync that pushed nothing raises it.
    """
    try:
        outcome = _come_along(replica, arrival, batches, on_step, counts=own is None)
        if own is not None and own.refusal is None:
            note_last(replica, own.change, arrival.tip)
    except (BdError, OSError) as error:
        if not arrival.landed and own is None:
            raise
        note = f"the hub has it, but this clone could not be updated: {error}"
        outcome = Outcome(None, published=True, commit=arrival.tip, notes=(note,))
    return outcome if own is None else outcome.replace(change=own.change, refusal=own.refusal)


def answer(replica: Replica, party: Sequence[Member], tip: str, tries: int) -> bool:
    """Tell the waiting processes the results of their operations; False if that failed.

    The author of an open one takes over again.
    """
    try:
        for member in party:
            if member.path and member.is_settled:
                replica.journal.answer(
                    member.path, {"commit": tip, "tries": tries, "answer": answers.of_result(member.change, member.refusal)}
                )
    except OSError:
        return False
    return True


def _come_along(replica: Replica, arrival: Arrival, batches: Batches, on_step: Callable[[str], None], *, counts: bool) -> Outcome:
    tip, made, base = arrival.tip, arrival.made, arrival.base
    refused = made.refused if made else []
    for item in refused:
        rejected.keep(replica, item.uid, item.commit, str(item.error))
    is_behind = bool(arrival.first_view and base and arrival.first_view != base and replica.remote_name)
    received = len(replica.repo.commits_between(arrival.first_view, base or "")) if is_behind and counts else 0
    notes = _note_renamed(replica, made.renamed if made else {})
    notes += _follow(replica, base, arrival)
    if is_behind or arrival.landed:
        replica.stamp()
    replayed = 0
    if made is not None and arrival.landed:
        on_step("refs")
        if batches.beating is not None:
            batches.beating.note(side for sides in _own_sides(made) for side in sides)
        if made.base and replica.cache.commit == made.base:
            replica.cache.advance(made.chain.rows(), tip)
        ours = {*made.decided, *made.carried}
        replayed = sum(step.operation.uid not in ours for step in made.chain.steps)
    return Outcome(
        None, published=True, commit=tip, replayed=replayed, received=received, refused=tuple(refused), notes=tuple(notes)
    )


def _follow(replica: Replica, base: str | None, arrival: Arrival) -> list[str]:
    """Bring the files and the private refs to the published tip; return notes about files left as they are.

    Does nothing without a remote: both are there already.
    """
    if not replica.remote_name:
        return []
    notes: list[str] = []
    if replica.worktree:
        known = replica.published_before
        notes = replica.worktree.follow(base, arrival.tip, known=known, hand=arrival.hand, half_way=arrival.half_way)
    replica.repo.set_private_refs({name: arrival.tip for name in (PUBLISHED, VIEW) if replica.repo.ref(name) != arrival.tip})
    return notes


def _own_sides(made: Batch) -> list[list[SideRef]]:
    """Return the side refs of this clone's own steps."""
    return [sides for step, sides in zip(made.chain.steps, made.sides, strict=True) if step.operation.uid not in made.carried]


def note_last(replica: Replica, change: Change | None, commit: str) -> None:
    """Record this clone's last write, for commands without an id, and the writes that `undo` may undo, the newest last.

    An undo is not such a write: it removes the newest. `undone` is, for each bead, the commit of the last undo.
    """
    if change is None or change.is_empty:
        return
    known = replica.noted_json("last.json", {"writes": [{"commit": str, "subject": str}], "undone": {...: str}}) or {}
    writes, undone, touched = known.get("writes", []), known.get("undone", {}), {*change.touched, *change.beads}
    if isinstance(change.result, dict) and "undone" in change.result:
        writes, undone = writes[:-1], {**undone, **dict.fromkeys(touched, commit)}
    else:
        writes = [*writes, {"commit": commit, "subject": change.subject}][-_UNDOABLE:]
        undone = {bead_id: at for bead_id, at in undone.items() if bead_id not in touched}
    last = {"commit": commit, "subject": change.subject, "touched": list(change.touched)}
    replica.note_json("last.json", {**last, "writes": writes, "undone": undone if writes else {}})


def _note_renamed(replica: Replica, renamed: dict[str, str]) -> list[str]:
    """Record which beads of this clone got another id, so that the old one can still be typed, and return notes about it."""
    if renamed:
        replica.note_json("renamed.json", {**(replica.noted_json("renamed.json", {...: str}) or {}), **renamed})
    return [f"{old} was taken meanwhile: the bead is now {new}" for old, new in renamed.items()]
