"""The tables of docs/format.md: the keys of every file of a hub, their kinds and order, and where files lie.

The codec types, orders and checks by them. A new field is a line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["text", "int", "number", "bool", "time", "duration", "list", "map", "maps", "any", "priority", "status"]

TITLE_LIMIT = 500
FILE_LIMIT = 5_000_000


CLAIM_FIELDS: dict[str, Kind] = {
    "agent": "text",
    "token": "text",
    "attempt": "int",
    "claimed_at": "time",
    "started_at": "time",
    "expires_at": "time",
    "heartbeat_interval_s": "number",
    "heartbeat_by": "text",
    "heartbeat_at": "time",
    "host": "text",
    "version": "text",
    "work_ref": "text",
    "routed": "text",
    "folded": "bool",
    "reserved_usd": "number",
}
COMMENT_FIELDS: dict[str, Kind] = {"id": "text", "author": "text", "at": "time", "text": "text"}
FAILURE_FIELDS: dict[str, Kind] = {
    "attempt": "int",
    "agent": "text",
    "reason": "text",
    "error": "text",
    "at": "time",
    "duration_s": "number",
    "cost_usd": "number",
}

BEAD_FIELDS: dict[str, Kind] = {
    "id": "text",
    "uid": "text",
    "title": "text",
    "type": "text",
    "status": "status",
    "priority": "priority",
    "base_priority": "number",
    "priority_boost_per_minute": "number",
    "deadline": "time",
    "temperature": "number",
    "heated_at": "time",
    "labels": "list",
    "assignee": "text",
    "owner": "text",
    "needs": "list",
    "expected": "duration",
    "prefer_agent": "text",
    "prefer_until": "time",
    "exclusive": "text",
    "description": "text",
    "design": "text",
    "acceptance_criteria": "text",
    "notes": "text",
    "spec": "map",
    "depends_on": "list",
    "parent": "text",
    "links": "maps",
    "claim": "map",
    "claim_mode": "text",
    "claims": "maps",
    "claimed_at": "time",
    "routed": "text",
    "attempts": "int",
    "attempts_forgiven": "int",
    "max_attempts": "int",
    "retry": "map",
    "retry_at": "time",
    "failures": "maps",
    "poison_pill": "bool",
    "dead_lettered_at": "time",
    "reviewed": "bool",
    "resolution": "text",
    "notified": "map",
    "progress": "maps",
    "budget_ceiling_usd": "number",
    "waiting_on": "text",
    "waiting_since": "time",
    "status_reason": "text",
    "output": "map",
    "cost": "map",
    "idempotency_key": "text",
    "external_ref": "text",
    "metadata": "map",
    "estimated_minutes": "number",
    "defer_until": "time",
    "created_at": "time",
    "created_by": "text",
    "updated_at": "time",
    "started_at": "time",
    "reopened_at": "time",
    "closed_at": "time",
    "closed_by": "text",
    "close_reason": "text",
    "comments": "maps",
}

# What stands inside the maps of a file; a key that is not here is any JSON value.
INNER_FIELDS: dict[str, dict[str, Kind]] = {
    "claim": CLAIM_FIELDS,
    "claims": CLAIM_FIELDS,
    "comments": COMMENT_FIELDS,
    "failures": FAILURE_FIELDS,
    "links": {"type": "text", "id": "text", "created_at": "time", "created_by": "text"},
    "progress": {"at": "time", "agent": "text", "text": "text"},
    "notified": {"key": "text", "by": "text", "at": "time", "right": "text", "tries": "int", "done": "bool"},
    "schedules": {"name": "text", "uid": "text", "cron": "text", "tz": "text", "last_tick": "time", "title": "text"},
    "budget": {"usd": "number", "per": "text"},
    "skills": {"title_words": "list", "title_prefix": "list", "labels": "list", "types": "list"},
    "pool": {
        "min": "int",
        "max": "int",
        "size": "int",
        "max_claims": "int",
        "check": "text",
        "provider": "text",
        "start": "text",
        "alive": "text",
        "stop": "text",
        "nudge": "text",
        "drain_timeout": "duration",
        "idle_timeout": "duration",
        "cooldown_up": "duration",
        "cooldown_down": "duration",
        "scale_interval": "duration",
        "names": "list",
    },
}

# Fields that no list and no policy looks at; a cache leaves them out of the heads it hands to policy.
LONG_FIELDS = frozenset(
    """
    description design acceptance_criteria notes spec comments failures progress output metadata retry notified cost
    uid created_by closed_by close_reason estimated_minutes external_ref
    """.split()
)

# By these the clock moves a bead: in its phase, or in the order of work against others.
CLOCK_FIELDS = ("temperature", "deadline", "retry_at", "defer_until")
# The finer scale behind P0..P4.
BASE_OF_PRIORITY = (5, 20, 50, 70, 90)
# Link types that block like depends_on (the waiting kinds of the Go tool).
WAITING_LINKS = frozenset({"conditional-blocks", "waits-for"})

CAPACITY_FIELDS: dict[str, Kind] = {
    "agent": "text",
    "status": "text",
    "current_tasks": "int",
    "max_concurrent": "int",
    "last_heartbeat": "time",
    "beads": "list",
    "idle": "bool",
    "idle_since": "time",
    "pending_count": "int",
    "failed_tasks": "int",
    "recent": "list",
    "overloaded_at": "time",
    "next_poll_at": "time",
    "progress": "maps",
    "interval_s": "number",
    "empty_cycles": "int",
    "budget_remaining_usd": "number",
    "host": "text",
    "version": "text",
}

AGENT_FIELDS: dict[str, Kind] = {
    "name": "text",
    "role": "text",
    "version": "text",
    "interval": "duration",
    "max_concurrent": "int",
    "skills": "map",
    "capabilities": "list",
    "models_available": "list",
    "budget_usd": "number",
    "budget": "map",
    "cool_down": "duration",
    "fallback": "bool",
    "pool": "map",
}

TRIGGER_FIELDS: dict[str, Kind] = {
    "name": "text",
    "uid": "text",
    "on": "text",
    "created_at": "time",
    "created_by": "text",
    "plan": "maps",
}

CONFIG_FIELDS: dict[str, Kind] = {
    "format": "int",
    "min_version": "text",
    "prefix": "text",
    "domain": "text",
    "branch": "text",
    "remote": "text",
    "agent": "text",
    "types": "list",
    "statuses": "list",
    "defaults": "map",
    "paused": "map",
    "notify": "any",
    "validators": "map",
    "judges": "map",
    "schedules": "maps",
    "stealing": "map",
    "friction": "any",
    "spent_keys": "map",
}
# Where the configuration keeps the idempotency keys of deleted beads: key to id, so that nothing is made for them again.
SPENT_KEYS = "spent_keys"

# What the Go tool's JSON calls otherwise: our key to its key.
JSON_NAMES = {"type": "issue_type", "deadline": "due_at"}
STORED_STATUSES = ("open", "in_progress", "blocked", "deferred", "validating", "closed", "cancelled", "dead_letter")
DONE_STATUSES = frozenset({"closed", "cancelled"})
TYPES = [
    "task",
    "bug",
    "feature",
    "epic",
    "chore",
    "code",
    "research",
    "review",
    "test",
    "deploy",
    "synthesis",
    "decision",
    "spike",
    "story",
    "milestone",
]

CONFIG_PATH = ".beads/config.yaml"
SIGNERS_PATH = ".beads/allowed_signers"
METADATA_PATH = ".beads/metadata.json"
IGNORE_PATH = ".beads/.gitignore"
BEADS_DIR = "beads/"
ARCHIVE_DIR = "beads/archive/"
AGENTS_DIR = ".beads/agents/"
TRIGGERS_DIR = ".beads/triggers/"
ARTIFACTS_DIR = "artifacts/"
CAPACITY_DIR = ".agent-status/"


# No separators, no leading dot, nothing Windows refuses; without a pattern: every claim asks it.
DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))))
_AGENT_CHARS, _AGENT_LIMIT = "abcdefghijklmnopqrstuvwxyz0123456789-", 63


def is_agent(text: str) -> bool:
    """Whether the text can be an agent's name; it names files, on every system."""
    return 0 < len(text) <= _AGENT_LIMIT and text[0] != "-" and not text.strip(_AGENT_CHARS) and text not in DEVICES


def suffix_of(bead_id: str) -> str:
    """What stands behind the prefix: `7k3q` of `hub-7k3q`, `7k3q.2x` of `beads-hub-7k3q.2x`."""
    return bead_id.rsplit("-", 1)[-1]


def bead_path(bead_id: str) -> str:
    """Where an active bead's file lies in the hub."""
    return f"{BEADS_DIR}{bead_id}.yaml"


def archive_path(bead_id: str, ended_at: str) -> str:
    """Where the file of a bead that ended at this (canonical) instant lies in the archive, if it has one of its own."""
    return f"{ARCHIVE_DIR}{ended_at[:7]}/{bead_id}.yaml"


def volume_path(ended_at: str, number: int) -> str:
    """A volume of the archive for the month of an instant."""
    return f"{ARCHIVE_DIR}{ended_at[:7]}-{number:03}.yaml"


def is_volume(path: str) -> bool:
    """Whether a file at this path of a hub is a volume of its archive: many beads in one file (store/archive/volumes.py)."""
    return path.startswith(ARCHIVE_DIR) and path.endswith(".yaml") and "/" not in path[len(ARCHIVE_DIR) :]


def volume_of(path: str) -> str | None:
    """The volume that a bead's path leads into; None where the bead has a file of its own."""
    volume = path.rpartition("/")[0]
    return volume if is_volume(volume) else None


def agent_path(name: str) -> str:
    """Where an agent's file lies in the hub."""
    return f"{AGENTS_DIR}{name}.yaml"


def trigger_path(name: str) -> str:
    """Where a trigger's file lies in the hub."""
    return f"{TRIGGERS_DIR}{name}.yaml"


def capacity_path(name: str) -> str:
    """Where an agent's capacity file lies in the hub."""
    return f"{CAPACITY_DIR}{name}.yaml"


def fields_of_path(path: str) -> dict[str, Kind]:
    """The table for the YAML file at a hub path; an empty one for any other file."""
    if path.startswith(BEADS_DIR):
        return BEAD_FIELDS
    if path.startswith(AGENTS_DIR):
        return AGENT_FIELDS
    if path.startswith(CAPACITY_DIR):
        return CAPACITY_FIELDS
    if path.startswith(TRIGGERS_DIR):
        return TRIGGER_FIELDS
    return CONFIG_FIELDS if path == CONFIG_PATH else {}
