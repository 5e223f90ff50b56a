"""The kinds of fields (schema.py), and the conversion of values to them: of YAML that was read, and of JSON.

Whether a value that has the form of its kind makes sense is found out in operations/field_values.py.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS, INNER_FIELDS, status_word
from bd.core.times import canonical_time, duration_s

if TYPE_CHECKING:
    from typing import Any

    from bd.core.schema import Kind

_NULLS = ("", "null", "Null", "NULL", "~")
# Maps that mean something even if empty: an agent without rules takes everything, whatever its role.
_TELLING_WHEN_EMPTY = frozenset({"skills"})


class WrongKind(BadInput):
    """The reason why a value does not fit its kind: `key: what is wrong`."""


class Plain(str):
    """A scalar written without quotes: it may be a number, a boolean or null."""

    __slots__ = ()


def typed(key: str, value: Any, kind: Kind) -> Any:
    """Convert a value to its kind; None if it is unset. Raises WrongKind."""
    if type(value) is Plain and value in _NULLS:
        return None
    try:
        return _TYPERS[kind](key, value)
    except WrongKind:  # of a value inside
        raise
    except (ValueError, BadInput) as error:
        raise WrongKind(f"{key}: {error}") from None


def plain(value: Any) -> Any:
    """Convert a JSON value to what the YAML reader would give: numbers, booleans and null as scalars without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool):
        return Plain("true" if value else "false")
    return Plain("null" if value is None else repr(value))


def of_bead(key: str, value: Any) -> Any:
    """Convert the JSON value of a bead's field to its kind; None if it is unset. An unknown field keeps its value. Raises WrongKind.

    A time may be any text: people write "tomorrow".
    """
    kind = BEAD_FIELDS.get(key)
    return value if kind is None else typed(key, plain(value), "text" if kind == "time" else kind)


def _as_text(key: str, value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise ValueError("a text was expected")
    return str(value)


def _as_int(key: str, value: Any) -> int:
    if isinstance(value, (dict, list)) or not _is_whole(value.strip()):
        raise ValueError(f"{value!r} is not a whole number")
    return int(value)


def _as_number(key: str, value: Any) -> float:
    if isinstance(value, (dict, list)):
        raise ValueError("a number was expected")
    number = float(value)
    if number != number or abs(number) == float("inf"):
        raise ValueError(f"{value!r} is not a number")
    if _is_whole(value.strip()):
        return int(value)  # exact even where a float is not
    return int(number) if number == int(number) and "." not in value else number


def _as_bool(key: str, value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false", "yes", "no", "1", "0"):
        raise ValueError(f"{value!r} is neither true nor false")
    return word in ("true", "yes", "1")


def _as_time(key: str, value: Any) -> str:
    try:
        return canonical_time(_as_text(key, value))
    except ValueError:
        raise ValueError(f"{value!r} is not a time") from None


def _as_duration(key: str, value: Any) -> str:
    duration_s(_as_text(key, value))
    return str(value)


def _as_priority(key: str, value: Any) -> int:
    word = _as_text(key, value).strip().lower().removeprefix("p")
    if word not in ("0", "1", "2", "3", "4"):
        raise ValueError(f"{value!r} is not 0 to 4")
    return int(word)


def _as_status(key: str, value: Any) -> str:
    word = status_word(_as_text(key, value))
    return "open" if word == "ready" else word


def _as_list(key: str, value: Any) -> list[str] | None:
    if isinstance(value, dict):
        raise ValueError("a list was expected")
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, (dict, list)) for item in items):
        raise ValueError("a list of texts was expected")
    return [str(item) for item in items] or None


def _as_map(key: str, value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        raise ValueError("a mapping was expected")
    return _typed_map(key, value) or ({} if key in _TELLING_WHEN_EMPTY else None)


def _as_maps(key: str, value: Any) -> list[dict[str, Any]] | None:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("a list of mappings was expected")
    return [_typed_map(key, item) for item in value] or None


def _typed_map(key: str, value: dict[str, Any]) -> dict[str, Any]:
    inner = INNER_FIELDS.get(key, {})
    out: dict[str, Any] = {}
    for name, item in value.items():
        known = inner.get(name)
        found = typed(f"{key}.{name}", item, known) if known else _as_json(name, item)
        if found is not None or not known:
            out[name] = found
    return out


def _as_json(key: str, value: Any) -> Any:
    """Convert a value without a declared type: a plain scalar as JSON would read it, anything else as text."""
    if isinstance(value, dict):
        return {name: _as_json(name, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_json(key, item) for item in value]
    if type(value) is Plain:
        if value in _NULLS:
            return None
        if value in ("true", "false"):
            return value == "true"
        if _is_json_number(value):
            number = int(value) if _is_whole(value) else float(value)
            if abs(number) != float("inf"):
                return number
    return str(value)


def _is_whole(text: str) -> bool:
    """Return whether the text is an integer: digits, with an optional sign."""
    return text.isascii() and (text[1:] if text[:1] in ("-", "+") else text).isdigit()


def _is_json_number(text: str) -> bool:
    """Return whether the text is a JSON number (RFC 8259)."""
    number, exponent, power = text.lower().partition("e")
    whole, point, part = number.removeprefix("-").partition(".")
    is_number = text.isascii() and whole.isdigit() and (whole == "0" or whole[0] != "0")
    return is_number and (part.isdigit() if point else True) and (_is_whole(power) if exponent else True)


_TYPERS: dict[Kind, Any] = {
    "text": _as_text,
    "int": _as_int,
    "number": _as_number,
    "bool": _as_bool,
    "time": _as_time,
    "duration": _as_duration,
    "list": _as_list,
    "map": _as_map,
    "maps": _as_maps,
    "any": _as_json,
    "priority": _as_priority,
    "status": _as_status,
}
