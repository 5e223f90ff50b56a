"""What is reported: rows of a plain table, 80 columns wide, and the same as JSON.

Belongs here: verdicts and layout. Every target is a ratio or a cost per bead, never a bare time.
"""

from __future__ import annotations

import math
import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.stopwatch import Times

WIDTH = 80
_WHAT = 37
_BOUNDS = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


class Ratio(NamedTuple):
    """Ours against theirs, by the minimum and by the median of the same rounds. `limit` None: only told."""

    what: str
    ours: Times
    theirs: Times
    limit: float | None = None
    against: str = ""

    @property
    def least(self) -> float:
        return self.ours.least / self.theirs.least

    @property
    def median(self) -> float:
        return self.ours.median / self.theirs.median

    @property
    def verdict(self) -> str:
        """By both: `ok` and `miss` where they agree."""
        if self.limit is None:
            return ""
        held = [value < self.limit for value in (self.least, self.median)]
        return "ok" if all(held) else "miss" if not any(held) else "ok/miss"

    def heading(self) -> str:
        """The columns' names."""
        return f"{'':<{_WHAT}}{'bd ms':>8}{self.against[:7]:>8}{'min x':>6}{'med x':>6}{'target':>7}"

    def line(self) -> str:
        limit = f"<{self.limit:g}x" if self.limit else ""
        return (
            f"{self.what[:_WHAT]:<{_WHAT}}{self.ours.least:8.1f}{self.theirs.least:8.1f}"
            f"{self.least:6.2f}{self.median:6.2f}{limit:>7}{self.verdict:>8}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "against": self.against,
            "ours_ms": self.ours.as_json(),
            "theirs_ms": self.theirs.as_json(),
            "ratio_least": round(self.least, 3),
            "ratio_median": round(self.median, 3),
            "limit": self.limit,
            "verdict": self.verdict,
        }


class Figure(NamedTuple):
    """One number with a unit that does not come from a comparison: a cost per bead, megabytes, winners.

    `bound` says on which side of the limit it has to lie: `<`, `<=` or `>=`.
    """

    what: str
    value: float
    unit: str
    limit: float | None = None
    bound: str = "<"

    @property
    def verdict(self) -> str:
        return "" if self.limit is None else "ok" if _BOUNDS[self.bound](self.value, self.limit) else "miss"

    def line(self) -> str:
        limit = f"{self.bound}{self.limit:g}" if self.limit is not None else ""
        digits = 0 if self.value >= 100 or self.value == int(self.value) else 1 if self.value >= 10 else 3
        value = f"{self.value:.{digits}f}"
        return f"{self.what[:_WHAT]:<{_WHAT}}{value:>8} {self.unit:<19}{limit:>7}{self.verdict:>8}"

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "value": round(self.value, 4), "verdict": self.verdict}


class Agreement(NamedTuple):
    """The same number measured and simulated, and how far the latter is off, in percent of the former; it has to be within `limit`."""

    what: str
    measured: float
    simulated: float
    limit: float

    @property
    def off(self) -> float:
        return 100 * abs(self.simulated - self.measured) / self.measured if self.measured else math.inf

    @property
    def verdict(self) -> str:
        return "ok" if self.off <= self.limit else "miss"

    def heading(self) -> str:
        """The columns' names."""
        return f"{'':<{_WHAT}}{'processes':>11}{'simulated':>11}{'off':>7}{'target':>7}"

    def line(self) -> str:
        limit = f"<={self.limit:g}%"
        return (
            f"{self.what[:_WHAT]:<{_WHAT}}{self.measured:11.2f}{self.simulated:11.2f}{self.off:6.1f}%{limit:>7}{self.verdict:>7}"
        )

    def as_json(self) -> dict[str, Any]:
        values = {"measured": round(self.measured, 4), "simulated": round(self.simulated, 4), "off_percent": round(self.off, 2)}
        return {"what": self.what, **values, "limit": self.limit, "verdict": self.verdict}


class Note(NamedTuple):
    """A line of words; `figures` are the numbers it tells, for the JSON."""

    what: str
    figures: Mapping[str, Any] = MappingProxyType({})

    def line(self) -> str:
        return self.what

    def as_json(self) -> dict[str, Any]:
        return {"note": self.what, **self.figures}


Row = Ratio | Figure | Agreement | Note


class Section(NamedTuple):
    """One benchmark's rows."""

    name: str
    title: str
    rows: list[Row]

    def lines(self) -> list[str]:
        """The section as text: a heading, the rows, and the columns' names above the first comparison."""
        found = ["", f"{self.name}: {self.title}"]
        named: set[type] = set()
        for row in self.rows:
            if isinstance(row, Note):
                found += _wrapped(row.what)
                continue
            if isinstance(row, Ratio | Agreement) and type(row) not in named:
                found.append(row.heading())
                named.add(type(row))
            found.append(row.line().rstrip())
        return found

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "title": self.title, "rows": [row.as_json() for row in self.rows]}


def _wrapped(text: str) -> list[str]:
    """Words within the width; lines that are laid out already stay as they are."""
    import textwrap

    found: list[str] = []
    for line in text.splitlines():
        found += [line[:WIDTH]] if line.startswith("  ") else textwrap.wrap(line, WIDTH)
    return found


def missed(sections: Iterable[Section]) -> list[str]:
    """The rows whose target was not met."""
    rows = [row for section in sections for row in section.rows if not isinstance(row, Note)]
    return [row.what for row in rows if row.verdict not in ("", "ok")]
