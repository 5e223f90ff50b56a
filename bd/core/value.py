"""Frozen values with named fields, like dataclasses, for modules that define dozens of them.

`typing.NamedTuple` and `dataclasses` compile every annotation at import, 0.2 ms a class, which every command would pay for. A
class here costs a tenth of that, which keeps a claim within its budget (bench/README.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, dataclass_transform

if TYPE_CHECKING:
    from typing import Any, ClassVar, Self


@dataclass_transform(frozen_default=True, eq_default=True)
class Value:
    """Base class: the fields of a subclass are its annotations, in order; defaults are class attributes."""

    if TYPE_CHECKING:
        _fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = self._fields
        given = dict(zip(fields, values, strict=False))
        if given.keys() & named.keys():
            raise TypeError(f"{type(self).__name__} is given {', '.join(given.keys() & named.keys())} twice")
        given.update(named)
        for name in fields:
            if name not in given:
                given[name] = getattr(type(self), name)  # its default, or an AttributeError that names it
        if len(given) > len(fields) or len(values) > len(fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(fields)}")
        self.__dict__.update(given)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other values in these fields."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"
