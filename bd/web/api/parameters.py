"""The parameters of endpoints: their kinds, JSON Schemas, and the check of what was sent. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core import json_shapes
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

TEXT_LIMIT = 200_000
_LIST_LIMIT = 1000
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class Kind(NamedTuple):
    """A kind of value: its JSON Schema, how a query's text becomes one, and whether a JSON value is one."""

    schema: Mapping[str, Any]
    words: str
    of_text: Callable[[str], Any]
    fits: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= TEXT_LIMIT and "\0" not in value and _is_unicode(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        return False
    return True


def _is_json(value: Any) -> bool:
    try:
        return _is_unicode(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return False


def _is_number(value: Any) -> bool:
    return json_shapes.fits(value, json_shapes.NUMBER)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


TEXT = Kind({"type": "string", "maxLength": TEXT_LIMIT}, "a text", str, _is_text)
WHOLE = Kind({"type": "integer"}, "a whole number", int, _is_whole)
NUMBER = Kind({"type": "number"}, "a number", float, _is_number)
FLAG = Kind({"type": "boolean"}, "true or false", lambda text: _TRUTHS[text.lower()], lambda value: isinstance(value, bool))
TEXTS = Kind(
    {"type": "array", "items": TEXT.schema, "maxItems": _LIST_LIMIT},
    "a list of texts",
    lambda text: [text],
    lambda value: isinstance(value, list) and len(value) <= _LIST_LIMIT and all(map(_is_text, value)),
)
ANY = Kind({}, "JSON", json.loads, _is_json)


class Parameter(NamedTuple):
    """A parameter. `least` and `most` bound a number; `choices` are the only values, if there are any."""

    name: str
    kind: Kind
    help: str
    is_required: bool = False
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its value."""
        bounds = {"minimum": self.least, "maximum": self.most}
        return {
            **self.kind.schema,
            **{key: value for key, value in bounds.items() if value is not None},
            **({"enum": list(self.choices)} if self.choices else {}),
            "description": self.help,
        }

    def checked(self, value: Any) -> Any:
        """Return the value. Raises BadInput."""
        if not self.kind.fits(value):
            raise BadInput(f"{self.name} has to be {self.kind.words}")
        if self.choices and value not in self.choices:
            raise BadInput(f"{self.name} can't be {value!r}", hint=f"one of {', '.join(self.choices)}")
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            raise BadInput(f"{self.name} has to be from {self.least:g} to {self.most:g}")
        return value

    def of_texts(self, texts: Sequence[str]) -> Any:
        """Return the value that a query spells. Raises BadInput."""
        if self.kind is TEXTS:
            return self.checked(list(texts))
        if len(texts) > 1:
            raise BadInput(f"{self.name} is there {len(texts)} times")
        try:
            return self.checked(self.kind.of_text(texts[0]))
        except (ValueError, KeyError, RecursionError):
            raise BadInput(f"{self.name} has to be {self.kind.words}") from None


def object_schema(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """Return the JSON Schema of an object with these parameters, and no others."""
    known = tuple(parameters)
    needed = [one.name for one in known if one.is_required]
    return {
        "type": "object",
        "properties": {one.name: one.schema() for one in known},
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def of_query(parameters: Sequence[Parameter], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the values of a query string's pairs. Raises BadInput."""
    found: dict[str, list[str]] = {}
    for name, text in pairs:
        found.setdefault(name, []).append(text)
    known = {one.name: one for one in parameters}
    _refuse_unknown(found, known)
    return {name: known[name].of_texts(texts) for name, texts in found.items()}


def of_object(parameters: Sequence[Parameter], given: Any) -> dict[str, Any]:
    """Return the values of a JSON object; null is the same as nothing. Raises BadInput."""
    if not isinstance(given, dict):
        raise BadInput("the body has to be a JSON object")
    known = {one.name: one for one in parameters}
    _refuse_unknown(given, known)
    return {name: known[name].checked(value) for name, value in given.items() if value is not None}


def refuse_missing(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> None:
    """Raise BadInput if a parameter that is needed is not there, or empty, or blank."""
    for one in parameters:
        if one.is_required and not str(values.get(one.name) or "").strip():
            raise BadInput(f"{one.name} is missing", hint=one.help)


def _refuse_unknown(given: Iterable[str], known: Mapping[str, Parameter]) -> None:
    for name in given:
        if name not in known:
            raise BadInput(f"there is no parameter {name!r} here", hint=f"there are: {', '.join(known) or 'none'}")
