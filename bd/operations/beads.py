"""Operations on what beads say: create, update, comment, delete, and the hub's own files.

Does not belong here: claims and ends of work (claims.py), edges (graph.py), hand edits (hand.py).
"""

from __future__ import annotations

from typing import NamedTuple

from bd import ids
from bd.clock import duration_s, time_text, typed_time
from bd.errors import BadInput, IdTaken
from bd.model import (
    BEAD_FIELDS,
    STORED_STATUSES,
    TITLE_LIMIT,
    TYPES,
    Bead,
    Change,
)
from bd.operations.base import Operation, register, subject
from bd.operations.capacity import with_capacity
from bd.operations.graph import refuse_circles
from bd.policy import lifecycle
from bd.policy.dag import WAITING_LINKS
from bd.policy.priority import priority_of_base
from bd.policy.ready import NOT_WORK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.model import Snapshot
    from bd.operations.base import World

TYPE_ALIASES = {
    "mr": "merge-request",
    "feat": "feature",
    "mol": "molecule",
    "enhancement": "feature",
    "dec": "decision",
    "adr": "decision",
    "investigation": "spike",
    "timebox": "spike",
    "user-story": "story",
    "ms": "milestone",
}
# `--deps` kinds that mean "the new bead waits for the other".
_BLOCKING_KINDS = frozenset({"", "blocks-on", "blocked-by", "depends-on"})
_KNOWN_LINKS = WAITING_LINKS | {
    "related",
    "relates-to",
    "discovered-from",
    "duplicates",
    "supersedes",
    "caused-by",
    "replies-to",
    "validates",
    "tracks",
    "until",
    "authored-by",
    "assigned-to",
    "approved-by",
    "attests",
    "delegated-from",
}


def check_type(text: str, world: World) -> str:
    """The bead type, aliases resolved. Raises BadInput naming the known ones."""
    name = TYPE_ALIASES.get(text.strip().lower(), text.strip().lower())
    known = {*TYPES, *NOT_WORK, "publish", "event", *world.settings.types}
    if name not in known:
        raise BadInput(
            f"{text!r} is no bead type here",
            hint=f"one of {', '.join([*TYPES, *world.settings.types])}; `types:` in {'.beads/config.yaml'} adds more",
        )
    return name


def check_status(text: str, world: World) -> str:
    """The stored status. Raises BadInput for one this hub does not know."""
    name = text.strip().lower().replace("-", "_")
    if name not in {*STORED_STATUSES, "ready", "pinned", "hooked", *world.settings.statuses}:
        raise BadInput(f"{text!r} is no status here", hint=f"one of {', '.join([*STORED_STATUSES, *world.settings.statuses])}")
    return name


def checked(fields: dict[str, Any], world: World) -> dict[str, Any]:
    """Typed-in bead fields in their stored form: times, durations, priority, type. Raises BadInput."""
    out: dict[str, Any] = {}
    for key, value in fields.items():
        kind = BEAD_FIELDS.get(key)
        if value is None or value == "":
            out[key] = None
        elif key == "title":
            out[key] = check_title(value)
        elif key == "type":
            out[key] = check_type(str(value), world)
        elif kind == "time":
            out[key] = typed_time(str(value), world.now)
        elif kind == "duration":
            duration_s(str(value))
            out[key] = str(value)
        else:
            out[key] = value
    base = out.get("base_priority")
    if base is not None:
        if not 0 <= float(base) <= 100:
            raise BadInput(f"base_priority {base} is not between 0 and 100")
        out.setdefault("priority", priority_of_base(float(base)))
    return out


def check_title(text: str) -> str:
    """The title on one line. Raises BadInput for an empty or too long one."""
    title = " ".join(str(text).split())
    if not title:
        raise BadInput("a bead needs a title", hint='bd create "Fix the login page"')
    if len(title) > TITLE_LIMIT:
        raise BadInput(f"the title has {len(title)} characters, {TITLE_LIMIT} are allowed", hint="use --description")
    return title


def parse_dep(text: str) -> tuple[str, str]:
    """The kind and the id of a `--deps` entry: `ID`, or `kind:ID`. Raises BadInput for an unknown kind."""
    kind, colon, target = text.strip().partition(":")
    if not colon:
        return "", kind
    kind = kind.strip().lower().replace("_", "-")
    if kind not in _BLOCKING_KINDS | _KNOWN_LINKS | {"blocks", "parent-child", "parent"}:
        raise BadInput(f"{kind!r} is no kind of dependency", hint="ID, blocks:ID, or discovered-from:ID, related:ID ...")
    return kind, target.strip()


class _Edges(NamedTuple):
    """The edges of one new bead, as exact ids; `blocks` are those that wait for it."""

    depends_on: list[str]
    links: list[dict[str, str]]
    blocks: list[str]
    parent: str | None


@register
class Create(Operation):
    """New beads. `beads`: a list of {uid, title, any field, id?, name?, deps?}; all in one commit.

    `deps` and `parent` are ids, or names of other beads of the same call.
    """

    verb: ClassVar[str] = "create"

    def prepare(self) -> None:
        for spec in self.args["beads"]:
            spec.setdefault("uid", ids.mint())
        self._ids_before = [spec.get("id") for spec in self.args["beads"]]

    def renamed(self, change: Change) -> dict[str, str]:
        pairs = zip(self._ids_before, change.touched, strict=True)
        return {old: new for old, new in pairs if old and old != new}

    def follow(self, renamed: Mapping[str, str]) -> None:
        super().follow(renamed)
        for spec in self.args["beads"]:  # a child's id starts with its parent's
            above, dot, rest = (spec.get("id") or "").rpartition(".")
            if spec.get("minted") and above in renamed:
                spec["id"] = f"{renamed[above]}{dot}{rest}"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        specs = self.args["beads"]
        present = [snapshot.by_uid(spec["uid"]) for spec in specs]
        if all(present):
            made = tuple(bead.id for bead in present if bead)
            return Change({}, "", touched=made, result={spec.get("name") or made[i]: made[i] for i, spec in enumerate(specs)})
        beads: dict[str, Bead | None] = {}
        touched: list[str] = []
        names: dict[str, str] = {}
        for spec in specs:  # names first, so that one bead of the call may wait for a later one
            known = self._same_key(spec, snapshot)
            new_id = known.id if known else self._new_id(spec, snapshot, world, {*beads}, names)
            if spec.get("name"):
                names[spec["name"]] = new_id
            touched.append(new_id)
            if not known:
                beads[new_id] = None
        new = [(new_id, spec) for new_id, spec in zip(touched, specs, strict=True) if new_id in beads]
        edges = {new_id: self._edges(spec, snapshot, names) for new_id, spec in new}
        for new_id, spec in new:
            beads[new_id] = self._made(new_id, spec, edges[new_id], snapshot, world)
        for new_id, spec_edges in edges.items():
            self._let_wait(spec_edges.blocks, new_id, snapshot, beads)
        change = Change(
            {bead_id: bead for bead_id, bead in beads.items() if bead is not None},
            subject("create", touched, self.by),
            touched=tuple(touched),
            result={spec.get("name") or touched[i]: touched[i] for i, spec in enumerate(specs)},
        )
        refuse_circles(change, snapshot)
        return change

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().pinned(change, before)
        beads = []
        for spec, bead_id in zip(self.args["beads"], change.touched, strict=True):
            made = {**self._exact(spec, before), "id": bead_id}
            beads.append(made if spec.get("id") else {**made, "minted": True})
        form["args"] = {"beads": beads}
        return form

    def _exact(self, spec: dict[str, Any], before: Snapshot) -> dict[str, Any]:
        """The spec with whole ids where a beginning was typed; names of this call stay names."""
        names = {other.get("name") for other in self.args["beads"]}

        def exact(entry: str) -> str:
            kind, colon, typed = entry.rpartition(":")
            return entry if typed.strip() in names else f"{kind}{colon}{self.find(typed, before).id}"

        edges: dict[str, Any] = {key: [exact(entry) for entry in spec[key]] for key in ("depends_on", "deps") if spec.get(key)}
        return {**spec, **edges, **({"parent": exact(spec["parent"])} if spec.get("parent") else {})}

    def _same_key(self, spec: dict[str, Any], snapshot: Snapshot) -> Bead | None:
        key = spec.get("idempotency_key")
        if not key:
            return None
        return next((bead for bead in snapshot.every() if bead.get("idempotency_key") == key), None)

    def _new_id(self, spec: dict[str, Any], snapshot: Snapshot, world: World, taken: set[str], names: dict[str, str]) -> str:
        def is_taken(bead_id: str) -> bool:
            return bead_id in taken or snapshot.exists(bead_id)

        wanted = spec.get("id")
        if wanted:
            wanted = ids.check_bead_id(wanted)
            if not is_taken(wanted):
                return wanted
            if not spec.get("minted"):
                raise IdTaken(f"{wanted} exists already", hint="leave --id out, and an id is made", id=wanted)
        parent = spec.get("parent")
        if parent:
            parent = names.get(parent) or self.find(parent, snapshot).id
        return ids.bead_id(world.settings.prefix, spec["uid"], is_taken, parent)

    def _made(self, new_id: str, spec: dict[str, Any], edges: _Edges, snapshot: Snapshot, world: World) -> Bead:
        given = {key: value for key, value in spec.items() if key in BEAD_FIELDS}
        fields = {key: value for key, value in checked(given, world).items() if value not in (None, [], {})}
        if edges.parent:
            fields["parent"] = edges.parent
            above = snapshot.head(edges.parent)
            if above is not None and spec.get("inherit_labels", True):
                labels = sorted({*fields.get("labels", []), *above.labels})
                fields.update({"labels": labels} if labels else {})
        stamp = time_text(self.asked_at)
        status = check_status(str(fields.get("status", "open")), world)
        fields.setdefault("priority", 2)
        bead = Bead(
            {
                **fields,
                "id": new_id,
                "uid": spec["uid"],
                "title": check_title(fields.get("title", "")),
                "type": fields.get("type", "task"),
                "status": "open" if status == "ready" else status,
                "created_at": fields.get("created_at", stamp),
                "created_by": fields.get("created_by", self.by),
                "updated_at": time_text(self.asked_at, exact=True),
            }
        )
        if fields.get("defer_until") and bead.status == "open":
            bead = bead.evolve(status="deferred")
        return bead.evolve(depends_on=edges.depends_on, links=edges.links)

    def _let_wait(self, targets: list[str], new_id: str, snapshot: Snapshot, beads: dict[str, Bead | None]) -> None:
        """The other way round: beads that were there, or are made beside it, wait for the new one."""
        for target in targets:
            other = beads.get(target) or snapshot.bead(target)
            if other is not None and new_id not in other.depends_on:
                beads[target] = lifecycle.touch(other.evolve(depends_on=[*other.depends_on, new_id]), self.asked_at)

    def _edges(self, spec: dict[str, Any], snapshot: Snapshot, names: dict[str, str]) -> _Edges:
        depends_on: list[str] = []
        links = [dict(link) for link in spec.get("links", [])]
        blocks: list[str] = []
        parent = spec.get("parent")
        parent = (names.get(parent) or self.find(parent, snapshot).id) if parent else None
        for entry in [*spec.get("depends_on", []), *spec.get("deps", [])]:
            kind, typed = parse_dep(entry)
            target = names.get(typed) or self.find(typed, snapshot).id
            if kind in _BLOCKING_KINDS:
                depends_on.append(target)
            elif kind == "blocks":
                blocks.append(target)
            elif kind in ("parent", "parent-child"):
                parent = target
            else:
                links.append({"type": kind, "id": target})
        return _Edges(list(dict.fromkeys(depends_on)), links, blocks, parent)


@register
class Update(Operation):
    """Changes of fields. `ids`; `set` {field: value or None}; `append` {field: text}; `add`/`remove` {labels: [...]};

    `metadata` {key: value or None}; `status` and `reason`; `force`.
    """

    verb: ClassVar[str] = "update"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        owners: set[str | None] = set()

        def change_one(bead: Bead) -> Bead:
            owners.add(bead.claim.agent if bead.claim else None)
            return self._changed(bead, snapshot, world)

        beads, done, failed = self.each(self.args["ids"], snapshot, change_one)
        words = self.args.get("verb_words") or "update"
        change = Change(beads, subject(words, done, self.by), touched=tuple(done), failures=tuple(failed))
        if self.args.get("set", {}).get("parent"):
            refuse_circles(change, snapshot)
        if self.args.get("status") or "assignee" in self.args.get("set", {}):
            change = with_capacity(change, snapshot, owners, world.now)
        return change

    def pinned(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().pinned(change, before)
        parent = self.args.get("set", {}).get("parent")
        if parent:
            form["args"]["set"] = {**self.args["set"], "parent": self.find(parent, before).id}
        return form

    def _changed(self, bead: Bead, snapshot: Snapshot, world: World) -> Bead:
        args = self.args
        wanted = checked(args.get("set", {}), world)
        status = args.get("status")
        after = bead
        if "assignee" in wanted and wanted["assignee"] != bead.assignee:
            lifecycle.guard(bead, self.token_for(bead.id), force=args.get("force", False))
        if status:
            status = check_status(status, world)
            if status != bead.status:
                lifecycle.guard(bead, self.token_for(bead.id), force=args.get("force", False))
                if wanted.get("defer_until"):
                    after = after.evolve(defer_until=wanted["defer_until"])
                after = lifecycle.with_status(after, status, self.by, args.get("reason"), self.asked_at)
        if wanted.get("parent"):
            wanted["parent"] = self.find(wanted["parent"], snapshot).id
        if wanted.get("priority") is not None and "base_priority" not in wanted and bead.get("base_priority") is not None:
            wanted["base_priority"] = None
        after = after.evolve(**wanted)
        for key, text in args.get("append", {}).items():
            after = after.evolve(**{key: f"{after.get(key)}\n{text}" if after.get(key) else text})
        after = self._listed(after)
        if args.get("metadata"):
            merged = {**after.get("metadata", {}), **args["metadata"]}
            after = after.evolve(metadata={key: value for key, value in merged.items() if value is not None})
        return lifecycle.touch(after, self.asked_at) if after != bead else bead

    def _listed(self, bead: Bead) -> Bead:
        for key in ("labels", "needs"):
            added = self.args.get("add", {}).get(key, [])
            removed = set(self.args.get("remove", {}).get(key, []))
            if added or removed:
                values = {*bead.get(key, []), *added} - removed
                bead = bead.evolve(**{key: sorted(values)})
        return bead


@register
class Comment(Operation):
    """A comment on one bead: `ids` (one), `text`, `author`, `comment_id`."""

    verb: ClassVar[str] = "comment"

    def prepare(self) -> None:
        self.args.setdefault("comment_id", ids.mint())

    def decide(self, snapshot: Snapshot, world: World) -> Change:
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
        after = lifecycle.touch(bead.evolve(comments=[*bead.comments, entry]), self.asked_at)
        return Change({bead.id: after}, subject("comment", [bead.id], self.by), touched=(bead.id,), result=entry)


@register
class Delete(Operation):
    """Remove beads for good: `ids`, `force` (also when claimed). What waited for them no longer does."""

    verb: ClassVar[str] = "delete"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
        owners: set[str | None] = set()

        def remove(bead: Bead) -> None:
            lifecycle.guard(bead, self.token_for(bead.id))
            owners.add(bead.claim.agent if bead.claim else None)

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
        return with_capacity(change, snapshot, owners, world.now)


def _without(bead: Bead, target: str) -> Bead:
    return bead.evolve(
        depends_on=[other for other in bead.depends_on if other != target],
        parent=None if bead.parent == target else bead.parent,
        links=[link for link in bead.get("links", []) if link.get("id") != target],
    )


@register
class Write(Operation):
    """Set records (agents, configuration) and raw files of the hub: `records` {path: fields}, `files` {path: text}."""

    verb: ClassVar[str] = "config"

    def decide(self, snapshot: Snapshot, world: World) -> Change:
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
