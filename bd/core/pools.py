"""Pools of agents: the `pool` map of an agent file, and the names of the members.

An agent file is a pool's template; without a `pool` map it is a pool of exactly one. policy/scaling.py decides how many members
there should be; bd/pool starts them.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BdError
from bd.core.nearest import nearest
from bd.core.schema import AGENTS_DIR, agent_path, is_agent
from bd.core.times import duration_s
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Files(Protocol):
        """The source of agent files: a snapshot."""

        def record(self, path: str) -> Mapping[str, Any] | None: ...

        def records(self, folder: str) -> Mapping[str, Mapping[str, Any]]: ...


class Pool(Value):
    """A pool's settings. Durations are seconds; `size` is what was requested with `bd pool scale`.

    `flaws` are the invalid settings in its file, and the values used instead.
    """

    name: str
    min: int = 1
    max: int = 1
    check: str = ""
    start: str = ""
    stop: str = ""
    nudge: str = ""
    alive: str = ""
    provider: str = "child"
    drain_timeout_s: float = 900.0
    idle_timeout_s: float | None = None
    cooldown_up_s: float = 0.0
    cooldown_down_s: float = 300.0
    scale_interval_s: float = 30.0
    names: tuple[str, ...] = ()
    max_claims: int | None = None
    size: int | None = None
    is_explicit: bool = False
    flaws: tuple[str, ...] = ()

    @property
    def members(self) -> list[str]:
        """The names that its members may have, in the order in which they are started."""
        if self.max == 1 and not self.names:
            return [self.name]
        themed = list(self.names[: self.max])
        return [*themed, *(f"{self.name}-{number}" for number in range(len(themed) + 1, self.max + 1))]

    @property
    def is_run(self) -> bool:
        """Whether `bd pool run` looks after it: a pool, or an agent with a `start`."""
        return self.is_explicit or bool(self.start)

    def command_name(self, key: str) -> str:
        """Return the name by which `bd trust` knows one of its commands."""
        return f"agents/{self.name}.pool.{key}" if self.is_explicit else f"agents/{self.name}.{key}"

    def clamped(self, count: int) -> int:
        """Limit a number of members to what the pool allows."""
        return max(self.min, min(self.max, count))


_DURATIONS = {
    "drain_timeout": "drain_timeout_s",
    "idle_timeout": "idle_timeout_s",
    "cooldown_up": "cooldown_up_s",
    "cooldown_down": "cooldown_down_s",
    "scale_interval": "scale_interval_s",
}
_COUNTS = ("min", "max", "max_claims", "size")
_TEXTS = ("check", "start", "stop", "nudge", "alive", "provider")
_KEYS = frozenset((*_DURATIONS, *_COUNTS, *_TEXTS, "names"))
PROVIDERS = ("child", "tmux", "systemd")
# The most members on one host, so that a typo does not start more.
MOST_MEMBERS = 1000


def pool_of(name: str, file: Mapping[str, Any]) -> Pool:
    """Return the pool that an agent file describes: 1..1 without a `pool` map, 0..1 with one that sets neither bound.

    Without one, the file's `start` is what keeps the agent on.
    """
    given = file.get("pool")
    if given is None:
        return Pool(name, start=str(file.get("start") or ""))
    if not isinstance(given, dict):
        return Pool(name, flaws=("`pool` is not a mapping, and is ignored",))
    flaws = [_unknown(key) for key in sorted(map(str, given)) if key not in _KEYS]
    said: dict[str, Any] = {"min": 0, "is_explicit": True}
    said.update({key: str(given[key]) for key in _TEXTS if given.get(key)})
    for key in _COUNTS:
        count = given.get(key)
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            said[key] = count
        elif count is not None:
            flaws.append(f"`{key}: {count}` is not a number of 0 or more, and is ignored")
    for key, field in _DURATIONS.items():
        try:
            said.update({field: duration_s(str(given[key]))} if given.get(key) is not None else {})
        except BdError:
            flaws.append(f"`{key}: {given[key]}` is not a duration, and is ignored")
    said["names"] = _names(given.get("names"), flaws)
    pool = _within(Pool(name, **said), flaws)
    return pool.replace(flaws=tuple(flaws)) if flaws else pool


def _unknown(key: str) -> str:
    meant = nearest(key, sorted(_KEYS))
    return f"`{key}` is not a pool setting{f': did you mean `{meant}`?' if meant else ''}"


def _names(given: Any, flaws: list[str]) -> tuple[str, ...]:
    """Return the names from `names` that can be agents'; they also name files."""
    listed = given if isinstance(given, list) else []
    if given is not None and not isinstance(given, list):
        flaws.append("`names` is not a list, and is ignored")
    names = [str(name).replace("_", "-") for name in listed]
    flaws.extend(f"{name!r} in `names` is not a valid agent name, and is ignored" for name in names if not is_agent(name))
    return tuple(dict.fromkeys(name for name in names if is_agent(name)))


def _within(pool: Pool, flaws: list[str]) -> Pool:
    """Make the pool's numbers consistent."""
    if pool.max > MOST_MEMBERS:
        flaws.append(f"`max: {pool.max}` is more than {MOST_MEMBERS}, which holds")
        pool = pool.replace(max=MOST_MEMBERS)
    if pool.min > pool.max:
        flaws.append(f"`min: {pool.min}` is more than `max`, {pool.max}, which is used for both")
        pool = pool.replace(min=pool.max)
    if pool.size is not None and pool.clamped(pool.size) != pool.size:
        flaws.append(f"`size: {pool.size}` is not within {pool.min}..{pool.max}; {pool.clamped(pool.size)} holds")
        pool = pool.replace(size=pool.clamped(pool.size))
    if pool.provider not in PROVIDERS and not pool.alive:
        flaws.append(f"`provider: {pool.provider}` is not one of {', '.join(PROVIDERS)}: no members are started")
    return pool


def pools_of(files: Files) -> dict[str, Pool]:
    """Return every pool of a hub: one for each agent file."""
    return {name: pool_of(name, file) for name, file in sorted(files.records(AGENTS_DIR).items())}


def template_of(name: str, files: Files) -> str | None:
    """Return the agent file that applies to a name: its own, else that of the pool it is, or was, a member of."""
    if files.record(agent_path(name)) is not None:
        return name
    base, _, number = name.rpartition("-")
    # A number above the current limit: a member from before, which keeps its settings until it ends.
    if base and number.isdigit() and "pool" in (files.record(agent_path(base)) or {}):
        return base
    for other, file in files.records(AGENTS_DIR).items():
        names = (file.get("pool") or {}).get("names")
        if isinstance(names, list) and name in names:
            return other
    return None


def file_of(name: str, files: Files) -> Mapping[str, Any] | None:
    """Return the agent file that applies to a name; a pool's member has its template's."""
    own = files.record(agent_path(name))
    template = template_of(name, files) if own is None else None
    return {**(files.record(agent_path(template)) or {}), "name": name} if template else own
