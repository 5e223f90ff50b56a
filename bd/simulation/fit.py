"""How many agents a hub needs, by its own past: what arrived, how long it took, how often it failed, and who did it.

Belongs here: reading that out of a snapshot, and the search for a fleet that is large enough. The runs themselves are run.py's.
"""

from __future__ import annotations

import math
from statistics import mean
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.costs import spent_of
from bd.core.errors import NotFound
from bd.core.schema import AGENTS_DIR, DONE_STATUSES
from bd.core.times import duration_text, instant_of
from bd.policy.roles import interval_of
from bd.simulation.figures import percentile
from bd.simulation.run import run
from bd.simulation.scenario import Group, Scenario, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead, Snapshot
    from bd.simulation.run import Run

# With fewer finished beads there is nothing to go by.
LEAST = 5
# A run has about so many beads of the rarest kind, and no more than so many in all.
_RAREST, _MOST = 40, 600
_SHORTEST_S, _LONGEST_S = 4 * 3600.0, 14 * 86400.0
# The search ends with so many times as many agents of a role as the work keeps busy: more of them would not help.
_LIMIT = 10


class Kind(NamedTuple):
    """The beads of one type that agents of one role have done. `rate` is in beads a second, `usd` is that of an attempt."""

    role: str
    type: str
    closed: int
    rate: float
    service_s: float
    fails: float
    usd: float


class Role(NamedTuple):
    """The agents of one role as the hub has them now."""

    name: str
    agents: int
    jobs: int
    interval_s: float


class Need(NamedTuple):
    """What one role needs: so many agents, and what then holds."""

    role: str
    agents_now: int
    agents: int
    beads_per_day: float
    service_s: float
    fails: float
    utilisation: float
    wait_p95_s: float
    usd_per_day: float
    holds: bool

    def as_json(self) -> dict[str, Any]:
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in self._asdict().items()}


def history_of(snapshot: Snapshot, now: datetime, within_s: float) -> tuple[list[Kind], dict[str, Role]]:
    """Return what the hub did in the last `within_s` seconds, and its roles. Raises NotFound if that is too little."""
    files = snapshot.records(AGENTS_DIR)
    made: dict[str, list[float]] = {}
    done: dict[tuple[str, str], list[Bead]] = {}
    for head in snapshot.every():
        ago_s = (now - instant_of(head.created_at)).total_seconds() if head.created_at else math.inf
        whole = snapshot.bead(head.id) if 0 <= ago_s <= within_s and head.status in DONE_STATUSES else None
        who = str(whole.get("closed_by") or "") if whole is not None else ""
        if not 0 <= ago_s <= within_s or (whole is not None and not who.startswith("agent:")):
            continue  # what people have closed was no work for agents
        made.setdefault(head.type, []).append(ago_s)
        if whole is not None and whole.get("started_at") and whole.get("closed_at"):
            done.setdefault((_role_of(who.removeprefix("agent:"), snapshot), head.type), []).append(whole)
    closed = sum(map(len, done.values()))
    if closed < LEAST:
        words = f"agents have closed {closed} beads of the last {duration_text(within_s)}"
        raise NotFound(words, hint=f"--fit needs at least {LEAST}; --history looks further back")
    span_s = max(3600.0, *(ago_s for times in made.values() for ago_s in times))
    by_type = {kind: sum(len(beads) for (_, one), beads in done.items() if one == kind) for kind in made}
    kinds = [
        _kind(role, kind, beads, len(made[kind]) * len(beads) / by_type[kind] / span_s) for (role, kind), beads in done.items()
    ]
    return sorted(kinds), {name: _role(name, files) for name in sorted({kind.role for kind in kinds})}


def _role_of(agent: str, snapshot: Snapshot) -> str:
    """Return an agent's role; without one, its own name, or its pool's."""
    file = snapshot.agent(agent) or {}
    return str(file.get("role") or (agent.rpartition("-")[0] if "pool" in file and agent[-1].isdigit() else agent))


def _kind(role: str, kind: str, beads: Sequence[Bead], rate: float) -> Kind:
    took_s = [
        max(1.0, (instant_of(bead.get("closed_at")) - instant_of(bead.get("started_at"))).total_seconds()) for bead in beads
    ]
    attempts = sum(max(1, bead.attempts_counted) for bead in beads)
    usd = sum(spent.usd for bead in beads for spent in spent_of(bead.fields)) / attempts
    return Kind(role, kind, len(beads), rate, mean(took_s), 1 - len(beads) / attempts, usd)


def _role(name: str, files: Mapping[str, Mapping[str, Any]]) -> Role:
    mine = [file for agent, file in files.items() if str(file.get("role") or agent) == name]
    interval_s = min((interval_of(file) for file in mine), default=interval_of({"role": name}))
    jobs = max((int(file.get("max_concurrent") or 1) for file in mine), default=1)
    return Role(name, max(1, len(mine)), jobs, interval_s)


def fitted(
    kinds: Iterable[Kind], roles: Mapping[str, Role], base: Scenario, wait_s: float, tell: Callable[[str], None]
) -> list[Need]:
    """Return what each role needs so that 95 % of its beads wait no longer than `wait_s`.

    It begins with as many agents as the work keeps busy, and adds some where beads wait too long. `base` has the connection and
    the seed; `tell` hears of each run.
    """
    every = list(kinds)
    work = tuple(_work(kind) for kind in every)
    sizes = {name: _least(name, every, roles) for name in roles}
    most = {name: _LIMIT * size for name, size in sizes.items()}
    while True:
        tell(", ".join(f"{size} {name}" for name, size in sizes.items()))
        needs = _tried(every, roles, sizes, base._replace(work=work, duration_s=_duration_s(every)), wait_s)
        short = [need.role for need in needs if not need.holds and sizes[need.role] < most[need.role]]
        if not short:
            return needs
        for name in short:
            sizes[name] = min(most[name], sizes[name] + max(1, sizes[name] // 3))


def _least(role: str, kinds: Sequence[Kind], roles: Mapping[str, Role]) -> int:
    load = sum(kind.rate * kind.service_s / (1 - min(0.9, kind.fails)) for kind in kinds if kind.role == role)
    return max(1, math.ceil(load / roles[role].jobs))


def _duration_s(kinds: Sequence[Kind]) -> float:
    rates = [kind.rate for kind in kinds if kind.rate]
    return max(_SHORTEST_S, min(_LONGEST_S, _RAREST / min(rates), _MOST / sum(rates)))


def _work(kind: Kind) -> Work:
    fields = {"needs": [kind.role]}
    fails = min(0.9, kind.fails)
    return Work(f"{kind.role} {kind.type}", kind.rate, service_s=kind.service_s, fails=fails, usd=kind.usd, fields=fields)


def _tried(
    kinds: Sequence[Kind], roles: Mapping[str, Role], sizes: Mapping[str, int], base: Scenario, wait_s: float
) -> list[Need]:
    """Run the work of the past with so many agents of each role. Who did a kind of work does it here, and nobody else."""
    groups = tuple(
        Group(
            f"role{number}", sizes[name], {"capabilities": [name], "max_concurrent": role.jobs}, role.interval_s, jobs=role.jobs
        )
        for number, (name, role) in enumerate(roles.items())
    )
    made = run(base._replace(groups=groups, agents=sum(sizes.values())))
    return [_need(name, kinds, roles[name], sizes[name], made, wait_s) for name in roles]


def _need(name: str, kinds: Sequence[Kind], role: Role, size: int, made: Run, wait_s: float) -> Need:
    """Return how a role did in a run: its waits are measured, the rest follows from the past."""
    mine = [kind for kind in kinds if kind.role == name]
    tally = made.hub.tally
    names = {f"{name} {kind.type}" for kind in mine}
    waits_s = sorted(wait_s for one in names for wait_s in tally.waits_by.get(one, ()))
    tries = [(kind, kind.rate / (1 - min(0.9, kind.fails))) for kind in mine]
    rate, attempts = sum(kind.rate for kind in mine), sum(each for _, each in tries)
    busy = sum(each * kind.service_s for kind, each in tries)
    wait_p95_s = percentile(waits_s, 0.95)
    keeps_up = len(waits_s) >= 0.9 * tally.made_of(names)
    return Need(
        name,
        role.agents,
        size,
        rate * 86400,
        busy / attempts if attempts else 0.0,
        1 - rate / attempts if attempts else 0.0,
        busy / (size * role.jobs),
        wait_p95_s,
        sum(kind.usd * each for kind, each in tries) * 86400,
        keeps_up and wait_p95_s <= wait_s,
    )
