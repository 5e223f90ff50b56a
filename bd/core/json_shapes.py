"""The shape of a value that was read from JSON: what a note, a record or an answer has to look like to count as one.

A shape is a type (or several, as `isinstance` takes them; a truth is no number), `[shape]` for a list of such, or a
dictionary: each of its keys has to be there with that shape, or may be absent where the shape allows None; the key `...`
is for all others. Belongs here: looking. Does not belong here: what becomes of a value that does not fit.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

NUMBER = (int, float)
MAYBE_TEXT = (str, type(None))
MAYBE_NUMBER = (int, float, type(None))
_LARGEST = 1e15


def json_value(text: str) -> Any:
    """The value of a JSON document from anybody. Raises ValueError for everything that is none, however deep it is."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("no JSON: too deep") from None


def fits(value: Any, shape: Any) -> bool:
    """Whether a value has a shape; numbers have to be finite and of a size that times and counts can have."""
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
