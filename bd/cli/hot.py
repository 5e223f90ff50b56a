"""The way of an agent's claim: no click.

A claim is the one command whose time counts against git's own, and importing click takes
longer than a local push. A plain `bd claim` is read here; everything else about it (help,
mistakes, unknown flags) is left to the click command, which reads the same flags.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_SWITCHES = {"--next": "take_next", "--reserve": "reserve", "--resume": "resume", "--force": "force"}


def read_claim(words: Sequence[str]) -> tuple[list[str], dict[str, Any]] | None:
    """The beads and flags of a plain claim; None where click has to read it."""
    if not words or words[0] != "claim":
        return None
    beads: list[str] = []
    flags: dict[str, Any] = {}
    rest = iter(words[1:])
    for word in rest:
        if word in _SWITCHES:
            flags[_SWITCHES[word]] = True
        elif word == "--count":
            number = next(rest, "")
            if not number.isdigit() or not 1 <= int(number) <= 100:
                return None
            flags["count"] = int(number)
        elif word.startswith("-"):
            return None
        else:
            beads.append(word)
    return beads, flags
