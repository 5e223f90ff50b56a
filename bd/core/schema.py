"""The tables of docs/format.md: the keys of every file of a hub, their types and order, and the paths of files.

The codec uses them for typing, order and checks. A new field is a line here.
"""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

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
COMMENT_FIELDS: dict[str, Kind] = {"id": "text", "author": "text", "at": "time", "text": "text", "kind": "text"}
FAILURE_FIELDS: dict[str, Kind] = {
    "attempt": "int",
    "agent": "text",
    "reason": "text",
    "error": "text",
    "at": "time",
    "duration_s": "number",
    "cost_usd": "number",
    "branch": "text",
    "times": "int",
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
    "repo": "text",
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

# The types inside the maps of a file; a key that is not here may have any JSON value.
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
    "rest": {"until": "time", "reason": "text", "account": "text", "since": "time"},
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

# Fields that neither lists nor policy use; a cache leaves them out of heads.
LONG_FIELDS = frozenset(
    """
    description design acceptance_criteria notes spec comments failures progress output metadata retry notified cost
    uid created_by closed_by close_reason estimated_minutes external_ref
    """.split()
)

# Fields through which time alone moves a bead: in its phase, or in the order of work.
CLOCK_FIELDS = ("temperature", "deadline", "retry_at", "defer_until")
# The base priorities that P0..P4 stand for.
BASE_OF_PRIORITY = (5, 20, 50, 70, 90)
# Link types that block like depends_on (the waiting types of the Go tool).
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
    "account": "text",
    "rest": "map",
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
    "with": "text",
    "budget_usd": "number",
    "budget": "map",
    "cool_down": "duration",
    "claim_ttl": "duration",
    "heartbeat_interval": "duration",
    "fallback": "bool",
    "may": "list",
    "start": "text",
    "account": "text",
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
    "memories": "map",
    "overload": "map",
    "prices": "map",
    "spent_keys": "map",
    "repos": "map",
}
# The code repositories of a hub, by name; the keys of an entry, and of its `clone`.
REPOS = "repos"
REPO_KEYS = ("url", "base", "deliver", "setup", "teardown", "copy", "cache", "clone")
CLONE_KEYS = ("filter", "sparse", "submodules", "lfs", "min_free")
# The key under which the configuration keeps idempotency keys of deleted beads (key -> id), so that they are not created again.
SPENT_KEYS = "spent_keys"

# What stands in a bead's maps that have no table of their own.
RETRY_KEYS = ("strategy", "initial_delay", "backoff_multiplier", "max_delay", "jitter", "retry_on", "no_retry_on")
SPEC_KEYS = ("prompt", "context_refs", "max_cost_usd", "max_duration", "model_preferences", "fallback_models", "constraints")
OUTPUT_KEYS = ("type", "validation", "validation_schema", "data", "artifacts")
# Keys that beads have from the Go tool: kept, and given back by an export.
GO_KEYS = frozenset(
    {
        *("edge_details", "ephemeral", "pinned", "is_template", "no_history", "closed_by_session", "sender", "source_system"),
        *("spec_id", "wisp_type", "mol_type", "work_type", "bonded_from", "await_type", "await_id", "timeout", "waiters"),
        *("source_formula", "source_location", "event_kind", "actor", "target", "payload", "compaction_level"),
        *("original_size", "compacted_at", "compacted_at_commit"),
    }
)
# What else they may have from it, and what an import puts aside.
GO_COLUMNS = frozenset(
    {
        *("source_repo", "agent_state", "hook_bead", "role_bead", "role_type", "rig", "quality_score", "last_activity"),
        *("timeout_ns", "crystallizes", "foreign_fields", "hook_slot", "deleted_at", "deleted_by", "delete_reason", "due_source"),
    }
)
# The first words of the Go tool's own settings, which may stand in the same file.
GO_CONFIG_KEYS = frozenset(
    {
        *("issue-prefix", "issue_prefix", "no-db", "no-daemon", "no-auto-flush", "no-auto-import", "json", "db", "actor"),
        *("auto-start-daemon", "flush-debounce", "sync-branch", "sync", "multi-repo", "export", "status", "backup", "dolt"),
        *("validation", "directory", "git", "daemon", "routing", "hierarchy", "external_projects", "ai", "no-push", "id"),
        *("create", "prime", "federation", "events-export", "auto-compact", "conflict"),
    }
)

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


# Names that Windows reserves. Checked without a pattern: every claim needs this.
DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))))
_AGENT_CHARS, _AGENT_LIMIT = "abcdefghijklmnopqrstuvwxyz0123456789-", 63
_TOKEN_LIMIT = 64


def is_agent(text: str) -> bool:
    """Return whether the text can be an agent's name, which is also a file name on every system."""
    return 0 < len(text) <= _AGENT_LIMIT and text[0] != "-" and not text.strip(_AGENT_CHARS) and text not in DEVICES


def is_token(text: str) -> bool:
    """Return whether the text can be a claim's token; it names files and refs."""
    is_plain = text.isascii() and text.replace("_", "").replace("-", "").isalnum()
    return is_plain and text[0] not in "_-" and len(text) <= _TOKEN_LIMIT


def flaw_of_claim(claim: Mapping[str, Any]) -> str:
    """Return why a map can't be a claim: its agent and its token name files and refs. Empty if it can."""
    agent, token = claim.get("agent"), claim.get("token")
    if not (agent and token):
        return "has a claim without agent or token"
    if not is_agent(agent):
        return f"has a claim of {agent!r}, which can't be an agent's name"
    return "" if is_token(token) else f"has a claim with the token {token!r}, which can't be one"


def status_word(text: str) -> str:
    """A status as it is stored, however it was spelled: `In Progress` and `in-progress` are `in_progress`."""
    return "_".join(text.lower().replace("-", " ").split())


def suffix_of(bead_id: str) -> str:
    """Return the part after the prefix: `7k3q` of `hub-7k3q`, `7k3q.2x` of `beads-hub-7k3q.2x`."""
    return bead_id.rsplit("-", 1)[-1]


def bead_path(bead_id: str) -> str:
    """Return the hub path of an active bead's file."""
    return f"{BEADS_DIR}{bead_id}.yaml"


def archive_path(bead_id: str, ended_at: str) -> str:
    """Return the archive path of a bead that ended at this (canonical) instant, if it has its own file."""
    return f"{ARCHIVE_DIR}{ended_at[:7]}/{bead_id}.yaml"


def volume_path(ended_at: str, number: int) -> str:
    """Return the path of a volume of the archive for the month of an instant."""
    return f"{ARCHIVE_DIR}{ended_at[:7]}-{number:03}.yaml"


def is_volume(path: str) -> bool:
    """Return whether a hub path is that of an archive volume: many beads in one file (store/archive/volumes.py)."""
    return path.startswith(ARCHIVE_DIR) and path.endswith(".yaml") and "/" not in path[len(ARCHIVE_DIR) :]


def volume_of(path: str) -> str | None:
    """Return the volume that a bead's path leads into; None if the bead has its own file."""
    volume = path.rpartition("/")[0]
    return volume if is_volume(volume) else None


def agent_path(name: str) -> str:
    """Return the hub path of an agent's file."""
    return f"{AGENTS_DIR}{name}.yaml"


def trigger_path(name: str) -> str:
    """Return the hub path of a trigger's file."""
    return f"{TRIGGERS_DIR}{name}.yaml"


def capacity_path(name: str) -> str:
    """Return the hub path of an agent's capacity file."""
    return f"{CAPACITY_DIR}{name}.yaml"


def fields_of_path(path: str) -> dict[str, Kind]:
    """Return the table for the YAML file at a hub path; an empty one for any other file."""
    if path.startswith(BEADS_DIR):
        return BEAD_FIELDS
    if path.startswith(AGENTS_DIR):
        return AGENT_FIELDS
    if path.startswith(CAPACITY_DIR):
        return CAPACITY_FIELDS
    if path.startswith(TRIGGERS_DIR):
        return TRIGGER_FIELDS
    return CONFIG_FIELDS if path == CONFIG_PATH else {}
