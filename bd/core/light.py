"""Light stand-ins for parts of the standard library whose import takes longer than a command's own work.

`typing` costs as much as a third of the interpreter's own start and a hundred microseconds more for every
named tuple; `json` compiles regular expressions before it can write a line. Belongs here: the same thing
with the same results, held against the original by tests. Does not belong here: anything of our own.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from functools import cached_property as cached_property  # noqa: PLC0414
    from functools import lru_cache as lru_cache  # noqa: PLC0414
    from typing import Any
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  the name that everybody imports
else:
    try:
        from _collections import _tuplegetter as _getter
    except ImportError:  # not CPython

        def _getter(place, words):
            return property(lambda self: tuple.__getitem__(self, place), doc=words)

    class _Named(tuple):
        """What every named tuple inherits."""

        __slots__ = ()
        _fields = ()
        _field_defaults: dict = {}

        def __new__(cls, *values, **named):
            if named or len(values) != len(cls._fields):
                values = _completed(cls, values, named)
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, /, **changes):
            made = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._asdict().items())})"

        def __getnewargs__(self):
            return tuple(self)

    def _completed(cls, values, named):
        """All values of a named tuple in their order. Raises TypeError as a function with these arguments would."""
        fields, defaults = cls._fields, cls._field_defaults
        if len(values) > len(fields):
            raise TypeError(f"{cls.__name__} takes {len(fields)} values, {len(values)} were given")
        found = list(values)
        for key in fields[len(values) :]:
            if key in named:
                found.append(named.pop(key))
            elif key in defaults:
                found.append(defaults[key])
            else:
                raise TypeError(f"{cls.__name__} lacks the value of {key!r}")
        if named:
            raise TypeError(f"{cls.__name__} has several or no values called {', '.join(map(repr, named))}")
        return found

    class _Maker(type):
        """Makes a plain class of tuples out of a class body with annotations."""

        def __new__(cls, name, _, body):
            fields = tuple(body.get("__annotations__") or ())
            defaults = {key: body.pop(key) for key in fields if key in body}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            getters = {key: _getter(place, f"Alias for field number {place}") for place, key in enumerate(fields)}
            body.update(getters, __slots__=(), __match_args__=fields, _fields=fields, _field_defaults=defaults)
            return type(name, (_Named,), body)

    # Not an instance of its own making: only what is derived from it is a class of tuples.
    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})

    class cached_property:  # noqa: N801  as functools has it
        """A property that is worked out once, and kept with the object."""

        def __init__(self, make):
            self._make = make
            self.__doc__ = make.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, thing, owner=None):
            if thing is None:
                return self
            value = thing.__dict__[self._name] = self._make(thing)
            return value

    def lru_cache(maxsize=128, typed=False):
        """Remember what a function said to its last arguments: the same wrapper that functools uses."""
        try:
            from _functools import _lru_cache_wrapper as wrapper  # noqa: PLC0415
        except ImportError:  # not CPython
            from functools import lru_cache as whole  # noqa: PLC0415

            return whole(maxsize, typed)
        return lambda function: wrapper(function, maxsize, typed, lambda *numbers: numbers)


class light_functools:  # noqa: N801  used as a function
    """While it lasts, who imports functools and wants no more than `lru_cache` gets that; nothing else may be imported in it.

    For extension modules: `_sqlite3` imports functools for this one name, and that takes five times its own loading.
    """

    def __enter__(self) -> None:
        self._is_ours = "functools" not in sys.modules
        if self._is_ours:
            module = type(sys)("functools")
            module.lru_cache = lru_cache  # type: ignore[attr-defined]
            sys.modules["functools"] = module

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            del sys.modules["functools"]


class suppress:  # noqa: N801  as contextlib has it
    """Leave a `with` block quietly when one of these errors ends it."""

    __slots__ = ("_kinds",)

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


class Pattern:
    """A regular expression that is compiled when it is first asked; flags stand in it, as `(?i)`."""

    __slots__ = ("_made", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._made: re.Pattern[str] | None = None

    @property
    def made(self) -> re.Pattern[str]:
        if self._made is None:
            import re  # noqa: PLC0415  it loads as much as a small command

            self._made = re.compile(self.text)
        return self._made

    def match(self, text: str) -> re.Match[str] | None:
        return (self._made or self.made).match(text)

    def search(self, text: str) -> re.Match[str] | None:
        return (self._made or self.made).search(text)

    def sub(self, put: str | Callable[[re.Match[str]], str], text: str) -> str:
        return (self._made or self.made).sub(put, text)

    def findall(self, text: str) -> list[Any]:
        return (self._made or self.made).findall(text)


def json_text(value: Any, *, compact: bool = False) -> str:
    """What `json.dumps` makes of plain values; with `compact`, without blanks."""
    item, pair = (",", ":") if compact else (", ", ": ")
    try:
        return _json(value, item, pair)
    except (TypeError, ImportError, ValueError):
        import json  # noqa: PLC0415  it knows more kinds of values, and what to say of the others

        return json.dumps(value, separators=(item, pair))


def _json(value: Any, item: str, pair: str) -> str:
    kind = type(value)
    if kind is str:
        if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
            return f'"{value}"'  # nothing to escape: a claim's own words need no module for that
        from _json import encode_basestring_ascii  # noqa: PLC0415

        text: str = encode_basestring_ascii(value)
        return text
    if kind is dict:
        return "{" + item.join([_json_key(key) + pair + _json(one, item, pair) for key, one in value.items()]) + "}"
    if kind is list or kind is tuple:
        return "[" + item.join([_json(one, item, pair) for one in value]) + "]"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or (kind is float and value - value == 0):  # neither infinite nor no number
        return repr(value)
    raise TypeError(kind)


def _json_key(key: Any) -> str:
    if type(key) is not str:
        raise TypeError(key)
    return _json(key, "", "")


_BLANK = " \t\n\r"  # of JSON


class _Reading:
    """What the scanner inside of `json` asks of whoever reads a document: everything as `json.loads` has it."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}.__getitem__


def json_value(text: str) -> Any:
    """Return what `json.loads` makes of a document. Raises ValueError for everything that is none, however deep it is."""
    try:
        return _json_value(text)
    except (RecursionError, SystemError):  # up to Python 3.11 the scanner fails so where `json.decoder` is not loaded
        raise ValueError("no JSON") from None


def _json_value(text: str) -> Any:
    try:
        from _json import make_scanner  # noqa: PLC0415
    except ImportError:  # not CPython
        import json  # noqa: PLC0415

        return json.loads(text)
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = make_scanner(_Reading)(text, start)  # type: ignore[arg-type]
    except StopIteration:
        raise ValueError("no JSON") from None
    if text[end:].strip(_BLANK):
        raise ValueError("something behind the JSON")
    return value
