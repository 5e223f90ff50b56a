"""The settings below a key of the configuration, such as `defaults.expected.code`: which there are, and what each may say.

Belongs here: their names, how a typed text is read, and in which layers one counts. Does not belong here: the settings that are
one key (core/settings.py), and what comes of one (the policy that reads it).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.nearest import nearest
from bd.core.schema import AGENT_FIELDS, TYPES
from bd.core.settings import KEYS, PLACE_KEYS, PROCESS_KEYS, may_set, stored
from bd.core.times import duration_s, duration_text
from bd.policy import friction, overload, stealing
from bd.policy.failure_kinds import KINDS, NO_RETRY_ON
from bd.policy.retry import STRATEGIES, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

EVERYWHERE, HUB_ALONE = ("hub", "clone", "user"), ("hub",)
_LARGEST = 1e9
# Stand for any bead type, and for any name.
TYPE, NAME = "TYPE", "NAME"


class Setting(NamedTuple):
    """One setting below a key: its path (`TYPE` and `NAME` stand for any), how its text is read, and the layers that count."""

    path: tuple[str, ...]
    read: Callable[[str], Any]
    help: str
    layers: tuple[str, ...] = HUB_ALONE
    default: str = ""

    @property
    def key(self) -> str:
        return ".".join(self.path)

    @property
    def default_value(self) -> Any:
        """The value of an unset setting; empty if there is none."""
        return self.read(self.default) if self.default else ""

    @property
    def is_open(self) -> bool:
        """True if it stands for many settings, one for each type or name, or exists only while it is set."""
        return TYPE in self.path or NAME in self.path or self.path == ("notify",)


def _duration(text: str) -> str:
    duration_s(text)
    return text


def _time(text: str) -> str:
    if not duration_s(text):
        raise BadInput(f"must be more than 0, not {text!r}")
    return text


def _number(text: str) -> float | int:
    try:
        number = float(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a number") from None
    if not number >= 0:
        raise BadInput(f"must be 0 or more, not {text!r}")
    if number >= _LARGEST:
        raise BadInput(f"must be less than {_LARGEST:.0f}, not {text!r}")
    return int(number) if number == int(number) else number


def _positive(text: str) -> float | int:
    if not _number(text):
        raise BadInput(f"must be more than 0, not {text!r}")
    return _number(text)


def _factor(text: str) -> float | int:
    if _number(text) < 1:
        raise BadInput(f"must be 1 or more, not {text!r}")
    return _number(text)


def _whole(text: str) -> int:
    number = _number(text)
    if not isinstance(number, int):
        raise BadInput(f"{text!r} is not a whole number")
    return number


def _count(text: str) -> int:
    if _whole(text) < 1:
        raise BadInput(f"must be 1 or more, not {text!r}")
    return _whole(text)


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise BadInput(f"expected one of {', '.join(words)}, not {text!r}")
        return text

    return read


def _truth(text: str) -> bool:
    return bool(KEYS["recover"].read(text))


def _kinds(text: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        _one_of(*KINDS)(name)
    return names


def _text(text: str) -> str:
    return text


_RETRY: dict[str, tuple[Callable[[str], Any], str, str]] = {
    "strategy": (_one_of(*STRATEGIES), Rule().strategy, "how the delay grows: exponential, fixed, immediate"),
    "initial_delay": (_duration, duration_text(Rule().initial_s), "the delay before the second attempt"),
    "backoff_multiplier": (_factor, f"{Rule().multiplier:g}", "by how much each delay is longer than the one before"),
    "max_delay": (_duration, duration_text(Rule().max_s), "the longest delay"),
    "jitter": (_truth, "true", "whether delays vary by half, so that beads do not come back together"),
    "retry_on": (_kinds, "", "failures that are tried again; unset: all others"),
    "no_retry_on": (_kinds, ", ".join(sorted(NO_RETRY_ON)), "failures that end the attempts at once"),
}
_STEALING = stealing.Rules()
_FRICTION = friction.Rules()
_OVERLOAD = overload.Rules()
_TYPES = (*TYPES, "publish")
# What stands in the hub's configuration, or in an agent's file, and is set by a command of its own.
_ELSEWHERE = {
    "schedules": "`bd schedule add` and `bd schedule remove` change schedules",
    "paused": "`bd pause` and `bd resume`",
    "memories": "`bd remember` changes memories",
    "repos": "`bd repo add` and `bd repo remove` change repos",
    "format": "`bd upgrade` raises the format",
    "min_version": "`bd upgrade` raises min_version",
    "spent_keys": "bd keeps the idempotency keys of deleted beads; they can't be set",
    "interval": "`bd agent add NAME --interval 30m`",
    "max_concurrent": "`bd agent add NAME --max 2`",
    "role": "`bd agent add NAME --role coding`",
    "capabilities": "`bd agent add NAME --capability git`",
    "models_available": "`bd agent add NAME --model NAME`",
    "budget_usd": "`bd agent add NAME --budget 5`",
    "cool_down": "`bd agent add NAME --cool-down 5m`",
    "start": "`bd agent add NAME --start COMMAND`",
    "with": "`bd agent add NAME --with claude`",
    "account": "`bd agent add NAME --account TEXT`",
    "skills": "`bd agent add NAME --skills fix --label ui --type bug`",
}
_ELSEWHERE = {**dict.fromkeys(AGENT_FIELDS, "a key of an agent's file, .beads/agents/NAME.yaml"), **_ELSEWHERE}
# So many names are listed in a hint.
_FEW = 8
_OF_DEFAULTS = ("expected", "max_cost_usd", "max_duration", "retry")
_MAX_ATTEMPTS = ("max_attempts", (_count, "", "maximum number of attempts on a bead of this type"))

SETTINGS = (
    Setting(("defaults", "expected", TYPE), _duration, "how long a bead of a type is expected to take", EVERYWHERE),
    Setting(("defaults", "max_cost_usd", TYPE), _number, "the most a bead of a type may cost, where it does not say"),
    Setting(
        ("defaults", "max_duration", TYPE), _time, "how long work lets an attempt take, where a bead does not say", EVERYWHERE
    ),
    *(Setting(("defaults", "retry", key), read, words, default=default) for key, (read, default, words) in _RETRY.items()),
    *(
        Setting(("defaults", "retry", "types", TYPE, key), read, f"the same for a type: {words}")
        for key, (read, _, words) in (*_RETRY.items(), _MAX_ATTEMPTS)
    ),
    Setting(("stealing", "on_poll"), _truth, "whether an agent whose poll finds nothing steals at once", default="false"),
    Setting(
        ("stealing", "idle"),
        _duration,
        "how long an agent must be idle before beads move to it",
        default=duration_text(_STEALING.idle_s),
    ),
    *(
        Setting(("stealing", key), read, words, default=f"{getattr(_STEALING, key):g}")
        for key, read, words in (
            ("pending", _whole, "with more than this many beads an agent gives some away"),
            ("per_agent", _whole, "the most beads that one agent receives in a cycle"),
            ("per_cycle", _whole, "the most beads that move in a cycle"),
            ("base", _number, "only beads from this base priority on move"),
            ("cross_base", _number, "from this base priority on also to agents of another kind"),
        )
    ),
    Setting(("friction",), _truth, "whether idle agents create beads about friction", default="false"),
    Setting(("friction", "window"), _time, "the time in which attempts count", default=duration_text(_FRICTION.window_s)),
    Setting(("friction", "rate"), _positive, "the share of attempts that must fail", default=f"{_FRICTION.rate:g}"),
    Setting(("friction", "least"), _count, "the minimum number of attempts", default=str(_FRICTION.least)),
    Setting(("friction", "role"), _text, "the role that beads about friction are for; unset: nobody's in particular"),
    Setting(
        ("overload", "failures"),
        _whole,
        "an agent is overloaded after failures of this many different beads; 0: never",
        default=str(_OVERLOAD.failures),
    ),
    Setting(("overload", "attempts"), _count, "among this many of its last attempts", default=str(_OVERLOAD.attempts)),
    *(
        Setting(("prices", NAME, kind), _number, f"US dollars for a million {words} tokens of a model or program", EVERYWHERE)
        for kind, words in (("input", "input"), ("cached", "cached input"), ("output", "output"))
    ),
    Setting(("notify",), _text, "the command that tells people", EVERYWHERE),
    Setting(("notify", NAME), _text, "one of several commands that tell people", EVERYWHERE),
    Setting(("validators", NAME), _text, "the command of a validator", EVERYWHERE),
    Setting(("judges", NAME), _text, "the command of a judge", EVERYWHERE),
)


def setting_of(key: str, types: Iterable[str] = ()) -> Setting:
    """The setting of a dotted key, its path as typed; `types` are those that the hub adds. Raises BadInput naming the nearest."""
    path = tuple(key.split("."))
    found = find_setting(path, types)
    if found is None:
        raise BadInput(f"no setting {key!r}", hint=_hint(path, (*_TYPES, *types)))
    return found


def find_setting(path: tuple[str, ...], types: Iterable[str] = ()) -> Setting | None:
    """The setting at a path; None where there is none."""
    if len(path) == 2 and path[0] == "defaults" and path[1] in KEYS:
        name = path[1]
        layers = tuple(layer for layer in EVERYWHERE if may_set(name, layer))
        return Setting(path, lambda text: stored(name, text), KEYS[name].help, layers)
    known = (*_TYPES, *types)
    fitting = (one for one in SETTINGS if len(one.path) == len(path) and _all_fit(path, one.path, known))
    return next((one._replace(path=path) for one in fitting), None)


def _all_fit(words: Iterable[str], pattern: tuple[str, ...], types: tuple[str, ...]) -> bool:
    """Return whether each of the words fits its level of a pattern, as far as they go."""
    return all(_fits(word, level, types) for word, level in zip(words, pattern, strict=False))


def _fits(word: str, pattern: str, types: tuple[str, ...]) -> bool:
    return word in types if pattern == TYPE else bool(word) if pattern == NAME else word == pattern


def _hint(path: tuple[str, ...], types: tuple[str, ...]) -> str:
    """Return a hint: the path with each unknown word replaced by the one it resembles, else the possible words."""
    patterns = [one.path for one in SETTINGS] + [(name,) for name in (*KEYS, *PLACE_KEYS)]
    patterns += [("defaults", name) for name in KEYS if name not in PROCESS_KEYS]
    if path[0] in _ELSEWHERE:
        return _ELSEWHERE[path[0]]
    if path[0] in _OF_DEFAULTS:
        return _hint(("defaults", *path), types)
    found: list[str] = []
    for word in path:
        levels = [one[len(found)] for one in patterns if len(one) > len(found) and _all_fit(found, one, types)]
        names = tuple(dict.fromkeys(name for level in levels for name in (types if level == TYPE else (level,)) if name != NAME))
        meant = word if word in names or NAME in levels else nearest(word, names)
        if meant is None:
            return _ELSEWHERE[elsewhere] if (elsewhere := nearest(path[0], _ELSEWHERE)) and not found else _choice(found, names)
        found.append(meant)
    if any(len(one) == len(found) and _all_fit(found, one, types) for one in patterns):
        return f"did you mean {'.'.join(found)}?"
    below = [one[len(found)] for one in patterns if len(one) > len(found) and _all_fit(found, one, types)]
    return _choice(found, tuple(dict.fromkeys(below)))


def _choice(above: list[str], names: tuple[str, ...]) -> str:
    if not names:
        return f"nothing is below {'.'.join(above)}; `bd config list` shows every setting"
    if len(names) > _FEW:
        return f"`bd config list` shows every setting{' below ' + '.'.join(above) if above else ''}"
    return f"one of {', '.join('.'.join((*above, name)) for name in names)}"


def is_set(layer: Mapping[str, Any], path: Iterable[str]) -> bool:
    """Return whether a layer has a value at a path, or below it."""
    found: Any = layer
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found is not None


def in_the_way(layer: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    """Say which value above a path would be lost, or mean something else, with a value at the path; None if there is none."""
    found: Any = layer
    for depth, name in enumerate(path[:-1], 1):
        found = found.get(name)
        above = ".".join(path[:depth])
        if found is False:
            return f"{above} is false here, and {'.'.join(path)} would make it true"
        if found is None or found is True:  # whatever is below says true as well
            return None
        if not isinstance(found, dict):
            return f"{above} is one {'text' if isinstance(found, str) else 'value'} here: {found!r}"
    return None


def with_value(layer: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The layer with a value at a path, None to take it away; maps that are left empty go, too."""
    first, rest = path[0], path[1:]
    if rest:
        inside = layer.get(first)
        if value is None and not isinstance(inside, dict):
            return dict(layer)  # nothing is below it
        value = with_value(inside if isinstance(inside, dict) else {}, rest, value) or None
    return {key: one for key, one in {**layer, first: value}.items() if one is not None}


def leaves(layer: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], Any]]:
    """Every value below a mapping, with its path."""
    for name, value in layer.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, str(name)))
        else:
            yield (*path, str(name)), value
