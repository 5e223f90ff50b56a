"""The value of `close --output`: small content goes into the bead, larger content next to it; anything else is a reference."""

from __future__ import annotations

import json
import os
import re

from bd import TYPE_CHECKING
from bd.compat.jsonl_import import bytes_of
from bd.core.errors import BadInput
from bd.core.json_shapes import no_constant
from bd.core.schema import FILE_LIMIT
from bd.operations.handoff import parse_artifact
from bd.operations.stored_outputs import packed
from bd.store.artifacts import is_elsewhere, reference

if TYPE_CHECKING:
    from typing import Any

    from bd.store import Clone

# Larger content is stored next to the bead.
IN_BEAD = 16_384
# The same limit for output that is to be validated.
CHECKED_IN_BEAD = 1_000_000


def output_of(typed: str, hub: Clone, in_bead: int = IN_BEAD) -> dict[str, Any]:
    """Return the arguments of a close: `output`, and `stores` for files next to the bead. Raises BadInput and NotFound."""
    if typed != "-" and is_elsewhere(typed):
        name, ref = parse_artifact(reference(hub, typed))
        return {"output": {"artifacts": [{"name": name, "ref": ref}]}}
    data = bytes_of(typed)
    if not data.strip():
        raise BadInput("the output is empty", hint="leave --output out")
    text = _text(data)
    if text is not None and len(data) <= in_bead:
        try:
            return {"output": {"data": json.loads(text, parse_constant=no_constant)}}
        except (ValueError, RecursionError):
            return {"output": {"data": text}}
    if len(data) > FILE_LIMIT:
        words = f"the output has {len(data)} bytes; the limit is {FILE_LIMIT}"
        raise BadInput(words, hint="--output URL, or --output REPOSITORY@COMMIT:PATH, keeps a reference")
    return {"stores": {_name(typed, text): packed(data)}}


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _name(typed: str, text: str | None) -> str:
    """Return the file's own name, reduced to characters that every system allows."""
    given = "" if typed == "-" else re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(typed)).strip(".-")
    return given[:100] or ("output" if text is None else "output.txt")
