"""How the tests of operations ask: who, when, and with which tokens."""

from __future__ import annotations

import json
from typing import Any

from bd.operations.base import Operation
from bd.operations.registry import from_json
from tests.runtime import RUNTIME

AT = "2026-02-21T15:00:00.000000Z"
STAMP = "2026-02-21T15:00:00Z"


def by(agent: str = "coder", at: str = AT, **tokens: str) -> dict[str, Any]:
    """The arguments every operation takes; `by("coder", hub_a="t")` holds the token t for hub-a."""
    held = {bead_id.replace("_", "-"): token for bead_id, token in tokens.items()}
    return {"by": f"agent:{agent}", "at": at, "tokens": held, "runtime": RUNTIME}


def form_of(operation: Operation) -> dict[str, Any]:
    """Everything the operation is, as JSON: to see that deciding changed nothing about it."""
    return json.loads(
        json.dumps(
            {"by": operation.by, "at": operation.at, "uid": operation.uid, "tokens": operation.tokens, "args": operation.args}
        )
    )


def revived(form: dict[str, Any]) -> Operation:
    """The operation that a commit's trailer describes, after its way through JSON."""
    return from_json(json.loads(json.dumps(form)), RUNTIME)
