"""Conversion of typed bead fields to their stored form: types, statuses, titles, times, priorities."""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, IdTaken
from bd.core.field_kinds import of_bead
from bd.core.ids import agent_or_person, twin_of
from bd.core.schema import BEAD_FIELDS, STORED_STATUSES, TITLE_LIMIT, TYPES, status_word
from bd.core.settings import KEYS
from bd.core.times import duration_s, typed_time
from bd.policy.priority import priority_of_base
from bd.policy.readiness import NOT_WORK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from bd.core.model import Snapshot
    from bd.core.operation import DecisionContext


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


def refuse_twin(bead_id: str, snapshot: Snapshot, taken: Iterable[str] = ()) -> None:
    """Refuse a new id that differs only in case from an existing one. Raises IdTaken."""
    twin = twin_of(bead_id, [*taken, *snapshot.starting("")])
    if twin:
        words = f"{bead_id} differs from {twin} only in upper and lower case, which some file systems do not distinguish"
        raise IdTaken(words, hint="give the new bead another id", id=bead_id)


def check_type(text: str, context: DecisionContext) -> str:
    """Return the bead type, with aliases resolved. Raises BadInput naming the known ones."""
    folded = "-".join(text.lower().replace("_", " ").split())
    name = text.strip() if text.strip() in context.settings.types else TYPE_ALIASES.get(folded, folded)
    known = {*TYPES, *NOT_WORK, "publish", "event", *context.settings.types}
    if name not in known:
        raise BadInput(
            f"{text!r} is not a bead type here",
            hint=f"one of {', '.join([*TYPES, *context.settings.types])}; `types:` in {'.beads/config.yaml'} adds more",
        )
    return name


def check_status(text: str, context: DecisionContext) -> str:
    """Return the stored status. Raises BadInput if this hub does not know it."""
    name = status_word(text)
    if name not in {*STORED_STATUSES, "ready", "pinned", "hooked", *context.settings.statuses}:
        raise BadInput(
            f"{text!r} is not a status here", hint=f"one of {', '.join([*STORED_STATUSES, *context.settings.statuses])}"
        )
    return name


def checked(fields: dict[str, Any], context: DecisionContext) -> dict[str, Any]:
    """Convert typed bead fields to their stored form: times, durations, priority, type. Raises BadInput.

    The fields of a schedule or a plan in the hub may be anything: somebody may have edited them by hand.
    """
    out: dict[str, Any] = {}
    for key, given in fields.items():
        kind = BEAD_FIELDS.get(key)
        value = of_bead(key, given)
        if value is None or value == "":
            out[key] = None
        elif key == "title":
            out[key] = check_title(value)
        elif key == "type":
            out[key] = check_type(str(value), context)
        elif kind == "time":
            out[key] = typed_time(str(value), context.now)
        elif kind == "duration":
            duration_s(str(value))
            out[key] = str(value)
        elif key in ("assignee", "prefer_agent"):
            out[key] = agent_or_person(str(value))
        elif key == "labels":
            out[key] = [check_label(label) for label in value]
        elif key == "claim_mode":
            out[key] = KEYS[key].read(value)
        else:
            out[key] = value
    base = out.get("base_priority")
    if base is not None:
        if not 0 <= float(base) <= 100:
            raise BadInput(f"base_priority {base} is not between 0 and 100")
        out.setdefault("priority", priority_of_base(float(base)))
    return out


def check_label(label: Any) -> str:
    """The label without blanks around it. Raises BadInput for one that no list could be asked for."""
    text = str(label).strip()
    if not text or "," in text or len(text.splitlines()) > 1:
        raise BadInput(
            f"{label!r} can't be a label", hint="a label is one line of text without commas; several are several labels"
        )
    return text


def check_title(text: str) -> str:
    """Return the title on one line. Raises BadInput if it is empty or too long."""
    title = " ".join(str(text).split())
    if not title:
        raise BadInput("a bead needs a title", hint='bd create "Fix the login page"')
    if len(title) > TITLE_LIMIT:
        raise BadInput(f"the title has {len(title)} characters; the limit is {TITLE_LIMIT}", hint="use --description")
    return title
