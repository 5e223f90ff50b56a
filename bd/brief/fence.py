"""The fence around each part of a brief: tags with a random name, which no text can contain or guess."""

from __future__ import annotations

import html
import re

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bd.brief.part import Part

_WHITE = re.compile(r"\s+")


def name_of(parts: Sequence[Part], new_id: Callable[[], str]) -> str:
    """Return a name for the fences that occurs in no part. `new_id` returns a random ULID."""
    while True:
        name = f"part-{new_id()[-16:].lower()}"
        if not any(name in part.text.lower() for part in parts):
            return name


def fenced(part: Part, name: str) -> str:
    """Return a part between its tags, each on a line of its own."""
    said = {
        "kind": part.kind,
        "name": part.name,
        "from": part.who or "bd",
        "in": part.source,
        "at": part.at,
        "verified": "yes" if part.is_verified else "" if part.is_trusted else "no",
        "removed": part.removed,
        "cut": f"{part.cut} bytes" if part.cut else "",
    }
    attributes = "".join(f' {key}="{_value(value)}"' for key, value in said.items() if value)
    return f"<{name}{attributes}>\n{part.text}\n</{name}>"


def _value(text: str) -> str:
    return html.escape(_WHITE.sub(" ", text))


def together(parts: Iterable[Part], name: str) -> str:
    """Return all parts in their fences."""
    return "\n".join(fenced(part, name) for part in parts)
