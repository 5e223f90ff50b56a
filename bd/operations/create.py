"""Creating beads: one or a whole plan, in one commit."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import ids
from bd.core.errors import BadInput, Damaged, IdTaken
from bd.core.model import Bead, Change
from bd.core.schema import BEAD_FIELDS, CONFIG_PATH, SPENT_KEYS, WAITING_LINKS
from bd.core.times import time_text
from bd.operations.base import Operation, mint, referred_by, register, subject
from bd.operations.dependencies import refuse_circles
from bd.operations.field_values import check_status, check_title, checked, refuse_twin
from bd.policy import lifecycle
from bd.policy.capacity import refuse_away

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime
    from bd.core.settings import Settings


# Kinds of `--deps` that mean "the new bead waits for the other".
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


def parse_dep(text: str) -> tuple[str, str]:
    """Parse a `--deps` entry, `ID` or `kind:ID`, into kind and id. Raises BadInput for an unknown kind."""
    kind, colon, target = text.strip().partition(":")
    if not colon:
        return "", kind
    kind = kind.strip().lower().replace("_", "-")
    if kind not in _BLOCKING_KINDS | _KNOWN_LINKS | {"blocks", "parent-child", "parent"}:
        raise BadInput(f"{kind!r} is not a kind of dependency", hint="ID, blocks:ID, or discovered-from:ID, related:ID ...")
    return kind, target.strip()


def _gone_words(bead_id: str) -> str:
    return f"{bead_id} was created earlier with this idempotency key and deleted; it is not created again"


def minted_id(settings: Settings, uid: str, is_taken: Callable[[str], bool], parent: str | None = None) -> str:
    """A new bead's id. Raises Damaged or BadInput for a prefix that no id can begin with: what is there stays readable."""
    prefix = settings.prefix
    if not parent and not ids.is_prefix(prefix):
        words, hint = f"prefix = {prefix!r}: no id can start with it", "`bd config set prefix hub`: letters, digits, - and _"
        if settings.sources.get("prefix") == "hub":
            raise Damaged(f"{CONFIG_PATH} has {words}", hint=f"{hint}; existing ids stay")
        raise BadInput(f"{words} ({settings.sources.get('prefix')})", hint="`bd config list` shows where it is from")
    return ids.bead_id(prefix, uid, is_taken, parent)


def with_parents_id(spec: dict[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """Adjust a child's id, which starts with its parent's, if the parent got a new one."""
    above, dot, rest = (spec.get("id") or "").rpartition(".")
    return {**spec, "id": f"{renamed[above]}{dot}{rest}"} if spec.get("minted") and above in renamed else spec


def with_refs(fields: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename the beads in a bead's `context_refs` (`task:NAME:output`)."""
    spec = fields.get("spec")
    refs = spec.get("context_refs") if isinstance(spec, dict) else None
    if not spec or not isinstance(refs, list):
        return fields
    parts = [str(ref).split(":") for ref in refs]
    renamed = [
        ":".join([one[0], names.get(one[1], one[1]), *one[2:]]) if one[0] == "task" and one[1:] else ":".join(one)
        for one in parts
    ]
    return {**fields, "spec": {**spec, "context_refs": renamed}}


class _Edges(NamedTuple):
    """The edges of one new bead, as exact ids; `blocks` are the beads that wait for it."""

    depends_on: list[str]
    links: list[dict[str, str]]
    blocks: list[str]
    parent: str | None


@register
class Create(Operation):
    """Create beads: `beads` is a list of {uid, title, any field, id?, name?, deps?}; all in one commit.

    `force` also assigns to agents that are offline. `deps` and `parent` are ids, or names of other beads of the same call.
    """

    verb: ClassVar[str] = "create"
    force_ends_claims: ClassVar[bool] = False
    takes: ClassVar[frozenset[str]] = frozenset({"beads", "force"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        for spec in args["beads"]:
            mint(spec, "uid", runtime)

    def new_ids(self, change: Change) -> dict[str, str]:
        pairs = zip((spec.get("id") for spec in self.args["beads"]), change.touched, strict=True)
        return {old: new for old, new in pairs if old and old != new}

    def _renamed_args(self, renamed: Mapping[str, str]) -> dict[str, Any]:
        args = super()._renamed_args(renamed)
        return {**args, "beads": [with_parents_id(spec, renamed) for spec in args["beads"]]}

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        specs = self.args["beads"]
        present = [snapshot.by_uid(spec["uid"]) for spec in specs]
        if all(present):
            return self.made_before([bead.id for bead in present if bead])
        beads: dict[str, Bead | None] = {}
        touched: list[str] = []
        names: dict[str, str] = {}
        keys = self.known_keys(snapshot)
        for spec in specs:  # names first, so that a bead may wait for a later one of the same call
            known = keys.get(spec.get("idempotency_key", ""))
            new_id = known or self._new_id(spec, snapshot, context, beads, names)
            if spec.get("name"):
                names[spec["name"]] = new_id
            touched.append(new_id)
            if not known:
                beads[new_id] = None
        new = [(new_id, spec) for new_id, spec in zip(touched, specs, strict=True) if new_id in beads]
        edges = {new_id: self._edges(spec, snapshot, names) for new_id, spec in new}
        for number, (new_id, spec) in enumerate(new):
            if not self.args.get("force"):
                refuse_away(ids.agent_or_person(spec.get("assignee") or ""), snapshot, self.asked_at)
            # Lists put older beads first: those of one call follow each other by the smallest step that a time can show.
            stamp = time_text(self.asked_at + timedelta(microseconds=number), exact=True)
            given = with_refs(spec, self._references(spec, names, snapshot))
            beads[new_id] = self._made(new_id, given, edges[new_id], snapshot, context, stamp)
        for new_id, spec_edges in edges.items():
            self._let_wait(spec_edges.blocks, new_id, snapshot, beads)
        made = self.made_before(touched)
        change = made.replace(
            beads={bead_id: bead for bead_id, bead in beads.items() if bead is not None},
            subject=subject(self.verb, touched, self.by),
            notes=tuple(_gone_words(bead_id) for bead_id in touched if bead_id not in beads and not snapshot.exists(bead_id)),
        )
        refuse_circles(change, snapshot, {bead_id: name for name, bead_id in names.items()})
        return change

    def made_before(self, made: list[str]) -> Change:
        """Return an empty change with the existing beads, one for each spec."""
        result = {spec.get("name") or made[i]: made[i] for i, spec in enumerate(self.args["beads"])}
        return Change({}, "", touched=tuple(made), result=result)

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        beads = []
        for spec, bead_id in zip(self.args["beads"], change.touched, strict=True):
            made = {**self._exact(spec, before), "id": bead_id}
            beads.append(made if spec.get("id") else {**made, "minted": True})
        form["args"] = {**({"force": True} if self.args.get("force") else {}), "beads": beads}
        return form

    def _exact(self, spec: dict[str, Any], before: Snapshot) -> dict[str, Any]:
        """Return the spec with full ids instead of typed prefixes; names of this call stay names."""
        names = {other.get("name") for other in self.args["beads"]}

        def exact(entry: str) -> str:
            kind, colon, typed = entry.rpartition(":")
            return entry if typed.strip() in names else f"{kind}{colon}{self.find(typed, before).id}"

        edges: dict[str, Any] = {key: [exact(entry) for entry in spec[key]] for key in ("depends_on", "deps") if spec.get(key)}
        return {**spec, **edges, **({"parent": exact(spec["parent"])} if spec.get("parent") else {})}

    def known_keys(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the ids of beads made earlier with this call's idempotency keys, including deleted ones."""
        wanted = {spec["idempotency_key"] for spec in self.args["beads"] if spec.get("idempotency_key")}
        if not wanted:
            return {}
        there = {bead.get("idempotency_key"): bead.id for bead in snapshot.every() if bead.get("idempotency_key") in wanted}
        spent = snapshot.config().get(SPENT_KEYS) or {}
        return {**{key: str(spent[key]) for key in wanted if key in spent}, **there}

    def _new_id(
        self, spec: dict[str, Any], snapshot: Snapshot, context: DecisionContext, taken: Mapping[str, Any], names: dict[str, str]
    ) -> str:
        def is_taken(bead_id: str) -> bool:
            return bead_id in taken or snapshot.exists(bead_id)

        wanted = spec.get("id")
        if wanted:
            wanted = ids.check_bead_id(wanted)
            if not is_taken(wanted):
                if not spec.get("minted"):
                    refuse_twin(wanted, snapshot, taken)
                return wanted
            if not spec.get("minted"):
                raise IdTaken(f"{wanted} exists already", hint="leave --id out, and an id is made", id=wanted)
        parent = spec.get("parent")
        if parent:
            parent = names.get(parent) or self.find(parent, snapshot).id
        return minted_id(context.settings, spec["uid"], is_taken, parent)

    def _made(
        self, new_id: str, spec: dict[str, Any], edges: _Edges, snapshot: Snapshot, context: DecisionContext, stamp: str
    ) -> Bead:
        given = {key: value for key, value in spec.items() if key in BEAD_FIELDS}
        fields = {key: value for key, value in checked(given, context).items() if value not in (None, [], {})}
        if edges.parent:
            fields["parent"] = edges.parent
            above = snapshot.head(edges.parent)
            if above is not None and spec.get("inherit_labels", True):
                labels = sorted({*fields.get("labels", []), *above.labels})
                fields.update({"labels": labels} if labels else {})
        status = check_status(str(fields.get("status", "open")), context)
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
                "updated_at": stamp,
            }
        )
        if fields.get("defer_until") and bead.status == "open":
            bead = bead.evolve(status="deferred")
        return bead.evolve(depends_on=edges.depends_on, links=edges.links)

    def _let_wait(self, targets: list[str], new_id: str, snapshot: Snapshot, beads: dict[str, Bead | None]) -> None:
        """Make existing beads, or other new ones, wait for the new one."""
        for target in targets:
            other = beads.get(target) or snapshot.bead(target)
            if other is not None and new_id not in other.depends_on:
                beads[target] = lifecycle.touch(other.evolve(depends_on=[*other.depends_on, new_id]), self.asked_at)

    def _edges(self, spec: dict[str, Any], snapshot: Snapshot, names: dict[str, str]) -> _Edges:
        depends_on: list[str] = []
        links = [self._link(link, snapshot) for link in spec.get("links", [])]
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

    def _link(self, link: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
        known = None if link.get("hub") else self.known_by_uid(link.get("id", ""), snapshot)
        return {**link, "id": known.id} if known is not None else dict(link)

    def _references(self, spec: dict[str, Any], names: dict[str, str], snapshot: Snapshot) -> dict[str, str]:
        """Return today's ids for the names in a spec's `context_refs`: beads of this call, or beads known by uid."""
        known = {one: self.known_by_uid(one, snapshot) for one in referred_by(spec) if one not in names}
        return {**names, **{one: bead.id for one, bead in known.items() if bead is not None}}


class MakesOne(Operation):
    """An operation that makes one bead and changes another: `new` has its fields, and it is last in `touched`."""

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        new = args.get("new")
        if new:
            mint(new, "uid", runtime)

    def new_ids(self, change: Change) -> dict[str, str]:
        before = (self.args.get("new") or {}).get("id")
        made = change.touched[-1] if change.touched else None
        return {before: made} if before and made and made != before else {}

    def _renamed_args(self, renamed: Mapping[str, str]) -> dict[str, Any]:
        args = super()._renamed_args(renamed)
        return {**args, "new": with_parents_id(args["new"], renamed)} if args.get("new") else args

    def exact_form(self, change: Change, before: Snapshot) -> dict[str, Any]:
        form = super().exact_form(change, before)
        new = self.args.get("new")
        if new:
            form["args"].update({"ids": [change.touched[0]]} if "ids" in self.args else {})
            form["args"]["new"] = {**new, "id": change.touched[-1], "minted": True}
        return form
