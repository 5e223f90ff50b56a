"""Operations that end the work on beads: close, reopen, cancel.

Each that changes a claim rewrites the agent's capacity file in the same commit.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import AlreadyClosed, BdError, NothingReady, StaleToken, StillBlocked, WrongState
from bd.core.model import Change, Overlay
from bd.core.times import time_text
from bd.operations.base import Operation, mint, minting, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.claims import Claim, as_promised
from bd.operations.dependencies import refuse_circles
from bd.operations.heat import attended
from bd.operations.stored_outputs import files_of, with_stored, without_contents
from bd.policy import lifecycle, spending, validation
from bd.policy.dag_progress import below, children_by_parent, is_spawned
from bd.policy.overload import DONE, Ending
from bd.policy.ranking import Ranking
from bd.policy.readiness import Readiness

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class Close(Operation):
    """Close beads: `ids`, `reason`, `force`; `next` ({agent, new_tokens, host, heartbeat}) also claims the next one.

    `output` and `cost` ({usd, tokens, model, estimated}) are the result and the cost of the work; `seals` name, by bead, the outputs that were
    validated; `stores` are output files to be stored next to the bead (stored_outputs.py).
    """

    verb: ClassVar[str] = "close"
    takes: ClassVar[frozenset[str]] = frozenset(
        {"cost", "force", "ids", "next", "output", "progress", "reason", "seals", "stores"}
    )

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        following = args.get("next")
        if following and "new_tokens" not in following:
            following["new_tokens"] = [minting(runtime).new_id()]

    @property
    def needs_remote(self) -> bool:
        return super().needs_remote or bool(self.args.get("next"))

    @property
    def is_portable(self) -> bool:
        return super().is_portable and not self.args.get("stores")

    def journal_fields(self) -> dict[str, Any]:
        following = self.args.get("next")
        return {**super().journal_fields(), **({"agent": following["agent"]} if following else {})}

    def inheriting(self, entry: Mapping[str, Any]) -> Self | None:
        following = self.args.get("next")
        if not following or entry.get("agent") != following["agent"]:
            return None
        return self._with({**self.args, "next": {**following, "inherited": list(entry["tokens"])}})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        owners: set[str | None] = set()
        notes: list[str] = []
        endings: list[Ending] = []
        readiness = Readiness(snapshot, context.now)

        def finish(bead: Bead) -> Bead:
            owners.update(bead.holders)
            after = self._finished(bead, readiness, notes)
            doer = self.holder_of(bead, snapshot)
            if doer:
                endings.append(Ending(doer, DONE, bead.id))
            others = [name for name in bead.holders if name != doer] if bead.get("claims") else []
            if others:
                notes.append(f"{', '.join(others)} had also claimed {bead.id}")
            return after

        beads, done, failed = self.each(self.args["ids"], snapshot, finish)
        change = Change(beads, subject("close", done, self.by), touched=tuple(done), failures=tuple(failed))
        change = self._with_news(self._with_files(change), snapshot, context, notes)
        alive = self.agent if self.agent in owners else None
        # before the next claim: finishing a bead may end an overload
        change = with_capacity(change, snapshot, owners, context.now, alive=alive, endings=endings)
        if self.args.get("next") and not failed:
            change = self._with_next(change, snapshot, context)
        return change

    def _with_files(self, change: Change) -> Change:
        stores = self.args.get("stores")
        if not stores:
            return change
        return change.replace(files={path: data for one in change.beads for path, data in files_of(stores, one).items()})

    def _finished(self, bead: Bead, readiness: Readiness, notes: list[str]) -> Bead:
        force = self.args.get("force", False)
        if bead.status != "closed":
            self.guard(bead, readiness.snapshot)
        if not force and not bead.is_done:
            self._refuse_unfinished(bead, readiness)
        try:
            cost = self.args.get("cost")
            paid = spending.charged(bead, cost, self.asked_at, whole=True) if cost and not bead.is_done else bead
            output = with_stored(self.args.get("output"), self.args.get("stores") or {}, bead)
            paid = self._validated(lifecycle.with_output(paid, output))
            return lifecycle.closed(paid, self.by, self.args.get("reason") or "Closed", self.asked_at)
        except AlreadyClosed as already:
            mine = (bead.get("closed_by") or "").split(":", 1)[-1] in (self.agent, "")
            if self.token_for(bead.id) and not mine and not force:
                raise StaleToken(f"{already}; your token is no longer current", id=bead.id) from None
            notes.append(str(already))
            return bead

    def _validated(self, bead: Bead) -> Bead:
        """Return the bead, about to be closed, if it passed the validation it asks for. Raises NotValidated."""
        if bead.is_done or self.args.get("force"):
            return bead
        return validation.sealed(bead, self.args.get("seals") or {}, self.asked_at)

    def _refuse_unfinished(self, bead: Bead, readiness: Readiness) -> None:
        waits = readiness.blockers(bead)
        if waits:
            raise StillBlocked(
                f"{bead.id} still waits on {', '.join(waits)}", hint="close those first, or --force", id=bead.id, blocked_by=waits
            )
        unfinished = [
            child.id
            for child in readiness.snapshot.children_of(bead.id)
            if not child.is_done and child.id not in self.args["ids"] and not is_spawned(child, bead)
        ]
        if unfinished:
            raise StillBlocked(
                f"{bead.id} has unfinished children: {', '.join(sorted(unfinished)[:5])}",
                hint="close them first, or --force",
                id=bead.id,
            )
        if bead.status == "pinned":
            raise WrongState(f"{bead.id} is pinned", hint="--force closes it anyway", id=bead.id)

    def _with_news(self, change: Change, snapshot: Snapshot, context: DecisionContext, notes: list[str]) -> Change:
        """Add notes about the beads that became ready."""
        after = Overlay(snapshot, change)
        waiting: list[Bead] = []
        for bead_id in change.beads:
            waiting += snapshot.dependents_of(bead_id)
        others = {bead.id: bead for bead in waiting if bead.id not in change.beads}.values()
        ranking = Ranking(after, context.now)
        freed = [bead.id for bead in sorted(others, key=ranking.key) if ranking.readiness.phase(bead) == "ready"]
        if freed:
            notes.append(f"now ready: {', '.join(freed)}")
        return change.replace(notes=tuple(notes), result={"unblocked": freed})

    def _with_next(self, change: Change, snapshot: Snapshot, context: DecisionContext) -> Change:
        following = self.args["next"]
        claim = Claim(by=self.by, at=self.at, uid=self.uid, next=True, **following)
        try:
            taken = claim.decide(Overlay(snapshot, change), context)
        except BdError as nothing:
            if not isinstance(nothing, NothingReady):
                raise
            return change.replace(notes=(*change.notes, str(nothing)))
        words = f"{change.subject}, claim {' '.join(taken.touched)}"
        return change.replace(
            beads={**change.beads, **taken.beads},
            records={**change.records, **taken.records},
            touched=(*change.touched, *taken.touched),
            tokens=taken.tokens,
            subject=words,
            notes=(*change.notes, *taken.notes),
        )

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        claimed = {bead_id for _, bead_id in change.tokens}
        form["args"]["ids"] = [bead_id for bead_id in change.touched if bead_id not in claimed]
        if form["args"].get("next"):
            form["args"]["next"] = as_promised(form["args"]["next"], change)
        if form["args"].get("stores"):
            form["args"]["stores"] = without_contents(form["args"]["stores"], len(before.commit))
        return form


@register
class Reopen(Operation):
    """Reopen beads: `ids`, `reason` (kept as a comment)."""

    verb: ClassVar[str] = "reopen"
    takes: ClassVar[frozenset[str]] = frozenset({"comment_id", "ids", "reason"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "comment_id", runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        def open_again(bead: Bead) -> Bead:
            if bead.status == "open":
                return bead
            opened = lifecycle.reopened(bead, self.asked_at)
            if lifecycle.is_reopening(bead, opened):
                opened = attended(opened, "reopening", self, snapshot, context)
            reason = self.args.get("reason")
            if reason:
                entry = {"id": self.args["comment_id"], "author": self.agent, "at": time_text(self.asked_at), "text": reason}
                opened = opened.evolve(comments=[*opened.comments, entry])
            return opened

        beads, done, failed = self.each(self.args["ids"], snapshot, open_again)
        change = Change(beads, subject("reopen", done, self.by), touched=tuple(done), failures=tuple(failed))
        refuse_circles(change, snapshot)  # what is open again closes after its children
        return change


@register
class Cancel(Operation):
    """Cancel beads: `ids`, `reason`, `cascade` (also what waits for them and what is below them), `unblock`, `force`.

    `tree`: they are roots of DAGs, and everything unfinished below them is cancelled, too, or nothing at all. `resolution`: only
    dead letters among the named ones are cancelled, and count as reviewed.
    """

    verb: ClassVar[str] = "cancel"
    takes: ClassVar[frozenset[str]] = frozenset({"cascade", "force", "ids", "reason", "resolution", "tree", "unblock"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        owners: set[str | None] = set()

        def call_off(bead: Bead) -> Bead:
            self.guard(bead, snapshot)
            owners.update(bead.holders)
            resolution = self.args.get("resolution")
            if resolution and bead.status not in ("dead_letter", "cancelled") and bead.id in named:
                hint = f"`bd cancel {bead.id}` cancels any other bead"
                raise WrongState(f"{bead.id} is {bead.status}, not a dead letter", hint=hint, id=bead.id)
            off = lifecycle.cancelled(bead, self.by, self.args.get("reason") or "Cancelled", self.asked_at)
            return off.evolve(reviewed=True, resolution=resolution) if resolution and bead.status == "dead_letter" else off

        names = list(self.args["ids"])
        named = {self.find(name, snapshot).id for name in names} if self.args.get("resolution") else set()
        if self.args.get("cascade"):
            names = self._with_dependents(names, snapshot)
        if self.args.get("tree"):
            names = self._with_trees(names, snapshot)
        beads, done, failed = self.each(names, snapshot, call_off)
        change = Change(beads, subject("cancel", done, self.by), touched=tuple(done), failures=tuple(failed))
        change = self._settle_dependents(change, snapshot)
        return with_capacity(change, snapshot, owners, context.now)

    def _with_dependents(self, names: list[str], snapshot: Snapshot) -> list[str]:
        found = dict.fromkeys(self.find(name, snapshot).id for name in names)
        following = list(found)
        while following:
            bead_id = following.pop()
            for other in [*snapshot.children_of(bead_id), *snapshot.dependents_of(bead_id)]:
                if other.id not in found and not other.is_done:
                    found[other.id] = None
                    following.append(other.id)
        return list(found)

    def _with_trees(self, names: list[str], snapshot: Snapshot) -> list[str]:
        """Return the roots and everything unfinished below them. Raises AlreadyClosed, and StaleToken if others hold some."""
        children = children_by_parent(snapshot)
        roots = [self.find(name, snapshot) for name in names]
        found = [one for root in roots for one in (root, *(member.bead for member in below(root, children))) if not one.is_done]
        if not found:
            raise AlreadyClosed(f"{' and '.join(root.id for root in roots)}: everything is done already")
        for bead in found:
            if bead.claims:
                self.guard(bead, snapshot)
        return [bead.id for bead in found]

    def _settle_dependents(self, change: Change, snapshot: Snapshot) -> Change:
        beads = dict(change.beads)
        left: list[str] = []
        below = {child.id for bead_id in change.beads for child in snapshot.children_of(bead_id) if not child.is_done}
        below -= change.beads.keys()
        if below:
            words = f"below cancelled beads, and no longer offered: {', '.join(sorted(below))} (--cascade cancels them)"
            change = change.replace(notes=(*change.notes, words))
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
            return change.replace(beads=beads)
        note = f"still waiting for cancelled beads: {', '.join(sorted(set(left)))} (--cascade cancels them, --unblock frees them)"
        return change.replace(notes=(*change.notes, note))
