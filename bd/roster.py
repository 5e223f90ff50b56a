"""Pools of agents: what the `pool` map of an agent file says, and how the members are called.

An agent file is a pool's template; without a `pool` map it is a pool of exactly one. Does not belong here: how many
members there should be (policy/scaling.py), and starting them (fleet/).
"""

from __future__ import annotations

from bd.clock import duration_s
from bd.errors import BdError
from bd.fields import AGENTS_DIR, agent_path
from bd.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    class Files(Protocol):
        """Where agent files are read from: a snapshot."""

        def record(self, path: str) -> Mapping[str, Any] | None: ...

        def records(self, folder: str) -> dict[str, Mapping[str, Any]]: ...


class Pool(NamedTuple):
    """A pool's settings. Durations are seconds; `size` is what somebody asked for by `bd pool scale`."""

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

    @property
    def members(self) -> list[str]:
        """The names its members may have, in the order in which they are started."""
        if self.max == 1 and not self.names:
            return [self.name]
        themed = list(self.names[: self.max])
        return [*themed, *(f"{self.name}-{number}" for number in range(len(themed) + 1, self.max + 1))]

    def clamped(self, count: int) -> int:
        """A number of members within what the pool allows."""
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


def pool_of(name: str, file: Mapping[str, Any]) -> Pool:
    """The pool that an agent file describes: 1..1 without a `pool` map, 0..1 with one that says nothing else."""
    given = file.get("pool")
    if not isinstance(given, dict):
        return Pool(name)
    said: dict[str, Any] = {"min": 0, "is_explicit": True}
    for key in _COUNTS:
        if isinstance(given.get(key), int):
            said[key] = max(0, given[key])
    for key in _TEXTS:
        if given.get(key):
            said[key] = str(given[key])
    for key, field in _DURATIONS.items():
        try:
            said.update({field: duration_s(str(given[key]))} if given.get(key) is not None else {})
        except BdError:
            continue
    if isinstance(given.get("names"), list):
        said["names"] = tuple(dict.fromkeys(map(str, given["names"])))
    pool = Pool(name, **said)
    return pool._replace(max=max(1, pool.max), min=min(pool.min, max(1, pool.max)))


def pools_of(files: Files) -> dict[str, Pool]:
    """Every pool of a hub: one for each agent file."""
    return {name: pool_of(name, file) for name, file in sorted(files.records(AGENTS_DIR).items())}


def template_of(name: str, files: Files) -> str | None:
    """The agent file that a name goes by: its own, else that of the pool it is, or was, a member of."""
    if files.record(agent_path(name)) is not None:
        return name
    base, _, number = name.rpartition("-")
    # A number above the most there may be now: a member from before, which keeps its limits until it has ended.
    if base and number.isdigit() and "pool" in (files.record(agent_path(base)) or {}):
        return base
    for other, file in files.records(AGENTS_DIR).items():
        names = (file.get("pool") or {}).get("names")
        if isinstance(names, list) and name in names:
            return other
    return None


def file_of(name: str, files: Files) -> Mapping[str, Any] | None:
    """The agent file that holds for a name; a pool's member has its template's."""
    own = files.record(agent_path(name))
    template = template_of(name, files) if own is None else None
    return {**(files.record(agent_path(template)) or {}), "name": name} if template else own
