"""What the people of a hub want every agent to know: short texts in the hub's configuration, each under a key. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, Refused
from bd.policy.capacity import is_known
from bd.policy.permissions import REMEMBER, rights_of

if TYPE_CHECKING:
    from bd.core.model import Snapshot

KEY = "memories"
TEXT_LIMIT, MOST = 1000, 200
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_OTHERS = re.compile(r"[^a-z0-9]+")


class Memory(NamedTuple):
    """One text, with its author (`human:Ada`) and its time."""

    key: str
    text: str
    by: str
    at: str


def memories_of(snapshot: Snapshot) -> list[Memory]:
    """Return what is remembered, the oldest first. What a hand edit has made unreadable is left out."""
    there = snapshot.config().get(KEY)
    found = [
        Memory(str(key), entry["text"], str(entry.get("by") or "human:"), str(entry.get("at") or ""))
        for key, entry in (there.items() if isinstance(there, dict) else ())
        if isinstance(entry, dict) and isinstance(entry.get("text"), str) and entry["text"].strip()
    ]
    return sorted(found, key=lambda memory: (memory.at, memory.key))


def key_of(text: str) -> str:
    """Return a key for a text: its first words."""
    words = _OTHERS.sub("-", text.lower()).strip("-")[:40].rpartition("-")
    return (words[0] or words[2]).strip("-") or "memory"


def check_key(key: str) -> str:
    """Return a typed key. Raises BadInput."""
    if not _NAME.fullmatch(key):
        raise BadInput(f"{key!r} can't be a key", hint="lower case letters, digits and -, such as tabs-not-spaces")
    return key


def refuse_writer(by: str, snapshot: Snapshot) -> None:
    """Refuse to let an agent write that nobody has named for it: what one writes, every agent reads. Raises Refused."""
    name = by.partition(":")[2] or by
    if not (by.startswith("agent:") or is_known(name, snapshot)):
        return
    if REMEMBER not in rights_of(snapshot.agent(name)):
        raise Refused(
            f"{name} may not write what every agent reads", hint=f"a person may, or adds `may: [{REMEMBER}]` to its agent file"
        )
