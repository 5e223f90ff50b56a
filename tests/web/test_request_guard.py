"""Who is let through: hosts, tokens, sizes, and the headers of every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from bd.core.errors import BadInput
from bd.web import app, authentication
from bd.web.authentication import Account
from bd.web.host_names import of_names
from bd.web.request_guard import HEADERS
from bd.web.routes import OWN, READ, WRITE, Ask, Route
from bd.web.site import Site
from tests.runtime import RUNTIME
from tests.web.conftest import ADA, HOST

if TYPE_CHECKING:
    from starlette.responses import Response

BEARER = {"authorization": f"Bearer {ADA.token}"}
COOKIE = {"cookie": f"bd_session_80={authentication.session_of(ADA.token)}"}
HERE = {"origin": HOST}


async def echo(ask: Ask) -> Response:
    return PlainTextResponse(f"{ask.person.name if ask.person else 'nobody'}: {ask.body.decode()}")


@pytest.fixture
def echoing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Echo:
        ROUTES = (
            Route("GET", "/read", echo, READ),
            Route("POST", "/write", echo, WRITE, 10),
            Route("POST", "/own", echo, OWN, 10),
        )

    monkeypatch.setattr(app, "MODULES", (Echo,))


def client_of(*, writers: tuple[Account, ...] = (ADA,), **how: bool) -> TestClient:
    """A client of a site whose hub nobody needs."""
    return TestClient(
        app.application(Site(lambda: pytest.fail("no hub"), RUNTIME, writers, of_names(["127.0.0.1"]), **how)), base_url=HOST
    )


pytestmark = pytest.mark.usefixtures("echoing")


def test_every_answer_keeps_other_sites_out() -> None:
    client = client_of()
    for path in ("/read", "/nowhere", "/write"):
        headers = client.get(path).headers
        assert {name: headers.get(name) for name in HEADERS} == HEADERS
        assert "unsafe" not in headers["content-security-policy"]


STRANGERS = "evil.example 127.0.0.1.evil.example [::1 [ user@evil.example 127.0.0.1@evil.example 127.0.0.1:80@evil.example"


@pytest.mark.parametrize("host", [*STRANGERS.split(), "", "127.0.0.1 x", "127.0.0.1:x", "127.0.0.1:80:90", "127.0.0.1/x"])
def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    assert client_of().get("/read", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8750"])
def test_its_own_names_are_answered(host: str) -> None:
    assert client_of().get("/read", headers={"host": host}).status_code == 200


def test_changes_need_a_token() -> None:
    client = client_of()
    assert client.post("/write", content="x").status_code == 401
    assert client.post("/write", content="x", headers={"authorization": "Bearer wrong-token-of-some-length"}).status_code == 401
    assert client.post("/write", content="x", headers={"authorization": f"Basic {ADA.token}"}).status_code == 401
    assert client.post("/write", content="x", headers=BEARER).text == "Ada Lovelace: x"


def test_without_people_nobody_changes_anything() -> None:
    assert client_of(writers=()).post("/write", content="x", headers=BEARER).status_code == 403


def test_a_cookie_changes_things_only_from_a_page_of_this_site() -> None:
    client = client_of()
    assert client.post("/write", content="x", headers={**COOKIE, **HERE}).text == "Ada Lovelace: x"
    assert client.post("/write", content="x", headers={**COOKIE, "sec-fetch-site": "same-origin"}).status_code == 200
    for origin in (
        "http://evil.example",
        "http://127.0.0.1:9999",
        "null",
        "",
        "http://[",
        "127.0.0.1",
        "http://127.0.0.1/",
        f"{HOST}@x",
        f"http://x@{HOST[7:]}",
    ):
        assert client.post("/write", content="x", headers={**COOKIE, "origin": origin}).status_code == 403
    for site in ("cross-site", "same-site", "none"):
        assert client.post("/write", content="x", headers={**COOKIE, "sec-fetch-site": site}).status_code == 403
    assert client.post("/write", content="x", headers=COOKIE).status_code == 403


def test_a_session_is_not_the_token_and_ends_with_it() -> None:
    session = authentication.session_of(ADA.token)
    assert ADA.token not in session
    assert authentication.by_session((Account(ADA.name, "another-token-of-hers"),), session) is None
    assert authentication.by_session((ADA,), session) == ADA


def test_a_file_of_digests_lets_nobody_in() -> None:
    """Whoever reads one, in a backup perhaps, can neither send a token nor make a cookie of it."""
    kept = Account(ADA.name, ADA.digest)
    assert authentication.by_token((kept,), ADA.token) == kept
    assert authentication.by_session((kept,), authentication.session_of(ADA.token)) == kept
    for known in (kept.token, kept.digest, kept.digest.removeprefix("sha256:")):
        for tried in (known, authentication.session_of(known), authentication.digest_of(known)):
            assert authentication.by_token((kept,), tried) is None
            assert authentication.by_session((kept,), tried) is None


def test_bodies_are_bounded_also_where_nobody_says_how_long_they_are() -> None:
    client = client_of()
    assert client.post("/write", content="x" * 10, headers=BEARER).status_code == 200
    assert client.post("/write", content="x" * 11, headers=BEARER).status_code == 413
    assert client.post("/write", content=iter([b"x" * 6] * 100), headers=BEARER).status_code == 413
    assert client.post("/own", content="x" * 11).status_code == 413


def test_a_private_site_is_read_with_a_token_only() -> None:
    client = client_of(is_private=True)
    assert client.get("/read").status_code == 401
    assert client.get("/read", headers=BEARER).status_code == 200
    assert client.get("/read", headers=COOKIE).status_code == 200
    assert client.post("/own", content="x").text == "nobody: x"


def test_a_token_file_names_its_people() -> None:
    text = "# who may\n\nAda Lovelace  0123456789abcdef\nbob abcdef0123456789\n"
    assert authentication.read(text, "f") == (Account("Ada Lovelace", "0123456789abcdef"), Account("bob", "abcdef0123456789"))
    assert authentication.read("# nobody\n\n", "f") == ()


def test_a_token_file_names_agents_and_claims() -> None:
    found = authentication.read(f"agent:bob 0123456789abcdef\nclaim:hub-a.1:01TOKEN {authentication.digest_of('secret')}\n", "f")
    assert [(account.kind, account.name, account.claim) for account in found] == [
        ("agent", "bob", ""),
        ("claim", "hub-a.1", "01TOKEN"),
    ]
    assert authentication.by_token(found, "0123456789abcdef") == found[0]
    assert authentication.by_token(found, "secret") == found[1]
    for wrong in (found[1].token, found[1].token.upper(), "secret ", ""):  # a digest is no token
        assert authentication.by_token(found, wrong) is None
    again = "".join(f"{account.label} {account.digest}\n" for account in found)
    assert [account[:1] + account[2:] for account in authentication.read(again, "f")] == [a[:1] + a[2:] for a in found]


@pytest.mark.parametrize(
    "text",
    [
        "0123456789abcdef\n",
        "ada short\n",
        "ada 0123456789abcdeé\n",
        "a\x1bda 0123456789abcdef\n",
        "agent:Bob 0123456789abcdef\n",
        "claim:hub-a 0123456789abcdef\n",
    ],
)
def test_a_token_file_that_says_nothing_is_refused_without_telling_tokens(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        authentication.read(text, "tokens")
    assert "0123456789" not in str(refused.value)
