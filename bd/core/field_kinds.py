"""The kinds of a bead's fields, for values of unknown origin: schedules and plans in a hub may have been edited by hand.

What has the form of its kind may still be wrong: operations/field_values.py finds out. store/yaml/types.py reads the files of beads.
"""

from __future__ import annotations

import math

from bd import TYPE_CHECKING
from bd.core.errors import BadInput
from bd.core.schema import BEAD_FIELDS, INNER_FIELDS
from bd.core.times import canonical_time, duration_s

if TYPE_CHECKING:
    from typing import Any

    from bd.core.schema import Kind

# No count and no amount of a bead comes near it.
_LARGEST = 1e15
_SCALARS = (str, int, float)
_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}
_EXPECTED: dict[Kind | None, str] = {
    "int": "a whole number",
    "number": "a number",
    "priority": "0 to 4",
    "bool": "true or false",
    "list": "a list of texts",
    "map": "a map",
    "maps": "a list of maps",
    "time": "a time",
}


def of_kind(key: str, value: Any) -> Any:
    """Return the value of a bead's field in the form of its kind; of an unknown field as it is. Raises BadInput.

    A time or a duration may be any text: people may write "tomorrow".
    """
    kind = BEAD_FIELDS.get(key)
    found = _converted(value, kind, key)
    if found is None:
        raise BadInput(f"{key} is {value!r}, where {_EXPECTED.get(kind, 'a text')} was expected")
    return found


def _converted(value: Any, kind: Kind | None, key: str = "") -> Any:
    """Return the value in the form of its kind; None if it has another. `key` is the field, if it may be a map."""
    if kind in (None, "any"):
        return value
    if kind == "map":
        return _inner(key, value) if isinstance(value, dict) else None
    if kind == "maps":
        is_right = isinstance(value, list) and all(isinstance(item, dict) for item in value)
        return [_inner(key, item) for item in value] if is_right else None
    if kind == "list":
        items = [value] if isinstance(value, _SCALARS) else value
        is_right = isinstance(items, list | tuple) and all(isinstance(item, _SCALARS) for item in items)
        return [str(item) for item in items] if is_right else None
    if not isinstance(value, _SCALARS):
        return None
    if kind == "bool":
        word = str(value).lower()
        return word in _TRUE if word in _TRUE | _FALSE else None
    return _number(value, kind) if kind in ("int", "number", "priority") else str(value)


def _inner(key: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return a map with the values of the keys that have a kind in its form. Raises BadInput."""
    kinds = INNER_FIELDS.get(key, {})
    found = {name: _stored(value, kinds.get(name)) for name, value in given.items()}
    wrong = next((name for name, value in given.items() if value is not None and found[name] is None), None)
    if wrong is not None:
        raise BadInput(f"{key}.{wrong} is {given[wrong]!r}, where {_EXPECTED.get(kinds[wrong], 'a text')} was expected")
    return found


def _stored(value: Any, kind: Kind | None) -> Any:
    return _in_time(value, kind) if kind in ("time", "duration") and value is not None else _converted(value, kind)


def _in_time(value: Any, kind: Kind) -> str | None:
    """Return a time or a duration as it is stored; None if it is none."""
    try:
        if kind == "time":
            return canonical_time(str(value))
        duration_s(str(value))
    except (ValueError, BadInput):
        return None
    return str(value)


def _number(value: Any, kind: Kind) -> Any:
    if isinstance(value, float) and value.is_integer() and kind != "number":
        value = int(value)
    text = str(value).strip().lower()
    number = text.removeprefix("p") if kind == "priority" else text
    try:
        found = float(number) if kind == "number" else int(number)
    except ValueError:
        found = math.inf
    if isinstance(value, bool) or not abs(found) < _LARGEST or (kind == "priority" and not 0 <= found <= 4):
        return None
    return found if isinstance(value, str) or kind == "priority" else value
