"""The outcome of a command: from `$BD_RESULT_FILE`, else from its exit code (docs/fleet.md)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from bd import TYPE_CHECKING
from bd.core.json_shapes import NUMBER, fits, no_constant
from bd.core.nearest import nearest
from bd.core.redaction import masked, masked_value
from bd.core.times import time_text
from bd.operations.fail import COST_ARGS
from bd.policy.failure_kinds import KINDS
from bd.policy.reset_times import stated_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
TEXT_LIMIT = 2000
_RESULT_LIMIT = 2_000_000
_LAST_LINES = 5
_MODEL_LIMIT, _KEY_LIMIT, _MOST_FLAWS = 200, 60, 8


class Outcome(NamedTuple):
    """The outcome of an attempt: `what` (done, failed, released, waiting), the kind of failure, and what to record.

    `cost` is as a bead stores it (`usd`, `tokens`, `model`, `estimated`), only what is known. `resets_at` is the time (a canonical
    text) at which a limit of the provider ends. `flaws` are sentences about the result file.
    """

    what: str
    kind: str = ""
    text: str = ""
    cost: Mapping[str, Any] = {}
    output: Any = None
    artifacts: Any = None
    seals: Any = None  # of validated outputs, by bead
    resets_at: str | None = None
    flaws: tuple[str, ...] = ()
    branch: str = ""  # where its commits are

    @property
    def failure(self) -> dict[str, Any]:
        """What `fail` records of it, in that operation's words."""
        found: dict[str, Any] = {
            "reason": self.kind,
            "error": self.text,
            "branch": self.branch,
            "resets_at": self.resets_at,
            **{COST_ARGS[key]: value for key, value in self.cost.items()},
        }
        return {key: value for key, value in found.items() if value not in (None, "")}

    def of_the_run(self, other: Outcome) -> Outcome:
        """Return this outcome with what another one knows of the run, however that is judged: cost, branch, flaws."""
        return self._replace(cost=other.cost, branch=other.branch, flaws=other.flaws)

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
    words = "\n".join(words.splitlines()[-_LAST_LINES:])[-TEXT_LIMIT:]
    what, kind = _by_code(code)
    if result is None or not result.strip():
        return Outcome(what, kind, words or ("" if what == DONE else _code_words(code)))
    try:
        told = json.loads(result, parse_constant=no_constant)
        if not isinstance(told, dict):
            raise ValueError("not an object")
        said, flaws = checked(told)
        what = _SPELLINGS[str(said["outcome"]).strip().lower()] if "outcome" in said else what
    except (ValueError, KeyError, RecursionError) as error:
        return Outcome(FAILED, "invalid_output", f"its result file can't be read: {error}"[:TEXT_LIMIT])
    kind = str(said.get("kind") or kind or "") if what == FAILED else ""
    if what == FAILED and kind not in KINDS:
        kind = "other"
    text = _text(said.get("text") or words or ("" if what == DONE else _code_words(code)))
    is_ours = bool(told.keys() & _SHAPES.keys())  # else another program's result, which says nothing that is known here
    is_garbled = told.get("is_error") is True or (told.get("outcome") is not None and "outcome" not in said)
    if what == DONE and (is_garbled or not is_ours):
        what, kind, text = FAILED, "invalid_output", f"its result file is not one of bd's: {'; '.join(flaws)}"[:TEXT_LIMIT]
    cost = {
        "usd": _cost(said.get("cost", said.get("cost_usd"))),
        "tokens": masked_value(said.get("tokens")),
        "model": _text(said.get("model", ""))[:_MODEL_LIMIT] or None,
    }
    return Outcome(
        what,
        kind,
        text,
        {key: value for key, value in cost.items() if value is not None},
        masked_value(said.get("output")),
        said.get("artifacts"),
        resets_at=_reset(said.get("resets_at")) if what == FAILED else None,
        flaws=flaws,
    )


def checked(told: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what a result file says in known keys with values of the right type, and a sentence about everything else."""
    said: dict[str, Any] = {}
    flaws: list[str] = []
    for key, value in told.items():
        shape = _SHAPES.get(key)
        if shape is None:
            near = nearest(key, _SHAPES)
            flaws.append(f"nothing reads its key {masked(key[:_KEY_LIMIT])!r}{f' (did you mean {near}?)' if near else ''}")
        elif value is not None and not shape.fits(value):
            flaws.append(f"its {key} has to be {shape.words}")
        elif value is not None:
            said[key] = value
    return said, tuple(flaws[:_MOST_FLAWS])


def _text(said: Any) -> str:
    """Return a text that UTF-8 can encode: JSON can also contain lone surrogates."""
    return masked(str(said).encode("utf-8", "replace").decode())[:TEXT_LIMIT]


def _cost(said: Any) -> float | None:
    """Return the cost; None if it is not an amount of money."""
    return float(said) if fits(said, NUMBER) and said >= 0 else None


def _reset(said: Any) -> str | None:
    if said is None:
        return None
    stated = stated_time(said)
    return None if stated is None else time_text(stated)


def _are_tokens(value: Any) -> bool:
    return isinstance(value, dict) and all(_cost(count) is not None for count in value.values())


class _Shape(NamedTuple):
    """The values that a key of the result file may have, in words."""

    fits: Callable[[Any], bool]
    words: str


_IS_TEXT = _Shape(lambda value: isinstance(value, str), "a text")
_IS_MONEY = _Shape(lambda value: _cost(value) is not None, "a number of US dollars")
_SHAPES: dict[str, _Shape] = {
    "outcome": _IS_TEXT,
    "kind": _IS_TEXT,
    "text": _IS_TEXT,
    "cost": _IS_MONEY,
    "cost_usd": _IS_MONEY,
    "tokens": _Shape(_are_tokens, 'counts, such as {"input": 900, "output": 120}'),
    "model": _IS_TEXT,
    "resets_at": _Shape(lambda value: _reset(value) is not None, "a time with a time zone, or Unix seconds"),
    "output": _Shape(lambda _: True, "anything"),
    "artifacts": _Shape(lambda value: isinstance(value, (list, dict)), "a list"),
}


def _by_code(code: int) -> tuple[str, str]:
    if code < 0 or code > 128:
        return FAILED, "crash"
    return EXIT_CODES.get(code, (FAILED, "other"))


def _code_words(code: int) -> str:
    return f"ended by signal {-code if code < 0 else code - 128}" if code < 0 or code > 128 else f"exit code {code}"
