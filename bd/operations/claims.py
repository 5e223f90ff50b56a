"""Operations on who works on what: claim, start, release, close, reopen, cancel.

Every one that changes a claim rewrites the capacity file of the agent concerned in the same
commit. Does not belong here: failing and reassigning (recovery.py).
"""

from __future__ import annotations

from datetime import timedelta

from bd import __version__, ids
from bd.clock import time_text
from bd.errors import (
    AgentBusy,
    AlreadyClosed,
    BdError,
    DoesNotFit,
    NothingReady,
    OverCapacity,
    StaleToken,
    StillBlocked,
    WrongState,
)
from bd.model import Change, Overlay
from bd.operations.base import Operation, register, subject
from bd.operations.capacity import with_capacity
from bd.policy import fit, lifecycle
from bd.policy.priority import order_key
from bd.policy.ready import is_blocked, phase_of, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.model import Bead, Snapshot
    from bd.operations.base import World


@register
class Claim(Operation):
    """Take beads for an agent: `agent`; `ids`, or `next` with `count`; `reserve`, `resume`, `force`, `host`.

    `new_tokens`: one per bead, minted with the operation. Which beads `next` takes is decided
    here, on the snapshot the commit is built on, so a lost race takes the next best.
    """

    verb: ClassVar[str] = "claim"

    @property
    def needs_remote(self) -> bool:
        return True

    def prepare(self) -> None:
        wanted = len(self.args.get("ids") or []) or self.args.get("count", 1)
        self.args.setdefault("new_tokens", [ids.mint() for _ in range(wanted)])

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        won = self._already_won(snapshot)
        if won:
            return Change({}, "", touched=tuple(won), tokens=tuple((won[bead_id], bead_id) for bead_id in won))
        if self.args.get("resume"):
            return self._resume(snapshot, world)
        self._refuse_idle_agent(snapshot)
        if self.args.get("next"):
            return self._take_best(snapshot, world)
        return self._take_named(snapshot, world)

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().pinned(change, before)
        tokens = [token for token, _ in change.tokens]
        form["args"] = {**form["args"], "new_tokens": tokens, "ids": list(change.touched)}
        for key in ("next", "inherited"):
            form["args"].pop(key, None)
        return form

    @property
    def name(self) -> str:
        return str(self.args["agent"])

    def inherit(self, data: Mapping[str, Any]) -> bool:
        """Take over the claim that a process of the same agent won here and died before it could say so."""
        mine = data.get("agent") == self.name and not self.args.get("resume")
        asked = self.args.get("ids")
        if not mine or (asked and (data.get("verb") != "claim" or set(asked) != set(data.get("ids") or []))):
            return False
        self.args["inherited"] = list(data["tokens"])
        return True

    def _already_won(self, snapshot: Snapshot) -> dict[str, str]:
        mine = {*self.args["new_tokens"], *self.args.get("inherited", [])}
        return {
            bead.id: bead.get("claim")["token"] for bead in snapshot.claimed() if (bead.get("claim") or {}).get("token") in mine
        }

    def _refuse_idle_agent(self, snapshot: Snapshot) -> None:
        reason = fit.no_claims_reason(self.name, snapshot)
        if reason:
            raise AgentBusy(reason.text, hint=f"`bd list --assignee {self.name}` shows what it holds", reason=reason.code)

    def _claim_map(self, token: str, *, started: bool, world: World) -> dict[str, Any]:
        stamp = time_text(self.asked_at)
        claim: dict[str, Any] = {"agent": self.name, "token": token}
        if started:
            claim["started_at"] = stamp
        else:
            claim["expires_at"] = time_text(self.asked_at + timedelta(seconds=world.settings.claim_ttl))
        if self.args.get("host"):
            claim["host"] = self.args["host"]
        claim["version"] = __version__
        return claim

    def _take(self, bead: Bead, index: int, world: World) -> Bead:
        started = not self.args.get("reserve") and index == 0
        claim = self._claim_map(self.args["new_tokens"][index], started=started, world=world)
        return lifecycle.claimed(bead, claim, world.settings.owner(self.name), self.asked_at)

    def _take_best(self, snapshot: Snapshot, world: World) -> Change:
        count = self.args.get("count", 1)
        room = fit.room(self.name, snapshot)
        beads: dict[str, Bead | None] = {}
        for bead in fit.offer(snapshot, self.name, world.now):
            if len(beads) >= (count if room is None else min(count, room)):
                break
            after = Overlay(snapshot, Change(beads, ""))
            if beads and bead.get("exclusive") and fit.misfits(bead, self.name, after, world.now):
                continue
            whole = snapshot.bead(bead.id)
            if whole is not None:
                beads[bead.id] = self._take(whole, len(beads), world)
        if not beads:
            raise NothingReady(
                f"nothing is ready that fits {self.name}",
                hint=f"`bd ready --all` shows what is ready, `bd why ID --agent {self.name}` why it does not fit",
            )
        return self._finish(beads, list(beads), snapshot, world)

    def _take_named(self, snapshot: Snapshot, world: World) -> Change:
        taken: dict[str, Bead | None] = {}
        room = fit.room(self.name, snapshot)

        def take(bead: Bead) -> Bead:
            after = Overlay(snapshot, Change(taken, ""))
            self._refuse(bead, after, world)
            if room is not None and len(taken) >= room:
                raise OverCapacity(f"{self.name} has room for {room} more", id=bead.id)
            taken[bead.id] = self._take(bead, len(taken), world)
            return taken[bead.id]  # type: ignore[return-value]

        _, done, failed = self.each(self.args["ids"], snapshot, take)
        return self._finish(taken, done, snapshot, world, failed)

    def _refuse(self, bead: Bead, snapshot: Snapshot, world: World) -> None:
        lifecycle.refuse_held(bead, world.now)
        where = standing(bead, snapshot, world.now)
        if where.phase == "pending":
            raise StillBlocked(
                f"{bead.id} is not ready: it {where.reasons[0].text}",
                hint=f"`bd why {bead.id}` tells the whole chain",
                id=bead.id,
            )
        if where.phase != "ready":
            raise WrongState(f"{bead.id} is not ready: it {where.reasons[0].text}", hint=f"`bd why {bead.id}`", id=bead.id)
        reasons = fit.misfits(bead, self.name, snapshot, world.now)
        if reasons and not (self.args.get("force") and all(reason.code != "exclusive" for reason in reasons)):
            hint = f"`bd claim {bead.id} --agent {self.name} --force` takes it all the same"
            raise DoesNotFit(f"{bead.id} {reasons[0].text}", hint=hint, id=bead.id, reason=reasons[0].code)

    def _resume(self, snapshot: Snapshot, world: World) -> Change:
        names = self.args.get("ids") or [bead.id for bead in fit.held_by(self.name, snapshot)][: len(self.args["new_tokens"])]
        taken: dict[str, Bead | None] = {}

        def take_over(bead: Bead) -> Bead:
            holders = {bead.claim.agent} if bead.claim else {bead.assignee or "", bead.owner or ""} - {""}
            if bead.status != "in_progress" or not holders:
                raise WrongState(f"{bead.id} is {bead.status}, there is nothing to resume", id=bead.id)
            if not any(self._is_me(holder, world) for holder in holders):
                hint = f"`bd release {bead.id} --force --reason TEXT` frees it"
                raise DoesNotFit(f"{bead.id} is {' and '.join(sorted(holders))}'s, not {self.name}'s", hint=hint, id=bead.id)
            claim = self._claim_map(self.args["new_tokens"][len(taken)], started=True, world=world)
            taken[bead.id] = lifecycle.resumed(bead, claim, world.settings.owner(self.name), self.asked_at)
            return taken[bead.id]  # type: ignore[return-value]

        if not names:
            raise NothingReady(f"{self.name} holds nothing to resume")
        _, done, failed = self.each(names, snapshot, take_over)
        return self._finish(taken, done, snapshot, world, failed)

    def _is_me(self, holder: str, world: World) -> bool:
        """Whether a holder's name means this agent: as agent, as owner, as git's user, or as the part before an imported @."""
        mine = {self.name, world.settings.owner(self.name), *self.args.get("also_me", [])}
        return holder in mine or holder.split("@", 1)[0].casefold() == self.name

    def _finish(
        self,
        taken: dict[str, Bead | None],
        done: list[str],
        snapshot: Snapshot,
        world: World,
        failed: list[dict[str, Any]] | None = None,
    ) -> Change:
        tokens = tuple((bead.get("claim")["token"], bead.id) for bead in taken.values() if bead)
        words = subject("claim", done, f"agent:{self.name}")
        change = Change(taken, words, touched=tuple(done), tokens=tokens, failures=tuple(failed or ()))
        return with_capacity(change, snapshot, [self.name], world.now, alive=self.name)


@register
class Start(Operation):
    """Begin the work on reserved beads: `ids`."""

    verb: ClassVar[str] = "start"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        def begin(bead: Bead) -> Bead:
            if bead.claim is None:
                raise WrongState(f"{bead.id} is not claimed", hint=f"`bd claim {bead.id}` first", id=bead.id)
            lifecycle.guard(bead, self.token_for(bead.id))
            return lifecycle.started(bead, self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, begin)
        return Change(beads, subject("start", done, self.by), touched=tuple(done), failures=tuple(failed))


@register
class Release(Operation):
    """Give beads back: `ids`, `reason`, `force`. Costs no attempt."""

    verb: ClassVar[str] = "release"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        owners: set[str | None] = set()

        def give_back(bead: Bead) -> Bead:
            lifecycle.guard(bead, self.token_for(bead.id), force=self.args.get("force", False))
            owners.add(bead.claim.agent if bead.claim else None)
            return lifecycle.released(bead, self.args.get("reason"), self.asked_at)

        beads, done, failed = self.each(self.args["ids"], snapshot, give_back)
        change = Change(beads, subject("release", done, self.by), touched=tuple(done), failures=tuple(failed))
        return with_capacity(change, snapshot, owners, world.now, alive=self.agent if self.agent in owners else None)


@register
class Close(Operation):
    """Finish beads: `ids`, `reason`, `force`; `next` ({agent, new_tokens, host}) claims the next one in the same commit."""

    verb: ClassVar[str] = "close"

    def prepare(self) -> None:
        following = self.args.get("next")
        if following:
            following.setdefault("new_tokens", [ids.mint()])

    @property
    def needs_remote(self) -> bool:
        return bool(self.args.get("next"))

    def inherit(self, data: Mapping[str, Any]) -> bool:
        """With `next`: take over the claim that a process of the same agent won here and died before it could say so."""
        following = self.args.get("next")
        if not following or data.get("agent") != following["agent"]:
            return False
        following["inherited"] = list(data["tokens"])
        return True

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        owners: set[str | None] = set()
        notes: list[str] = []

        def finish(bead: Bead) -> Bead:
            owners.add(bead.claim.agent if bead.claim else None)
            return self._finished(bead, snapshot, world, notes)

        beads, done, failed = self.each(self.args["ids"], snapshot, finish)
        change = Change(beads, subject("close", done, self.by), touched=tuple(done), failures=tuple(failed))
        change = self._with_news(change, snapshot, world, notes)
        if self.args.get("next") and not failed:
            change = self._with_next(change, snapshot, world)
        return with_capacity(change, snapshot, owners, world.now, alive=self.agent if self.agent in owners else None)

    def _finished(self, bead: Bead, snapshot: Snapshot, world: World, notes: list[str]) -> Bead:
        token = self.token_for(bead.id)
        force = self.args.get("force", False)
        lifecycle.guard(bead, token, force=force)
        if not force and not bead.is_done:
            self._refuse_unfinished(bead, snapshot, world)
        try:
            return lifecycle.closed(bead, self.by, self.args.get("reason") or "Closed", self.asked_at)
        except AlreadyClosed as already:
            mine = (bead.get("closed_by") or "").split(":", 1)[-1] in (self.agent, "")
            if token and not mine and bead.id in self.tokens:
                raise StaleToken(f"{already}; your token is no longer current", id=bead.id) from None
            notes.append(str(already))
            return bead

    def _refuse_unfinished(self, bead: Bead, snapshot: Snapshot, world: World) -> None:
        waits = is_blocked(bead, snapshot, world.now)
        if waits:
            raise StillBlocked(
                f"{bead.id} still waits on {', '.join(waits)}", hint="close those first, or --force", id=bead.id, blocked_by=waits
            )
        unfinished = [
            child.id for child in snapshot.children_of(bead.id) if not child.is_done and child.id not in self.args["ids"]
        ]
        if unfinished:
            raise StillBlocked(
                f"{bead.id} has unfinished children: {', '.join(sorted(unfinished)[:5])}",
                hint="close them first, or --force",
                id=bead.id,
            )
        if bead.status == "pinned":
            raise WrongState(f"{bead.id} is pinned", hint="--force closes it all the same", id=bead.id)

    def _with_news(self, change: Change, snapshot: Snapshot, world: World, notes: list[str]) -> Change:
        """Say which beads became ready by this."""
        after = Overlay(snapshot, change)
        waiting: list[Bead] = []
        for bead_id in change.beads:
            waiting += snapshot.dependents_of(bead_id)
        others = sorted({bead.id: bead for bead in waiting if bead.id not in change.beads}.values(), key=order_key)
        freed = [bead.id for bead in others if phase_of(bead, after, world.now) == "ready"]
        if freed:
            notes.append(f"now ready: {', '.join(freed)}")
        return change._replace(notes=tuple(notes), result={"unblocked": freed})

    def _with_next(self, change: Change, snapshot: Snapshot, world: World) -> Change:
        following = self.args["next"]
        claim = Claim(by=self.by, at=self.at, uid=self.uid, next=True, **following)
        try:
            taken = claim.decide(Overlay(snapshot, change), world)
        except BdError as nothing:
            if not isinstance(nothing, NothingReady):
                raise
            return change._replace(notes=(*change.notes, str(nothing)))
        words = f"{change.subject}, claim {' '.join(taken.touched)}"
        return change._replace(
            beads={**change.beads, **taken.beads},
            records={**change.records, **taken.records},
            touched=(*change.touched, *taken.touched),
            tokens=taken.tokens,
            subject=words,
        )

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().pinned(change, before)
        claimed = {bead_id for _, bead_id in change.tokens}
        form["args"]["ids"] = [bead_id for bead_id in change.touched if bead_id not in claimed]
        return form


@register
class Reopen(Operation):
    """Open beads again: `ids`, `reason` (kept as a comment)."""

    verb: ClassVar[str] = "reopen"

    def prepare(self) -> None:
        self.args.setdefault("comment_id", ids.mint())

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        def open_again(bead: Bead) -> Bead:
            if bead.status == "open":
                return bead
            opened = lifecycle.reopened(bead, self.asked_at)
            reason = self.args.get("reason")
            if reason:
                entry = {"id": self.args["comment_id"], "author": self.agent, "at": time_text(self.asked_at), "text": reason}
                opened = opened.evolve(comments=[*opened.comments, entry])
            return opened

        beads, done, failed = self.each(self.args["ids"], snapshot, open_again)
        return Change(beads, subject("reopen", done, self.by), touched=tuple(done), failures=tuple(failed))


@register
class Cancel(Operation):
    """Call beads off: `ids`, `reason`, `cascade` (what waits for them and what is below them too), `unblock`, `force`."""

    verb: ClassVar[str] = "cancel"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        owners: set[str | None] = set()

        def call_off(bead: Bead) -> Bead:
            lifecycle.guard(bead, self.token_for(bead.id), force=self.args.get("force", False))
            owners.add(bead.claim.agent if bead.claim else None)
            return lifecycle.cancelled(bead, self.by, self.args.get("reason") or "Cancelled", self.asked_at)

        names = list(self.args["ids"])
        if self.args.get("cascade"):
            names = self._with_dependents(names, snapshot)
        beads, done, failed = self.each(names, snapshot, call_off)
        change = Change(beads, subject("cancel", done, self.by), touched=tuple(done), failures=tuple(failed))
        change = self._settle_dependents(change, snapshot)
        return with_capacity(change, snapshot, owners, world.now)

    def _with_dependents(self, names: list[str], snapshot: Snapshot) -> list[str]:
        found = [self.find(name, snapshot).id for name in names]
        for bead_id in found:
            for other in [*snapshot.children_of(bead_id), *snapshot.dependents_of(bead_id)]:
                if other.id not in found and not other.is_done:
                    found.append(other.id)
        return found

    def _settle_dependents(self, change: Change, snapshot: Snapshot) -> Change:
        beads = dict(change.beads)
        left: list[str] = []
        for bead_id in change.beads:
            for head in snapshot.dependents_of(bead_id):
                if head.is_done or head.id in change.beads:
                    continue
                left.append(head.id)
                other = beads.get(head.id) or snapshot.bead(head.id)
                if self.args.get("unblock") and other is not None:
                    kept = [target for target in other.depends_on if target != bead_id]
                    beads[head.id] = lifecycle.touch(other.evolve(depends_on=kept), self.asked_at)
        if not left or self.args.get("unblock"):
            return change._replace(beads=beads)
        note = (
            f"still waiting for what was cancelled: {', '.join(sorted(set(left)))} (--cascade cancels them, --unblock frees them)"
        )
        return change._replace(notes=(*change.notes, note))
