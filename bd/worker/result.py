"""The outcome of a command: from `$BD_RESULT_FILE`, else from its exit code (docs/fleet.md)."""

from __future__ import annotations

import json
import math
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from bd.core.redaction import masked, masked_value
from bd.policy.retry import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

DONE, FAILED, RELEASED = "done", "failed", "released"
# What only bd itself finds: the bead goes on when a person has decided something.
WAITING = "waiting"
_SPELLINGS = {
    **dict.fromkeys(("done", "success", "ok", "completed", "closed"), DONE),
    **dict.fromkeys(("failed", "fail", "failure", "error"), FAILED),
    **dict.fromkeys(("release", "released", "retry_later", "give_back"), RELEASED),
}
# From sysexits.h where it has a matching code; 124 is timeout(1)'s; 126 and 127 are the shell's: the command could not be
# started, which says nothing about the bead.
EXIT_CODES: dict[int, tuple[str, str]] = {
    0: (DONE, ""),
    65: (FAILED, "invalid_output"),
    75: (RELEASED, ""),
    77: (FAILED, "auth_failure"),
    79: (FAILED, "rate_limit"),
    124: (FAILED, "timeout"),
    126: (RELEASED, ""),
    127: (RELEASED, ""),
}
_TEXT_LIMIT = 2000
_RESULT_LIMIT = 2_000_000
_LAST_LINES = 5


class Outcome(NamedTuple):
    """The outcome of an attempt: `what` (done, failed, released, waiting), the kind of failure, and what to record."""

    what: str
    kind: str = ""
    text: str = ""
    cost_usd: float | None = None
    tokens: Any = None
    output: Any = None
    artifacts: Any = None
    seals: Any = None  # of validated outputs, by bead

    @property
    def cost(self) -> dict[str, Any]:
        """The cost, as a bead stores it."""
        found = {"usd": self.cost_usd, "tokens": self.tokens}
        return {key: value for key, value in found.items() if value is not None}

    @property
    def yielded(self) -> dict[str, Any]:
        """The output, as a bead stores it."""
        found = {"data": self.output, "artifacts": self.artifacts or None}
        return {key: value for key, value in found.items() if value is not None}


def read_result(path: str) -> bytes | None:
    """Read a result file; None if it is not a plain file: a pipe or a device might never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_RESULT_LIMIT)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def outcome_of(code: int, result: bytes | None, last_lines: Sequence[str]) -> Outcome:
    """Return the outcome of a command that ended by itself; `result` is the content of its result file.

    Text and output go into the hub, so they are masked, and before they are cut: half a secret would not be recognised.
    """
    words = masked("\n".join(line for line in last_lines if line.strip()).strip())
    words = "\n".join(words.splitlines()[-_LAST_LINES:])[-_TEXT_LIMIT:]
    what, kind = _by_code(code)
    if result is None or not result.strip():
        return Outcome(what, kind, words or ("" if what == DONE else _code_words(code)))
    try:
        said = json.loads(result, parse_constant=_no_number)
        if not isinstance(said, dict):
            raise ValueError("not an object")
        named = said.get("outcome")
        what = _SPELLINGS[str(named).strip().lower()] if named is not None else what
    except (ValueError, KeyError, RecursionError) as error:
        return Outcome(FAILED, "invalid_output", f"its result file can't be read: {error}"[:_TEXT_LIMIT])
    kind = str(said.get("kind") or kind or "") if what == FAILED else ""
    if what == FAILED and kind not in KINDS:
        kind = "other"
    return Outcome(
        what,
        kind,
        _text(said.get("text") or words or ("" if what == DONE else _code_words(code))),
        _cost(said.get("cost", said.get("cost_usd"))),
        masked_value(said.get("tokens")),
        masked_value(said.get("output")),
        said.get("artifacts"),
    )


def _text(said: Any) -> str:
    """Return a text that UTF-8 can encode: JSON can also contain lone surrogates."""
    return masked(str(said).encode("utf-8", "replace").decode())[:_TEXT_LIMIT]


def _cost(said: Any) -> float | None:
    """Return the cost; None if it is not an amount of money."""
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return None
    try:
        cost = float(said)
    except OverflowError:
        return None
    return cost if math.isfinite(cost) and cost >= 0 else None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _by_code(code: int) -> tuple[str, str]:
    if code < 0 or code > 128:
        return FAILED, "crash"
    return EXIT_CODES.get(code, (FAILED, "other"))


def _code_words(code: int) -> str:
    return f"ended by signal {-code if code < 0 else code - 128}" if code < 0 or code > 128 else f"exit code {code}"
