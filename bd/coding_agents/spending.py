"""What one run cost: the difference between a program's totals and those that its session had before. Pure.

Some totals begin at zero with each process, others go on with the session that it resumes, and that differs by version (known.py).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from bd import TYPE_CHECKING
from bd.core.json_shapes import NUMBER, fits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

Covers = Literal["process", "session", "unknown"]
_PER = 1_000_000


class Totals(NamedTuple):
    """Totals as a program counts them. `usd` is None if it counts no dollars; `cached` tokens are among those of the input."""

    usd: float | None = None
    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def tokens(self) -> dict[str, int] | None:
        """The tokens, as a bead stores them; None if there are none."""
        return {"input": self.input, "output": self.output} if self.input or self.output else None


class Meaning(NamedTuple):
    """What a program's totals cover: its dollars by its version, oldest first, and its tokens."""

    usd: Sequence[tuple[str, Covers]]
    tokens: Covers

    def of_dollars(self, version: str) -> Covers:
        """Return what the dollars of a version cover: those of the last entry that is not newer."""
        if len({covers for _, covers in self.usd}) == 1:
            return self.usd[0][1]
        number = _numbers(version)
        if number is None:
            return "unknown"
        return next((covers for since, covers in reversed(self.usd) if (_numbers(since) or ()) <= number), "unknown")


class Spent(NamedTuple):
    """What one run cost. `is_estimated`: the dollars are unknown, or worked out from a list of prices."""

    usd: float | None = None
    tokens: Mapping[str, int] | None = None
    is_estimated: bool = False

    def as_cost(self, model: str) -> dict[str, Any]:
        """Return it as operations take it: `usd`, `tokens`, `model`, `estimated`; only what is known."""
        found = {"usd": self.usd, "tokens": self.tokens, "model": model or None, "estimated": self.is_estimated or None}
        told = {key: value for key, value in found.items() if value is not None}
        return told if self.usd is not None or self.tokens else {}


def spent(totals: Totals, before: Totals, version: str, meaning: Meaning) -> Spent:
    """Return what a run cost by its totals; `before` are the totals of the session that it resumed, all zero for a new one."""
    own = _less(totals, before) if meaning.tokens == "session" else totals
    if totals.usd is None:
        return Spent(None, own.tokens, own.tokens is not None)
    earlier = before.usd or 0.0
    covers = meaning.of_dollars(version)
    if covers == "process" or totals.usd < earlier:  # the total of a session never falls: the count has begun again
        return Spent(totals.usd, own.tokens)
    if covers == "unknown" and earlier:
        return Spent(None, own.tokens, is_estimated=True)
    return Spent(round(totals.usd - earlier, 6), own.tokens)


def estimated(run: Totals, before: Totals, meaning: Meaning, price: Mapping[str, Any] | None) -> Spent:
    """Return what a run cost by a price: US dollars for a million tokens of `input`, `cached` and `output`."""
    own = _less(run, before) if meaning.tokens == "session" else run
    rates = {key: _amount((price or {}).get(key)) for key in ("input", "cached", "output")}
    if rates["input"] is None or rates["output"] is None or not own.tokens:
        return Spent(None, own.tokens, own.tokens is not None)
    cached = rates["input"] if rates["cached"] is None else rates["cached"]
    usd = (own.input - own.cached) * rates["input"] + own.cached * cached + own.output * rates["output"]
    return Spent(round(usd / _PER, 6), own.tokens, is_estimated=True)


def _less(totals: Totals, before: Totals) -> Totals:
    """Return the tokens since `before`; a count that has fallen has begun again."""
    if totals.input < before.input or totals.output < before.output:
        return totals
    return totals._replace(
        input=totals.input - before.input,
        cached=max(0, totals.cached - before.cached),
        output=totals.output - before.output,
    )


def _amount(value: Any) -> float | None:
    return float(value) if fits(value, NUMBER) and value >= 0 else None


def _numbers(version: str) -> tuple[int, ...] | None:
    parts = version.split("-", maxsplit=1)[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isascii() and part.isdigit() for part in parts) else None
