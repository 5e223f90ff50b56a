"""Briefs name what their reader can call: each deed of each form is a call that the table of endpoints, or of commands, accepts."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from bd.brief.verbs import Verbs, commands
from bd.cli.parse import read as parsed_line
from bd.web.api import verbs
from bd.web.api.endpoints import BY_NAME, ENDPOINTS, PREFIX
from bd.web.api.parameters import of_object, refuse_missing
from bd.web.authentication import AGENT, CLAIM, PERSON
from tests.web.api.conftest import claimed

if TYPE_CHECKING:
    from bd.web.api.endpoints import Endpoint
    from tests.web.api.conftest import Api, Caller

BEAD = "hub-7k3q"


def deeds(said: Verbs) -> list[str]:
    """The calls of a form, without the words before that of `found`."""
    return [text.partition(": ")[2] if name == "found" else text for name, text in said._asdict().items() if name != "how"]


def of_request(call: str) -> tuple[Endpoint, dict[str, Any]]:
    """What a request means: METHOD PATH JSON."""
    method, path, body = [*call.split(" ", 2), "{}"][:3]
    for one in ENDPOINTS:
        if (one.method, PREFIX + one.path.replace("{id}", BEAD)) == (method, path):
            return one, {**({"id": BEAD} if one.of_path else {}), **json.loads(body)}
    raise AssertionError(f"no endpoint for {call}")


def of_tool(call: str) -> tuple[Endpoint, dict[str, Any]]:
    name, _, values = call.partition(" ")
    return BY_NAME[name], json.loads(values)


def of_program(call: str) -> tuple[Endpoint, dict[str, Any]]:
    program, method, path, body = [*shlex.split(call), "{}"][:4]
    assert program == verbs.PROGRAM
    return of_request(f"{method} {PREFIX}/{path} {body}")


@pytest.mark.parametrize(
    ("form", "read", "kind"),
    [
        *((verbs.requests, of_request, kind) for kind in (AGENT, CLAIM, PERSON)),
        *((verbs.tools, of_tool, kind) for kind in (AGENT, CLAIM, PERSON)),
        (verbs.program_calls, of_program, CLAIM),
    ],
)
def test_every_deed_is_a_call_that_this_caller_may_make(form: Any, read: Any, kind: str) -> None:
    for call in deeds(form(kind, BEAD)):
        endpoint, values = read(call)
        assert kind in endpoint.callers, call
        refuse_missing(endpoint.parameters, of_object(endpoint.parameters_for(kind), values))
        asks_for_token = any(one.name == "token" for one in endpoint.parameters_for(kind))
        assert ("token" in values) == asks_for_token, call


def test_every_command_is_one() -> None:
    for call in deeds(commands(BEAD)):
        program, *words = shlex.split(call)
        assert program == "bd"
        assert parsed_line([word for word in words if word != "--json"]) is not None, call


def test_whoever_claims_through_the_api_is_told_of_its_calls(api: Api, alice: Caller) -> None:
    """And they work as they stand there, with the token for TOKEN."""
    token = claimed(alice)
    told = alice.get("/beads/hub-one/brief")
    rules = told["rules"][1]
    assert told["text"].rstrip().endswith(rules)
    assert "bd progress" not in rules
    assert "bd close" not in rules
    for deed in ("progress", "fail"):
        call = getattr(verbs.requests(AGENT, "hub-one"), deed)
        assert call in rules
        _, path, body = call.split(" ", 2)
        alice.post(path.removeprefix(PREFIX), **{**json.loads(body), "token": token})
    [failure] = alice.get("/beads/hub-one")["failures"]
    assert failure["error"] == "what went wrong"
