"""Broken products: each takes one protection away, and the histories have to notice.

`MUTATIONS` maps a name to a `Mutation`. Those of `REVERTED` put back a fault that bd once had, as it was before it was fixed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from bd.core.errors import LockTimeout
from bd.core.model import Change
from bd.operations.claims import Claim
from bd.policy import claims, lifecycle, liveness
from bd.store.cache.cache import Cache
from bd.store.cache.shared import SharedCache
from bd.store.heartbeat.side_refs import SideRefs
from bd.store.memory.local_state import MemoryEntry
from bd.store.memory.server import MemoryRemote
from bd.store.replica import Replica
from bd.store.snapshot import CachedSnapshot
from bd.store.transaction import driver, offline, outcome, recovery, transitions, unpublished, verdict
from bd.store.transaction.batch import Batches
from bd.store.transaction.drafts import Chain
from bd.store.transaction.verdict import Verdict
from tests.histories.__main__ import FAULTS, Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pytest

    from bd.core.operation import Operation


class Mutation(NamedTuple):
    """A way to break the product, until the patch is undone; `rule` is the rule of the checker that it breaks.

    `recipe` is that of the first history, by seeds from 1 on, that noticed it and was clean without the mutation. For a fault that
    takes a rare chain of events, the histories that are tried have `only` the faults that it consists of.
    """

    apply: Callable[[pytest.MonkeyPatch], None]
    rule: str
    recipe: Recipe


MUTATIONS: dict[str, Mutation] = {}
REVERTED: set[str] = set()


def breaks(
    rule: str, *, seed: int, only: Collection[str] = FAULTS, was_fixed: bool = False
) -> Callable[[Callable[[pytest.MonkeyPatch], None]], Any]:
    """Put a function into the table. `was_fixed`: bd once had this fault."""

    def add(apply: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
        MUTATIONS[apply.__name__] = Mutation(apply, rule, Recipe(seed, without=frozenset(FAULTS).difference(only)))
        if was_fixed:
            REVERTED.add(apply.__name__)
        return apply

    return add


# --- the hub ---------------------------------------------------------------------------------


@breaks("only_added_to", seed=1)
def forced_pushes(patch: pytest.MonkeyPatch) -> None:
    """A push moves the branch wherever it stands, as with --force."""
    patch.setattr(MemoryRemote, "_why_not", lambda *_: "")


@breaks("one_owner", seed=6)
def blind_retry(patch: pytest.MonkeyPatch) -> None:
    """After a lost race, what was decided before is written again, on top of what the others have done."""
    real, decided = Chain.add, {}

    class Remembered:
        def __init__(self, operation: Operation) -> None:
            self._operation = operation

        def __getattr__(self, name: str) -> Any:
            return getattr(self._operation, name)

        def decide(self, snapshot: Any, context: Any) -> Change:
            uid = self._operation.uid
            if uid not in decided:
                decided[uid] = self._operation.decide(snapshot, context)
            return decided[uid]

    def add(self: Chain, operation: Operation, *args: Any, **more: Any) -> Change:
        return real(self, Remembered(operation), *args, **more)

    patch.setattr(Chain, "add", add)


@breaks("nothing_lost", seed=2)
def stale_cache(patch: pytest.MonkeyPatch) -> None:
    """Now and then the cache is not brought to the commit that is asked for."""
    calls = [0]

    def now_and_then(real: Callable[..., None]) -> Callable[..., None]:
        def move_to(self: Cache | SharedCache, commit: str, *args: Any, **more: Any) -> None:
            calls[0] += 1
            if calls[0] % 2 or not self.commit or self.commit == commit:
                real(self, commit, *args, **more)

        return move_to

    for kind in (Cache, SharedCache):
        patch.setattr(kind, "move_to", now_and_then(kind.move_to))


@breaks("fenced", seed=14)
def no_fencing(patch: pytest.MonkeyPatch) -> None:
    """A stale token is as good as the current one."""
    patch.setattr(lifecycle, "guard", lambda *_, **__: None)


@breaks("tokens_are_new", seed=2)
def one_token_for_all(patch: pytest.MonkeyPatch) -> None:
    """An agent uses the same token for every claim."""
    real = Claim.prepare.__func__  # type: ignore[attr-defined]

    def prepare(cls: type[Claim], args: dict[str, Any], runtime: Any) -> None:
        real(cls, args, runtime)
        args["new_tokens"] = [f"T{args['agent']}{number}" for number, _ in enumerate(args["new_tokens"])]

    patch.setattr(Claim, "prepare", classmethod(prepare))


@breaks("attempts_count", seed=2)
def uncounted_attempts(patch: pytest.MonkeyPatch) -> None:
    """A claim does not count as an attempt."""
    real = claims.claimed

    def claimed(bead: Any, *args: Any, **more: Any) -> Any:
        return real(bead, *args, **more).evolve(attempts=bead.attempts)

    patch.setattr(claims, "claimed", claimed)


@breaks("nothing_torn", seed=1)
def torn_files(patch: pytest.MonkeyPatch) -> None:
    """Of a file that is longer than it was, only the beginning is written."""
    real = Chain._file

    def file(self: Chain, path: str, *args: Any, exists: bool) -> bytes | None:
        data = real(self, path, *args, exists=exists)
        return data if data is None or not exists else data[: 3 * len(data) // 4]

    patch.setattr(Chain, "_file", file)


@breaks("nothing_twice", seed=3)
def written_again(patch: pytest.MonkeyPatch) -> None:
    """A push without an answer counts as lost and is made again, and nobody looks for the uid of what it had brought."""
    patch.setattr(verdict, "seen", lambda *_: Verdict("lost"))
    patch.setattr(CachedSnapshot, "by_uid", lambda *_: None)


@breaks("no_idle_push", seed=3)
def empty_commits(patch: pytest.MonkeyPatch) -> None:
    """An operation that changes nothing makes a commit all the same."""
    patch.setattr(Change, "is_empty", False)


# --- what commands are told -----------------------------------------------------------------


@breaks("nothing_denied_is_there", seed=3)
def trust_in_exit_codes(patch: pytest.MonkeyPatch) -> None:
    """A push that ended without an answer has failed, whatever the hub shows."""

    def seen(answer: Any, branch: str, *_: Any) -> Verdict:
        line = answer.lines.get(branch)
        return Verdict("refused", "git push failed") if line is None or not line.landed else Verdict("lost")

    patch.setattr(verdict, "seen", seen)


@breaks("unknown_is_settled", seed=1)
def forgotten_journal(patch: pytest.MonkeyPatch) -> None:
    """Nothing is written down before a push."""
    patch.setattr(MemoryEntry, "write", lambda self, *, durably=True, **changes: self.data.update(changes))


@breaks("no_acknowledged_write_lost", seed=2)
def forgotten_queue(patch: pytest.MonkeyPatch) -> None:
    """What a clone kept while the hub was away is never published."""
    patch.setattr(Batches, "_pending", lambda *_: [])


@breaks("in_order", seed=3)
def told_too_early(patch: pytest.MonkeyPatch) -> None:
    """What is only kept in the clone is told as published."""
    real = offline.keep_here

    def keep_here(*args: Any) -> outcome.Outcome:
        return real(*args).replace(published=True, notes=())

    patch.setattr(offline, "keep_here", keep_here)


@breaks("each_claim_told_once", seed=5)
def never_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """A claim stays in the journal after its agent was told of it."""
    patch.setattr(outcome.Outcome, "acknowledge", lambda _: None)


@breaks("all_end_well", seed=1)
def answer_taken_for_granted(patch: pytest.MonkeyPatch) -> None:
    """A push without an answer ends its command with an error in the program."""
    real = verdict.seen

    def seen(answer: Any, branch: str, *args: Any) -> Verdict:
        assert answer.lines[branch]
        return real(answer, branch, *args)

    patch.setattr(verdict, "seen", seen)


@breaks("no_stall_without_cause", seed=1)
def hasty_stalls(patch: pytest.MonkeyPatch) -> None:
    """A claim counts as stalled after a tenth of the time."""
    real = liveness.stall_time_s
    patch.setattr(liveness, "stall_time_s", lambda *args: real(*args) / 10)


# --- what is left ----------------------------------------------------------------------------


@breaks("clones_stay_usable", seed=1)
def kept_lock(patch: pytest.MonkeyPatch) -> None:
    """A write that fails leaves the clone's lock behind."""
    real = Replica.end_write

    def end_write(self: Replica) -> None:
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, LockTimeout):
            self._held = None
        real(self)

    patch.setattr(Replica, "end_write", end_write)


@breaks("nothing_left_behind", seed=2)
def refs_left_behind(patch: pytest.MonkeyPatch) -> None:
    """Nobody removes side refs whose claims have ended."""
    real = SideRefs.move
    patch.setattr(
        SideRefs, "move", lambda self, sides: real(self, kept) if (kept := [side for side in sides if side.new]) else True
    )
    patch.setattr(Batches, "_beside", lambda self, chain, at: [[] for _ in chain.steps])


# --- faults that bd once had -------------------------------------------------------------------


@breaks("each_claim_told_once", seed=50, only=("dies", "lost"), was_fixed=True)
def found_claims_inherited(patch: pytest.MonkeyPatch) -> None:
    """A killed command leaves every claim of its change to its agent's next one, also those it had only found."""
    patch.setattr(driver, "won", lambda change, *_: [token for token, _ in change.tokens] if change else [])


@breaks("nothing_denied_is_there", seed=45, was_fixed=True)
def doubt_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A write whose push got no answer is told as not written if something else goes wrong next."""
    patch.setattr(driver.Transaction, "is_own_in_doubt", False)


@breaks("unknown_is_settled", seed=3, was_fixed=True)
def texts_dropped(patch: pytest.MonkeyPatch) -> None:
    """A text whose push got no answer and never arrived is dropped."""
    patch.setattr(unpublished, "give_up", lambda *_: "")


# A request that gets no answer and comes late, a server that refuses, and processes that die.
_LATE = ("late", "declined", "dies")


@breaks("nothing_denied_is_there", seed=72, only=_LATE, was_fixed=True)
def refusals_too_soon(patch: pytest.MonkeyPatch) -> None:
    """A refusal is final although a request for the operation may still come to other clones, which carry it out."""
    patch.setattr(transitions, "_may_land_yet", lambda *_: False)


@breaks("nothing_denied_is_there", seed=328, only=_LATE, was_fixed=True)
def neighbours_requests_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A settled operation's entry goes, with what its author knew of requests that it made for its neighbours."""
    patch.setattr(recovery._Look, "_await_others", lambda *_: False)


@breaks("nothing_denied_is_there", seed=328, only=_LATE, was_fixed=True)
def unanswered_requests_written_off(patch: pytest.MonkeyPatch) -> None:
    """What a dead process asked other clones for without an answer counts as never sent."""
    patch.setattr(recovery, "_may_arrive", lambda *_: False)


@breaks("unknown_is_settled", seed=5, only=_LATE, was_fixed=True)
def text_overwritten_by_a_neighbours(patch: pytest.MonkeyPatch) -> None:
    """The journal names only the commits of the last push, which can be of neighbours alone."""
    lost = unpublished._lost

    def of_the_last_push(replica: Replica, entry: Any) -> Any:
        entry.data.pop("earlier", None)
        return lost(replica, entry)

    patch.setattr(unpublished, "_lost", of_the_last_push)
