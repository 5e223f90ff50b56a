"""The OpenAPI document, made from the table of endpoints. Pure."""

from __future__ import annotations

from bd import TYPE_CHECKING, __version__
from bd.core.errors import CODES
from bd.web.api.endpoints import BEAD, BEADS, ENDPOINTS, OBJECT, PREFIX, STREAM
from bd.web.authentication import PERSON
from bd.web.error_responses import STATUS

if TYPE_CHECKING:
    from typing import Any

    from bd.web.api.endpoints import Endpoint
    from bd.web.api.parameters import Parameter

_TEXT = {"type": "string"}
# What a client can rely on; docs/format.md has the other fields of a bead.
_BEAD = {
    "type": "object",
    "required": ["id", "title", "status"],
    "properties": {
        "id": _TEXT,
        "title": _TEXT,
        "status": _TEXT,
        "phase": _TEXT,
        "issue_type": _TEXT,
        "priority": {"type": "integer"},
        "effective_priority": {"type": "number"},
        "description": _TEXT,
        "acceptance_criteria": _TEXT,
        "assignee": _TEXT,
        "owner": _TEXT,
        "labels": {"type": "array", "items": _TEXT},
        "attempts": {"type": "integer"},
        "close_reason": _TEXT,
        "published": {"type": "boolean"},
        "claim": {
            "type": "object",
            "required": ["agent", "token"],
            "properties": {"agent": _TEXT, "token": _TEXT, "attempt": {"type": "integer"}, "claimed_at": _TEXT},
            "additionalProperties": True,
        },
    },
    "additionalProperties": True,
}
_SCHEMAS = {
    BEAD: _BEAD,
    BEADS: {"type": "array", "items": {"$ref": f"#/components/schemas/{BEAD}"}},
    OBJECT: {"type": "object", "additionalProperties": True},
    "Error": {
        "type": "object",
        "required": ["error", "code"],
        "properties": {
            "error": {**_TEXT, "description": "What is wrong."},
            "code": {**_TEXT, "enum": sorted({*CODES, "refused"}), "description": "docs/exit-codes.md says what each means."},
            "hint": {**_TEXT, "description": "What to do next."},
            "retry_after_s": {"type": "number"},
        },
        "additionalProperties": True,
    },
}
_WORDS = {
    400: "The request is wrong.",
    401: "No valid token.",
    403: "This token may not do that, or the request comes from another site.",
    404: "There is no such bead or agent.",
    409: "Refused: already claimed, stale token, wrong state, nothing ready, a key used for another request ...",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The server does not answer to this host name.",
    500: "The hub is damaged, or a bug.",
    503: "Try again later.",
}


def document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for one in ENDPOINTS:
        paths.setdefault(PREFIX + one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bd",
            "version": __version__,
            "summary": "A git repository of beads as the work queue of a fleet of agents, without git.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {f"E{status}": _refused(words) for status, words in _WORDS.items()},
        },
    }


def _operation(one: Endpoint) -> dict[str, Any]:
    told: dict[str, Any] = {"operationId": one.name, "summary": one.summary, "parameters": _parameters(one)}
    if one.write:
        inner = {**one._replace(parameters=one.others).schema(PERSON)}
        told["requestBody"] = {"required": "required" in inner, "content": {"application/json": {"schema": inner}}}
    told["responses"] = {"200": _answered(one), **{str(status): _ref(f"responses/E{status}") for status in _statuses(one)}}
    return told


def _parameters(one: Endpoint) -> list[dict[str, Any]]:
    found = [_parameter(place, "path") for place in one.of_path]
    if not one.write:
        found += [_parameter(place, "query") for place in one.others]
    elif one.is_keyed:
        words = "The same request with the same key has one effect, for 24 hours, on every server of the hub."
        schema = {"type": "string", "maxLength": 200}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "description": words, "schema": schema})
    return found


def _parameter(place: Parameter, where: str) -> dict[str, Any]:
    schema = {key: value for key, value in place.schema().items() if key != "description"}
    told = {"name": place.name, "in": where, "required": place.is_required, "description": place.help, "schema": schema}
    return {**told, "explode": True} if schema.get("type") == "array" else told


def _statuses(one: Endpoint) -> list[int]:
    mine = {400, 401, 403, 421, 500, 503, *STATUS.values()}
    return sorted(mine | ({409, 413, 415} if one.write else set()))


def _answered(one: Endpoint) -> dict[str, Any]:
    if one.answer == STREAM:
        return {"description": "Events.", "content": {"text/event-stream": {"schema": _TEXT}}}
    headers = {"Bd-Tip": {"description": "The hub's commit of which this is.", "schema": _TEXT}} if one.read else {}
    if one.write and one.is_keyed:
        headers["Idempotent-Replayed"] = {"description": "true: it was carried out before, under the same key.", "schema": _TEXT}
    return {
        "description": "Done.",
        "content": {"application/json": {"schema": _ref(f"schemas/{one.answer}")}},
        **({"headers": headers} if headers else {}),
    }


def _refused(words: str) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": _ref("schemas/Error")}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{name}"}
