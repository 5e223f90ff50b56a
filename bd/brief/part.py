"""A part of a brief: a text with its origin."""

from __future__ import annotations

from typing import Any, NamedTuple

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Part(NamedTuple):
    """One text of a brief. `kind` is a key of KINDS; `name` tells parts of one kind apart, such as the id of a dependency.

    `who` wrote it (`human:Ada`, `agent:bob`; "" for bd itself), `source` is where it stands, `at` when it was written.
    `is_verified`: signatures prove the author. `removed` says what cleaning has removed, `cut` how many bytes the limit has.
    """

    kind: str
    text: str
    name: str = ""
    who: str = ""
    source: str = ""
    at: str = ""
    is_verified: bool = False
    removed: str = ""
    cut: int = 0

    @property
    def is_trusted(self) -> bool:
        """Return whether bd wrote it itself, from facts that it has checked."""
        return not self.who

    @property
    def size(self) -> int:
        """The bytes of its text."""
        return len(self.text.encode())

    @property
    def origin(self) -> Mapping[str, Any]:
        """Return its origin as JSON: `who`, `source`, `at`, `verified`; what is unknown is left out."""
        found = {"who": self.who or "bd", "source": self.source, "at": self.at, "verified": self.is_verified or self.is_trusted}
        return {key: value for key, value in found.items() if value != ""}


class Kind(NamedTuple):
    """How parts of a kind are treated when a brief is too long: those with the lowest `keep` are cut first, never those of ALWAYS.

    `only_last`: ALWAYS holds for the last part of the kind only; the others are cut like comments.
    """

    keep: int
    only_last: bool = False


ALWAYS = 100
_LIKE_COMMENTS = 3

# In the order of a brief.
KINDS: dict[str, Kind] = {
    "bead": Kind(ALWAYS),
    "prompt": Kind(7),
    "description": Kind(6),
    "design": Kind(5),
    "acceptance": Kind(7),
    "notes": Kind(5),
    "place": Kind(4),
    "dependency": Kind(2),
    "context": Kind(2),
    "memory": Kind(4),
    "comment": Kind(_LIKE_COMMENTS),
    "machine": Kind(1),
    "question": Kind(ALWAYS),
    "answer": Kind(ALWAYS),
    "attempt": Kind(ALWAYS, only_last=True),
    "progress": Kind(0),
    "review": Kind(ALWAYS, only_last=True),
    "check": Kind(ALWAYS, only_last=True),
    "workspace": Kind(ALWAYS),
    "left_out": Kind(ALWAYS),
}


def keep_of(part: Part, *, is_last: bool) -> int:
    """Return how long a part is kept. `is_last`: no part of its kind comes after it."""
    kind = KINDS[part.kind]
    return _LIKE_COMMENTS if kind.only_last and not is_last else kind.keep
