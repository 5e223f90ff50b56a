"""What a bead's output has to pass before its close counts: which kind of check, by which rule, and whether it did.

Belongs here: reading what the bead asks for, and comparing what was validated with what is closed. Does not belong
here: running a check (worker/validation.py); commands come from trusted configuration, never from a bead.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from bd.core.errors import NotValidated
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
# These take a while, so that people see that they are going on.
SLOW = frozenset({"url", "test-pass", "judge"})
# What was validated: the output, and what was asked of it.
_JUDGED = ("validation", "validation_schema", "data", "artifacts", "type")


def output_of(bead: Bead) -> dict[str, Any]:
    found = bead.get("output")
    return found if isinstance(found, dict) else {}


def kind_of(bead: Bead) -> str:
    """Which check the bead asks for; one nobody knows as it stands there."""
    asked = str(output_of(bead).get("validation") or NONE).strip().lower().replace("_", "-")
    return _ALSO.get(asked, asked)


def is_asked(bead: Bead) -> bool:
    """Whether anything is to be checked."""
    return kind_of(bead) != NONE


def seal_of(bead: Bead) -> str:
    """A name for exactly this output and what is asked of it."""
    judged = {key: value for key, value in output_of(bead).items() if key in _JUDGED and value is not None}
    return hashlib.sha256(json.dumps(judged, sort_keys=True, default=str).encode()).hexdigest()[:32]


def sealed(bead: Bead, seals: Mapping[str, str], at: datetime) -> Bead:
    """The bead about to be closed, which says that it passed where that was asked.

    Raises NotValidated for what has not passed, and for what has changed since it did.
    """
    if not is_asked(bead):
        return bead
    seal = seals.get(bead.id)
    if seal is None:
        hint = f"`bd close {bead.id}` checks it, and closes it when it passes; --force --reason TEXT goes without"
        raise NotValidated(f"{bead.id} asks for validation ({kind_of(bead)}) before it is closed", hint=hint, id=bead.id)
    if seal != seal_of(bead):
        words = f"the output of {bead.id} has changed since it was validated"
        raise NotValidated(words, hint=f"`bd close {bead.id}` checks it anew", id=bead.id)
    return bead.evolve(output={**output_of(bead), "validated": {"kind": kind_of(bead), "at": time_text(at)}})


def validating(bead: Bead, at: datetime) -> Bead:
    """The held bead while its output is checked."""
    return bead if bead.status == "validating" else lifecycle.touch(bead.evolve(status="validating"), at)
