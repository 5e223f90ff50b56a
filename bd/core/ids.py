"""Identifiers: ULIDs, bead ids derived from them, and the short forms that people type.

The form of ids, and their resolution. Callers pass in what exists; the Runtime makes new ids.
"""

from __future__ import annotations

from bd import TYPE_CHECKING
from bd.core.errors import Ambiguous, BadInput, NoSuchBead
from bd.core.schema import DEVICES, is_agent, suffix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_CHARS, _RANDOM_CHARS = 10, 16
SUFFIX_LENGTH = 4

_LONGEST_ID, _LONGEST_PREFIX = 120, 40


def ulid(at_ms: int, random: bytes) -> str:
    """Return the ULID of a Unix time in milliseconds and 10 random bytes: 26 characters, upper case (the ULID specification).

    Not made by python-ulid: a claim needs one before its first push, and that import alone costs more than a local push. Tests
    compare the two.
    """
    number = (at_ms << 80) | int.from_bytes(random, "big")
    chars = [_CROCKFORD[(number >> (5 * place)) & 31] for place in range(25, -1, -1)]
    return "".join(chars).upper()


def suffixes(uid: str) -> Iterable[str]:
    """Return the suffixes that a bead with this uid may take, in order: 4 random characters, then more."""
    random_part = uid[_TIME_CHARS:].lower()
    return (random_part[:length] for length in range(SUFFIX_LENGTH, _RANDOM_CHARS + 1))


def bead_id(prefix: str, uid: str, is_taken: Callable[[str], bool], parent: str | None = None) -> str:
    """Return the first free id for a new bead; a child's is `<parent>.<suffix>` unless too long. Raises BadInput if none is free."""
    stem = f"{parent}." if parent and is_bead_id(f"{parent}.{uid[_TIME_CHARS:]}") else f"{prefix}-"
    for suffix in suffixes(uid):
        if not is_taken(stem + suffix):
            return check_bead_id(stem + suffix)
    raise BadInput(f"every id of {uid} under {stem} is taken")


def is_prefix(text: str) -> bool:
    """Return whether ids can begin with the text and a `-`, also the longest ones."""
    return is_bead_id(f"{text}-{'0' * _RANDOM_CHARS}")


def hub_name(prefix: Any) -> str:
    """Return a hub's name from its configured prefix: letters, digits, `-`, `_` and single dots; `hub` if that is no prefix.

    It is used in names of sessions and units, for `{hub}` in commands, and in titles of pages.
    """
    return prefix if isinstance(prefix, str) and is_prefix(prefix) else "hub"


def is_bead_id(text: str) -> bool:
    """Return whether the text can be a bead's id: letters, digits, `-`, `_`, and dots in between; a file name on every system."""
    return len(text) <= _LONGEST_ID and _is_word(text) and text.partition(".")[0].lower() not in DEVICES


def _is_word(text: str, *, dots: bool = True) -> bool:
    """Return whether the text is letters, digits, `-` and `_`, starting with a letter or digit.

    `dots` allows single dots in between.
    """
    parts = text.split(".") if dots else [text]
    return text.isascii() and text[:1].isalnum() and all(part.replace("-", "0").replace("_", "0").isalnum() for part in parts)


def twin_of(bead_id: str, others: Iterable[str]) -> str | None:
    """Return another id that differs only in case: both would be one file on a case-insensitive file system."""
    wanted = bead_id.lower()
    return next((other for other in others if other != bead_id and other.lower() == wanted), None)


def check_bead_id(text: str) -> str:
    """Return the id if it can be one. Raises BadInput."""
    text = text.strip()
    if not is_bead_id(text):
        raise BadInput(f"{text!r} can't be a bead's id", hint="use letters, digits and -, such as hub-7k3q")
    return text


def check_agent(text: str) -> str:
    """Return the agent's name if it can be one; `_` is read as `-`. Raises BadInput."""
    text = text.strip().replace("_", "-")
    if not is_agent(text):
        raise BadInput(
            f"{text!r} can't be an agent's name", hint="lower case letters, digits and -, at most 63, such as codemonkey"
        )
    return text


def agent_or_person(text: str) -> str:
    """Return a name that a bead is routed to: an agent's with `-` for `_`, anything else as typed."""
    folded = text.strip().replace("_", "-")
    return folded if is_agent(folded) else text


def agent_from_person(name: str) -> str:
    """Make an agent name from a person's: `Ada Lovelace` -> `ada-lovelace`. Raises BadInput if nothing is left."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in name.lower()).split()
    cleaned = "-".join(words)[:63].strip("-")
    if not is_agent(cleaned):
        raise BadInput(f"can't make an agent name from {name!r}", hint="give --agent NAME")
    return cleaned


def check_prefix(text: str) -> str:
    """Return the id prefix if a new hub may have it. Raises BadInput.

    Stricter than `is_prefix`, by which older hubs keep theirs: no dots, which are for children, and room for them in an id.
    """
    if len(text) > _LONGEST_PREFIX or not _is_word(text, dots=False):
        raise BadInput(f"{text!r} can't be an id prefix", hint="letters, digits and -, such as hub")
    return text


def resolve(typed: str, matching: Callable[[str], Iterable[str]], exists: Callable[[str], bool]) -> str:
    """Return the bead that was typed: the exact id, else the only one whose id or suffix starts with the text.

    `matching(text)` gives the ids that start with the text or whose part after the prefix does.
    Never by substring, and never by the prefix alone: a script with an unset variable types that. Raises Ambiguous (naming
    the candidates), BadInput and NoSuchBead.
    """
    text = typed.strip()
    if not text:
        raise BadInput("an empty id", hint="give a bead's id, such as hub-7k3q")
    if exists(text):
        return text
    if _is_word(text):
        found = set(matching(text))
        if len(found) > 1:
            raise Ambiguous(text, found)
        meant = found.pop() if found else None
        if meant and _is_prefix_alone(text, meant):
            raise BadInput(f"{text} is only a prefix", hint=f"type more of the id, such as {meant}")
        if meant:
            return meant
    raise NoSuchBead(text)


def _is_prefix_alone(text: str, bead_id: str) -> bool:
    """Return whether the text is no more of an id than its prefix, or a part of that up to a hyphen."""
    if suffix_of(bead_id).startswith(text):
        return False
    return len(text) <= bead_id.find("-") or bead_id.startswith(f"{text.removesuffix('-')}-")
