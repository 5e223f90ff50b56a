"""The loop of docs/protocol.md: decide, build, publish by compare-and-swap, or decide again. The only writer.

Git's fast-forward push is the compare-and-swap. What happened is always found out by looking
(is our commit in the tip? did the tip move?), never believed from an exit status.
"""

from __future__ import annotations

from typing import NamedTuple

from bd import clock
from bd.errors import BdError, Contention, NoHub, RemoteUnreachable, TryAgain
from bd.store import kept
from bd.store.chain import Chain
from bd.store.following import follow
from bd.store.place import PUBLISHED, VIEW
from bd.store.pushing import Pushing, refused_by_server
from bd.store.replay import RefusedReplay, Replay
from bd.store.settling import Settling

TYPE_CHECKING = False
if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from typing import Any

    from bd.model import Change
    from bd.store.beating import Beating
    from bd.store.chain import Decides
    from bd.store.hub import Hub
    from bd.store.journal import Entry
    from bd.store.pushing import Verdict
    from bd.store.remote import SideRef
    from bd.store.snapshot import CachedSnapshot

# Full jitter: the next try waits a random part of base * 2^n, capped (docs/protocol.md).
BACKOFF_BASE_S = 0.05
BACKOFF_CAP_S = 2.0
STUCK_LIMIT = 3


class Outcome(NamedTuple):
    """What became of a transaction. `acknowledge` once whoever asked has been told."""

    change: Change | None
    published: bool
    commit: str
    tries: int = 1
    replayed: int = 0
    received: int = 0
    refused: tuple[RefusedReplay, ...] = ()
    notes: tuple[str, ...] = ()
    entry: Entry | None = None
    refusal: BdError | None = None

    def acknowledge(self) -> None:
        if self.entry is not None:
            self.entry.remove()


class _Attempt(NamedTuple):
    """One round of the loop: the base, the chain decided on it, and what was replayed."""

    base: str | None
    chain: Chain
    retry_time_s: float
    refused: list[RefusedReplay]
    renamed: dict[str, str]
    change: Change | None
    refusal: BdError | None
    sides: list[list[SideRef]]


class Transaction:
    """One write of one clone."""

    def __init__(
        self,
        hub: Hub,
        *,
        world: Callable[[CachedSnapshot, Mapping[str, str] | None], Any],
        author: Callable[[str, Any], str],
        revive: Callable[[Mapping[str, Any]], Decides],
        by_difference: Callable[[str, str, str], Decides],
        on_step: Callable[[str], None] | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._hub = hub
        self._repo = hub.repo
        self._world = world
        self._author = author
        self._replay = Replay(hub, revive, by_difference)
        self._step = on_step or _no_step
        self._rng = rng
        self._settling = Settling(hub)
        self._declined: dict[str, BdError] = {}
        self._some_landed = False
        self._hand: str | None = None
        self._creates_hub = False
        self._pushing = Pushing(hub, self._step, None)
        self._first_view: str | None = None
        self._beating: Beating | None = None
        self._beats: Mapping[str, str] | None = None

    def run(self, operation: Decides | None, *, hand: str | None = None, creates_hub: bool = False) -> Outcome:
        """Publish the operation, with whatever this clone has not published yet before it.

        `hand` also takes the commits of that local branch tip. `operation` None publishes only
        those. Raises the operation's refusal, TryAgain (with `written`), ServerRefused, Damaged.
        """
        self._hand = hand
        self._creates_hub = creates_hub
        self._pushing = Pushing(self._hub, self._step, hand)
        self._hub.begin_write(fetch=not _needs_beats(operation))
        try:
            return self._run(operation, creates_hub=creates_hub)
        finally:
            self._hub.end_write()

    def _run(self, operation: Decides | None, *, creates_hub: bool) -> Outcome:
        entry = self._hub.journal.begin(operation.uid if operation else "sync", **_names(operation))
        try:
            outcome = self._loop(operation, entry, creates_hub=creates_hub)
        except BaseException as error:
            self._leave(entry, error)
            raise
        if outcome.change is not None and outcome.change.tokens:
            return outcome._replace(entry=entry)
        entry.remove()
        if outcome.refusal is not None:
            raise outcome.refusal
        return outcome

    def _leave(self, entry: Entry, error: BaseException) -> None:
        """Keep the entry of an operation that may still land; drop it otherwise."""
        if entry.data["state"] == "pushing" and self._pushing.in_doubt:
            entry.write(state="unknown")
            entry.close()
        elif isinstance(error, Exception) or entry.data["state"] == "begun":
            entry.remove()

    # --- the loop ---

    def _loop(self, operation: Decides | None, entry: Entry, *, creates_hub: bool) -> Outcome:
        deadline: float | None = None
        tries, stuck = 0, 0
        self._first_view = self._repo.ref(VIEW)
        made: dict[str, _Attempt] = {}
        while True:
            tries += 1
            self._step("look")
            try:
                base = self._look(operation, creates_hub=creates_hub)
            except RemoteUnreachable as error:
                return self._without_remote(operation, error)
            landed = self._pushing.landed_in(base)
            if landed in made:  # not necessarily the last one that was tried
                return self._finished(made[landed], landed, tries - 1)
            attempt = self._attempt(base, operation, tries)
            deadline = deadline or clock.monotonic() + attempt.retry_time_s
            if not attempt.chain.steps:
                if self._declined and not self._some_landed and (operation is None or attempt.refusal):
                    # The server takes nothing at all now: everything goes on waiting.
                    raise attempt.refusal or next(iter(self._declined.values()))
                return self._settled(attempt, base or "", tries)
            self._step("build")
            commits = self._repo.write_commits(base, attempt.chain.drafts)
            tokens = [token for token, _ in attempt.change.tokens] if attempt.change else []
            entry.write(state="pushing", base=base, commits=commits, tokens=tokens, hand=self._hand)
            made[commits[-1]] = attempt
            self._step("push")
            verdict = self._pushing.publish(commits[-1], base, [side for step in attempt.sides for side in step])
            self._step("pushed")
            if verdict.kind == "refused":
                verdict = self._one_by_one(verdict, commits, attempt, operation)
                if verdict.kind == "refused":
                    continue
            if verdict.kind == "landed" and verdict.commit in made:
                return self._finished(made[verdict.commit], verdict.commit, tries)
            if verdict.kind in ("unsided", "lost") and verdict.words:
                self._look_beside(verdict, operation)
            stuck = stuck + 1 if verdict.kind == "stuck" else 0
            if stuck >= STUCK_LIMIT:
                raise self._stuck(verdict.words)
            if clock.monotonic() >= deadline:
                raise self._out_of_time(tries)
            self._wait(tries)

    def _wait(self, tries: int) -> None:
        """Full jitter before the next try."""
        import random  # noqa: PLC0415  only after a lost race

        self._rng = self._rng or random.Random()
        clock.sleep(self._rng.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2 ** min(tries, 10))))

    def _out_of_time(self, tries: int) -> TryAgain:
        if self._pushing.in_doubt:
            return self._in_doubt()
        return Contention(f"{tries} tries, and each time somebody was faster", hint="try again in a moment")

    def _stuck(self, words: str) -> TryAgain:
        if self._pushing.in_doubt:
            return self._in_doubt()
        hint = "a lock left in the hub by a killed process? The server's words name it"
        return TryAgain(f"the server can't take the push, and nothing else moves: {words}", hint=hint)

    def _in_doubt(self) -> RemoteUnreachable:
        words = "the remote did not say whether it took the write"
        return RemoteUnreachable(words, hint="this clone's next command finds out", written="unknown")

    def _look_beside(self, verdict: Verdict, operation: Decides | None) -> None:
        """A ref beside the branch is not as this clone knew it, or the server refuses such refs after all."""
        if verdict.kind == "unsided":
            self._hub.sides.give_up(verdict.words, clock.now())
            if operation is not None:
                getattr(operation, "without_side_refs", bool)()
        elif self._beating is not None:
            self._beating.relist()

    def _look(self, operation: Decides | None, *, creates_hub: bool) -> str | None:
        """The tip to build on, now; None only for a hub that is being made."""
        if _needs_beats(operation):  # listed first: the branch must not be older than the list
            self._beats = self._hub.sides.beats() if self._hub.sides.may_list() else None
        tip = self._hub.finish_fetch() if self._hub.remote else self._repo.ref(self._hub.branch)
        if tip is None and not creates_hub:
            where = f" on {self._hub.remote}" if self._hub.remote else ""
            raise NoHub(f"the hub branch {self._hub.branch_name} does not exist{where}", hint="`bd init` makes a hub")
        return tip

    def _attempt(self, base: str | None, operation: Decides | None, tries: int) -> _Attempt:
        """Everything unpublished, then the operation, decided on the base."""
        from bd.store.empty import EMPTY  # noqa: PLC0415  only init needs it

        snapshot: Any = self._hub.snapshot(base) if base else EMPTY
        if base:
            if not self._creates_hub:
                self._hub.check_format(snapshot)
            self._settling.settle(base, snapshot, operation)
        world = self._world(snapshot, self._beats)
        chain = Chain(self._repo, snapshot, world)
        pending = self._replay.unpublished(base, self._hand)
        refused, renamed = self._replay.onto(chain, pending, self._declined, tries)
        change, refusal = None, None
        if operation is not None:
            if renamed:
                operation.follow(renamed)
            try:
                change = chain.add(operation, self._author(operation.by, world.settings), _seconds(operation.at), tries=tries)
            except BdError as error:  # what waits is published all the same, and this clone sees what refused it
                if base is None:
                    raise
                refusal = error
        sides = self._beside(chain, world.now)
        return _Attempt(base, chain, world.settings.retry_time, refused, renamed, change, refusal, sides)

    def _beside(self, chain: Chain, at: datetime) -> list[list[SideRef]]:
        """The refs beside the branch that go with each step: the beats of the claims it makes and ends."""
        claims = [claim for step in chain.steps for claim in (*step.claims_before, *step.claims_after)]
        if not claims or not (self._hub.has_beaten() or any(claim.get("heartbeat_by") == "ref" for claim in claims)):
            return [[] for _ in chain.steps]
        if self._beating is None:
            from bd.store.beating import Beating as Beside  # noqa: PLC0415  a plain claim has no such refs

            self._beating = Beside(self._hub.sides)
        if self._beats is not None:
            self._beating.take(self._beats)
        return [self._beating.refs_of(step.claims_before, step.claims_after, at) for step in chain.steps]

    def _one_by_one(self, verdict: Verdict, commits: list[str], attempt: _Attempt, operation: Decides | None) -> Verdict:
        """A push was declined: push a batch's commits singly. What is declined alone is left out from now on.

        The last push's verdict. Raises ServerRefused when that is for `operation`.
        """
        base = attempt.base
        for commit, step, sides in zip(commits, attempt.chain.steps, attempt.sides, strict=True):
            if len(commits) > 1:
                verdict = self._pushing.publish(commit, base, sides)
            if verdict.kind == "refused":
                error = refused_by_server(verdict.words)
                if step.operation is operation:
                    raise error
                self._declined[step.operation.uid] = error
            if verdict.kind != "landed" or verdict.commit != commit:
                break
            base, self._some_landed = commit, True
            self._repo.set_private_refs({PUBLISHED: commit})
        return verdict

    # --- after the push ---

    def _finished(self, attempt: _Attempt, tip: str, tries: int) -> Outcome:
        """Our commit is the hub's tip: bring this clone along."""
        outcome = self._settled(attempt, tip, tries)
        self._step("refs")
        if self._beating is not None:
            self._beating.note(side for sides in attempt.sides for side in sides)
        if attempt.base and self._hub.cache.commit == attempt.base:
            self._hub.cache.advance(attempt.chain.rows(), tip)
        self._hub.stamp()
        own = self._note_last(attempt.change, tip)
        return outcome._replace(replayed=len(attempt.chain.steps) - own)

    def _note_last(self, change: Change | None, commit: str) -> int:
        """Remember this clone's last write, for `undo` and for commands without an id. How many writes that is: 0 or 1."""
        if change is None or change.is_empty:
            return 0
        self._hub.note_json("last.json", {"commit": commit, "subject": change.subject, "touched": list(change.touched)})
        return 1

    def _note_renamed(self, renamed: dict[str, str]) -> list[str]:
        """Keep which beads of this clone got another id, for whoever types the old one, and say so."""
        if renamed:
            self._hub.note_json("renamed.json", {**(self._hub.noted_json("renamed.json") or {}), **renamed})
        return [f"{old} was taken meanwhile: the bead is now {new}" for old, new in renamed.items()]

    def _settled(self, attempt: _Attempt, tip: str, tries: int) -> Outcome:
        """The hub holds everything of this clone at `tip`: keep what was refused, move the private refs."""
        for item in attempt.refused:
            kept.keep(self._hub, item.uid, item.commit, str(item.error))
        received = 0
        if self._first_view and attempt.base and self._first_view != attempt.base and self._hub.remote:
            received = len(self._repo.commits_between(self._first_view, attempt.base))
        notes = [
            *self._note_renamed(attempt.renamed),
            *follow(self._hub, attempt.base, tip, hand=self._hand, half_way=self._settling.landed),
        ]
        if received:
            self._hub.stamp()
        return Outcome(
            attempt.change,
            published=True,
            commit=tip,
            tries=tries,
            received=received,
            refused=tuple(attempt.refused),
            notes=tuple(notes),
            refusal=attempt.refusal,
        )

    # --- without the remote ---

    def _without_remote(self, operation: Decides | None, error: RemoteUnreachable) -> Outcome:
        """Keep what may be kept in this clone. Raises for claims, and (kept all the same) for what names a token."""
        if self._pushing.in_doubt:
            raise self._in_doubt() from error
        if operation is None or getattr(operation, "needs_remote", False):
            raise error
        base = self._hub.view()
        snapshot = self._hub.snapshot(base)
        self._hub.check_format(snapshot)
        world = self._world(snapshot, None)
        chain = Chain(self._repo, snapshot, world)
        change = chain.add(operation, self._author(operation.by, world.settings), _seconds(operation.at), tries=1)
        if not chain.steps:
            return Outcome(change, published=False, commit=base)
        needs_to_be_told = _names_token(operation, change, snapshot)
        commits = self._repo.write_commits(base, chain.drafts)
        self._step("keep")
        first: list[tuple[str, str | None, str | None]] = [] if self._repo.ref(PUBLISHED) else [(PUBLISHED, base, None)]
        self._repo.update_refs([*first, (VIEW, commits[-1], self._repo.ref(VIEW))])
        self._hub.cache.advance(chain.rows(), commits[-1])
        self._hub.stamp()
        self._note_last(change, commits[-1])
        note = f"kept in this clone: {error.message}"
        if needs_to_be_told:
            raise TryAgain(note, hint="`bd sync` publishes it", written="local")
        return Outcome(change, published=False, commit=commits[-1], notes=(f"{note}; `bd sync` publishes it",))


# --- small questions ----------------------------------------------------------------------


def _no_step(name: str) -> None:
    """The default step hook: tests stop or interleave here."""


def _seconds(stamp: str) -> int:
    return int(clock.instant_of(stamp).timestamp())


def _needs_beats(operation: Decides | None) -> bool:
    return bool(getattr(operation, "needs_beats", False))


def _names(operation: Decides | None) -> dict[str, Any]:
    args = getattr(operation, "args", {})
    following = args.get("next")  # of a close that also claims
    agent = following["agent"] if isinstance(following, dict) else args.get("agent")
    return {"verb": operation.verb if operation else "sync", "agent": agent, "ids": args.get("ids")}


def _names_token(operation: Decides, change: Change, snapshot: CachedSnapshot) -> bool:
    token_for = getattr(operation, "token_for", None)
    if token_for is None:
        return False
    claims = (snapshot.bead(bead_id) for bead_id in change.touched)
    return any(claim.get("token") == token_for(bead.id) for bead in claims if bead for claim in bead.claims)
