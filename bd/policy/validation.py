"""The check that a bead's output must pass before its close counts: which kind, and whether it passed.

Reads what the bead asks for, and compares what was validated with what is closed. worker/validation.py runs checks; their
commands come from trusted configuration, never from a bead.
"""

from __future__ import annotations

import hashlib
import json

from bd import TYPE_CHECKING
from bd.core.errors import BadInput, NotValidated
from bd.core.times import time_text
from bd.policy import lifecycle

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from bd.core.model import Bead

NONE = "none"
KINDS = ("json-schema", "regex", "url", "test-pass", "judge", NONE)
_ALSO = {"llm-judge": "judge", "tests": "test-pass", "schema": "json-schema"}
# Kinds that take a while, so that progress is shown.
SLOW = frozenset({"url", "test-pass", "judge"})
# The parts of the output that a validation covers: the result, and what was asked of it.
_JUDGED = ("validation", "validation_schema", "data", "artifacts", "type")


def output_of(bead: Bead) -> dict[str, Any]:
    found = bead.get("output")
    return found if isinstance(found, dict) else {}


def kind_of(bead: Bead) -> str:
    """Return which check the bead asks for; an unknown one unchanged."""
    return known_kind(str(output_of(bead).get("validation") or NONE))


def known_kind(text: str) -> str:
    """Return the kind of a check for any of its names; an unknown one unchanged."""
    asked = text.strip().lower().replace("_", "-")
    return _ALSO.get(asked, asked)


def parse_check(text: str, given_as: str) -> tuple[str, str]:
    """Return the kind and the rule of a check that is written as KIND[:RULE]; an empty text means NONE.

    Raises BadInput, which says what the text was given as, for an unknown kind and for a rule without one.
    """
    asked, _, rule = text.partition(":")
    kind = known_kind(asked) or NONE
    if kind not in KINDS:
        raise BadInput(f"{given_as}: unknown value {asked!r}; expected one of {', '.join(KINDS)}")
    if kind == NONE and rule:
        raise BadInput(f"{given_as} has a rule and no kind", hint="regex:^ok")
    return kind, rule


def is_asked(bead: Bead) -> bool:
    """Return whether a check is asked for."""
    return kind_of(bead) != NONE


def seal_of(bead: Bead) -> str:
    """Return a digest of exactly this output and what is asked of it."""
    judged = {key: value for key, value in output_of(bead).items() if key in _JUDGED and value is not None}
    return hashlib.sha256(json.dumps(judged, sort_keys=True, default=str).encode()).hexdigest()[:32]


def sealed(bead: Bead, seals: Mapping[str, str], at: datetime) -> Bead:
    """Return the bead, about to be closed, with the record that it passed, if a check is asked for.

    Raises NotValidated if it has not passed, or has changed since.
    """
    if not is_asked(bead):
        return bead
    seal = seals.get(bead.id)
    if seal is None:
        hint = f"`bd close {bead.id}` checks it, and closes it if it passes; --force --reason TEXT skips the check"
        raise NotValidated(f"{bead.id} asks for validation ({kind_of(bead)}) before it is closed", hint=hint, id=bead.id)
    if seal != seal_of(bead):
        words = f"the output of {bead.id} has changed since it was validated"
        raise NotValidated(words, hint=f"`bd close {bead.id}` checks it again", id=bead.id)
    return bead.evolve(output={**output_of(bead), "validated": {"kind": kind_of(bead), "at": time_text(at)}})


def validating(bead: Bead, at: datetime) -> Bead:
    """Return the held bead in the status in which its output is checked."""
    return bead if bead.status == "validating" else lifecycle.touch(bead.evolve(status="validating"), at)
