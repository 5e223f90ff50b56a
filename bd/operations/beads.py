"""Operations on the content of beads: update, comment, delete, and on the hub's other files.

Other families: create.py, claims.py, close.py, dependencies.py, hand_edits.py.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.model import Bead, Change
from bd.core.times import time_text
from bd.operations.base import Operation, mint, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.dependencies import refuse_circles, with_ages
from bd.operations.field_values import check_label, check_status, checked
from bd.operations.heat import attended
from bd.operations.idempotency import with_spent
from bd.policy import lifecycle, validation
from bd.policy.capacity import refuse_away
from bd.policy.eligibility import refuse_overlap
from bd.policy.overload import DONE, Ending

if TYPE_CHECKING:
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime


@register
class Update(Operation):
    """Change fields: `ids`; `set` {field: value or None}; `append` {field: text}; `add`/`remove` {labels: [...]}.

    Also `metadata` {key: value or None}; `maps` {spec, retry or output: {key: value or None}}; `status` and `reason`; `force`
    (may assign to an agent that is offline); `seals` of outputs that were validated, if this closes the bead.
    """

    verb: ClassVar[str] = "update"
    takes: ClassVar[frozenset[str]] = frozenset(
        {"add", "append", "force", "ids", "maps", "metadata", "reason", "remove", "seals", "set", "status", "verb_words"}
    )

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        owners: set[str | None] = set()
        endings: list[Ending] = []

        def change_one(bead: Bead) -> Bead:
            owners.update(bead.holders)
            after = self._changed(bead, snapshot, context)
            doer = self.holder_of(bead, snapshot) if after.status == "closed" else None
            if doer:
                endings.append(Ending(doer, DONE, bead.id))
            return after

        beads, done, failed = self.each(self.args["ids"], snapshot, change_one)
        words = self.args.get("verb_words") or "update"
        change = Change(beads, subject(words, done, self.by), touched=tuple(done), failures=tuple(failed))
        if self.args.get("status") or "parent" in self.args.get("set", {}):
            refuse_circles(change, snapshot)
        if "parent" in self.args.get("set", {}):
            change = with_ages(change, snapshot, self.asked_at)
        if self.args.get("set", {}).get("exclusive"):
            refuse_overlap(change, snapshot)
        if self.args.get("status") or "assignee" in self.args.get("set", {}):
            change = with_capacity(change, snapshot, owners, context.now, endings=endings)
        return change

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        parent = self.args.get("set", {}).get("parent")
        if parent:
            form["args"]["set"] = {**self.args["set"], "parent": self.find(parent, before).id}
        return form

    def _changed(self, bead: Bead, snapshot: Snapshot, context: DecisionContext) -> Bead:
        args = self.args
        wanted = checked(args.get("set", {}), context)
        status = args.get("status")
        after = bead
        if "assignee" in wanted and wanted["assignee"] != bead.assignee:
            self.guard(bead, snapshot)
            if not args.get("force"):
                refuse_away(wanted["assignee"], snapshot, self.asked_at)
        if status:
            status = check_status(status, context)
            if status != bead.status:
                self.guard(bead, snapshot)
                if wanted.get("defer_until"):
                    after = after.evolve(defer_until=wanted["defer_until"])
                if status == "closed" and not bead.is_done and not args.get("force"):
                    after = validation.sealed(after, args.get("seals") or {}, self.asked_at)
                after = lifecycle.with_status(after, status, self.by, args.get("reason"), self.asked_at)
                if lifecycle.is_reopening(bead, after):
                    after = attended(after, "reopening", self, snapshot, context)
        if "defer_until" in wanted and not wanted["defer_until"] and after.status == "open":
            after = after.evolve(reopened_at=lifecycle.open_since(bead, self.asked_at).get("reopened_at"))
        if wanted.get("parent"):
            wanted["parent"] = self.find(wanted["parent"], snapshot).id
        if wanted.get("priority") is not None and "base_priority" not in wanted and bead.get("base_priority") is not None:
            wanted["base_priority"] = None
        after = lifecycle.with_mode(bead, after.evolve(**wanted), self.asked_at)
        for key, text in args.get("append", {}).items():
            after = after.evolve(**{key: f"{after.get(key)}\n{text}" if after.get(key) else text})
        after = self._listed(after)
        for key, given in {**args.get("maps", {}), "metadata": args.get("metadata") or {}}.items():
            if given:
                merged = {**after.get(key, {}), **given}
                after = after.evolve(**{key: {name: value for name, value in merged.items() if value is not None}})
        return lifecycle.touch(after, self.asked_at) if after != bead else bead

    def _listed(self, bead: Bead) -> Bead:
        for key in ("labels", "needs"):
            added = self.args.get("add", {}).get(key, [])
            if key == "labels":
                added = [check_label(label) for label in added]
            removed = set(self.args.get("remove", {}).get(key, []))
            if added or removed:
                values = {*bead.get(key, []), *added} - removed
                bead = bead.evolve(**{key: sorted(values)})
        return bead


@register
class Comment(Operation):
    """Comment on one bead: `ids` (one), `text`, `author`, `comment_id`."""

    verb: ClassVar[str] = "comment"
    takes: ClassVar[frozenset[str]] = frozenset({"author", "comment_id", "ids", "text"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        mint(args, "comment_id", runtime)

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        text = self.args["text"].strip()
        if not text:
            raise BadInput("an empty comment")
        bead = self.find(self.args["ids"][0], snapshot)
        entry = {
            "id": self.args["comment_id"],
            "author": self.args.get("author") or self.agent,
            "at": time_text(self.asked_at),
            "text": text,
        }
        if any(comment.get("id") == entry["id"] for comment in bead.comments):
            return Change({}, "", touched=(bead.id,), result=entry)
        after = attended(bead.evolve(comments=[*bead.comments, entry]), "comment", self, snapshot, context)
        after = lifecycle.touch(after, self.asked_at)
        return Change({bead.id: after}, subject("comment", [bead.id], self.by), touched=(bead.id,), result=entry)


@register
class Delete(Operation):
    """Remove beads for good: `ids`. Refused while somebody else holds one. Beads that waited for it no longer do."""

    verb: ClassVar[str] = "delete"
    takes: ClassVar[frozenset[str]] = frozenset({"ids"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        owners: set[str | None] = set()

        def remove(bead: Bead) -> None:
            self.guard(bead, snapshot, force=False)
            owners.update(bead.holders)

        beads, done, failed = self.each(self.args["ids"], snapshot, remove)
        freed = 0
        for bead_id in done:
            for head in snapshot.mentioning(bead_id):
                if head.id in done:
                    continue
                other = beads.get(head.id) or snapshot.bead(head.id)
                if other is not None:
                    beads[head.id] = lifecycle.touch(_without(other, bead_id), self.asked_at)
                    freed += 1
        change = Change(
            beads,
            subject("delete", done, self.by),
            touched=tuple(done),
            failures=tuple(failed),
            result={"dependencies_removed": freed, "references_updated": freed},
        )
        return with_capacity(with_spent(with_ages(change, snapshot, self.asked_at), snapshot), snapshot, owners, context.now)


def _without(bead: Bead, target: str) -> Bead:
    return bead.evolve(
        depends_on=[other for other in bead.depends_on if other != target],
        parent=None if bead.parent == target else bead.parent,
        links=[link for link in bead.get("links", []) if link.get("id") != target],
    )


@register
class Write(Operation):
    """Write records (agents, configuration) and raw files of the hub: `records` {path: fields}, `files` {path: text}."""

    verb: ClassVar[str] = "config"
    takes: ClassVar[frozenset[str]] = frozenset({"files", "records", "words"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        records = {
            path: None if fields is None else {**(snapshot.record(path) or {}), **fields}
            for path, fields in self.args.get("records", {}).items()
        }
        records = {
            path: {k: v for k, v in fields.items() if v is not None} if fields is not None else None
            for path, fields in records.items()
        }
        changed = {path: fields for path, fields in records.items() if fields != snapshot.record(path)}
        files = {path: text.encode() for path, text in self.args.get("files", {}).items()}
        words = self.args.get("words") or "the hub's settings"
        return Change({}, f"config: {words} by {self.agent}", records=changed, files=files)
