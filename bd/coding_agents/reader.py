"""What the readers of all programs share: they take in lines, one at a time, and keep a bounded part of what they heard.

`hear` gets stdout, `hear_error` stderr; both return what is worth showing to whoever watches. Called from other threads than the rest.
"""

from __future__ import annotations

import json
from collections import deque

from bd import TYPE_CHECKING
from bd.coding_agents.result import Report, Result, Run, end_of
from bd.coding_agents.spending import Totals
from bd.core import times
from bd.core.json_shapes import NUMBER, fits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

_ERROR_LINES, _ERROR_LENGTH = 20, 1000
_SHOWN, _TEXT, _NAME = 300, 20_000, 200
MOST_DENIALS = 100
_MILLISECONDS = 1e11  # larger numbers can't be seconds
_MOST_DOLLARS = 1e9


class Reader:
    """The lines of one run, as far as they were heard: `totals`, `session`, `model`, `version`, and what was said last."""

    # Kinds and words of the program's own exit codes.
    codes: ClassVar[Mapping[int, tuple[str, str]]] = {}

    def __init__(self) -> None:
        self.totals = Totals()
        self.session = self.model = self.version = self.said = ""
        self.denials: tuple[str, ...] = ()
        self.resets_at: str | None = None
        self._reports: list[Report] = []
        self._is_cut = self._has_spoken = False
        self._errors: deque[str] = deque(maxlen=_ERROR_LINES)

    def hear(self, line: str) -> str:
        """Take in a line of stdout. Return what to show of it; "" for nothing."""
        found = _object(line)
        if found is None:
            return self._hear_other(line)
        self._has_spoken = True
        shown = self._take(found)
        if shown:
            self.said = shown
        return shown

    def hear_error(self, line: str) -> str:
        """Take in a line of stderr. Return what to show of it."""
        if line.strip():
            self._errors.append(line[:_ERROR_LENGTH])
        return line[:_ERROR_LENGTH]

    def result(self, code: int) -> Result:
        """Return the result, by the exit code (negative for a signal)."""
        self._close()
        errors = "\n".join(self._errors)[-_TEXT:]
        run = Run(code, self._reports, self._is_cut, self._has_spoken, errors, self.codes)
        end = end_of(run)
        return Result(end.text[:_TEXT], end.kind, self.denials, self.resets_at)

    # --- for the readers of one program ---

    def _take(self, found: dict[str, Any]) -> str:
        """Take in an object that was printed on one line. Return what to show of it."""
        raise NotImplementedError

    def _close(self) -> None:
        """Take in what could only be read as a whole."""

    def _hear_other(self, line: str) -> str:
        """Take in a line that is no JSON object."""
        if not line.strip():
            return ""
        if line.lstrip().startswith("{"):  # cut, or of another kind: its words are not those of an error
            self._is_cut = self._is_cut or self._may_be_report(line)
            return ""
        self._errors.append(line[:_ERROR_LENGTH])
        return shown_of(line)

    def _may_be_report(self, line: str) -> bool:
        """Return whether a line that can't be read began like a report of the end."""
        return False

    def _report(self, text: Any, kind: str = "") -> None:
        self._reports = [*self._reports, Report(text_of(text), kind)][-8:]


def text_of(value: Any) -> str:
    """Return a text that UTF-8 can encode, cut; "" if the value is not a text."""
    return value[:_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def name_of(value: Any) -> str:
    """Return a short name without blanks around it; "" if the value can't be one, such as a session that looks like an option."""
    name = text_of(value).strip()
    return name if name.isprintable() and not name.startswith("-") and len(name) <= _NAME else ""


def shown_of(text: str) -> str:
    """Return the first line of a text that says something, cut."""
    return next((line.strip()[:_SHOWN] for line in text.split("\n", 50) if line.strip()), "")


def count_of(value: Any) -> int:
    """Return a number of tokens; 0 if the value is not one."""
    return int(value) if fits(value, NUMBER) and value >= 0 else 0


def dollars_of(value: Any) -> float | None:
    """Return an amount of US dollars; None if the value is not one."""
    return float(value) if fits(value, NUMBER) and 0 <= value < _MOST_DOLLARS else None


def map_of(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def names_of(values: Any, key: str) -> tuple[str, ...]:
    """Return the names under a key of objects in a list, each once."""
    found = (name_of(map_of(value).get(key)) for value in list_of(values)[:MOST_DENIALS])
    return tuple(dict.fromkeys(name or "a tool" for name in found))


def instant_of_seconds(value: Any) -> str | None:
    """Return the time text of seconds (or milliseconds) since 1970; None if the value is not such a number."""
    if not fits(value, NUMBER) or not 0 < value < _MILLISECONDS * 1000:
        return None
    return times.time_of_seconds(int(value / 1000 if value > _MILLISECONDS else value))


def _object(line: str) -> dict[str, Any] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
