"""Periodic chores that need no supervisor: any poll runs those that are due, within limits.

Stalls are freed by stall_recovery.py at every poll. The chores here run at most once a day per clone, and packing when there is
enough to pack.
"""

from __future__ import annotations

import contextlib
import glob
import math
import os
import shutil
from itertools import chain

from bd import TYPE_CHECKING
from bd.core import times
from bd.core.errors import BdError
from bd.operations.archive import Archive
from bd.operations.base import asked
from bd.operations.friction_beads import TellFriction
from bd.policy import friction
from bd.repos.housekeeping import remove_old
from bd.schedule.sources import run_due
from bd.store import SideRef
from bd.store.git.repository import GitRepo, GitTimeout
from bd.store.heartbeat.side_refs import CLAIMS, PROBES
from bd.worker import attempt_files, attempt_log, tally

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bd.store import Clone

EVERY_S = 86400.0
_NAME = "housekeeping.json"
# Git packs if there are more loose objects than this; each claim leaves a handful.
LOOSE_OBJECTS = 2000
_PACKED = "packed.json"
# Git says nothing while it packs.
_PACKING_LIMIT_S = 900.0
_PROBES_SEEN = "probes.json"
_REFS_AT_ONCE = 50
_ARCHIVED_AT_ONCE, _ARCHIVINGS = 500, 4
_LEFT_AT_ONCE = 500


def keep_house(hub: Clone, by: str) -> list[str]:
    """Run what is due. Return a line for each thing done. A failure is reported, and tried again another day."""
    done_at = hub.noted_json(_NAME, {...: str}) or {}
    said = [*run_due(hub, by), *pack_when_full(hub)]
    for name, chore in _CHORES.items():
        if not _is_due(done_at.get(name), hub.runtime.now()):
            continue
        done_at[name] = times.time_text(hub.runtime.now())
        hub.note_json(_NAME, done_at)  # first: a chore that fails or is killed must not run again at the next poll
        try:
            said += chore(hub, by)
        except (BdError, OSError) as error:
            said.append(f"{name}: {error}")
    return said


def _is_due(done_at: str | None, now: datetime) -> bool:
    try:
        return not done_at or abs((now - times.instant_of(done_at)).total_seconds()) >= EVERY_S
    except ValueError:
        return True


def pack_when_full(hub: Clone) -> list[str]:
    """Let git pack this clone's loose objects once there are many; bd's other commands never start that.

    Cheap if there are few: it lists one folder, which is how git itself estimates them.
    """
    step = LOOSE_OBJECTS // 256 + 1
    noted = hub.noted_json(_PACKED, {"left": int})
    # Objects that git had reason to leave loose last time don't count again.
    if _loose_sample(hub) <= step + (noted["left"] if noted else 0):
        return []
    settings = ("-c", f"gc.auto={LOOSE_OBJECTS}", "-c", "gc.autoDetach=false", "-c", "gc.cruftPacks=true")
    try:
        repo = hub.repo
        patient = GitRepo(repo.git_dir, repo.common_dir, repo.work_tree, timeout_s=_PACKING_LIMIT_S)
        patient.run(*settings, "gc", "--auto", "--quiet", check=False)
    except GitTimeout as error:
        return [str(error)]
    hub.note_json(_PACKED, {"left": _loose_sample(hub)})
    return []


def _loose_sample(hub: Clone) -> int:
    """Return the number of loose objects in one of the 256 folders."""
    try:
        return len(os.listdir(os.path.join(hub.repo.common_dir, "objects", "17")))
    except FileNotFoundError:
        return 0


def sweep_claim_refs(hub: Clone, by: str) -> list[str]:
    """Remove the heartbeat refs of claims that ended without removing them (a hand edit pushed with plain git)."""
    if not hub.sides.may_list():
        return []
    beats = hub.sides.beats()  # listed first: a claim made meanwhile is then on the newer branch
    hub.fetch()
    current = {token for bead in hub.snapshot().claimed() for token in bead.tokens}
    orphans = [SideRef(CLAIMS + token, None, oid) for token, oid in beats.items() if token not in current][:_REFS_AT_ONCE]
    said = [f"removed the heartbeats of {len(orphans)} ended claims"] if orphans and hub.sides.move(orphans) else []
    return [*said, *_drop_probes(hub)]


def _drop_probes(hub: Clone) -> list[str]:
    """Remove refs that killed probes left on the remote, once this clone has seen them for a day."""
    listed = hub.sides.listing(PROBES)
    seen_s = hub.observe(listed, note=_PROBES_SEEN)
    left = [SideRef(ref, None, oid) for ref, oid in listed.items() if seen_s[ref] >= EVERY_S * 0.9][:_REFS_AT_ONCE]
    return [f"removed {len(left)} refs of interrupted probes"] if left and hub.sides.move(left) else []


def _tidy(hub: Clone, by: str) -> list[str]:
    """Remove old logs, and files that killed workers left, a day after their claim ended and they were last touched.

    What their attempts have cost is in these files alone, and is booked first.
    """
    said: list[str] = []
    tally.book_leftovers(hub, said.append)
    attempt_log.clear_old(hub.place.folder, hub.runtime.now())
    held = [bead for bead in hub.snapshot().claimed() if bead.claims]
    names = {name for bead in held for token in bead.tokens for name in attempt_files.names_of(token)}
    current = names | {f"{bead.id}.json" for bead in held}
    oldest_s = hub.runtime.now().timestamp() - EVERY_S
    others = (glob.glob(os.path.join(glob.escape(hub.place.folder), folder, "*")) for folder in ("beats", "progress"))
    left = [
        path
        for path in chain(attempt_files.folders(hub), *others)
        if os.path.basename(path) not in current and _touched_s(path) < oldest_s and not tally.is_unbooked(path)
    ][:_LEFT_AT_ONCE]
    for path in left:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return [*said, f"removed what {len(left)} ended attempts left behind"] if left else said


def _touched_s(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:  # its worker was faster
        return math.inf


def _archive(hub: Clone, by: str) -> list[str]:
    """Archive beads done long ago, in a few commits that are quick; none if there is nothing to archive."""
    moved = 0
    for _ in range(_ARCHIVINGS):
        change = hub.publish(Archive(**asked(hub.runtime, by, limit=_ARCHIVED_AT_ONCE))).change
        moved += len(change.touched) if change is not None else 0
        if change is None or len(change.touched) < _ARCHIVED_AT_ONCE:
            break
    return [f"archived {moved} beads"] if moved else []


def _tell_friction(hub: Clone, by: str) -> list[str]:
    """Create beads about what fails too often, if the hub asks for it; no commit if there is nothing to report."""
    snapshot, now = hub.snapshot(), hub.runtime.now()
    rules = friction.rules_of(snapshot)
    if not friction.is_told_by_itself(snapshot) or all(one.about for one in friction.causes(snapshot, now, rules)):
        return []
    change = hub.publish(TellFriction(**asked(hub.runtime, by, **rules._asdict()))).change
    made = (bead for bead in (change.beads if change else {}).values() if bead is not None)
    return [f"{bead.id} made: {bead.title}" for bead in made]


def _remove_workspaces(hub: Clone, by: str) -> list[str]:
    """Remove workspaces that ended some days ago, once everything unpushed in them is set aside."""
    return remove_old(hub)


_CHORES: dict[str, Callable[[Clone, str], list[str]]] = {
    "sweeping": sweep_claim_refs,
    "tidying": _tidy,
    "workspaces": _remove_workspaces,
    "archiving": _archive,
    "friction": _tell_friction,
}
