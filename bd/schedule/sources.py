"""Sources of work: schedules and triggers that are due. Any clone may create their beads; each is created once for the fleet."""

from __future__ import annotations

import hashlib
from functools import partial
from itertools import islice
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.operations.base import asked
from bd.operations.plan import ApplyPlan
from bd.operations.schedules import RunSchedule
from bd.policy import schedules, triggers
from bd.policy.dag_progress import dag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot
    from bd.store import CachedSnapshot, Clone, Outcome

# A poll is bounded: so many events of a trigger, and so many files that this clone has not read before.
_EVENTS_AT_ONCE, _FILES_AT_ONCE = 100, 200
# A larger file is no event.
_LARGEST_FILE = 50_000_000
# What this clone remembers of files that it has read: the name of the blob, and `SHA-256 SIZE`.
_DIGESTS, _DIGESTS_KEPT = "digests.json", 10_000


def due_schedules(snapshot: Snapshot, now: datetime) -> list[str]:
    """Return the names of the schedules that are due as far as this clone knows. Unreadable ones are skipped."""
    found = []
    for schedule in schedules.schedules_of(snapshot):
        try:
            if schedules.due_tick(schedule, now):
                found.append(str(schedule["name"]))
        except BdError:
            continue
    return found


def run_schedule(hub: Clone, name: str, by: str) -> Outcome:
    """Create the due bead of one schedule, as decided on the hub's newest state."""
    return hub.publish(RunSchedule(**asked(hub.runtime, by, name=name)))


class Tried(NamedTuple):
    """What became of one schedule, or of one event of a trigger. There is either an outcome or an error."""

    name: str
    outcome: Outcome | None
    error: BdError | None = None


def run_schedules(hub: Clone, names: Iterable[str], by: str) -> list[Tried]:
    """Create the due beads of these schedules; one that fails keeps nobody from the others."""
    return _each((name, partial(run_schedule, hub, name, by)) for name in names)


def fire_pending(hub: Clone, by: str, names: Collection[str] = ()) -> list[Tried]:
    """Fire triggers for what has happened, all or the named ones; one that fails keeps nobody from the others."""
    pending = pending_events(hub, hub.snapshot(), names)
    return _each((str(trigger["name"]), partial(fire, hub, trigger, event, key, by)) for trigger, event, key in pending)


def _each(sources: Iterable[tuple[str, Callable[[], Outcome]]]) -> list[Tried]:
    """Try each source, up to an error that the next one would end with as well: the hub can't be reached, or the disk is full."""
    found: list[Tried] = []
    for name, make in sources:
        try:
            found.append(Tried(name, make()))
        except BdError as error:
            found.append(Tried(name, None, error))
            if error.transient:
                break
    return found


def run_due(hub: Clone, by: str) -> list[str]:
    """Create everything that is due; return a line for each new bead and each failure."""
    said: list[str] = []
    for name, outcome, error in run_schedules(hub, due_schedules(hub.snapshot(), hub.runtime.now()), by):
        said += [f"schedule {name}: {error}"] if error else []
        said += [
            f"{bead_id} made from schedule {name}" for bead_id in (outcome.change.beads if outcome and outcome.change else ())
        ]
    for name, outcome, error in fire_pending(hub, by):
        said += [f"trigger {name}: {error}"] if error else []
        change = outcome.change if outcome else None
        said += [f"{change.touched[0]} made by trigger {name}"] if change and change.beads else []
    return said


# --- triggers -----------------------------------------------------------------------------------


def fire(hub: Clone, trigger: Mapping[str, Any], event: Mapping[str, Any], event_key: str, by: str) -> Outcome:
    """Apply a trigger's plan to an event, once for the fleet."""
    key, name = triggers.key_of(trigger, event_key), str(trigger["name"])
    root, *tasks = triggers.filled(trigger["plan"], event)
    about = {"trigger": name, "on": trigger["on"], "key": event_key}
    root.update(idempotency_key=key, metadata={**(root.get("metadata") or {}), "event": about})
    beads = [{**spec, "created_by": f"event:{name}"} for spec in (root, *tasks)]
    return hub.publish(ApplyPlan(**asked(hub.runtime, by, beads=beads)))


def pending_events(
    hub: Clone, snapshot: CachedSnapshot, names: Collection[str] = ()
) -> list[tuple[Mapping[str, Any], dict[str, Any], str]]:
    """Return the events that triggers wait for and this clone can see: (trigger, event, key of the event)."""
    waiting = [one for one in triggers.triggers_of(snapshot) if not names or one["name"] in names]
    if not waiting:
        return []
    spent = triggers.spent_keys(snapshot)
    found = []
    for trigger in waiting:
        try:
            on = triggers.parse_on(str(trigger["on"]))
        except BdError:
            continue
        if on.kind == "dag" and triggers.key_of(trigger, f"dag:{on.what}") in spent:
            continue  # most have fired already, and looking at a DAG takes a while
        fresh = ((trigger, event, key) for event, key in _seen(on, hub, snapshot) if triggers.key_of(trigger, key) not in spent)
        found += list(islice(fresh, _EVENTS_AT_ONCE))
    return found


def _seen(on: triggers.On, hub: Clone, snapshot: CachedSnapshot) -> Iterator[tuple[dict[str, Any], str]]:
    """The events that can be seen from here, each with what tells it from others."""
    if on.kind == "dag":
        yield from _ended_dag(on.what, snapshot, hub.runtime.now())
    elif on.kind == "file":
        yield from _files(hub, snapshot, on.what)


def _ended_dag(root_id: str, snapshot: Snapshot, now: datetime) -> list[tuple[dict[str, Any], str]]:
    root = snapshot.head(root_id)
    if root is None:
        return []
    dag = dag_of(root, snapshot, now)
    event = {"root": root.id, "title": root.title, "status": dag.status, "done": dag.done, "total": len(dag.tasks)}
    return [(event, f"dag:{root.id}")] if dag.status == "completed" else []


def _files(hub: Clone, snapshot: CachedSnapshot, pattern: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Return an event for each file of the hub that matches the pattern. New content is a new event.

    Only committed files count, and nothing is read from the disk: what is not committed belongs to its owner alone.
    """
    blobs = hub.plain_files(snapshot.commit, triggers.folder_of(pattern))
    own = triggers.own_results(snapshot, hub.settings(snapshot).board_path)
    names = triggers.files_named(blobs, pattern, own)
    digests = _digests(hub, [blobs[name] for name in names])
    for path in names:
        digest, _, size = digests.get(blobs[path], "").partition(" ")
        if size.isdigit():
            event = {"path": path, "name": path.rpartition("/")[2], "size": int(size), "sha256": digest}
            yield event, f"{path}@{digest[:16]}"


def _digests(hub: Clone, blobs: list[str]) -> dict[str, str]:
    """Return `SHA-256 SIZE` of each blob that this clone has read, by the blob's name. Each call reads a few more."""
    known = hub.noted_json(_DIGESTS, {...: str}) or {}
    missing = [blob for blob in dict.fromkeys(blobs) if blob not in known][:_FILES_AT_ONCE]
    if missing:
        for blob, data in zip(missing, hub.repo.objects.read_many(missing, at_most=_LARGEST_FILE + 1), strict=True):
            is_event = data is not None and len(data) <= _LARGEST_FILE
            known[blob] = f"{hashlib.sha256(data).hexdigest()} {len(data)}" if is_event and data is not None else "too large"
        hub.note_json(_DIGESTS, dict(list(known.items())[-_DIGESTS_KEPT:]))
    return known
