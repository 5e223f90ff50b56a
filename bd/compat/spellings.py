"""Statuses, types and priorities as other tools spell them, in this hub's words.

Belongs here: the words alone. Does not belong here: which tool wrote a file (foreign_trackers.py), and what a hub's people may
type (operations/field_values.py), who get an error instead of a guess.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.schema import STORED_STATUSES, TYPES
from bd.operations.field_values import TYPE_ALIASES
from bd.policy.readiness import NOT_WORK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_BREAKS = re.compile(r"[\s_-]+")
# Only words that mean the same everywhere; `review` and `testing` are left to hubs that have such statuses.
_STATUS_WORDS = {
    **dict.fromkeys("todo to_do new ready backlog pending not_started unstarted".split(), "open"),
    **dict.fromkeys("inprogress wip doing started active working in_work".split(), "in_progress"),
    **dict.fromkeys("done complete completed resolved finished fixed".split(), "closed"),
    **dict.fromkeys("canceled wontfix won't_fix wont_fix wont_do won't_do scrapped abandoned rejected".split(), "cancelled"),
    **dict.fromkeys("on_hold onhold postponed later someday draft".split(), "deferred"),
}
_STATUSES = frozenset({*STORED_STATUSES, "pinned", "hooked", "tombstone"})
_TYPE_WORDS = {
    **TYPE_ALIASES,
    **dict.fromkeys("defect bugfix hotfix".split(), "bug"),
    **dict.fromkeys("improvement feature-request".split(), "feature"),
    **dict.fromkeys("todo subtask sub-task".split(), "task"),
    "maintenance": "chore",
}
_TYPES = frozenset({*TYPES, *NOT_WORK, "publish", "event"})
_PRIORITY_WORDS = {
    **dict.fromkeys("critical urgent highest blocker".split(), 0),
    **dict.fromkeys("high h".split(), 1),
    **dict.fromkeys("medium normal moderate med m".split(), 2),
    **dict.fromkeys("low l minor".split(), 3),
    **dict.fromkeys("lowest trivial background backlog".split(), 4),
}


class Spelling(NamedTuple):
    """A value in this hub's words, and the word that was given if it means more than another way to write the same."""

    value: Any
    given: str | None = None


class Words:
    """The words of one hub: its own statuses and types stay as they are spelled there."""

    def __init__(self, statuses: Iterable[str] = (), types: Iterable[str] = ()) -> None:
        self._statuses = {_folded(name, "_"): name for name in statuses}
        self._types = {_folded(name, "-"): name for name in types}

    def status(self, value: Any) -> Spelling:
        """The stored status that a word means; an unknown word stays as it is."""
        return self._word(value, "_", self._statuses, _STATUSES, _STATUS_WORDS)

    def type(self, value: Any) -> Spelling:
        """The bead type that a word means; an unknown word stays as it is."""
        return self._word(value, "-", self._types, _TYPES, _TYPE_WORDS)

    @staticmethod
    def priority(value: Any) -> Spelling:
        """The priority that a word means; what is no word stays as it is."""
        level = _PRIORITY_WORDS.get(value.strip().lower()) if isinstance(value, str) else None
        return Spelling(value) if level is None else Spelling(level, value)

    @staticmethod
    def _word(value: Any, mark: str, own: dict[str, str], known: frozenset[str], words: dict[str, str]) -> Spelling:
        if not isinstance(value, str):
            return Spelling(value)
        folded = _folded(value, mark)
        if folded in own:
            return Spelling(own[folded])
        if folded in known:
            return Spelling(folded)
        return Spelling(words[folded], value) if folded in words else Spelling(value)


def _folded(text: str, mark: str) -> str:
    return _BREAKS.sub(mark, text.strip().lower())
