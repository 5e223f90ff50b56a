"""Import: adds beads made elsewhere in one commit.

Decides what happens to beads that exist here already, which edges are valid, and which of them would close a cycle. The formats
are in bd/compat, which passes bead fields.
"""

from __future__ import annotations

import hashlib
import json

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, IdTaken
from bd.core.model import Bead, Change
from bd.core.schema import DONE_STATUSES, GO_KEYS
from bd.core.times import instant_of, time_text
from bd.operations.base import Operation, register, subject
from bd.operations.capacity_file import with_capacity
from bd.operations.create import minted_id
from bd.operations.cycles import untangled
from bd.policy.eligibility import refuse_overlap

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext
    from bd.core.runtime import Runtime

CONFLICT_RULES = ("newer", "skip", "fail")
# Blocking edges and parents are plain ids in a bead; this key keeps who made them and when.
EDGE_DETAILS = "edge_details"
# Keys of a bead that a record of the Go tool can contain. What such a record leaves out is unset there, so an update unsets it
# here, too; all other keys are bd's own, and kept.
STATED_KEYS = frozenset(
    {
        *("title", "type", "status", "priority", "description", "design", "acceptance_criteria", "notes", "assignee"),
        *("owner", "estimated_minutes", "created_at", "created_by", "updated_at", "started_at", "closed_at", "close_reason"),
        *("deadline", "defer_until", "external_ref", "metadata", "labels", "depends_on", "parent", "links", "comments"),
        *GO_KEYS,
    }
)
_ULID_CHARS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def derived_uid(words: str, made_at: str | None) -> str:
    """Return the uid of a bead that came without one: the same for the same text and time, in every hub."""
    made_ms = max(0, int(instant_of(made_at).timestamp())) * 1000 if made_at else 0
    number = (made_ms << 80) | int.from_bytes(hashlib.sha256(words.encode()).digest()[:10], "big")
    return "".join(_ULID_CHARS[(number >> (5 * place)) & 31] for place in range(25, -1, -1))


@register
class Import(Operation):
    """Import beads in one commit: `beads` (their fields), `on_conflict` (newer, skip, fail), `dedup`.

    Ids are kept; a record without one gets one that is the same each time. A bead with a live claim is never touched. An edge
    to a bead that is not here is kept: a later import may bring that bead. The result lists what was created, updated, unchanged
    and skipped, which edges lead to a missing bead, and which are kept as links because they would close a cycle.
    """

    verb: ClassVar[str] = "import"
    takes: ClassVar[frozenset[str]] = frozenset({"beads", "dedup", "on_conflict"})

    @classmethod
    def prepare(cls, args: dict[str, Any], runtime: Runtime | None) -> None:
        super().prepare(args, runtime)
        if args.setdefault("on_conflict", "newer") not in CONFLICT_RULES:
            raise BadInput(f"{args['on_conflict']!r} is not a rule for conflicts", hint="newer, skip or fail")

    @property
    def needs_remote(self) -> bool:
        """True if a record contains a claim: such an import is never kept in this clone for later."""
        return any(record.get("claim") or record.get("claims") for record in self.args["beads"])

    def named_in(self, args: Mapping[str, Any]) -> list[str]:
        """Return nothing: an import file names beads by id alone."""
        return []

    def decide(self, snapshot: Snapshot, context: DecisionContext) -> Change:
        result: dict[str, list[Any]] = {
            key: []
            for key in (
                *("created", "updated", "unchanged", "skipped"),
                *("dangling_dependencies", "kept_as_links"),
            )
        }
        records = self._named(snapshot, context)
        wanted = self._wanted(records, self._fresh(records, snapshot, result), snapshot, result)
        wanted, result["kept_as_links"] = untangled(wanted, snapshot)
        beads = _told_apart(wanted, snapshot, result)
        kept = [entry["id"] for entry in result["skipped"] if entry["kind"] != "dedup"]
        if self.args["on_conflict"] == "fail" and kept:
            raise _conflicting(kept)
        touched = [*result["created"], *result["updated"]]
        change = Change(dict(beads), subject("import", touched, self.by), touched=tuple(touched), result=result)
        holders = {name for bead in beads.values() for name in bead.holders}
        refuse_overlap(change, snapshot)
        return with_capacity(change, snapshot, holders, context.now) if holders else change

    def _wanted(
        self, records: dict[str, dict[str, Any]], fresh: dict[str, bool], snapshot: Snapshot, result: dict[str, list[Any]]
    ) -> dict[str, Bead]:
        """Return the beads as the records describe them; records that change nothing go into the result instead."""
        wanted: dict[str, Bead] = {}
        targets = _Targets(fresh, snapshot, result)
        for bead_id, given in records.items():
            local = snapshot.bead(bead_id)
            if local is None and not fresh[bead_id]:
                continue
            record = targets.checked(bead_id, given)
            if local is None:
                wanted[bead_id] = self._made(bead_id, record)
                continue
            after, reason = self._merged(local, record)
            if after is not None:
                wanted[bead_id] = after
            elif reason:
                _skip(result, bead_id, reason)
            else:
                result["unchanged"].append(bead_id)
        return wanted

    # --- which beads ---

    def _named(self, snapshot: Snapshot, context: DecisionContext) -> dict[str, dict[str, Any]]:
        """Return the records by id; one without an id keeps the id it got before, or gets one now."""
        named: dict[str, dict[str, Any]] = {}
        for given in self.args["beads"]:
            record = dict(given)
            if not record.get("id"):
                words = json.dumps(given, sort_keys=True)
                record["uid"] = derived_uid(words, record.get("created_at"))
                known = snapshot.by_uid(record["uid"])
                record["id"] = known.id if known else self._minted(record["uid"], snapshot, context, named)
            named[record["id"]] = record
        return named

    def _minted(self, uid: str, snapshot: Snapshot, context: DecisionContext, taken: dict[str, Any]) -> str:
        return minted_id(context.settings, uid, lambda bead_id: bead_id in taken or snapshot.exists(bead_id))

    def _fresh(self, records: dict[str, dict[str, Any]], snapshot: Snapshot, result: dict[str, list[Any]]) -> dict[str, bool]:
        """Return which records are new beads here. `dedup` leaves out those with the title of an open bead."""
        titles = {bead.title: bead.id for bead in snapshot.live()} if self.args.get("dedup") else {}
        unreadable = {damage.path for damage in snapshot.damages}
        spelled = {bead.id.lower(): bead.id for bead in snapshot.every()}
        fresh: dict[str, bool] = {}
        for bead_id, record in records.items():
            fresh[bead_id] = False
            twin = titles.get(record["title"])
            if snapshot.exists(bead_id):
                continue
            if snapshot.path_of(bead_id) in unreadable:
                _skip(result, bead_id, "has a file here that can't be read; it is left alone")
            elif spelled.setdefault(bead_id.lower(), bead_id) != bead_id:
                _skip(result, bead_id, f"differs from {spelled[bead_id.lower()]} only in upper and lower case")
            elif twin:
                _skip(result, bead_id, f"{twin} has the same title", kind="dedup", twin=twin)
            else:
                fresh[bead_id] = True
        return fresh

    def _made(self, bead_id: str, record: dict[str, Any]) -> Bead:
        stamp = time_text(self.asked_at)
        made_at = record.get("created_at") or record.get("updated_at") or stamp
        defaults = {
            "uid": derived_uid(bead_id, record.get("created_at")),
            "created_at": made_at,
            "updated_at": record.get("updated_at") or made_at,
        }
        return Bead({**defaults, **record, "id": bead_id})

    # --- beads that exist already ---

    def _merged(self, local: Bead, record: dict[str, Any]) -> tuple[Bead | None, str]:
        """Merge a record into an existing bead: (bead, ""), (None, reason) if it stays, or (None, "") if nothing differs."""
        replaced = _replaced(local, record)
        if _same(replaced, local):
            return None, ""
        if local.uid and record.get("uid") and local.uid != record["uid"]:
            return None, "another bead has this id here"
        if self.args["on_conflict"] != "newer":
            return None, "exists already"
        held_by = local.claim.agent if local.claim else (local.get("claims") or [{}])[0].get("agent")
        if held_by:
            return None, f"is claimed here by {held_by}"
        if not record.get("updated_at"):
            return None, "is here already, and the file does not say when it was changed"
        here, there = instant_of(local.updated_at or "1970-01-01T00:00:00Z"), instant_of(record["updated_at"])
        if there < here:
            return None, f"is newer here: {local.updated_at} against {record['updated_at']}"
        if there == here and _exact(local.updated_at) >= _exact(record["updated_at"]):
            joined = _joined(local, record)
            if _same(joined, local):
                return None, f"was changed here and there at {local.updated_at}; the hub's is kept"
            return joined, ""
        return replaced, ""


class _Targets:
    """The targets of edges: a bead of this import, a bead of the hub, or one that may still come."""

    def __init__(self, fresh: dict[str, bool], snapshot: Snapshot, result: dict[str, list[Any]]) -> None:
        self._fresh = fresh
        self._snapshot = snapshot
        self._twins = {entry["id"]: entry["twin"] for entry in result["skipped"] if entry.get("twin")}
        self._result = result

    def checked(self, bead_id: str, record: dict[str, Any]) -> dict[str, Any]:
        """Return the record with its edges; an edge to a skipped twin leads to the bead that is here."""
        kept, details = dict(record), dict(record.get(EDGE_DETAILS, {}))
        if record.get("depends_on"):
            found = [self._led(bead_id, target, "blocks", details) for target in record["depends_on"]]
            kept["depends_on"] = list(dict.fromkeys(found))
        if record.get("parent"):
            kept["parent"] = self._led(bead_id, record["parent"], "parent-child", details)
        if record.get("links"):
            led = [(link, self._led(bead_id, link["id"], link.get("type", "related"), details)) for link in record["links"]]
            kept["links"] = [{**link, "id": target} for link, target in led]
        return {key: value for key, value in {**kept, EDGE_DETAILS: details}.items() if value not in ([], {})}

    def _led(self, bead_id: str, target: str, kind: str, details: dict[str, Any]) -> str:
        """Return the target of an edge. Notes a missing bead in the result; details of the edge move to a twin."""
        if self._fresh.get(target) or self._snapshot.exists(target):
            return target
        twin: str | None = self._twins.get(target)
        if twin is None:
            self._result["dangling_dependencies"].append(f"{bead_id} -> {target} ({kind})")
            return target
        for key in (target, f"parent-child:{target}"):
            detail = details.pop(key, None)
            if detail:
                details[key.replace(target, twin)] = detail
        return twin


# --- one record ---------------------------------------------------------------------------


def _skip(result: dict[str, list[Any]], bead_id: str, reason: str, *, kind: str | None = None, twin: str | None = None) -> None:
    kind = kind or ("stale" if reason.startswith("is newer here") else "kept")
    result["skipped"].append({"id": bead_id, "reason": reason, "kind": kind, **({"twin": twin} if twin else {})})


def _told_apart(wanted: dict[str, Bead], snapshot: Snapshot, result: dict[str, list[Any]]) -> dict[str, Bead]:
    """Return the beads that are new or changed, and list all of them in the result."""
    beads: dict[str, Bead] = {}
    for bead_id, bead in wanted.items():
        local = snapshot.bead(bead_id)
        if local is not None and _same(bead, local, as_stored=True):
            result["unchanged"].append(bead_id)
            continue
        result["created" if local is None else "updated"].append(bead_id)
        beads[bead_id] = bead
    return beads


def _conflicting(there: list[str]) -> IdTaken:
    shown = ", ".join(there[:8]) + (" ..." if len(there) > 8 else "")
    hint = "--on-conflict newer takes what is newer, skip leaves what is here"
    return IdTaken(f"{len(there)} of these beads are here already and differ: {shown}", hint=hint, ids=there)


def _replaced(local: Bead, record: dict[str, Any]) -> Bead:
    """Replace the bead by the record: comments are merged, and keys that only bd knows are kept if the record lacks them."""
    known = {} if record.get("uid") else {key: value for key, value in local.fields.items() if key not in STATED_KEYS}
    fields = {**known, **record, "id": local.id}
    if local.uid:
        fields["uid"] = local.uid
    for key in ("created_at", "created_by", "updated_at"):
        if key not in fields and local.get(key):
            fields[key] = local.get(key)
    if local.attempts > fields.get("attempts", 0):  # attempts only grow
        fields["attempts"] = local.attempts
    comments = _union(local.comments, record.get("comments", []))
    if comments:
        fields["comments"] = comments
    if known and not fields.get("claim"):
        fields.pop("claimed_at", None)
    if known and record.get("priority") != local.priority and "base_priority" not in record:
        fields.pop("base_priority", None)
    if known and fields.get("status") not in DONE_STATUSES and "closed_by" not in record:
        fields.pop("closed_by", None)
    return Bead(fields)


def _joined(local: Bead, record: dict[str, Any]) -> Bead:
    """Return the existing bead with the labels, edges and comments that the record adds."""
    there = Bead({**record, "id": local.id})
    here = edges_by_kind(local)
    details = dict(local.get(EDGE_DETAILS, {}))
    depends_on, links, parent = list(local.depends_on), list(local.get("links", [])), local.parent
    for (kind, target), detail in edges_by_kind(there).items():
        if (kind, target) in here:
            continue
        if kind == "blocks":
            depends_on.append(target)
        elif kind == "parent-child" and parent is None:
            parent = target
        else:
            links.append({"type": kind, "id": target, **detail})
            continue
        if detail:
            details[f"{kind}:{target}" if kind == "parent-child" and target in depends_on else target] = detail
    labels = [*local.labels, *(label for label in there.labels if label not in local.labels)]
    comments = _union(local.comments, there.comments)
    edges = {"depends_on": depends_on, "links": links, "parent": parent, EDGE_DETAILS: details}
    return local.evolve(labels=labels, comments=comments, **edges)


def _union(here: list[dict[str, Any]], there: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge comments by id: the record's, then those that exist only here."""
    known = {str(entry.get("id")) for entry in there}
    only_here = [entry for entry in here if str(entry.get("id")) not in known]
    if not only_here:
        return list(there)
    return sorted([*there, *only_here], key=lambda entry: instant_of(entry.get("at") or "1970-01-01T00:00:00Z"))


def _exact(time: str) -> tuple[str, str]:
    """Return a sort key for a canonical time that also distinguishes fractions below a microsecond."""
    whole, _, fraction = time.removesuffix("Z").partition(".")
    return whole, fraction.rstrip("0")


def _same(one: Bead, other: Bead, *, as_stored: bool = False) -> bool:
    """Return whether two beads say the same, regardless of the order of lists, and of edges that became links.

    With `as_stored` such an edge counts as different.
    """
    return _plain(one, as_stored=as_stored) == _plain(other, as_stored=as_stored)


def _plain(bead: Bead, *, as_stored: bool) -> dict[str, Any]:
    """Normalise the bead's fields: defaults filled in, unordered lists sorted."""
    made_at = bead.created_at or "1970-01-01T00:00:00Z"
    edge_keys = ("depends_on", "parent", "links", EDGE_DETAILS)
    fields = {key: value for key, value in bead.fields.items() if value not in (None, "", [], {}) and key not in edge_keys}
    fields["labels"] = sorted(bead.labels)
    fields["updated_at"] = bead.updated_at
    fields["edges"] = {pair: {"created_at": made_at, **detail} for pair, detail in edges_by_kind(bead).items()}
    if as_stored:
        fields["stored"] = (sorted(bead.depends_on), bead.parent, sorted((link.type, link.id) for link in bead.links))
    return fields


def edges_by_kind(bead: Bead) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the details of each edge by (kind, target), wherever the bead keeps them."""
    details: dict[str, dict[str, Any]] = bead.get(EDGE_DETAILS, {})
    found = {("blocks", target): details.get(target, {}) for target in bead.depends_on}
    if bead.parent:
        shared = {} if bead.parent in bead.depends_on else details.get(bead.parent, {})
        found["parent-child", bead.parent] = details.get(f"parent-child:{bead.parent}", shared)
    for link in bead.get("links", []):
        if "id" in link:
            found[kind_of(link, details), link["id"]] = {k: v for k, v in link.items() if k not in ("id", "type")}
    return found


def kind_of(link: dict[str, Any], details: dict[str, Any]) -> str:
    """Return the kind of edge that a link stands for: one that would have closed a cycle is kept as `related`."""
    kind = str(link.get("type", "related"))
    return str(details.get(link["id"], {}).get("type", kind)) if kind == "related" else kind
