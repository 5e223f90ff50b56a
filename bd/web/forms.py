"""Request bodies, from a page's form or as a program's JSON object, read as a dict of strings."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

from bd import TYPE_CHECKING
from bd.core.errors import BadInput

if TYPE_CHECKING:
    from bd.web.routes import Ask

_MOST_FIELDS = 50


def read(ask: Ask) -> dict[str, str]:
    """Return the fields of a body. Raises BadInput."""
    kind = ask.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/json":
            found = json.loads(ask.body or b"{}")
            pairs = list(found.items()) if isinstance(found, dict) else None
        elif kind in ("application/x-www-form-urlencoded", ""):
            pairs = parse_qsl(ask.body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
        else:
            raise BadInput(f"a body of the kind {kind}", hint="application/json, or a form")
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body can't be read: {error}") from error
    if pairs is None or not all(isinstance(value, (str, int, float)) and not isinstance(value, bool) for _, value in pairs):
        raise BadInput("the body has to be an object of texts and numbers")
    return {str(key): _clean(str(value)) for key, value in pairs}


def _clean(text: str) -> str:
    """Normalize line ends: browsers send CRLF."""
    return text.replace("\r\n", "\n")
