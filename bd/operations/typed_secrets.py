"""The warning that a text which somebody has just typed seems to hold a secret. The text itself is not changed."""

from __future__ import annotations

import os

from bd import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from bd.operations.base import Operation

# The arguments that hold what people typed, and the operations whose text nobody typed just now.
_WORDS = tuple("reason error text note beads new set append maps metadata output trigger schedule records fields value".split())
_NOT_TYPED = frozenset({"import", "board", "validate"})


def warning_of(operation: Operation, environment: Mapping[str, str] = os.environ) -> str:
    """Return the warning for an operation that is published, or nothing."""
    if operation.verb in _NOT_TYPED:
        return ""
    words = [operation.args[key] for key in _WORDS if operation.args.get(key)]
    stored = operation.args.get("stores") or {}
    if stored:
        from bd.operations.stored_outputs import unpacked  # noqa: PLC0415  only for outputs

        words += [unpacked(content).decode("utf-8", "replace") for content in stored.values()]
    return warning(words, environment) if words else ""


def warning(words: Any, environment: Mapping[str, str] = os.environ) -> str:
    """Return the warning for texts, or nothing. Values of secret variables in the environment count as secrets."""
    from bd.core.redaction import found_in, texts_of  # noqa: PLC0415  only for writes with text

    found = found_in("\n".join(texts_of(words)), environment)
    if not found:
        return ""
    return f"warning: this text seems to hold a secret ({', '.join(found)}); history keeps it for good, so revoke it"
