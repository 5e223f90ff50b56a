"""The OpenAPI document: it is valid, it tells what the server does, and a client that is generated from it works."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from bd.core.errors import CODES
from bd.web.api import openapi
from bd.web.api.endpoints import ENDPOINTS, PREFIX
from bd.web.error_responses import STATUS
from tests.web.api.conftest import ALICE, claimed
from tests.web.served import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.api.conftest import Api, Caller

pytestmark = pytest.mark.one_in(2)


def test_the_document_is_valid_and_has_every_endpoint(alice: Caller) -> None:
    document = alice.get("/openapi.json")
    OpenAPIV31SpecValidator(document).validate()
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert told == {(one.method, PREFIX + one.path) for one in ENDPOINTS}
    assert document == json.loads(json.dumps(openapi.document()))


def resolved(document: dict[str, Any], status: str, path: str, method: str) -> Draft202012Validator:
    found = document["paths"][path][method]["responses"][status]
    if "$ref" in found:
        found = document["components"]["responses"][found["$ref"].rpartition("/")[2]]
    schema = found["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": document["components"]})


def test_answers_are_what_the_document_says(alice: Caller, ada: Caller) -> None:
    document, token = openapi.document(), claimed(alice)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/ready", {}),
        ("GET", "/search", {"q": "the"}),
        ("GET", "/beads/{id}", {}),
        ("GET", "/beads/{id}/why", {}),
        ("GET", "/beads/{id}/brief", {}),
        ("GET", "/beads/hub-nope", {}),
        ("GET", "/board", {}),
        ("GET", "/wait", {"timeout": 0}),
        ("POST", "/claim", {}),
        ("POST", "/claim", {"count": 0}),
        ("POST", "/beads", {"title": "New"}),
        ("POST", "/beads/{id}/comments", {"text": "x"}),
        ("POST", "/beads/{id}/spawn", {"token": token, "title": "A part"}),
        ("POST", "/beads/{id}/heartbeat", {"token": token}),
        ("POST", "/beads/{id}/close", {"token": token}),
        ("POST", "/beads/{id}/close", {"token": token, "force": True}),
    ]
    for method, path, values in calls:
        answer = alice.send(method, path.replace("{id}", "hub-one"), **values)
        known = PREFIX + re.sub(r"hub-nope", "{id}", path)
        validator = resolved(document, str(answer.status_code), known, method.lower())
        assert list(validator.iter_errors(answer.json())) == [], (path, answer.text)


def test_every_status_has_its_words() -> None:
    told = openapi.document()["components"]["responses"]
    assert {f"E{status}" for status in STATUS.values()} <= told.keys()
    assert {code for code, _, _ in CODES.values()} - STATUS.keys() == {1, 130}, "bugs are 500; nobody interrupts a server"


@pytest.mark.slow
def test_a_generated_client_does_a_whole_cycle(api: Api, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(openapi.document()))
    (tmp_path / "config.yaml").write_text("post_hooks: []\npackage_name_override: bd_client\n")
    words = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", "bd_client", "--config", "config.yaml"]
    done = subprocess.run([sys.executable, "-m", "openapi_python_client", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stdout
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{ALICE.label} {ALICE.token}\n")
    tokens.chmod(0o600)
    with pytest.MonkeyPatch.context() as patch, serving(api.clone, "--token-file", str(tokens)) as server:
        patch.syspath_prepend(str(tmp_path))
        client = importlib.import_module("bd_client").AuthenticatedClient(base_url=server.url.rstrip("/"), token=ALICE.token)
        models = importlib.import_module("bd_client.models")

        def call(name: str, *args: Any, **more: Any) -> Any:
            return importlib.import_module(f"bd_client.api.default.{name}").sync(*args, client=client, **more)

        assert [bead.id for bead in call("ready")] == ["hub-one"]
        [mine] = call("claim", body=models.ClaimBody(), idempotency_key="k1")
        token = mine.claim.token
        again = call("claim", body=models.ClaimBody(), idempotency_key="k1")
        assert again[0].claim.token == token
        [done_] = call("close", "hub-one", body=models.CloseBody(token=token, reason="mended"))
        assert done_.status == "closed"
        assert call("show", "hub-nope").code == "no_such_bead"
