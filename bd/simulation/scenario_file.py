"""A scenario as a file: YAML or JSON, by one table of keys, from which its JSON Schema is made, too.

A new key is a row of a table below, and a field of the value that it becomes (scenario.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bd import TYPE_CHECKING
from bd.compat.documents import entries_of
from bd.core import ids
from bd.core.errors import BadInput
from bd.core.known_keys import unknown_keys
from bd.core.nearest import nearest
from bd.core.pools import pool_of
from bd.core.schema import CONFIG_PATH, agent_path
from bd.core.times import duration_s
from bd.policy import failure_kinds
from bd.simulation.scenario import RETRIES, SERVICE_TIMES, Dispatch, Group, Outage, Scenario, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

_DURATION = r"^(\d+(\.\d+)?[smhd])+$"
# A simulation of more would hardly end: each is an event.
_HIGHEST_RATE_PER_S = 1000.0
# Of agents and of beads at once, and of beads at the start; all of them are in memory.
MOST = 100_000
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Key(NamedTuple):
    """One key: what it becomes, how its value is read, its JSON Schema, and what it means."""

    field: str
    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    says: str


def rate_of(text: str) -> float:
    """Parse a rate (`12/h`, `3/m`, `0.5/s`, `100/d`) into a number per second. Raises BadInput."""
    number, slash, unit = str(text).partition("/")
    if not slash or not _is_number(number) or unit not in _UNITS:
        raise BadInput(f"{text!r} is not a rate", hint="write 12/h, 3/m, 0.5/s or 100/d")
    per_s = float(number) / _UNITS[unit]
    if per_s > _HIGHEST_RATE_PER_S:
        raise BadInput(f"a rate of {number}/{unit} is over {_HIGHEST_RATE_PER_S:g}/s, which no branch takes")
    return per_s


def _is_number(text: str) -> bool:
    whole, dot, rest = text.partition(".")
    return whole.isascii() and whole.isdigit() and (not dot or (rest.isascii() and rest.isdigit()))


def _number(low: float = 0.0, high: float = float("inf"), *, whole: bool = False) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        text = str(value)
        if not _is_number(text) or (whole and "." in text):
            raise BadInput(f"{value!r} is not a {'whole ' if whole else ''}number")
        number = int(text) if whole else float(text)
        if not low <= number <= high:
            raise BadInput(f"{text} is not between {low:g} and {high:g}" if high < float("inf") else f"{text} is below {low:g}")
        return number

    return read


def _one_of(*words: str) -> Callable[[Any], Any]:
    def read(value: Any) -> str:
        if value not in words:
            meant = nearest(str(value), words)
            raise BadInput(f"{value!r} is not one of {', '.join(words)}{f'; did you mean {meant}?' if meant else ''}")
        return str(value)

    return read


def _time(*, zero: bool = False) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        seconds = duration_s(str(value))
        if not seconds and not zero:
            raise BadInput("a time has to be positive", hint="write 30s, 15m or 2h")
        return seconds

    return read


def _or_times(read: Callable[[Any], Any], each: Callable[[Any], float]) -> Callable[[Any], Any]:
    """Return a reader that also takes a list of times, as a tuple of seconds."""

    def read_either(value: Any) -> Any:
        if value == []:
            raise BadInput("the list is empty")
        return tuple(map(each, value)) if isinstance(value, list) else read(value)

    return read_either


def _truth(value: Any) -> bool:
    if str(value) not in ("true", "false"):
        raise BadInput(f"{value!r} is neither true nor false")
    return str(value) == "true"


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [one.strip() for one in str(value).split(",")]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadInput(f"{value!r} is not a list")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{value!r} is not a mapping")
    return value


def _map(value: Any) -> dict[str, Any]:
    return {key: _typed(one) for key, one in _mapping(value).items()}


def _typed(value: Any) -> Any:
    """Return numbers and truths as such: the reader keeps all values as they are spelled."""
    if isinstance(value, dict):
        return _map(value)
    if isinstance(value, list):
        return [_typed(one) for one in value]
    text = str(value)
    if type(value) is not str and text in ("true", "false"):
        return text == "true"
    if type(value) is not str and _is_number(text):
        return float(text) if "." in text else int(text)
    return text


def _back(value: Any) -> float | None:
    return None if str(value) == "never" else _time()(value)


def _name(value: Any) -> str:
    return ids.check_agent(str(value))


_TIME: dict[str, Any] = {"type": "string", "pattern": _DURATION}
_RATE: dict[str, Any] = {"type": "string", "pattern": r"^\d+(\.\d+)?/[smhd]$"}
_PART: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT: dict[str, Any] = {"type": "integer", "minimum": 0}
_SOME: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MOST}
_AMOUNT: dict[str, Any] = {"type": "number", "minimum": 0}
_TEXT: dict[str, Any] = {"type": "string"}
_TIMES: dict[str, Any] = {"type": "array", "items": _TIME, "minItems": 1}
_LIST: dict[str, Any] = {"type": ["array", "string"], "items": {"type": "string"}}
_MAPPING: dict[str, Any] = {"type": "object"}
_TRUTH: dict[str, Any] = {"type": "boolean"}


def _words(*words: str) -> dict[str, Any]:
    return {"enum": [*words]}


_whole, _some, _part = _number(whole=True), _number(1, MOST, whole=True), _number(0, 1)

# What goes into an agent's file, as `bd agent add` writes it; and into a bead, as `bd create` does.
_AGENT_FILE = {"role", "skills", "capabilities", "fallback", "cool_down", "budget", "pool", "max_concurrent"}
_BEAD = {"type", "priority", "labels", "needs", "assignee", "expected", "max_attempts", "spec"}

AGENTS: dict[str, Key] = {
    "name": Key("name", _name, _TEXT, "Name of the group; its agents are NAME-1, NAME-2 ..."),
    "count": Key("size", _some, _SOME, "Number of agents (1)"),
    "interval": Key("interval_s", _time(), _TIME, "How often an idle agent looks; without it as its role says"),
    "cron": Key("cron", _truth, _TRUTH, "Started every interval instead of waiting"),
    "role": Key("role", str, _TEXT, "Role, as in an agent's file: its skills and interval are presets"),
    "skills": Key("skills", _map, _MAPPING, "Skill rules, as in an agent's file"),
    "capabilities": Key("capabilities", _texts, _LIST, "What the agents have and a bead may need"),
    "fallback": Key("fallback", _truth, _TRUTH, "Takes what nobody else has taken for two cycles"),
    "cool_down": Key("cool_down", str, _TIME, "Rest after each bead"),
    "budget": Key("budget", _map, _MAPPING, "What an agent may spend, as in an agent's file"),
    "capacity": Key("max_concurrent", _some, _SOME, "Beads that an agent works on at once (1)"),
    "pool": Key(
        "pool", _map, _MAPPING, "The group is a pool: min, max and the other keys of an agent's file; `count` does not matter"
    ),
    "fails": Key("fails", _part, _PART, "Part of the attempts that fails"),
    "failure": Key("failure", _one_of(*failure_kinds.KINDS), _words(*failure_kinds.KINDS), "Kind of these failures (crash)"),
    "dies": Key("dies", _part, _PART, "Part of the attempts in which the agent dies"),
    "back": Key("back_s", _back, _TEXT, "How long a dead agent stays away (10m), or never"),
    "speed": Key("speed", _number(0.01), _AMOUNT, "How many times as fast as others the agents work (1)"),
    "usd_per_hour": Key("usd_per_hour", _number(), _AMOUNT, "What an hour of work costs"),
    "usd_per_look": Key("usd_per_look", _number(), _AMOUNT, "What it costs to look for work, as for an agent that is a model"),
}
WORK: dict[str, Key] = {
    "name": Key("name", str, _TEXT, "Name of the kind of beads"),
    "arrivals": Key(
        "rate",
        _or_times(rate_of, _time(zero=True)),
        {"anyOf": [_RATE, _TIMES]},
        "How many beads are made, such as 12/h; or a list of times",
    ),
    "burst": Key("burst", _some, _SOME, "Beads that are made at once (1)"),
    "backlog": Key("backlog", _number(0, MOST, whole=True), {**_COUNT, "maximum": MOST}, "Beads that are there at the start (0)"),
    "service": Key(
        "service_s",
        _or_times(_time(), _time()),
        {"anyOf": [_TIME, _TIMES]},
        "How long a bead takes on average (20m); or a list of times, for one bead after another",
    ),
    "service_times": Key("service_times", _one_of(*SERVICE_TIMES), _words(*SERVICE_TIMES), "How these times are spread"),
    "title": Key("title", str, _TEXT, "Title, which roles and skills go by"),
    "type": Key("type", str, _TEXT, "Type"),
    "priority": Key(
        "priority", _number(0, 4, whole=True), {"type": "integer", "minimum": 0, "maximum": 4}, "Priority, 0 to 4 (2)"
    ),
    "labels": Key("labels", _texts, _LIST, "Labels"),
    "needs": Key("needs", _texts, _LIST, "Capabilities that an agent needs for it"),
    "assignee": Key("assignee", _name, _TEXT, "Agent that the beads are routed to"),
    "expected": Key("expected", str, _TIME, "Expected time, as in a bead's file"),
    "max_attempts": Key("max_attempts", _some, _SOME, "Attempts before it is given up"),
    "fails": Key("fails", _part, _PART, "Part of the attempts that fails, whoever works"),
    "failure": Key("failure", _one_of(*failure_kinds.KINDS), _words(*failure_kinds.KINDS), "Kind of these failures (crash)"),
    "usd": Key("usd", _number(), _AMOUNT, "What an attempt costs, besides the hours"),
}
OUTAGES: dict[str, Key] = {
    "from": Key("starts_s", _time(zero=True), _TIME, "When it begins"),
    "to": Key("ends_s", _time(), _TIME, "When it ends"),
    "groups": Key("groups", lambda value: tuple(_texts(value)), _LIST, "The groups whose models are away (all)"),
    "failure": Key(
        "failure",
        _one_of(*failure_kinds.KINDS),
        _words(*failure_kinds.KINDS),
        "Kind of failure of attempts meanwhile (rate_limit)",
    ),
    "after": Key("after_s", _time(zero=True), _TIME, "How soon an attempt notices (30s)"),
}
DISPATCH: dict[str, Key] = {
    "how": Key(
        "how", _one_of("claim", "assign"), _words("claim", "assign"), "It claims for free agents, or routes beads to agents"
    ),
    "every": Key("every_s", _time(zero=True), _TIME, "How often; 0s: at once"),
    "away_from": Key("away_from_s", _time(zero=True), _TIME, "When it fails"),
    "away_to": Key("away_to_s", _time(), _TIME, "When it is back"),
}


def _several(table: Mapping[str, Key]) -> dict[str, Any]:
    return {"type": "array", "items": _object(table)}


def _object(table: Mapping[str, Key]) -> dict[str, Any]:
    properties = {key: {**one.schema, "description": one.says} for key, one in table.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


TOP: dict[str, Key] = {
    "title": Key("", str, _TEXT, "What it is about; for readers"),
    "agents": Key("groups", _list, _several(AGENTS), "Groups of agents"),
    "work": Key("work", _list, _several(WORK), "Kinds of beads"),
    "outages": Key("outages", _list, _several(OUTAGES), "Times in which models can't be reached"),
    "dispatch": Key("dispatch", _mapping, _object(DISPATCH), "A central process that hands out the work"),
    "rebalance": Key("rebalance_s", _time(), _TIME, "How often beads are moved from long queues to idle agents"),
    "duration": Key("duration_s", _time(), _TIME, "How long it goes on (8h)"),
    "seed": Key("seed", _whole, _COUNT, "The same seed gives the same run (1)"),
    "fetch_time": Key("fetch_s", _time(), _TIME, "From asking the hub until it is decided what to write (0.5s)"),
    "push_time": Key("push_s", _time(), _TIME, "From then until the hub has it (1s)"),
    "retry": Key("retry", _one_of(*RETRIES), _words(*RETRIES), "How lost pushes are tried again"),
    "heartbeat": Key("heartbeat_s", _time(zero=True), _TIME, "Interval of heartbeats (5m); 0s: none"),
    "peek": Key("peek_s", _time(zero=True), _TIME, "How soon a waiting agent first peeks at the hub (30s); 0s: never"),
    "starts": Key(
        "starts_s", _time(zero=True), _TIME, "Within which time the agents start; without it as a fleet that ran before"
    ),
    "settings": Key("hub_settings", _map, _MAPPING, "Settings of the hub, as in .beads/config.yaml"),
}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file."""
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "A scenario of bd simulate"}
    return {**head, **_object(TOP)}


def read(data: bytes, shown: str) -> Scenario:
    """Return the scenario of a file that is called `shown`. Raises BadInput, which names the place and the nearest known key."""
    entries = entries_of(data, shown)
    if len(entries) != 1 or not isinstance(entries[0].value, dict):
        raise BadInput(f"{shown} is not one mapping", hint="`bd simulate --schema` prints what a scenario may have")
    found = _fields(entries[0].value, TOP, shown)
    found.pop("", None)
    groups = tuple(_group(one, f"{shown}: agents[{place}]") for place, one in enumerate(found.pop("groups", ())))
    work = tuple(_work(one, f"{shown}: work[{place}]") for place, one in enumerate(found.pop("work", ())))
    names = [group.name for group in groups]
    outages = tuple(_outage(one, names, f"{shown}: outages[{place}]") for place, one in enumerate(found.pop("outages", ())))
    if not groups or not work:
        raise BadInput(
            f"{shown} has no {'agents' if not groups else 'work'}", hint="`bd simulate --schema` prints what a scenario may have"
        )
    for what, given in (("agents", names), ("work", [one.name for one in work])):
        if len({*given}) < len(given):
            raise BadInput(f"{shown}: two of {what} have the same name", hint="give each a `name`")
    _refuse_unknown(CONFIG_PATH, found.get("hub_settings", {}), f"{shown}: settings")
    dispatch = _dispatch(found.pop("dispatch", None), shown)
    agents = sum(group.size for group in groups)
    return Scenario(**found, groups=groups, work=work, outages=outages, dispatch=dispatch, agents=agents)


def _fields(given: Any, table: Mapping[str, Key], where: str) -> dict[str, Any]:
    """Return the fields that a mapping sets. Raises BadInput for a key that there is not, and for a value that can't be read."""
    if not isinstance(given, dict):
        raise BadInput(f"{where} is not a mapping")
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in table:
            meant = nearest(str(key), table)
            raise BadInput(
                f"{where} has no key {key!r}", hint=f"did you mean {meant}?" if meant else f"one of {', '.join(table)}"
            )
        try:
            found[table[key].field] = table[key].read(value)
        except (BadInput, TypeError, ValueError) as error:
            raise BadInput(f"{where}, {key}: {error}", hint=getattr(error, "hint", None)) from None
    return found


def _refuse_unknown(path: str, fields: Mapping[str, Any], where: str) -> None:
    """Refuse what nothing would read in a file of the hub that is made of these fields. Raises BadInput."""
    for unknown in unknown_keys(path, fields):
        meant = f"did you mean {unknown.nearest}?" if unknown.nearest else "nothing reads it"
        raise BadInput(f"{where} has no key {unknown.key!r}", hint=meant)


def _outage(given: Any, groups: Collection[str], where: str) -> Outage:
    found = _fields(given, OUTAGES, where)
    for key in ("from", "to"):
        if OUTAGES[key].field not in found:
            raise BadInput(f"{where} has no {key}")
    outage = Outage(**found)
    if outage.ends_s <= outage.starts_s:
        raise BadInput(f"{where} ends before it begins", hint="`to` is a time of the run, as `from` is")
    strange = next((name for name in outage.groups if name not in groups), None)
    if strange is not None:
        raise BadInput(f"{where}: there is no group {strange!r}", hint=f"one of {', '.join(groups)}")
    return outage


def _group(given: Any, where: str) -> Group:
    found = _fields(given, AGENTS, where)
    file = {key: found.pop(key) for key in _AGENT_FILE & found.keys()}
    file.setdefault("max_concurrent", 1)
    name = found.pop("name", file.get("role") or "agent")
    _refuse_unknown(agent_path(name), file, where)
    pool = pool_of(name, file)
    if pool.flaws:
        raise BadInput(f"{where}, pool: it would not be as it is written: {pool.flaws[0]}")
    if pool.check:
        raise BadInput(f"{where}, pool: check is a command, and a simulation runs none")
    return Group(name, found.pop("size", 1), file=file, jobs=file["max_concurrent"], **found)


def _work(given: Any, where: str) -> Work:
    found = _fields(given, WORK, where)
    fields = {key: found.pop(key) for key in _BEAD & found.keys()}
    for key, known in (("rate", "arrives_s"), ("service_s", "services_s")):
        if isinstance(found.get(key), tuple):
            found[known] = found.pop(key)
    return Work(found.pop("name", fields.get("type", "work")), fields=fields, **found)


def _dispatch(given: Any, shown: str) -> Dispatch | None:
    if given is None:
        return None
    found = _fields(given, DISPATCH, f"{shown}: dispatch")
    away = found.pop("away_from_s", None), found.pop("away_to_s", None)
    if (away[0] is None) != (away[1] is None):
        raise BadInput(f"{shown}: dispatch has only one of away_from and away_to")
    if away[0] is None:
        return Dispatch(**found)
    if away[1] <= away[0]:
        raise BadInput(f"{shown}: dispatch is back before it is away")
    return Dispatch(**found, away_s=away)
