"""The end of a write that the hub has: this clone comes along, keeps what was refused, and remembers what it did."""

from __future__ import annotations

from bd.store import kept
from bd.store.following import follow
from bd.store.outcome import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bd.model import Change
    from bd.store.hub import Hub
    from bd.store.round import Round, Rounds


def arrive(
    hub: Hub,
    tip: str,
    made: Round | None,
    *,
    base: str | None,
    first_view: str | None,
    hand: str | None,
    half_way: list[str],
    landed: bool,
    on_step: Callable[[str], None],
    rounds: Rounds,
) -> Outcome:
    """The hub holds everything of this clone at `tip`: keep what was refused, move the private refs, the checkout, the cache.

    `made` is the round that settled it, None where others did; `landed`, whether the tip is its last commit.
    """
    refused = made.refused if made else []
    for item in refused:
        kept.keep(hub, item.uid, item.commit, str(item.error))
    received = 0
    if first_view and base and first_view != base and hub.remote:
        received = len(hub.repo.commits_between(first_view, base))
    notes = [*_note_renamed(hub, made.renamed if made else {}), *follow(hub, base, tip, hand=hand, half_way=half_way)]
    if received or landed:
        hub.stamp()
    replayed = 0
    if made is not None and landed:
        on_step("refs")
        if rounds.beating is not None:
            own = [
                sides for step, sides in zip(made.chain.steps, made.sides, strict=True) if step.operation.uid not in made.folded
            ]
            rounds.beating.note(side for sides in own for side in sides)
        if made.base and hub.cache.commit == made.base:
            hub.cache.advance(made.chain.rows(), tip)
        ours = {*made.decided, *made.folded}
        replayed = sum(step.operation.uid not in ours for step in made.chain.steps)
    return Outcome(
        None, published=True, commit=tip, replayed=replayed, received=received, refused=tuple(refused), notes=tuple(notes)
    )


def note_last(hub: Hub, change: Change | None, commit: str) -> None:
    """Remember this clone's last write, for `undo` and for commands without an id."""
    if change is not None and not change.is_empty:
        hub.note_json("last.json", {"commit": commit, "subject": change.subject, "touched": list(change.touched)})


def _note_renamed(hub: Hub, renamed: dict[str, str]) -> list[str]:
    """Keep which beads of this clone got another id, for whoever types the old one, and say so."""
    if renamed:
        hub.note_json("renamed.json", {**(hub.noted_json("renamed.json") or {}), **renamed})
    return [f"{old} was taken meanwhile: the bead is now {new}" for old, new in renamed.items()]
