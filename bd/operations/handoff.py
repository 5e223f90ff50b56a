"""Handing over: closes one bead and passes its results to the next, in one commit."""

from __future__ import annotations

import re

from bd import TYPE_CHECKING
from bd.core import urls
from bd.core.errors import AlreadyClosed, BadInput, WrongState
from bd.core.model import Change, Overlay
from bd.core.queries import mentions
from bd.core.times import time_text
from bd.operations.base import mint, register, subject
from bd.operations.close import Close
from bd.operations.create import Create, MakesOne
from bd.operations.heat import attended
from bd.policy import lifecycle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

    from bd.core.model import Bead, Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime

# The link from the next bead to the finished one, if there is no other yet.
LINK = "discovered-from"
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9 ._-]*)=(.+)\Z")


def parse_artifact(text: str) -> tuple[str, str]:
    """Parse `NAME=REFERENCE`, or a reference alone, which is named after its last part, into both. Raises BadInput."""
    named = _NAMED.match(text.strip())
    name, reference = (named[1].strip(), named[2].strip()) if named else ("", text.strip())
    if not reference:
        raise BadInput("an empty artifact", hint="--artifact report=artifacts/hub-7k3q/report.md")
    return name or name_of(reference), reference


def name_of(reference: str) -> str:
    """Return the name of an artifact that was given none: the last part of its path."""
    path = re.split(r"[?#]", reference)[0] if urls.is_url(reference) else reference
    return re.split(r"[/:\\]", path.rstrip("/"))[-1] or reference


def with_artifacts(bead: Bead, given: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the bead's output with these artifacts; an existing name gets the new reference."""
    output = dict(bead.get("output") or {})
    names = {one["name"] for one in given}
    before = output.get("artifacts")
    kept = [one for one in before or [] if not (isinstance(one, dict) and one.get("name") in names)]
    return {**output, "artifacts": [*kept, *given]} if kept or given else output


@register
class Handoff(MakesOne):
    """Close a bead and give the next one its results: `ids` ([finished, next]), `artifacts` [{name, ref}], `note`, `force`.

    `seals` as for Close, computed with the artifacts in the output.

    With `new` (a bead's fields) the next bead is created next to the finished one, with the same parent and priority; `ids` is
    then the finished one alone. The next bead gets the references in `spec.context_refs`, the note as a comment, and a link back.
    """

    verb: ClassVar[str] = "handoff"
    takes: ClassVar[frozenset[str]] = frozenset({"artifacts", "comment_id", "force", "ids", "new", "note", "progress", "seals"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "comment_id", runtime)
        super().prepare(args, runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        finished = self.find(self.args["ids"][0], snapshot)
        there = self._fed_before(snapshot)
        if there is not None:
            return Change({}, "", touched=(finished.id, there.id))
        closing = self._closing(finished, snapshot, context)
        after = Overlay(snapshot, closing)
        following = self._next(finished, after, context)
        closed = after.bead(finished.id) or finished
        reason = self.args.get("note") or f"Handed over to {following.id}"
        handed = closed.evolve(close_reason=reason)
        return closing.replace(
            beads={**closing.beads, finished.id: handed, following.id: self._fed(following, finished, after, context)},
            subject=subject("handoff", [finished.id], self.by, more=f" to {following.id}"),
            touched=(finished.id, following.id),
        )

    def _closing(self, finished: Bead, snapshot: Snapshot, context: DecisionContext) -> Change:
        """Return the change that closes the finished bead. Raises what a close raises, and AlreadyClosed."""
        if finished.status == "closed":
            words = f"{finished.id} is already closed by {finished.get('closed_by') or 'somebody'}"
            hint = f"`bd create TITLE --deps {LINK}:{finished.id}` goes on from it"
            raise AlreadyClosed(words, hint=hint, id=finished.id)
        args = self.args
        given = {
            "ids": [finished.id],
            "reason": args.get("note"),
            "force": args.get("force", False),
            "progress": args.get("progress"),
            "seals": args.get("seals"),
            "output": with_artifacts(finished, args.get("artifacts") or []),
        }
        return Close(by=self.by, at=self.at, uid=self.uid, tokens=self.tokens, **given).decide(snapshot, context)

    def _fed_before(self, snapshot: Snapshot) -> Bead | None:
        """Return the next bead if it already has this handoff's results."""
        new = self.args.get("new")
        if new:
            return snapshot.by_uid(new["uid"])
        following = self.find(self.args["ids"][1], snapshot)
        fed = any(comment.get("id") == self.args["comment_id"] for comment in following.comments)
        return following if fed else None

    def _next(self, finished: Bead, after: Snapshot, context: DecisionContext) -> Bead:
        """Return the next bead before it gets the results. Raises BadInput and WrongState."""
        new = self.args.get("new")
        if new:
            beside = {"priority": finished.priority, **({"parent": finished.parent} if finished.parent else {})}
            creation = Create(by=self.by, at=self.at, uid=self.uid, beads=[{**beside, **new}], **self.pinned_names)
            made = creation.decide(after, context)
            bead = made.beads[made.touched[0]]
            assert bead is not None
            return bead
        following = self.find(self.args["ids"][1], after)
        if following.id == finished.id:
            raise BadInput(f"{finished.id} can't be handed over to itself")
        if following.is_done:
            raise WrongState(f"{following.id} is {following.status}", hint=f"`bd reopen {following.id}` first", id=following.id)
        return following

    def _fed(self, bead: Bead, finished: Bead, after: Snapshot, context: DecisionContext) -> Bead:
        """Return the next bead with the references, the note and the link."""
        given = self.args.get("artifacts") or []
        spec = dict(bead.get("spec") or {})
        before = spec.get("context_refs") or []
        refs = [*before] if isinstance(before, list) else [before]
        texts = [one["ref"] if one["name"] == name_of(one["ref"]) else f"{one['name']}={one['ref']}" for one in given]
        refs += [text for text in dict.fromkeys(texts) if text not in refs]
        if refs:
            spec["context_refs"] = refs
        words = self.args.get("note") or f"Handed over: {', '.join(one['name'] for one in given)}"
        entry = {
            "id": self.args["comment_id"],
            "author": self.agent,
            "at": time_text(self.asked_at),
            "text": f"From {finished.id}: {words}",
        }
        links = list(bead.get("links", []))
        if finished.id not in mentions(bead):
            links.append({"type": LINK, "id": finished.id})
        fed = bead.evolve(spec=spec, comments=[*bead.comments, entry], links=links)
        if self.args.get("new"):
            return fed
        return lifecycle.touch(attended(fed, "comment", self, after, context), self.asked_at)
