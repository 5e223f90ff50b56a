"""One bead of a plan: its keys mapped to a bead's fields and its values typed, for `Create`.

This module knows the synonyms that people, other tools and the source papers use for fields. plan_files.py handles the forms of
whole plans and the names in them.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.compat.documents import as_json, first_choice, is_null
from bd.core.errors import BadInput, BdError, WouldCycle
from bd.core.field_kinds import typed
from bd.core.known_keys import unknown_keys
from bd.core.model import Bead
from bd.core.schema import BEAD_FIELDS, BEADS_DIR
from bd.core.times import duration_s, duration_text
from bd.policy.retry import STRATEGIES
from bd.policy.validation import KINDS, kind_of, parse_check
from bd.store.yaml import codec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

ALIASES = {
    "issue_type": "type",
    "due_at": "deadline",
    "due": "deadline",
    "defer": "defer_until",
    "acceptance": "acceptance_criteria",
    "body": "description",
    "estimate": "estimated_minutes",
    "tags": "labels",
    "required_capabilities": "needs",
    "blocked_by": "depends_on",
    "parent_id": "parent",
    "parent_key": "parent",
    "completed_at": "closed_at",
    "key": "name",
    "context": "context_refs",
    "models": "model_preferences",
    "max_cost": "max_cost_usd",
    "budget_ceiling": "budget_ceiling_usd",
}
# Keys that some plans put next to the title and a bead has inside `spec`.
_OF_SPEC = frozenset({"prompt", "context_refs", "max_cost_usd", "max_duration", "model_preferences", "fallback_models"})
_LISTS_OF_SPEC = frozenset({"context_refs", "model_preferences", "fallback_models"})
# The states of the source papers, as statuses that are stored.
_STATES = {
    "created": "open",
    "pending": "open",
    "failed": "open",
    "retrying": "open",
    "claimed": "in_progress",
    "running": "in_progress",
    "completed": "closed",
    "dead_lettered": "dead_letter",
}
_MANAGED = frozenset({"uid", "claim", "claims", "claimed_at"})
_OWN = frozenset({"name", "deps", "dependencies", "inherit_labels", "tasks"})
# Keys in the nodes of the Go tool's graphs that beads do not have; kept as metadata.
_AS_METADATA = frozenset(
    {
        *("from", "ephemeral", "no_history", "wisp_type", "mol_type", "pinned", "event_kind", "actor", "target", "payload"),
        *("spec_id", "dag_id"),
    }
)
_IGNORED = frozenset({"assign_after_create"})
# Keys whose entries are edges, with the default kind of an entry; "" means "waits for".
_EDGES = {"depends_on": "", "deps": "", "dependencies": "", "links": "related"}
_ZERO_IS_UNSET = frozenset({"attempts", "attempts_forgiven"})
_SECONDS = ("_sec", "_seconds")


class Place(NamedTuple):
    """The location of an entry in a file: in words, and as a path of keys and indices."""

    words: str
    path: tuple[str | int, ...] = ()

    def inside(self, words: str, *path: str | int) -> Place:
        """Return a location inside this one."""
        return Place(f"{self.words}, {words}" if self.words else words, (*self.path, *path))


class Misplaced(Exception):
    """An error in an entry of a file: its location, and the wrong word there. The caller, who has the text, adds the line."""

    def __init__(
        self, message: str, place: Place, word: str = "", *, hint: str | None = None, circle: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.place = place
        self.word = word
        self.hint = hint
        self.circle = circle

    def told(self, data: bytes, shown: str) -> BdError:
        """Return the final error, with the line in the text if it is found."""
        line = codec.line_of(data, self.place.path, self.word)
        words = f"{shown}, line {line}: {self}" if line else f"{shown}: {self}"
        if self.circle:
            return WouldCycle(words, hint=self.hint, line=line, cycle=self.circle)
        return BadInput(words, hint=self.hint, line=line)


class Spec:
    """A bead to be created. `fields` are those of Create; `edges` are pairs (kind, target), not resolved yet."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.name: str | None = None
        self.fields: dict[str, Any] = {}
        self.edges: list[tuple[str, str]] = []
        self.parent: str | None = None
        self.dag_id = ""  # what a source paper calls the tree that it is in
        self.metadata: dict[str, Any] = {}
        self.tasks: list[Spec] = []  # those below it in the file, at any depth
        self.gathers: list[str] = []  # ids of existing beads that become its parts
        self.is_excerpt = False  # from a source paper: ids in it may be placeholders

    @property
    def words(self) -> str:
        """Its location, with its name if it has one."""
        return f"{self.place.words} ({self.name})" if self.name else self.place.words

    def wrong(self, message: str, hint: str | None = None, word: str = "") -> Misplaced:
        """Return an error about this bead's entry, at a word in it."""
        return Misplaced(f"{self.words}: {message}", self.place, word, hint=hint)

    def value(self) -> dict[str, Any]:
        """Return the spec for Create."""
        spec = dict(self.fields)
        metadata = {**spec.get("metadata", {}), **self.metadata}
        if metadata:
            spec["metadata"] = metadata
        if self.name:
            spec["name"] = self.name
        if self.parent:
            spec["parent"] = self.parent
        deps = [f"{kind}:{target}" if kind else target for kind, target in dict.fromkeys(self.edges)]
        if deps:
            spec["deps"] = deps
        if self.gathers:
            spec["gathers"] = self.gathers
        return spec


def read_spec(raw: Any, place: Place, *, without: frozenset[str] = frozenset()) -> Spec:
    """Return the bead that an entry describes; the caller handles the keys in `without`. Raises BadInput with entry and field."""
    spec = Spec(place)
    if not isinstance(raw, dict):
        raise spec.wrong("a bead is a mapping with a title", hint='title: "What to do"')
    named = raw.get("name", raw.get("key"))
    if named is not None and not is_null(named):
        spec.name = str(typed("name", named, "text")).strip()
    for given, value in raw.items():
        if given in without or given in _IGNORED or is_null(value):
            continue
        try:
            _put(spec, given, value)
        except BadInput as error:
            raise spec.wrong(error.message, hint=error.hint, word=given) from None
    if not str(spec.fields.get("title") or "").strip():
        raise spec.wrong("a bead needs a title", hint='title: "What to do"')
    return spec


def _put(spec: Spec, given: str, value: Any) -> None:
    key = ALIASES.get(given, given)
    for ending in _SECONDS:
        if key.endswith(ending):
            key, value = key.removesuffix(ending), _seconds_text(key, value)
    fields = spec.fields
    if key == "name":
        return
    if key in _EDGES:
        spec.edges += [_edge(entry, _EDGES[key]) for entry in _entries(key, value)]
    elif key == "parent":
        spec.parent = str(typed(key, value, "text")).strip() or None
    elif key == "priority":
        _put_priority(fields, value)
    elif key == "status":
        word = typed(key, first_choice(value), "status")
        fields[key] = _STATES.get(word, word)
    elif key == "spec" or key in _OF_SPEC:
        _put_spec(fields, value if key == "spec" else {key: value})
    elif key in ("cost_usd", "tokens_used"):
        if _is_anything(as_json(value)):
            fields["cost"] = {**fields.get("cost", {}), "usd" if key == "cost_usd" else "tokens": as_json(value)}
    elif key in ("retry", "validation"):
        _put_rules(fields, key, value)
    elif key == "inherit_labels":
        fields[key] = typed(key, value, "bool")
    elif key in _MANAGED:
        _put_managed(spec, key, value)
    elif key in _AS_METADATA:
        spec.metadata[given] = as_json(value)
    elif key in BEAD_FIELDS:
        _put_field(fields, key, value)
    else:
        raise BadInput(f"{given!r} is not a field of a bead", hint=_nearest(given))


def _put_field(fields: dict[str, Any], key: str, value: Any) -> None:
    """Set a plain field. Times stay as typed, because words such as `tomorrow` are resolved later."""
    kind = BEAD_FIELDS[key]
    if kind == "list" and not isinstance(value, list):
        value = [part.strip() for part in str(typed(key, value, "text")).split(",") if part.strip()]
    found = typed(key, first_choice(value) if key == "type" else value, "text" if kind == "time" else kind)
    if kind == "map" and found:
        found = {name: item for name, item in found.items() if item not in (None, [], {}) or key == "metadata"}
    if found not in (None, "", [], {}) and (found or key not in _ZERO_IS_UNSET):
        fields[key] = found


def _put_priority(fields: dict[str, Any], value: Any) -> None:
    """Set the priority: 0 to 4 or P0 to P4; larger numbers are on the finer scale."""
    word = str(typed("priority", value, "text")).strip()
    if word.lower().removeprefix("p") in ("0", "1", "2", "3", "4"):
        fields["priority"] = int(word[-1])
        return
    number = typed("priority", value, "number")
    if not 0 <= number <= 100:
        raise BadInput(f"priority {word} is not within 0 to 4, or 0 to 100 on the finer scale")
    fields["base_priority"] = number


def _put_spec(fields: dict[str, Any], value: Any) -> None:
    """Set the work description. Its constraints are merged into it, and its requirements become the bead's needs."""
    if not isinstance(value, dict):
        raise BadInput("spec: a mapping was expected", hint="spec: {prompt: ...}")
    flat = {name: item for name, item in value.items() if name != "constraints"}
    constraints = value.get("constraints", {})
    if isinstance(constraints, dict):
        flat.update(constraints)
    elif not is_null(constraints):
        raise BadInput("spec.constraints: a mapping was expected")
    needs = flat.pop("required_capabilities", None)
    if needs is not None and not is_null(needs):
        fields["needs"] = [*fields.get("needs", []), *(typed("needs", needs, "list") or [])]
    kept = {name: _spec_value(name, item) for name, item in _in_durations(flat, "spec").items() if not is_null(item)}
    if kept:
        fields["spec"] = {**fields.get("spec", {}), **kept}


def _put_rules(fields: dict[str, Any], key: str, value: Any) -> None:
    """How it is tried again, and what its output has to pass: a map, or in short `fixed` and `regex:^ok`."""
    if key == "validation":
        kind, rule = parse_check(str(typed(key, value, "text")), key)
        asked = {"validation": kind, **({"validation_schema": rule} if rule else {})}
        fields["output"] = {**fields.get("output", {}), **asked}
    elif isinstance(value, dict):
        fields[key] = {name: as_json(item) for name, item in _in_durations(value, key).items() if not is_null(item)}
    else:
        strategy = typed(key, value, "text")
        if strategy not in STRATEGIES:
            raise BadInput(f"retry: a mapping was expected, or one of {', '.join(STRATEGIES)}")
        fields[key] = {"strategy": strategy}


def _spec_value(name: str, value: Any) -> Any:
    """A value of the work description; what is a list may be one text with commas."""
    return _entries(name, value) if name in _LISTS_OF_SPEC and isinstance(value, str) else as_json(value)


def refuse_unusable(key: str, value: Any) -> None:
    """Refuse values that are stored as they are but could not be used, such as an invalid limit or unknown check.

    Raises BadInput.
    """
    inner = {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
    for found in unknown_keys(BEADS_DIR, {key: value}):
        if found.is_reported:
            raise BadInput(f"{found.key!r} is not a field of a bead", hint=f"did you mean {found.nearest}?")
    for name, item in inner.items():
        if item is None or item == "":
            continue
        if name in ("spec.max_duration", "retry.initial_delay", "retry.max_delay"):
            duration_s(str(item))
        elif name in ("spec.max_cost_usd", "budget_ceiling_usd", "retry.backoff_multiplier") and not _is_number(item, 0):
            raise BadInput(f"{name}: {item!r} is not a number from 0 on")
        elif name == "max_attempts" and not _is_number(item, 1):
            raise BadInput(f"max_attempts: {item!r} is not a number from 1 on")
        elif name == "retry.strategy" and item not in STRATEGIES:
            raise BadInput(f"{name}: {item!r} is not one of {', '.join(STRATEGIES)}")
        elif name == "output.validation" and kind_of(Bead({"output": value})) not in KINDS:
            raise BadInput(f"{name}: {item!r} is not one of {', '.join(KINDS)}")


def _is_number(value: Any, least: float) -> bool:
    try:
        return not isinstance(value, bool) and float(value) >= least
    except (TypeError, ValueError):
        return False


def _put_managed(spec: Spec, key: str, value: Any) -> None:
    """Handle a claim, which can't be planned. An empty one, as in the papers, only sets the heartbeat interval."""
    filled = {k: v for k, v in value.items() if not is_null(v)} if isinstance(value, dict) else {key: value}
    if set(filled) - {"heartbeat_interval_sec", "heartbeat_interval_s"}:
        raise BadInput(f"{key!r} can only be set by bd", hint="bd claim ID takes a bead")
    if filled:
        spec.metadata["heartbeat_interval_s"] = as_json(next(iter(filled.values())))


def _entries(key: str, value: Any) -> list[Any]:
    if isinstance(value, dict):
        raise BadInput(f"{key}: a list was expected")
    if isinstance(value, list):
        return [entry for entry in value if not is_null(entry)]
    return [part.strip() for part in str(value).split(",") if part.strip()]


def _edge(entry: Any, kind: str = "") -> tuple[str, str]:
    """Return (kind, target) from `ID`, `kind:ID`, or a mapping with type and target.

    A mapping is an edge of this bead, so `blocks` in it means "waits for"; as text, `blocks:ID` means that the other bead waits
    for this one.
    """
    if isinstance(entry, dict):
        target = next((entry[key] for key in ("depends_on_id", "target", "id", "to") if key in entry), None)
        if target is None:
            raise BadInput("an edge without a target", hint="{type: related, id: hub-7k3q}")
        named = edge_kind(str(entry.get("type") or kind))
        return "" if named == "blocks" else named, str(target).strip()
    text = str(typed("depends_on", entry, "text")).strip()
    before, colon, target = text.partition(":")
    return (edge_kind(before), target.strip()) if colon else (kind, text)


def edge_kind(text: str) -> str:
    """Return the normalized kind of an edge; "" if it means "waits for"."""
    kind = text.strip().lower().replace("_", "-")
    return "" if kind in ("depends-on", "blocked-by", "blocks-on") else kind


def _in_durations(value: Any, key: str) -> dict[str, Any]:
    """Return a mapping with its `*_sec` keys converted to durations."""
    if not isinstance(value, dict):
        raise BadInput(f"{key}: a mapping was expected")
    out: dict[str, Any] = {}
    for name, item in value.items():
        ending = next((ending for ending in _SECONDS if name.endswith(ending)), None)
        if ending is None or is_null(item):
            out[name.removesuffix(ending or "")] = item
        else:
            out[name.removesuffix(ending)] = _seconds_text(f"{key}.{name}", item)
    return out


def _seconds_text(key: str, value: Any) -> Any:
    return value if is_null(value) else duration_text(float(typed(key, value, "number")))


def _is_anything(value: Any) -> bool:
    return any(_is_anything(item) for item in value.values()) if isinstance(value, dict) else bool(value)


def _nearest(word: str) -> str:
    known = [*BEAD_FIELDS, *ALIASES, *_OWN, *_OF_SPEC]
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else "anything of your own goes below metadata:"
