"""Triggers: which event matches, which has been handled already, and how its fields get into a plan.

An event is data: it fills texts of a plan that was read before, and is never read as a plan itself. schedule/sources.py looks for
files and events.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.field_kinds import of_bead
from bd.core.json_shapes import fits
from bd.core.schema import ARTIFACTS_DIR, BEADS_DIR, CAPACITY_DIR, SPENT_KEYS, TITLE_LIMIT, TRIGGERS_DIR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from bd.core.model import Snapshot

_ON = re.compile(
    r"(?:dag:(?P<dag>\S+)|(?P<forge>github|gitea|gitlab):(?P<event>[a-z_]+)\.(?P<action>[a-z_]+)|file:(?P<file>.+))\Z"
)
_PLACE = re.compile(r"\{event((?:\.[A-Za-z0-9_-]+)+)\}")
# The texts of a bead that an event may fill; edges, type and routing come from the plan alone.
_TEXTS = ("title", "description", "design", "acceptance_criteria", "notes", "external_ref", "spec", "metadata")
_TEXT_LIMIT = 20_000
# The keys of a plan's bead that name it or other beads, and those that list beads which it waits for.
_NAMES = ("name", "uid", "id", "parent", "idempotency_key")
_EDGES = ("depends_on", "deps")
_KEY_LIMIT = 500
_ANEW = "`bd trigger remove` it, and add it again"
# The folders that bd writes itself: what a trigger makes would fire it again.
_OWN_FOLDERS = (".beads", BEADS_DIR.rstrip("/"), CAPACITY_DIR.rstrip("/"))
_BOARDS = ("BOARD.md", "board.html")
_WILD = re.compile(r"[*?\[]")
# The start of every idempotency key of an event.
EVENT_KEYS = "trigger/"
FORGES = ("github", "gitea", "gitlab")
_ONCE = ("opened", "open")
# What an event of GitHub, Gitea or Forgejo is about where that is not called as the event is: the key in its body, and the one
# beside it (empty: none of these). Others are about the key of their own name, with or without a last `s`.
_ABOUT = {
    "issue_comment": ("comment", "issue"),
    "pull_request_review_comment": ("comment", "pull_request"),
    "discussion_comment": ("comment", "discussion"),
    "commit_comment": ("comment", ""),
    "pull_request_review": ("review", "pull_request"),
    "pull_request_review_thread": ("thread", "pull_request"),
}
_BESIDE = ("issue", "pull_request", "discussion")
# A body that has one of these is about nothing that stands further back, or not at all here.
_SUBJECTS = (
    *("deployment_status", "deployment", "check_run", "check_suite", "workflow_run", "workflow_job"),
    *("review", "thread", "comment", "pull_request", "issue", "discussion", "release", "milestone", "label"),
)
# What every body has.
_EVERYWHERE = frozenset(("repository", "organization", "enterprise", "installation", "sender", "changes"))


class On(NamedTuple):
    """The event that a trigger waits for: `dag` (a root), a forge's event (`github`, `gitea`, `gitlab`) and action, or `file`."""

    kind: str
    what: str
    action: str = ""


def parse_on(text: str) -> On:
    """Parse the value of `--on`. Raises BadInput."""
    found = _ON.match(text.strip())
    if not found:
        hint = "dag:ROOT, github:pull_request.opened, gitea:issues.opened, gitlab:merge_request.open, file:GLOB"
        raise BadInput(f"{text!r} is not an event for triggers", hint=hint)
    if found["dag"]:
        return On("dag", found["dag"])
    if found["event"]:
        return On(found["forge"], found["event"], found["action"])
    return On("file", _pattern(found["file"].strip()))


def _pattern(text: str) -> str:
    """A pattern for files below a folder that it names. Raises BadInput."""
    hint = "name a folder of the hub, then its files: file:inbox/*.json, file:inbox/**/*.json"
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith(("/", "~", "\\")) or ".." in re.split(r"[/\\]", text) or ":" in text:
        raise BadInput(f"{text} leads out of the hub", hint=hint)
    if len(parts) < 2 or _WILD.search(parts[0]):
        raise BadInput(f"{text} names no folder to look in", hint=hint)
    if parts[0] in _OWN_FOLDERS or ".git" in map(str.lower, parts):
        raise BadInput(f"{text} leads to files of git or of bd itself", hint=hint)
    return "/".join(parts)


def folder_of(pattern: str) -> str:
    """The longest path without a wildcard that a pattern begins with: everything that it names lies there."""
    parts = pattern.split("/")
    first_wild = next((place for place, part in enumerate(parts) if _WILD.search(part)), len(parts))
    return "/".join(parts[:first_wild])


def is_named(path: str, pattern: str) -> bool:
    """Return whether a pattern names a file. `**` stands for any folders, also none; a wildcard leaves hidden names out."""
    parts = pattern.split("/")
    return _is_named(path.split("/"), [*parts, "*"] if parts[-1] == "**" else parts)


def _is_named(path: Sequence[str], pattern: Sequence[str]) -> bool:
    # The places in the pattern that are reached after each part of the path: time grows with the product, never faster.
    reached = _behind_stars({0}, pattern)
    for part in path:
        behind = {place + 1 for place in reached if place < len(pattern) and _is_part(part, pattern[place])}
        kept = {place for place in reached if place < len(pattern) and pattern[place] == "**" and not part.startswith(".")}
        reached = _behind_stars(behind | kept, pattern)
    return len(pattern) in reached


def _behind_stars(places: set[int], pattern: Sequence[str]) -> set[int]:
    """The places, and those that are reached from them where `**` stands for nothing."""
    found = set(places)
    for place in range(len(pattern)):
        if place in found and pattern[place] == "**":
            found.add(place + 1)
    return found


def _is_part(part: str, pattern: str) -> bool:
    is_hidden = part.startswith(".") and not pattern.startswith(".")
    return part == pattern or (pattern != "**" and not is_hidden and fnmatchcase(part, pattern))


def own_results(snapshot: Snapshot, board_path: str) -> tuple[str, ...]:
    """The beginnings of the paths that `file:` triggers fill themselves: the board, and the outputs of beads that they made.

    `board_path` is the setting, which is empty unless somebody made it.
    """
    names = [trigger["name"] for trigger in triggers_of(snapshot) if str(trigger["on"]).strip().startswith("file:")]
    marks = tuple(f"{EVENT_KEYS}{name}/" for name in names)
    made = {bead.id for bead in snapshot.every() if str(bead.get("idempotency_key")).startswith(marks)} if marks else set()
    return (*sorted({*_BOARDS, board_path} - {""}), *(f"{ARTIFACTS_DIR}{bead_id}/" for bead_id in sorted(made)))


def files_named(paths: Iterable[str], pattern: str, own: tuple[str, ...]) -> list[str]:
    """The paths that a pattern names, in order, without those that triggers fill themselves."""
    return sorted(path for path in paths if is_named(path, pattern) and not path.startswith(own))


def triggers_of(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    """Return the hub's triggers, by name; incomplete ones are left out."""
    found = snapshot.records(TRIGGERS_DIR)
    return [{**one, "name": name} for name, one in sorted(found.items()) if one.get("on") and one.get("plan")]


def key_of(trigger: Mapping[str, Any], event_key: str) -> str:
    """Return the idempotency key of what a trigger makes from one event."""
    return f"{EVENT_KEYS}{trigger['name']}/{event_key}"


def spent_keys(snapshot: Snapshot) -> set[str]:
    """Return every idempotency key that was used."""
    return {str(bead.get("idempotency_key")) for bead in snapshot.every()} | {*(snapshot.config().get(SPENT_KEYS) or {})}


def is_meant(on: On, name: str, event: Mapping[str, Any]) -> bool:
    """Return whether a forge's event of this name is the one that the trigger waits for.

    The body must belong to that event, because forges do not sign the header with its name. GitLab has the name in the body.
    """
    return on.what == name and on.action == _action(on, event) and (on.kind == "gitlab" or _is_named_so(name, event))


def _is_named_so(name: str, event: Mapping[str, Any]) -> bool:
    """Return whether the body can belong to the event of this name, of GitHub or Gitea."""
    there = {key for key, value in event.items() if isinstance(value, dict)}
    if name in _ABOUT:
        subject, beside = _ABOUT[name]
        companions = there.intersection(_BESIDE)
        # Gitea's comment on a pull request has both the issue and the pull request.
        is_fit = beside in companions if beside == "issue" else companions == {beside} - {""}
    else:
        subject = next((key for key in _keys_of(name) if key in there), "")
        is_fit = subject not in _EVERYWHERE or there <= _EVERYWHERE
    before = _SUBJECTS[: _SUBJECTS.index(subject)] if subject in _SUBJECTS else _SUBJECTS if subject not in _EVERYWHERE else ()
    return subject in there and is_fit and not there.intersection(before)


def _keys_of(name: str) -> tuple[str, str]:
    return name, name.removesuffix("s")


def forge_key(on: On, event: Mapping[str, Any], delivery: str | None, *, once: bool = False) -> str:
    """Return what identifies an event of a forge: `delivery` (a typed id, or a digest of the signed body), else its subject's address.

    With `once`, an event that happens only once to its subject (opened) is identified by the address first: two webhooks may
    report it. Raises BadInput if the trigger waits for another event.
    """
    about = _about(on, event)
    action = _action(on, event)
    if action != on.action or about is None:
        there = f"action {action!r}" if about is not None else f"no {_ABOUT.get(on.what, (on.what.removesuffix('s'),))[0]}"
        raise BadInput(f"this is not {on.what}.{on.action}: it has {there}", hint="pass the forge's payload unchanged")
    address = about.get("html_url") or about.get("url")
    key = (address or delivery) if once and on.action in _ONCE else (delivery or address)
    if not isinstance(key, str) or not key or len(key) > _KEY_LIMIT:
        raise BadInput("the event has no id", hint="--delivery ID: the header with the delivery's id")
    return key


def _about(on: On, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the subject of the event."""
    if on.kind == "gitlab":
        found = event.get("object_attributes") if event.get("object_kind") == on.what else None
        return found if isinstance(found, dict) else None
    keys = _ABOUT[on.what][:1] if on.what in _ABOUT else _keys_of(on.what)
    return next((event[key] for key in keys if isinstance(event.get(key), dict)), None)


def _action(on: On, event: Mapping[str, Any]) -> Any:
    return ((_about(on, event) or {}) if on.kind == "gitlab" else event).get("action")


def filled(plan: list[Mapping[str, Any]], event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the beads of a plan, with an event's fields in place of `{event.field}` in their texts.

    Raises BadInput for a bead of the wrong shape: somebody may have edited the trigger's file by hand.
    """
    if not all(_is_spec(spec, is_task=number > 0) for number, spec in enumerate(plan)):
        raise BadInput("a bead of its plan can't be read", hint=_ANEW)
    beads = []
    for spec in plan:
        bead = {key: _filled(value, event) if key in _TEXTS else value for key, value in spec.items()}
        try:
            bead = {key: found for key, value in bead.items() if (found := of_bead(key, value)) is not None}
        except BadInput as error:
            error.hint = error.hint or _ANEW
            raise
        title = " ".join(str(bead.get("title", "")).split())
        bead["title"] = title if len(title) <= TITLE_LIMIT else title[: TITLE_LIMIT - 1] + "…"
        beads.append(bead)
    return beads


def _is_spec(spec: Mapping[str, Any], *, is_task: bool) -> bool:
    """Return whether a bead of a plan names itself and others as ApplyPlan expects it, which checks its other fields."""
    texts, lists = ([spec[key] for key in keys if spec.get(key) is not None] for keys in (_NAMES, _EDGES))
    links, metadata = spec.get("links") or [], spec.get("metadata") or {}
    is_named = bool(spec.get("name")) or not is_task
    return is_named and fits(texts, [str]) and fits(lists, [[str]]) and fits(links, [dict]) and fits(metadata, dict)


def _filled(value: Any, event: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        return _PLACE.sub(lambda match: _field(event, match[1].split(".")[1:]), value)
    if isinstance(value, list):
        return [_filled(item, event) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, event) for key, item in value.items()}
    return value


def _field(event: Any, path: list[str]) -> str:
    """Return a field of the event as a text; "" if there is none."""
    for name in path:
        event = event.get(name) if isinstance(event, dict) else None
    if event is None:
        return ""
    text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return text.replace("\0", "")[:_TEXT_LIMIT]
