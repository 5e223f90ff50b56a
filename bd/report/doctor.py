"""The doctor's checks of the hub and of this clone. Changes nothing."""

from __future__ import annotations

import os
from typing import NamedTuple

from bd import TYPE_CHECKING, __version__
from bd.core import versions
from bd.core.errors import BadInput, BdError, Damaged
from bd.core.ids import is_prefix
from bd.core.nearest import nearest
from bd.core.pools import pools_of
from bd.core.schema import (
    AGENTS_DIR,
    ARCHIVE_DIR,
    BEADS_DIR,
    CONFIG_PATH,
    SIGNERS_PATH,
    agent_path,
    capacity_path,
    trigger_path,
)
from bd.operations.capacity_file import capacity_of
from bd.policy.circles import circles
from bd.policy.dag import awaited
from bd.policy.liveness import is_ahead, last_commit_of
from bd.policy.roles import ROLES
from bd.policy.triggers import parse_on, triggers_of
from bd.store.format_version import version_of
from bd.store.hub_files import bead_id_of
from bd.store.sync import edited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Any

    from bd.core.model import Snapshot
    from bd.store import CachedSnapshot, Clone

ACTIVE_FILES_ADVISED = 3000


# So many missing targets of one bead are named.
_NAMED = 20


class Finding(NamedTuple):
    """One finding. `level`: damage (exit 7), warning, or note. `code` is snake_case."""

    level: str
    code: str
    where: str
    text: str


def examine(hub: Clone, snapshot: CachedSnapshot, now: datetime, *, remote: bool = True) -> list[Finding]:
    """Return every finding, the worst first."""
    found = [
        *_files(hub, snapshot),
        *_keys(snapshot),
        *_roles(snapshot),
        *_pools(snapshot),
        *_triggers(snapshot),
        *_graph(snapshot),
        *_claims(snapshot, now),
        *_clone(hub, snapshot),
    ]
    if remote and hub.remote_name:
        found += _remote(hub)
    order = {"damage": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda finding: (order[finding.level], finding.code, finding.where))


def _files(hub: Clone, snapshot: CachedSnapshot) -> Iterator[Finding]:
    for damage in snapshot.damages:
        yield Finding("damage", "unreadable", damage.path, f"{damage.reason}; bd does not touch it: fix it by hand")
    for damage in snapshot.cache.doubles():
        yield Finding("damage", "double_id", damage.path, damage.reason)
    version = version_of(hub.repo, snapshot)
    if version is None and snapshot.record(CONFIG_PATH) is not None:
        words = f"names no format, and bd writes nothing until it does; `git log -p {CONFIG_PATH}` has what stood there"
        yield Finding("damage", "format", CONFIG_PATH, words)
    if version is not None and versions.WRITABLE_SINCE <= version < versions.VOLUMES_SINCE:
        words = f"has format {version}, in which each archived bead has its own file; many of them make pushes slow"
        advice = "`bd doctor --fix` upgrades the hub, once every machine has this version of bd"
        yield Finding("note", "format", CONFIG_PATH, f"{words}: {advice}")
    elif version is not None and version != versions.FORMAT:
        advice = "upgrade bd here" if version > versions.FORMAT else "`bd doctor --fix` upgrades the hub"
        words = f"has format {version}, this bd has {versions.FORMAT}, and writes nothing until then: {advice}"
        yield Finding("warning", "format", CONFIG_PATH, words)
    least = snapshot.config().get("min_version")
    if least is not None and versions.release_of(least) is None:
        yield Finding(
            "warning", "min_version", CONFIG_PATH, f"min_version is {least!r}, which is not a version, so it is ignored"
        )
    elif versions.is_older(__version__, least):
        words = f"requires bd {least} or newer, and this is {__version__}, which writes nothing: update bd here"
        yield Finding("warning", "min_version", CONFIG_PATH, words)
    if snapshot.cache.requires_signatures() and not snapshot.cache.standing().signers:
        words = "requires signatures, and nobody may sign yet, so nothing is required; `bd identity allow` lets you in"
        yield Finding("warning", "nobody_signs", CONFIG_PATH, words)
    if snapshot.cache.standing().is_torn:
        words = "is ignored: a merge brought in a history with other first signers; `bd audit` names it; revert it"
        yield Finding("damage", "torn", SIGNERS_PATH, words)
    for bead in snapshot.every():
        if not bead.is_done and snapshot.path_of(bead.id).startswith(ARCHIVE_DIR):
            words = f"is {bead.status} and in the archive, where it is never offered; any write moves it back"
            yield Finding("warning", "archived_open", bead.id, words)
    active = sum(not path.startswith(ARCHIVE_DIR) for path in snapshot.bead_paths(BEADS_DIR))
    if active > ACTIVE_FILES_ADVISED:
        words = (
            f"holds {active} files; hosts advise fewer than {ACTIVE_FILES_ADVISED}; `bd archive` moves beads that are long done"
        )
        yield Finding("note", "many_files", BEADS_DIR, words)


def _keys(snapshot: CachedSnapshot) -> Iterator[Finding]:
    """Every key that nothing reads: where it is surely a mistake each file, else a line for all beads that have it."""
    others: dict[str, list[str]] = {}
    for found in snapshot.cache.unknown_keys(reported=False):
        if found.path.startswith(AGENTS_DIR) and found.key.startswith("pool."):
            continue  # among the flaws of the pool
        if found.is_reported:
            yield Finding("warning", "unknown_key", found.path, found.words)
        else:
            others.setdefault(found.key, []).append(bead_id_of(found.path) or found.path)
    for key, beads in others.items():
        names = ", ".join(beads[:3]) + (" ..." if len(beads) > 3 else "")
        number = "1 bead has" if len(beads) == 1 else f"{len(beads)} beads have"
        yield Finding("note", "unknown_key", key, f"nothing reads it; {number} it: {names}")


def _roles(snapshot: Snapshot) -> Iterator[Finding]:
    """Every role that is most likely a known one mistyped: it brings nothing, so its agent may take everything."""
    for name, agent in snapshot.records(AGENTS_DIR).items():
        role = str(agent.get("role") or "")
        meant = nearest(role, ROLES) if role and role not in ROLES else None
        if meant:
            yield Finding(
                "note", "own_role", agent_path(name), f"the role {role!r} brings no skills and no interval; did you mean {meant}?"
            )


def _pools(snapshot: Snapshot) -> Iterator[Finding]:
    of_member: dict[str, str] = {}
    pools = pools_of(snapshot)
    for name, pool in pools.items():
        for flaw in pool.flaws:
            yield Finding("warning", "pool", agent_path(name), flaw)
        for member in pool.members if pool.is_explicit else ():
            other = member if member in pools and member != name else of_member.setdefault(member, name)
            if other != name:
                words = f"its member {member} is also {'an agent' if other == member else f'a member of {other}'}"
                yield Finding("warning", "pool", agent_path(name), f"{words}; a name belongs to one of them")


def _triggers(snapshot: Snapshot) -> Iterator[Finding]:
    for trigger in triggers_of(snapshot):
        try:
            parse_on(str(trigger["on"]))
        except BadInput as error:
            yield Finding("warning", "trigger", trigger_path(trigger["name"]), f"never fires: {error.message}; {error.hint}")


def _graph(snapshot: Snapshot) -> Iterator[Finding]:
    known = {bead_id_of(path) for path in snapshot.bead_paths(BEADS_DIR)}
    for bead in snapshot.every():
        missing = [target for target in awaited(bead) if target not in known]
        for target in missing[:_NAMED]:
            yield Finding("damage", "unknown_dependency", bead.id, f"waits on {target}, which does not exist")
        if len(missing) > _NAMED:
            words = f"waits on {len(missing) - _NAMED} more beads that do not exist"
            yield Finding("damage", "unknown_dependency", bead.id, words)
        if bead.parent and bead.parent not in known:
            yield Finding("damage", "unknown_parent", bead.id, f"is below {bead.parent}, which does not exist")
        for link in bead.links:
            if link.id not in known:
                yield Finding("note", "unknown_link", bead.id, f"has a link ({link.type}) to {link.id}, which does not exist")
    for circle in circles(snapshot):
        yield Finding("damage", "cycle", circle.ids[0], f"waits for itself: {circle.words()}")


def _claims(snapshot: Snapshot, now: datetime) -> Iterator[Finding]:
    for bead in snapshot.every():
        claim = bead.get("claim")
        if claim and bead.status not in ("in_progress", "validating"):
            yield Finding("damage", "claim_without_work", bead.id, f"is {bead.status} and has a claim by {claim['agent']}")
        if claim and is_ahead(last_commit_of(claim), now):
            words = f"its claim by {claim['agent']} has a heartbeat from the future: a clock is wrong"
            yield Finding("warning", "clock", bead.id, words)
        if bead.get("claims") and (claim or bead.is_done):
            yield Finding(
                "damage", "claim_without_work", bead.id, f"is {bead.status} and has claims by {', '.join(bead.holders)}"
            )
        if bead.attempts < bead.get("attempts_forgiven", 0):
            yield Finding("damage", "attempts", bead.id, "forgives more attempts than were made")
    for path, wanted in stale_capacity(snapshot, now).items():
        held = ", ".join(wanted["beads"] or ()) or "nothing held"
        yield Finding("warning", "capacity", path, f"differs from the claims ({held})")


def stale_capacity(snapshot: Snapshot, now: datetime) -> dict[str, dict[str, Any]]:
    """Return the capacity files that differ from the live claims: path -> the right content (None: no file)."""
    stale = {}
    for name, fields in snapshot.records(".agent-status/").items():
        wanted = capacity_of(name, snapshot, now, sign_of_life=False)
        held = wanted.get("beads", [])
        if fields.get("current_tasks", 0) != wanted["current_tasks"] or sorted(fields.get("beads", [])) != held:
            stale[capacity_path(name)] = {**wanted, "beads": held or None}
    return stale


def _clone(hub: Clone, snapshot: CachedSnapshot) -> Iterator[Finding]:
    prefix = snapshot.config().get("prefix")
    if prefix and not is_prefix(prefix):
        words = f"has prefix = {prefix!r}: no id can start with it, so no bead can be created; `bd config set prefix hub`, existing ids stay"
        yield Finding("damage", "setting", CONFIG_PATH, words)
    try:
        hub.settings(snapshot)
    except Damaged as error:
        yield Finding("damage", "setting", CONFIG_PATH, error.message.removeprefix(f"{CONFIG_PATH} "))
    published = hub.published()
    if hub.remote_name and published and published != snapshot.commit:
        count = len(hub.repo.commits_between(published, snapshot.commit))
        if count:
            yield Finding("warning", "unpublished", hub.branch, f"not published: {count} of this clone's writes; `bd sync`")
    for write in hub.unknown_writes():
        words = f"is an unpublished write of a newer bd: {write.why}; update bd here, then sync"
        yield Finding("damage", "newer_operation", write.where, words)
    for item in hub.kept():
        yield Finding(
            "warning", "kept", item.uid, f"was refused and is kept at {item.commit[:10]}: {item.error or 'no reason noted'}"
        )
    for path in hub.journal.unreadable():
        words = "can't be read: it is damaged, or a newer bd's. Writes wait; update bd here, or move the entry out of the folder"
        yield Finding("damage", "journal", path, words)
    for uid, verb in hub.unsettled().items():
        words = f"got no answer to its push and may still reach the hub: {verb}; the next write finds out"
        yield Finding("note", "unsettled", uid, words)
    for path in hub.tokens.damaged():
        yield Finding("warning", "tokens", path, "has invalid lines, which are ignored")
    for damage in edited(hub).damages:
        yield Finding("damage", "unreadable_edit", damage.path, f"as edited here {damage.reason}; `bd sync` leaves it alone")
    locks = [os.path.join(hub.repo.git_dir, name) for name in ("index.lock", "HEAD.lock")]
    for path in (*locks, os.path.join(hub.repo.common_dir, f"{hub.branch}.lock")):
        if os.path.exists(path):
            yield Finding("warning", "git_lock", path, "is there; if no git command runs here, remove it")
    if os.path.exists(os.path.join(hub.repo.common_dir, "shallow")):
        yield Finding("note", "shallow", hub.repo.common_dir, "is a shallow clone: history is cut off")


def _remote(hub: Clone) -> Iterator[Finding]:
    beside = hub.sides.verdict()
    if beside is not None and beside != "works":
        words = f"accepts no side refs ({beside}): heartbeats are commits, at most every 15 minutes"
        words += ", and losers of a race retry on their own"
        yield Finding("note", "no_side_refs", hub.remote_name or "", words)
    try:
        hub.fetch()
        for request in hub.unknown_requests():
            yield Finding("note", "newer_request", request.where, f"needs a newer bd: {request.why}; it is left to its author")
    except BdError as error:
        yield Finding("damage" if error.exit_code == 7 else "warning", error.code, hub.remote_name or "", error.message)
