"""Settings: every key, its default, and the layer that a value comes from.

Precedence: flag, environment (`BD_*`), clone (`<git common dir>/bd/config.yaml`), user (`$XDG_CONFIG_HOME/bd/config.yaml`), hub
(`.beads/config.yaml`), default. The table and the merge; callers read the files and pass mappings.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core import versions
from bd.core.errors import BadInput, Damaged
from bd.core.schema import status_word
from bd.core.times import duration_s
from bd.core.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from bd.core.errors import BdError

# How long a bead of a type is expected to take, in seconds; it has stalled after `stall_factor` times that.
EXPECTED_S: dict[str, float] = {
    **dict.fromkeys(("code", "bug", "task", "chore", "test"), 3600.0),
    **dict.fromkeys(("feature", "review", "deploy", "publish"), 7200.0),
    **dict.fromkeys(("research", "synthesis", "epic"), 14400.0),
}


_LARGEST = 1e9
_PREFIX_LIMIT = 100


class Key(Value):
    """One setting: its default, its parser, and what it is for."""

    default: Any
    read: Callable[[Any], Any]
    help: str


def _text(value: Any) -> str:
    return str(value)


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{value!r} is not a whole number") from None


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{value!r} is not a number") from None
    if not 0 <= number < _LARGEST:
        raise BadInput(f"{value!r} is not a number from 0 to {_LARGEST:.0f}")
    return number


def _seconds(value: Any) -> float:
    return duration_s(str(value))


def _half_life(value: Any) -> float:
    seconds = _seconds(value)
    if not seconds:
        raise BadInput("a half-life must be positive")
    return seconds


def _truth(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in ("true", "false", "yes", "no", "1", "0", "on", "off"):
        raise BadInput(f"{value!r} is neither true nor false")
    return word in ("true", "yes", "1", "on")


def _claim_mode(value: Any) -> str:
    if value not in ("exclusive", "advisory"):
        raise BadInput(f"{value!r} is neither exclusive nor advisory")
    return str(value)


def _permissions(value: Any) -> str:
    if value not in ("edit", "full"):
        raise BadInput(f"{value!r} is neither edit nor full")
    return str(value)


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(part) for part in value]


def _command(value: Any) -> list[str]:
    import shlex  # noqa: PLC0415  few hubs have commands in their settings

    if not isinstance(value, str):
        return [str(word) for word in value]
    try:
        return shlex.split(value)
    except ValueError as error:
        raise BadInput(f"{value!r} is not a command: {error}") from None


def _statuses(value: Any) -> list[str]:
    return [status_word(name) for name in _names(value)]


def _commit_prefix(value: Any) -> str:
    text = str(value)
    if not text.isprintable() or len(text) > _PREFIX_LIMIT:
        raise BadInput(f"{text!r} can't start a commit's subject", hint='one line, such as "chore(beads): "')
    return text


def _commit_trailers(value: Any) -> list[str]:
    """Read lines `Key: value`, from a list or a text. Raises BadInput for other lines, and for bd's own trailers."""
    lines = [line.strip() for line in (value.splitlines() if isinstance(value, str) else map(str, value))]
    for line in filter(None, lines):
        key, colon, text = line.partition(": ")
        is_key = key.isascii() and key.replace("-", "x").isalnum() and not key.lower().startswith("bd-")
        if not (is_key and colon and text.strip() and line.isprintable()):
            raise BadInput(f"{line!r} can't be a trailer", hint='a line such as "Ticket: OPS-1"; Bd-* are bd\'s own')
    return [line for line in lines if line]


KEYS: dict[str, Key] = {
    "prefix": Key("bd", _text, "prefix of new bead ids"),
    "domain": Key("", _text, "part after @ in owners; default: the prefix"),
    "agent": Key("", _text, "the agent, if nothing else names one"),
    "types": Key([], _names, "additional bead types"),
    "statuses": Key([], _statuses, "additional statuses"),
    "max_attempts": Key(3, _whole, "maximum number of attempts on a bead"),
    "claim_ttl": Key(900.0, _seconds, "how long a reserved bead may wait to be started"),
    "stall_factor": Key(2.0, _number, "stalled after this many times the expected duration"),
    "heartbeat_interval": Key(0.0, _seconds, "interval of heartbeats; unset: 30s on a local remote, 5m elsewhere"),
    "recover": Key(True, _truth, "whether claim --next, work and poll free stalled claims"),
    "stop_when_cut_off": Key(True, _truth, "whether work ends its command if the hub was unreachable for the stall time"),
    "claim_mode": Key("exclusive", _claim_mode, "exclusive, or advisory: several may claim the same bead, and see each other"),
    "heat_half_life": Key(86400.0, _half_life, "half-life of a bead's temperature"),
    "priority_boost_per_minute": Key(0.1, _number, "priority points that a ready bead gains per minute of waiting"),
    "starvation_limit": Key(3600.0, _seconds, "after how long a waiting bead may be what one claim in ten takes"),
    "reputation_points": Key(
        0.0, _number, "most priority points by which an agent's success with a type moves its beads; 0: none"
    ),
    "archive_after": Key(30 * 86400.0, _seconds, "how long a closed bead stays active before it is archived"),
    "export_auto": Key(False, _truth, "whether writes keep .beads/issues.jsonl up to date, for viewers that read it"),
    "board_path": Key("", _text, "where board --publish writes the board in the hub; unset: BOARD.md"),
    "url_allow": Key(
        [], _names, "hosts, .endings, networks and addresses that validation may request although they are not public"
    ),
    "permissions": Key("edit", _permissions, "what work --with lets a coding agent do: edit files, or full: anything"),
    "environment": Key(
        [], _names, "the only variables that agents and checks get, besides what programs need; ANTHROPIC_* and so on"
    ),
    "sandbox": Key([], _command, "what agents and checks run in: bwrap, podman IMAGE, or a command in front of theirs"),
    "commit_prefix": Key("", _commit_prefix, "text that every commit subject starts with, for servers that require a pattern"),
    "commit_trailers": Key(
        [], _commit_trailers, "lines (`Key: value`) that every commit ends with, for servers that require them"
    ),
    "sign_off": Key(
        False, _truth, "whether every commit ends with a Signed-off-by line of its author; also git's format.signOff"
    ),
    "sign": Key(False, _truth, "whether this clone signs what it writes, with the author's key"),
    "require_signed": Key(False, _truth, "whether claims and changes of state count only when signed by an allowed key"),
    "fresh_time": Key(2.0, _seconds, "a write pushes before it fetches if this clone fetched less than this ago"),
    "retry_time": Key(60.0, _seconds, "how long a write tries again before it gives up"),
    "lock_timeout": Key(60.0, _seconds, "how long a command waits for this clone's other writers"),
    "git_timeout": Key(60.0, _seconds, "how long a git process may make no progress"),
}


def is_duration(name: str) -> bool:
    """Return whether a setting is a length of time, kept in seconds."""
    return KEYS[name].read in (_seconds, _half_life)


def stored(name: str, text: str) -> Any:
    """A typed text as a settings file keeps it: a number, a truth value, a list; a duration stays as it was typed. Raises BadInput."""
    value = KEYS[name].read(text)
    if is_duration(name):
        return text
    return int(value) if isinstance(value, float) and value.is_integer() else value


# What has to be the same for everybody, such as the order of work: only the hub's own file has a say.
HUB_KEYS = ("require_signed", "heat_half_life", "priority_boost_per_minute", "starvation_limit", "reputation_points")
# Settings that a person makes for one machine: neither the hub's file nor the environment counts.
OWN_KEYS = ("url_allow", "permissions", "environment", "sandbox")
# Settings that concern a process alone; every other setting affects what operations decide.
PROCESS_KEYS = frozenset(
    "agent sign recover url_allow permissions environment sandbox stop_when_cut_off export_auto board_path fresh_time retry_time lock_timeout git_timeout".split()
)
# Settings that are needed before the hub's file is read: the clone remembers the hub's last values.
EARLY_KEYS = ("fresh_time", "lock_timeout", "git_timeout")
# Settings of one machine: the hub's file does not count.
PERSONAL_KEYS = ("agent",)
# Set per clone by init and clone; the hub's own file can't say where it is kept.
PLACE_KEYS = ("branch", "remote")


class Settings(Value):
    """The value of every setting. Durations are seconds."""

    prefix: str
    domain: str
    agent: str
    types: list[str]
    statuses: list[str]
    max_attempts: int
    claim_ttl: float
    stall_factor: float
    heartbeat_interval: float
    recover: bool
    stop_when_cut_off: bool
    claim_mode: str
    heat_half_life: float
    priority_boost_per_minute: float
    starvation_limit: float
    reputation_points: float
    archive_after: float
    export_auto: bool
    board_path: str
    url_allow: list[str]
    permissions: str
    environment: list[str]
    sandbox: list[str]
    commit_prefix: str
    commit_trailers: list[str]
    sign_off: bool
    sign: bool
    require_signed: bool
    fresh_time: float
    retry_time: float
    lock_timeout: float
    git_timeout: float
    expected: Mapping[str, Any] = {}
    # How long an attempt may take, by type, and prices of tokens, by model or program: of this process alone.
    max_duration: Mapping[str, Any] = {}
    prices: Mapping[str, Any] = {}
    # The retry rules of the hub's file: the keys of a bead's `retry` map, and `types` with such maps.
    retry: Mapping[str, Any] = {}
    sources: Mapping[str, str] = {}

    @property
    def owner_domain(self) -> str:
        return self.domain or self.prefix

    def owner(self, agent: str) -> str:
        """Return the identity `<agent>@<domain>`."""
        return f"{agent}@{self.owner_domain}"

    def expected_s(self, bead_type: str, expected: str | None = None) -> float:
        """Return how many seconds a bead is expected to take."""
        if expected:
            return duration_s(expected)
        own = self.expected.get(bead_type)
        return duration_s(str(own)) if own else EXPECTED_S.get(bead_type, 3600.0)

    def retry_of(self, bead_type: str) -> dict[str, Any]:
        """Return the hub's retry rules for a type; empty if there are none."""
        types = self.retry.get("types")
        given = types.get(bead_type) if isinstance(types, dict) else None
        return given if isinstance(given, dict) else {}

    def attempt_limit(self, bead_type: str, own: Any = None) -> int:
        """Return a bead's attempt limit: its own, else the hub's for its type, else the hub's; at least one."""
        for limit in (own, self.retry_of(bead_type).get("max_attempts")):
            number = int(limit) if isinstance(limit, str) and limit.isascii() and limit.isdigit() else limit
            if isinstance(number, int) and not isinstance(number, bool) and number > 0:
                return number
        return max(1, self.max_attempts)


_DEFAULTS: Mapping[str, Any] = {name: key.default for name, key in KEYS.items()}


def merge(layers: Sequence[tuple[str, Mapping[str, Any]]]) -> Settings:
    """Merge layers into settings, the strongest first. Raises BadInput naming the layer of a bad value."""
    values: dict[str, Any] = dict(_DEFAULTS)
    sources = dict.fromkeys(KEYS, "default")
    for layer, mapping in layers:
        for name in _named(mapping):
            found = _lookup(mapping, name)
            if found is None or sources[name] != "default" or not may_set(name, layer):
                continue
            try:
                values[name] = KEYS[name].read(found)
            except (BadInput, TypeError) as error:
                if layer == "hub" and _is_newer(mapping):
                    continue
                raise _bad(layer, name, found, error) from None
            sources[name] = layer
    maps: dict[str, Any] = {name: _merged(name, layers, is_durations=name != "prices") for name in _MAPS}
    retry = next((_lookup(mapping, "retry") for layer, mapping in layers if layer == "hub"), None)
    return Settings(**values, **maps, retry=retry if isinstance(retry, dict) else {}, sources=sources)


# Settings that are maps, of which each layer may set some keys.
_MAPS = ("expected", "max_duration", "prices")


def _merged(name: str, layers: Sequence[tuple[str, Mapping[str, Any]]], *, is_durations: bool) -> dict[str, Any]:
    """Return a map, merged from all layers. Raises BadInput and Damaged for a bad value."""
    merged: dict[str, Any] = {}
    for layer, mapping in reversed(layers):
        found = _lookup(mapping, name) or {}
        if not is_durations:
            merged.update(found if isinstance(found, dict) else {})
            continue
        try:
            for value in found.values():
                duration_s(str(value or 0))
            merged.update(found)
        except (BadInput, AttributeError, TypeError, ValueError) as error:
            if layer == "hub" and _is_newer(mapping):
                continue
            raise _bad(layer, name, found, error) from None
    return merged


def may_set(name: str, layer: str) -> bool:
    """Return whether a layer counts for a setting; what it says of others is ignored."""
    if name in HUB_KEYS:
        return layer == "hub"
    if name in OWN_KEYS:
        return layer in ("clone", "user")
    return layer != "hub" or name not in PERSONAL_KEYS


def early(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `EARLY_KEYS` in a hub's file."""
    found = {name: _lookup(config, name) for name in EARLY_KEYS}
    return {name: value for name, value in found.items() if value is not None}


def _is_newer(config: Mapping[str, Any]) -> bool:
    """Return whether a hub's file has a newer format. Then an unreadable value is no damage, as nothing is written there."""
    version = config.get("format")
    return isinstance(version, int) and version > versions.FORMAT


def _bad(layer: str, name: str, found: Any, error: Exception) -> BdError:
    """Return the error for a value that can't be read: Damaged for the hub's own file, else BadInput."""
    words = str(error) if isinstance(error, BadInput) else "invalid value"
    if layer == "hub":
        return Damaged(
            f".beads/config.yaml has {name} = {found!r}: {words}",
            hint="edit that file, commit it and `git push`; bd writes nothing until then",
        )
    return BadInput(f"{name} = {found!r} ({layer}): {words}")


def _named(mapping: Mapping[str, Any]) -> list[str]:
    """Return the settings that a layer may set; faster than asking it for every setting."""
    defaults = mapping.get("defaults")
    return [name for name in {**mapping, **(defaults if isinstance(defaults, dict) else {})} if name in KEYS]


def _lookup(mapping: Mapping[str, Any], name: str) -> Any:
    if mapping.get(name) not in (None, ""):
        return mapping[name]
    defaults = mapping.get("defaults")
    return defaults.get(name) if isinstance(defaults, dict) else None


def of_hub(config: Mapping[str, Any]) -> Settings:
    """Return the settings in the hub's own file alone, which apply when carrying out requests of other clones."""
    return merge([("hub", config)])


def same_decisions(one: Settings, other: Settings) -> bool:
    """Return whether both settings lead to the same decisions: they differ only in `PROCESS_KEYS`."""
    if one.expected != other.expected or one.retry != other.retry:
        return False
    return all(getattr(one, key) == getattr(other, key) for key in KEYS.keys() - PROCESS_KEYS)


def hub_setting(config: Mapping[str, Any], name: str, otherwise: Any = None) -> Any:
    """Return one of `HUB_KEYS` from the hub's file; its default if it is unset.

    If the value can't be read, return `otherwise` if given, else the default.
    """
    key = KEYS[name]
    found = _lookup(config, name)
    try:
        return key.default if found is None else key.read(found)
    except (BadInput, TypeError):
        return key.default if otherwise is None else otherwise


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings from `BD_*` variables, by key."""
    given = [name for name in environment if name.startswith("BD_") and name.isupper()]
    found = {name.removeprefix("BD_").lower(): environment[name] for name in given}
    return {name: value for name, value in found.items() if value and name in KEYS}
