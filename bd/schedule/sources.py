"""Sources of work: schedules and triggers that are due. Any clone may create their beads; each is created once for the fleet."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
from typing import TYPE_CHECKING

from bd.core.errors import BdError
from bd.operations.base import asked
from bd.operations.plan import ApplyPlan
from bd.operations.schedules import RunSchedule
from bd.policy import schedules, triggers
from bd.policy.dag_progress import dag_of
from bd.store.worktree.checkout import is_checked_out

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot
    from bd.store import Clone, Outcome

# The most files of a pattern in one round, which bounds a poll.
_FILES_AT_ONCE = 100


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


def run_due(hub: Clone, by: str) -> list[str]:
    """Create everything that is due; return a line for each new bead and each failure."""
    said: list[str] = []
    for name in due_schedules(hub.snapshot(), hub.runtime.now()):
        try:
            change = run_schedule(hub, name, by).change
        except BdError as error:
            said.append(f"schedule {name}: {error}")
            continue
        said += [f"{bead_id} made from schedule {name}" for bead_id in (change.beads if change else ())]
    for trigger, event, key in pending_events(hub, hub.snapshot()):
        try:
            change = fire(hub, trigger, event, key, by).change
        except BdError as error:
            said.append(f"trigger {trigger['name']}: {error}")
            continue
        said += [f"{change.touched[0]} made by trigger {trigger['name']}"] if change and change.beads else []
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
    hub: Clone, snapshot: Snapshot, names: Collection[str] = ()
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
        seen = (
            _ended_dag(on.what, snapshot, hub.runtime.now())
            if on.kind == "dag"
            else _files(hub, on.what)
            if on.kind == "file"
            else []
        )
        found += [(trigger, event, key) for event, key in seen if triggers.key_of(trigger, key) not in spent]
    return found


def _ended_dag(root_id: str, snapshot: Snapshot, now: datetime) -> list[tuple[dict[str, Any], str]]:
    root = snapshot.head(root_id)
    if root is None:
        return []
    dag = dag_of(root, snapshot, now)
    event = {"root": root.id, "title": root.title, "status": dag.status, "done": dag.done, "total": len(dag.tasks)}
    return [(event, f"dag:{root.id}")] if dag.status == "completed" else []


def _files(hub: Clone, pattern: str) -> list[tuple[dict[str, Any], str]]:
    """Return an event for each file in the hub's checkout that matches the pattern. New content is a new event."""
    if not hub.repo.work_tree or not is_checked_out(hub.repo, hub.branch):
        return []
    root = os.path.realpath(hub.repo.work_tree)
    found = []
    for name in sorted(glob.iglob(pattern, root_dir=root, recursive=True))[:_FILES_AT_ONCE]:
        full = os.path.join(root, name)
        if not os.path.realpath(full).startswith(root + os.sep) or os.path.islink(full) or not os.path.isfile(full):
            continue
        with contextlib.suppress(OSError), open(full, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            path = name.replace(os.sep, "/")
            event = {"path": path, "name": os.path.basename(path), "size": os.path.getsize(full), "sha256": digest}
            found.append((event, f"{path}@{digest[:16]}"))
    return found
