"""Frozen values with named fields, like dataclasses, for the modules that every command imports.

`typing.NamedTuple` and `dataclasses` compile every annotation at import, 0.2 ms a class. A class here costs a tenth of that, which
keeps a claim within its budget (bench/README.md). A value can't be unpacked, sorted or compared with a tuple: where that is wanted,
there are named tuples, none of them on the way of a claim.
"""

from __future__ import annotations

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        """Tell nothing: it is for type checkers alone."""
        return lambda cls: cls


@dataclass_transform(frozen_default=True, eq_default=True)
class Value:
    """Base class: the fields of a subclass are its annotations, in order; defaults are class attributes."""

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]
        _names: ClassVar[frozenset[str]]
        _defaults: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._names = frozenset(cls._fields)
        cls._defaults = {name: getattr(cls, name) for name in cls._fields if hasattr(cls, name)}

    def __init__(self, *values: Any, **named: Any) -> None:
        found = self.__dict__
        found.update(self._defaults)
        found.update(zip(self._fields, values, strict=False))
        found.update(named)
        if found.keys() != self._names or len(values) > len(self._fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}, and was given {', '.join(found)}")
        if values and not named.keys().isdisjoint(self._fields[: len(values)]):
            twice = ", ".join(name for name in self._fields[: len(values)] if name in named)
            raise TypeError(f"{type(self).__name__} is given {twice} twice")

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values in these fields."""
        if not changes.keys() <= self._names:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(self._fields)}")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **changes)
        return made

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, in their order."""
        return {name: self.__dict__[name] for name in self._fields}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self._fields)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"
