"""Operations on beads that wait for a person: the question, and the answer."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.model import Change
from bd.core.times import time_text
from bd.operations.base import Operation, mint, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.heat import attended
from bd.policy import lifecycle
from bd.policy.preference import kept_s

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


class _Said(Operation):
    """A statement about one bead: `ids` (one), `comment_id`, the id of the comment that keeps it."""

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "comment_id", runtime)

    def has_been_said(self, bead: Bead) -> bool:
        return any(comment.get("id") == self.args["comment_id"] for comment in bead.comments)

    def with_words(self, bead: Bead, kind: str, words: str) -> Bead:
        entry = {"id": self.args["comment_id"], "author": self.agent, "at": time_text(self.asked_at), "text": words, "kind": kind}
        return bead.evolve(comments=[*bead.comments, entry])


@register
class WaitHuman(_Said):
    """Park a bead until a person answers: `ids` (one), `reason` (the question), `force`. Costs no attempt.

    The question is also kept as a comment, for the agent that continues after the answer.
    """

    verb: ClassVar[str] = "wait-human"
    takes: ClassVar[frozenset[str]] = frozenset({"comment_id", "force", "ids", "progress", "reason"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        question = (self.args.get("reason") or "").strip()
        if not question:
            raise BadInput("waiting for a person needs a question")
        bead = self.find(self.args["ids"][0], snapshot)
        if self.has_been_said(bead):
            return Change({}, "", touched=(bead.id,))
        self.guard(bead, snapshot)
        had = self.holder_of(bead, snapshot) or (bead.claim.agent if bead.claim else None)
        parked = lifecycle.parked_for_human(bead, question, self.asked_at)
        after = self._with_sign(bead, self.with_words(parked, "question", question))
        change = Change({bead.id: after}, subject("wait-human", [bead.id], self.by), touched=(bead.id,))
        return with_capacity(change, snapshot, bead.holders, context.now, alive=had if had == self.agent else None)


@register
class Answer(_Said):
    """Answer a bead's question, which reopens it: `ids` (one), `text`."""

    verb: ClassVar[str] = "answer"
    takes: ClassVar[frozenset[str]] = frozenset({"comment_id", "ids", "text"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        text = (self.args.get("text") or "").strip()
        if not text:
            raise BadInput("an empty answer")
        bead = self.find(self.args["ids"][0], snapshot)
        if self.has_been_said(bead):
            return Change({}, "", touched=(bead.id,))
        answered = lifecycle.answered(bead, kept_s(bead.get("prefer_agent") or "", snapshot), self.asked_at)
        after = attended(self.with_words(answered, "answer", text), "comment", self, snapshot, context)
        return Change({bead.id: after}, subject("answer", [bead.id], self.by), touched=(bead.id,))
