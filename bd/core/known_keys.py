"""Keys that a file of a hub has and no version of bd reads: most likely slips of the finger.

Belongs here: which keys are known, at every depth. Does not belong here: values (field_kinds.py), and who is told.
Unknown keys survive every rewrite.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.nearest import SIMILAR, SURE, nearest
from bd.core.schema import (
    AGENT_FIELDS,
    AGENTS_DIR,
    BEAD_FIELDS,
    BEADS_DIR,
    CLONE_KEYS,
    CONFIG_FIELDS,
    CONFIG_PATH,
    GO_COLUMNS,
    GO_CONFIG_KEYS,
    GO_KEYS,
    INNER_FIELDS,
    OUTPUT_KEYS,
    REPO_KEYS,
    REPOS,
    RETRY_KEYS,
    SPEC_KEYS,
    TRIGGER_FIELDS,
    TRIGGERS_DIR,
    TYPES,
)
from bd.core.settings import KEYS
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

# Which other programs' and people's words mean a key of an agent file.
_AGENT_WORDS = {
    "id": "name",
    "type": "role",
    "poll_interval_sec": "interval",
    "poll_interval": "interval",
    "max_concurrent_tasks": "max_concurrent",
    "budget_remaining_usd": "budget_usd",
    "models": "models_available",
}
# Other systems describe an agent below this key (compat/agent_files.py).
_REGISTRATION = "agent"
# Types with a default of their own that no list of types has.
_MORE_TYPES = ("publish",)
_LINK = (*INNER_FIELDS["links"], "hub")
_STEALING = ("on_poll", "idle", "pending", "per_agent", "per_cycle", "base", "cross_base")
_FRICTION = ("window", "rate", "least", "role")
_OVERLOAD = ("failures", "attempts")
_BY_TYPE = {"expected": (), "max_cost_usd": (), "max_duration": ()}
_PRICE = ("input", "cached", "output")
_TYPES_OF_RETRY = ("max_attempts", *RETRY_KEYS)
_PLAN_KEYS = ("name", "deps", "dependencies", "inherit_labels", "tasks")


class UnknownKey(Value):
    """A key that nothing reads, with dots between the levels, in a file; and the known key that it resembles."""

    path: str
    key: str
    nearest: str | None = None

    @property
    def words(self) -> str:
        """The problem, and the key that may be meant."""
        if self.nearest == self.key:
            return f"has the key {self.key} with dots in it, which nothing reads: write maps within maps, as `bd config set` does"
        if self.key == _REGISTRATION and self.path.startswith(AGENTS_DIR):
            return f"has everything below {self.key}, where nothing reads it: `bd import` of that file makes an agent file"
        meant = f"did you mean {self.nearest}?" if self.nearest else "nothing reads it"
        return f"has the unknown key {self.key}: {meant}"

    @property
    def is_reported(self) -> bool:
        """True if it is surely a mistake; a bead may have keys of one's own, unless one resembles a known key."""
        return self.nearest is not None or not self.path.startswith(BEADS_DIR)


def unknown_keys(path: str, fields: Mapping[str, Any]) -> list[UnknownKey]:
    """The unknown keys of a hub's file, in its order; none of a file that has no table of keys."""
    if path.startswith(BEADS_DIR):
        found = _of_bead(fields)
    elif path.startswith(AGENTS_DIR):
        found = _of_agent(fields)
    elif path.startswith(TRIGGERS_DIR):
        found = _of_trigger(fields)
    elif path == CONFIG_PATH:
        found = _of_config(fields)
    else:
        return []
    return [UnknownKey(path, key, near) for key, near in found]


def misspelt(fields: Mapping[str, Any], key: str, known: Iterable[str]) -> str | None:
    """The key that surely means this one, where this one is not there itself."""
    if key in fields:
        return None
    known = tuple(known)
    return next((name for name in fields if name not in known and nearest(name, known, SURE) == key), None)


def _in(given: Any, known: Iterable[str], inside: str = "", likeness: float = SIMILAR) -> Iterator[tuple[str, str | None]]:
    """The keys of a mapping that are not among the known ones; nothing of what is no mapping."""
    if not isinstance(given, dict):
        return
    names = tuple(known)
    for key in given:
        if key not in names:
            near = nearest(str(key), names, likeness)
            yield f"{inside}{key}", f"{inside}{near}" if near else None


def _of_bead(fields: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """A bead's; what an import brought along from the Go tool is known, whatever it resembles."""
    if not fields.keys() <= BEAD_FIELDS.keys():
        own = {key: value for key, value in fields.items() if key not in GO_KEYS and key not in GO_COLUMNS}
        yield from _in(own, BEAD_FIELDS, likeness=SURE)
    yield from _of_maps(fields)


def _of_maps(fields: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, str | None]]:
    """The unknown keys in a bead's maps."""
    for key, known in (("retry", RETRY_KEYS), ("spec", SPEC_KEYS), ("output", OUTPUT_KEYS)):
        if key in fields:
            yield from _in(fields[key], known, f"{inside}{key}.", SURE)
    links = fields.get("links")
    for number, link in enumerate(links if isinstance(links, list) else ()):
        yield from _near(link, _LINK, f"{inside}links.{number}.")


def _near(given: Any, known: Iterable[str], inside: str) -> Iterator[tuple[str, str | None]]:
    """The unknown keys that resemble a known one, of a mapping that may have keys of others."""
    return ((key, near) for key, near in _in(given, known, inside, SURE) if near)


def _of_agent(fields: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    for key, near in _in(fields, AGENT_FIELDS):
        yield key, _AGENT_WORDS.get(key, near)
    for key in ("skills", "budget", "pool"):
        yield from _in(fields.get(key), INNER_FIELDS[key], f"{key}.")


def _of_trigger(fields: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    yield from _in(fields, TRIGGER_FIELDS)
    for number, entry in enumerate(fields.get("plan") or []):
        yield from _in(entry, (*BEAD_FIELDS, *_PLAN_KEYS), f"plan.{number}.")
        if isinstance(entry, dict):
            yield from _of_maps(entry, f"plan.{number}.")


def _of_defaults(given: Mapping[str, Any], inside: str, types: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """What is set by type, at the top of the configuration or in its `defaults`. Any type may be there, but none that is misspelt."""
    for key in _BY_TYPE:
        yield from _near(given.get(key), types, f"{inside}{key}.")
    retry = given.get("retry")
    yield from _in(retry, (*RETRY_KEYS, "types"), f"{inside}retry.")
    rules = retry.get("types") if isinstance(retry, dict) else None
    yield from _near(rules, types, f"{inside}retry.types.")
    for name, rule in rules.items() if isinstance(rules, dict) else ():
        yield from _in(rule, _TYPES_OF_RETRY, f"{inside}retry.types.{name}.")


def _of_config(fields: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    for key, near in _in(fields, (*CONFIG_FIELDS, *KEYS, *_BY_TYPE, "retry")):
        first, dot, _ = key.partition(".")
        if first not in GO_CONFIG_KEYS:
            yield key, key if dot and first in CONFIG_FIELDS else near
    defaults = fields.get("defaults")
    yield from _in(defaults, (*KEYS, *_BY_TYPE, "retry"), "defaults.")
    added = fields.get("types")
    own = added if isinstance(added, list) else str(added or "").split(",")
    types = (*TYPES, *_MORE_TYPES, *(str(one).strip() for one in own))
    for inside, given in (("", fields), ("defaults.", defaults)):
        if isinstance(given, dict):
            yield from _of_defaults(given, inside, types)
    yield from _in(fields.get("stealing"), _STEALING, "stealing.")
    prices = fields.get("prices")
    for name, price in prices.items() if isinstance(prices, dict) else ():
        yield from _in(price, _PRICE, f"prices.{name}.")
    yield from _in(fields.get("friction"), _FRICTION, "friction.")
    yield from _in(fields.get("overload"), _OVERLOAD, "overload.")
    repos = fields.get(REPOS)
    for name, entry in repos.items() if isinstance(repos, dict) else ():
        yield from _in(entry, REPO_KEYS, f"{REPOS}.{name}.")
        yield from _in(entry.get("clone") if isinstance(entry, dict) else None, CLONE_KEYS, f"{REPOS}.{name}.clone.")
    for number, entry in enumerate(fields.get("schedules") or []):
        yield from _in(entry, (*INNER_FIELDS["schedules"], *BEAD_FIELDS), f"schedules.{number}.")
