"""Changes made by hand: edits of bead files, and whole commits made with plain git.

Both are differences between two versions. They are merged into the tip's version field by field, and judged as the operation they
amount to (docs/protocol.md, "Replay").
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, BdError, IdTaken, NoSuchBead, WrongState
from bd.core.model import Bead, Change, Overlay
from bd.core.schema import CAPACITY_DIR, agent_path
from bd.core.times import time_text
from bd.operations.base import Operation, following, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.dependencies import refuse_circles, with_ages
from bd.operations.field_values import check_title, refuse_twin
from bd.operations.idempotency import with_spent
from bd.policy import lifecycle
from bd.policy.capacity import limit_of
from bd.policy.eligibility import refuse_overlap

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


@register
class Edit(Operation):
    """Merge a hand edit, the difference between two versions of a bead: `ids` (one), `old`, `new` (fields or None).

    `text` is the new version's file (bytes), kept as typed if nobody else changed the bead. `path` is where a person put the
    file, if it moved. `targets` are the uids of the beads that it newly names, by id.

    Fields are merged one by one into the tip's bead: lists per element, maps per key, texts whole; two changes of one text are
    refused. Changes of status, owner, assignee, claim and attempts are judged as the operations they amount to, by an author
    without the token.
    """

    verb: ClassVar[str] = "edit"
    takes: ClassVar[frozenset[str]] = frozenset({"force", "ids", "new", "new_uid", "old", "path", "reason", "targets", "text"})

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        bead_id = self.args["ids"][0]
        old, new = self.args.get("old"), self.args.get("new")
        if new is not None:
            new = self._with_targets(new, snapshot)
        uid = (old or new or {}).get("uid")
        tip = (snapshot.by_uid(uid) if uid else None) or snapshot.bead(bead_id)
        if old is None:
            return self._added(bead_id, new, tip, snapshot)
        if tip is None and new is None:
            return Change({}, "", touched=(bead_id,))
        if tip is None:
            raise NoSuchBead(bead_id)
        if new is None:
            if dict(tip.fields) != old:
                raise WrongState(f"{tip.id} was changed since it was deleted by hand", id=tip.id)
            self.guard(tip, snapshot)
            return with_spent(Change({tip.id: None}, subject("edit", [tip.id], self.by), touched=(tip.id,)), snapshot)
        merged = self._merged(tip, old, new, snapshot)
        moves = self._moves(merged, snapshot.path_of(tip.id))
        if merged == tip:
            looks = {snapshot.path_of(tip.id): self.args["text"]} if old == new and self.args.get("text") else {}
            same = {tip.id: tip} if looks else {}  # comments, blank lines, key order: not part of any field, but worth keeping
            return Change(same, subject("edit", [tip.id], self.by), texts=looks, moves=moves, touched=(tip.id,))
        after = lifecycle.touch(merged, self.asked_at) if merged.updated_at == tip.updated_at else merged
        texts = {snapshot.path_of(tip.id): self.args["text"]} if self.args.get("text") and dict(tip.fields) == old else {}
        change = Change({tip.id: after}, subject("edit", [tip.id], self.by), texts=texts, moves=moves, touched=(tip.id,))
        change = with_ages(change, snapshot, self.asked_at)
        refuse_circles(change, snapshot)
        refuse_overlap(change, snapshot)
        return with_capacity(change, snapshot, tip.holders, context.now)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        """Return a form without arguments: a replay reads the commit's difference, which includes the person's text."""
        return _form(self)

    def _with_targets(self, new: dict[str, Any], snapshot: Snapshot) -> dict[str, Any]:
        """Return the new version with today's ids of the beads that it newly names. Raises NoSuchBead if one is gone."""
        renamed: dict[str, str] = {}
        for named, uid in (self.args.get("targets") or {}).items():
            known = snapshot.by_uid(uid)
            if known is None:
                raise NoSuchBead(named)
            if known.id != named:
                renamed[named] = known.id
        return {key: following(key, value, renamed) for key, value in new.items()} if renamed else new

    def _moves(self, bead: Bead, here: str) -> dict[str, str]:
        """Return where a person moved the file of a done bead; any other bead's file stays among the active ones."""
        path = self.args.get("path")
        return {bead.id: path} if path and path != here and bead.is_done else {}

    def _added(self, bead_id: str, new: dict[str, Any] | None, tip: Bead | None, snapshot: Snapshot) -> Change:
        if new is None or (tip is not None and all(tip.get(key) == value for key, value in new.items())):
            return Change({}, "", touched=(bead_id,))
        if tip is not None:
            raise IdTaken(f"{bead_id} exists already on the hub", hint="give the new bead another id", id=bead_id)
        refuse_twin(bead_id, snapshot)
        bead = Bead(new)
        stamp = time_text(self.asked_at)
        bead = bead.evolve(
            title=check_title(bead.title),
            uid=bead.uid or self.args.get("new_uid"),
            created_at=new.get("created_at", stamp),
            created_by=new.get("created_by", self.by),
            updated_at=new.get("updated_at", time_text(self.asked_at, exact=True)),
        )
        if bead.claims:
            raise WrongState(f"{bead_id}: a claim is made with `bd claim`, not by hand", id=bead_id)
        texts = {snapshot.path_of(bead_id): self.args["text"]} if self.args.get("text") else {}
        moves = self._moves(bead, snapshot.path_of(bead_id))
        change = Change({bead_id: bead}, subject("edit", [bead_id], self.by), texts=texts, moves=moves, touched=(bead_id,))
        refuse_circles(change, snapshot)
        refuse_overlap(change, snapshot)
        return change

    def _merged(self, tip: Bead, old: dict[str, Any], new: dict[str, Any], snapshot: Snapshot) -> Bead:
        guarded = {key for key in lifecycle.HOLDER_FIELDS if old.get(key) != new.get(key)}
        after = tip
        if guarded:
            after = self._judged(tip, old, new, guarded, snapshot)
        for key in sorted({*old, *new}):
            if key in lifecycle.HOLDER_FIELDS or key in ("id", "uid") or old.get(key) == new.get(key):
                continue
            if key in ("closed_at", "closed_by", "close_reason", "started_at", "claimed_at") and "status" in guarded:
                if new.get(key):
                    after = after.evolve(**{key: new[key]})
                continue
            after = after.evolve(**{key: merge_field(tip.id, key, old.get(key), new.get(key), after.get(key))})
        return lifecycle.with_mode(tip, after, self.asked_at)

    def _judged(self, tip: Bead, old: dict[str, Any], new: dict[str, Any], guarded: set[str], snapshot: Snapshot) -> Bead:
        force = self.args.get("force", False)
        dropped_claim = "claim" in guarded and new.get("claim") is None
        self._refuse_typed(tip, new, guarded - ({"claim"} if dropped_claim else set()))
        if "status" in guarded and "status" in old and tip.status == new.get("status", "open"):
            guarded = guarded - {"status"}
            if not guarded:
                return tip
        self.guard(tip, snapshot)
        after = tip
        if "status" in guarded:
            reason = new.get("close_reason") or new.get("status_reason")
            after = lifecycle.with_status(tip, new.get("status", "open"), self.by, reason, self.asked_at)
        elif dropped_claim:
            after = lifecycle.released(tip, None, self.asked_at)
        for key in guarded & {"assignee", "owner", "output", "attempts"}:
            merged = new.get(key) if force else merge_field(tip.id, key, old.get(key), new.get(key), tip.get(key))
            after = after.evolve(**{key: merged})
        return after

    def _refuse_typed(self, tip: Bead, new: dict[str, Any], guarded: set[str]) -> None:
        """Refuse changes that nobody may make by hand, or only with force and a reason. Raises WrongState and BadInput."""
        claims = guarded & {"claim", "claims"}
        if claims or ("attempts" in guarded and not self.args.get("force")):
            words = ", ".join(sorted(claims | (guarded & {"attempts"})))
            hint = "use bd claim, release or close; `bd sync --force --reason TEXT` ends a claim, and counts attempts"
            raise WrongState(f"{tip.id}: {words} can't be changed by hand", hint=hint, id=tip.id)
        if "attempts" not in guarded:
            return
        if new.get("attempts", 0) < tip.attempts:
            hint = f"`attempts_forgiven: {tip.attempts - new.get('attempts', 0)}` sets how many do not count"
            raise WrongState(f"{tip.id}: attempts can't be lowered, even with --force", hint=hint, id=tip.id)
        if not (self.args.get("reason") or "").strip():
            raise BadInput(f"{tip.id}: --force needs --reason", hint="give a --reason TEXT", id=tip.id)


def merge_field(bead_id: str, key: str, old: Any, new: Any, tip: Any) -> Any:
    """Merge one field three ways: per element, per key, or whole. Raises WrongState on a conflict."""
    if tip in (old, new) or key == "updated_at":
        return new
    if all(isinstance(value, list) or value is None for value in (old, new, tip)):
        olds, news, tips = list(old or []), list(new or []), list(tip or [])
        removed = [item for item in olds if item not in news]
        added = [item for item in news if item not in olds and item not in tips]
        return [item for item in tips if item not in removed] + added
    if all(isinstance(value, dict) or value is None for value in (old, new, tip)):
        merged = dict(tip or {})
        for inner in {*(old or {}), *(new or {})}:
            before, after = (old or {}).get(inner), (new or {}).get(inner)
            if before != after:
                merged[inner] = merge_field(bead_id, f"{key}.{inner}", before, after, merged.get(inner))
        return {inner: value for inner, value in merged.items() if value is not None}
    raise WrongState(f"{bead_id}: {key} was changed here and on the hub", id=bead_id, field=key)


def _merged_record(
    path: str, old: dict[str, Any] | None, new: dict[str, Any] | None, tip: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Merge a record three ways, key by key; None if it was deleted. Raises WrongState on a conflict."""
    if tip == old:
        return new
    if new is None or tip is None:
        raise WrongState(f"{path} was changed here and on the hub", path=path)
    old = old or {}
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    merged = {key: merge_field(path, key, old.get(key), new.get(key), tip.get(key)) for key in changed}
    return {key: value for key, value in {**tip, **merged}.items() if value is not None}


class HandCommit(Operation):
    """Merge a commit made with plain git: `edits` [{id, old, new, text, into}], `files` {path: (old, new, tip) bytes}.

    `records` {path: (old, new, text)} are the other YAML files that bd reads, merged key by key.

    Refused parts become the change's `refusals`; the rest goes through. Exists only in memory: its commit on the hub has no
    arguments, and is read from its difference.
    """

    verb: ClassVar[str] = "edit"
    takes: ClassVar[frozenset[str]] = frozenset({"edits", "files", "force", "modes", "reason", "records"})

    @property
    def is_portable(self) -> bool:
        return False

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        refusals: list[BdError] = []
        change = Change({}, "")
        for edit in self.args["edits"]:
            if edit.get("into") and not self._is_free(edit["into"], snapshot):  # the destination of the move is refused
                continue
            after = Overlay(snapshot, change)
            args = {"ids": [edit["id"]], **{key: edit.get(key) for key in ("old", "new", "text", "new_uid", "path", "targets")}}
            args |= {key: self.args.get(key) for key in ("force", "reason")}
            try:
                part = Edit(by=self.by, at=self.at, uid=self.uid, tokens=self.tokens, **args).decide(after, context)
            except BdError as error:
                refusals.append(error)
                continue
            if part.is_empty:
                continue
            change = change.replace(
                beads={**change.beads, **part.beads},
                records={**change.records, **part.records},
                texts={**change.texts, **part.texts},
                moves={**change.moves, **part.moves},
                touched=(*change.touched, *part.touched),
            )
        records, texts = self._records(Overlay(snapshot, change), refusals)
        files = self._files(snapshot, refusals)
        if change.is_empty and not records and not files:
            return Change({}, "", touched=change.touched, refusals=tuple(refusals))
        modes = {path: mode for path, mode in self.args.get("modes", {}).items() if path in files}
        words = subject("edit", change.touched, self.by)
        if not change.beads and not change.moves:
            words = f"edit: {', '.join([*records, *files])} by {self.agent}"
        return change.replace(
            records={**change.records, **records},
            texts={**change.texts, **texts},
            files=files,
            modes=modes,
            subject=words,
            refusals=tuple(refusals),
        )

    def _records(self, snapshot: Snapshot, refusals: list[BdError]) -> tuple[dict[str, dict[str, Any] | None], dict[str, bytes]]:
        """Return the merged configuration, agent and capacity files of the commit, and the texts kept as typed."""
        taken: dict[str, dict[str, Any] | None] = {}
        texts: dict[str, bytes] = {}
        for path, (old, new, text) in self.args.get("records", {}).items():
            found = snapshot.record(path)
            tip = None if found is None else dict(found)
            if tip == new and tip != old:
                continue
            try:
                _refuse_limit(path, old, new, snapshot)
                taken[path] = _merged_record(path, old, new, tip)
            except BdError as error:
                refusals.append(error)
                continue
            if tip == old and text is not None:
                texts[path] = text
        return taken, texts

    def _is_free(self, path: str, snapshot: Snapshot) -> bool:
        """Return whether the hub has left a file of the commit unchanged, or changed it in the same way."""
        old, new, published = self.args["files"][path]
        return snapshot.files_changed().get(path, published) in (old, new)

    def _files(self, snapshot: Snapshot, refusals: list[BdError]) -> dict[str, bytes | None]:
        """Return the other files of the commit; one that the hub changed, too, is refused."""
        taken: dict[str, bytes | None] = {}
        waiting = snapshot.files_changed()
        for path, (old, new, published) in self.args["files"].items():
            tip = waiting.get(path, published)
            if tip == new and old != new:  # if both are the same, the commit changes only the mode
                continue
            if tip == old:
                taken[path] = new
            else:
                refusals.append(WrongState(f"{path} was changed here and on the hub", path=path))
        return taken

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        return _form(self)


def _refuse_limit(path: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, snapshot: Snapshot) -> None:
    """Refuse a limit typed into the capacity file of an agent whose own file has the say. Raises WrongState."""
    name = path.removeprefix(CAPACITY_DIR).removesuffix(".yaml")
    typed = (new or {}).get("max_concurrent")
    if not path.startswith(CAPACITY_DIR) or snapshot.agent(name) is None:
        return
    limit = limit_of(name, snapshot)
    if typed not in (None, (old or {}).get("max_concurrent"), limit):
        words = f"{path}: max_concurrent is {limit}, as {agent_path(name)} says"
        raise WrongState(words, hint=f"`bd agent add {name} --max {typed}` changes it", agent=name)


def _form(operation: Operation) -> dict[str, Any]:
    """Return the form of an operation read from a difference: author, time, and its tokens or force."""
    form = {"verb": operation.verb, "uid": operation.uid, "by": operation.by, "at": operation.at, "by_difference": True}
    if operation.tokens:
        form["tokens"] = operation.tokens
    forced = {key: operation.args[key] for key in ("force", "reason") if operation.args.get(key)}
    return {**form, "args": forced} if forced.get("force") else form
