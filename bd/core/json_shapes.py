"""Shapes: the expected structure of a value read from JSON, such as a note, a record or an answer.

A shape is a type (or several, as for `isinstance`; a boolean is not a number), `[shape]` for a list, or a dictionary. Each of its
keys has to be present with that shape, or may be absent if the shape allows None; the key `...` is for all others. Callers decide
what to do with a value that does not fit.
"""

from __future__ import annotations

import json

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NUMBER = (int, float)
MAYBE_TEXT = (str, type(None))
MAYBE_NUMBER = (int, float, type(None))
_LARGEST = 1e15


def json_value(text: str) -> Any:
    """Parse a JSON document of unknown origin. Raises ValueError for anything invalid, however deep it is."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None


def no_constant(name: str) -> None:
    """Refuse `NaN` and `Infinity` as `parse_constant`: Python reads them as JSON, and nobody else does. Raises ValueError."""
    raise ValueError(f"{name} is not a number")


def fits(value: Any, shape: Any) -> bool:
    """Return whether a value has a shape. Numbers have to be finite, and of a plausible size for times and counts."""
    if value.__class__ is shape is str:
        return True
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and _has_keys(value, shape)
    if isinstance(value, bool):
        return shape is bool or (isinstance(shape, tuple) and bool in shape)
    return isinstance(value, shape) and not (isinstance(value, (int, float)) and not -_LARGEST < value < _LARGEST)


def _has_keys(value: dict[str, Any], shape: dict[Any, Any]) -> bool:
    if not all(fits(value.get(key), one) for key, one in shape.items() if key is not ...):
        return False
    return ... not in shape or all(fits(item, shape[...]) for key, item in value.items() if key not in shape)
