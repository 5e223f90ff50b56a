"""Whom the API lets do what: tokens, fencing tokens, hosts, origins, sizes, and the same request again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from bd.store import KeyIndex
from bd.web.api.endpoints import ENDPOINTS, LARGE, PREFIX
from bd.web.app import application
from bd.web.authentication import session_of
from bd.web.host_names import of_bind
from tests.race.history import subjects
from tests.web.api.conftest import ALICE, claimed, site_on
from tests.web.conftest import ADA, HOST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone
    from tests.web.api.conftest import Api, Caller

pytestmark = pytest.mark.one_in(12)

OPEN = sorted((one.method, (PREFIX + one.path).replace("{id}", "hub-one")) for one in ENDPOINTS)


# --- who asks -------------------------------------------------------------------------------------


def test_nothing_answers_without_a_token(api: Api) -> None:
    for method, path in [*OPEN, ("GET", f"{PREFIX}/openapi.json")]:
        for headers in (
            {},
            {"authorization": "Bearer wrong-token-of-some-length"},
            {"authorization": f"Basic {ALICE.token}"},
            {"cookie": f"bd_session_80={session_of(ADA.token)}", "origin": HOST},
        ):
            answer = api.client.request(method, path, headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), path


def test_a_revoked_token_ends_at_once(api: Api, alice: Caller) -> None:
    alice.get("/ready")
    api.accounts.remove(ALICE)
    assert alice.send("GET", "/ready").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "values"),
    [("GET", "/ready", {}), ("GET", "/wait", {"timeout": 0}), ("GET", "/beads/hub-one/why", {}), ("POST", "/claim", {})],
)
def test_an_agent_is_never_told_by_a_parameter(
    alice: Caller, ada: Caller, method: str, path: str, values: dict[str, Any]
) -> None:
    assert alice.refused(method, path, agent="bob", **values) == (400, "bad_input")
    assert ada.send(method, path, agent="bob", **values).status_code == 200


def test_nothing_forces_trusts_or_configures(alice: Caller) -> None:
    names = {parameter.name for one in ENDPOINTS for parameter in one.parameters}
    assert not names & {"force", "trust", "by", "author", "session", "config", "set"}
    assert alice.refused("POST", "/beads/hub-one/close", force=True) == (400, "bad_input")


class Misuse(NamedTuple):
    """A call that must be refused, on a bead that alice has claimed under `{alice}` and lost before under `{old}`."""

    by: str
    path: str
    values: dict[str, Any]
    refused: tuple[int, str]


STALE = (409, "stale_token")
END = {
    "start": {},
    "heartbeat": {},
    "progress": {"text": "x"},
    "release": {"reason": "x"},
    "close": {"reason": "x"},
    "fail": {"reason": "crash", "error": "x"},
    "wait-human": {"question": "x"},
    "spawn": {"title": "x"},
}
MISUSES = [
    *(Misuse("bob", name, {**more, "token": "{alice}"}, STALE) for name, more in END.items()),
    *(Misuse("alice", name, {**more, "token": "{old}"}, STALE) for name, more in END.items()),
    *(Misuse("alice", name, {**more, "token": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, STALE) for name, more in END.items()),
    *(Misuse("alice", name, dict(more), STALE) for name, more in END.items()),
    Misuse("bob", "close", {}, STALE),
    Misuse("ada", "close", {"token": "{old}"}, STALE),
    Misuse("old claim", "close", {}, STALE),
    Misuse("old claim", "spawn", {"title": "x"}, STALE),
    Misuse("claim", "close", {"token": "{alice}"}, (400, "bad_input")),
    Misuse("claim", "close", {"next": True}, (400, "bad_input")),
]


def test_a_claim_is_changed_under_its_own_token_by_its_own_agent(api: Api, alice: Caller, bob: Caller, ada: Caller) -> None:
    old = claimed(alice)
    alice.post("/beads/hub-one/release", token=old, reason="later")
    api.clone.here("update", "hub-one", "--status", "open")
    token = claimed(alice)
    callers = {"alice": alice, "bob": bob, "ada": ada}
    callers["claim"], callers["old claim"] = api.of_claim("hub-one", token), api.of_claim("hub-one", old)
    before = alice.get("/beads/hub-one")
    for misuse in MISUSES:
        values = {key: {"{alice}": token, "{old}": old}.get(str(value), value) for key, value in misuse.values.items()}
        assert callers[misuse.by].refused("POST", f"/beads/hub-one/{misuse.path}", **values) == misuse.refused, misuse
    after = alice.get("/beads/hub-one")
    assert {key: after[key] for key in ("status", "claim", "updated_at")} == {
        key: before[key] for key in ("status", "claim", "updated_at")
    }


def test_a_token_for_a_claim_is_for_that_claim_alone(api: Api, alice: Caller) -> None:
    api.clone.here("create", "Another", "--id", "hub-three")
    mine = api.of_claim("hub-one", claimed(alice))
    for method, path in (("GET", "/ready"), ("POST", "/claim"), ("POST", "/beads"), ("GET", "/wait")):
        assert mine.refused(method, path, **({"title": "x"} if path == "/beads" else {})) == (403, "refused"), path
    for path, more in (*END.items(), ("comments", {"text": "x"})):
        assert mine.refused("POST", f"/beads/hub-three/{path}", **more) == (403, "refused"), path
    assert mine.get("/beads/hub-three")["id"] == "hub-three"
    mine.post("/beads/hub-one/heartbeat")
    [done] = mine.post("/beads/hub-one/close", reason="done")
    assert done["status"] == "closed"
    for path, query in (("/beads/hub-one", {}), ("/search", {"q": "x"}), ("/board", {})):
        assert mine.refused("GET", path, **query) == STALE, "the account ends with the claim"
    assert mine.send("HEAD", "/events").status_code == STALE[0], "a GET would be answered for ever"


def test_two_clients_of_one_agent_are_two_sessions(alice: Caller, api: Api) -> None:
    api.clone.here("create", "Another", "--id", "hub-three")
    [first], [second] = alice.post("/claim"), alice.post("/claim")
    assert first["id"] != second["id"]
    for mine, other in ((first, second), (second, first)):
        assert alice.refused("POST", f"/beads/{mine['id']}/close", token=other["claim"]["token"]) == STALE
    for mine in (first, second):
        alice.post(f"/beads/{mine['id']}/close", token=mine["claim"]["token"])


def test_a_person_names_the_agent_and_is_the_author(api: Api, ada: Caller) -> None:
    assert ada.refused("POST", "/claim") == (400, "bad_input")
    [bead] = ada.post("/claim", agent="alice")
    assert bead["claim"]["agent"] == "alice"
    ada.post("/beads/hub-one/comments", text="well done")
    assert api.clone.here("show", "hub-one", "--json").json[0]["comments"][0]["author"] == "Ada Lovelace"


# --- the same request again -----------------------------------------------------------------------


def test_a_lost_answer_is_given_again_by_every_server(api: Api, alice: Caller, hub: Path, clone: Callable[[str], Clone]) -> None:
    api.clone.here("create", "Another", "--id", "hub-three")
    other = site_on(clone("elsewhere"), lambda: tuple(api.accounts))
    with TestClient(application(other), base_url=HOST) as client:
        again = alice._replace(client=client)
        first = alice.send("POST", "/claim", key="lost")
        token = first.json()[0]["claim"]["token"]
        for caller in (again, alice):
            told = caller.send("POST", "/claim", key="lost")
            assert (told.json()[0]["claim"], told.headers["idempotent-replayed"]) == (first.json()[0]["claim"], "true")
        done = alice.send("POST", "/beads/hub-one/close", key="end", token=token, reason="done")
        for caller in (again, alice):
            assert caller.send("POST", "/claim", key="lost").json()[0]["claim"]["token"] == token, "also after it has ended"
            told = caller.send("POST", "/beads/hub-one/close", key="end", token=token, reason="done")
            assert (told.status_code, told.json()[0]["status"]) == (200, "closed")
            assert told.json()[0]["updated_at"] == done.json()[0]["updated_at"]
    assert subjects(hub, "claim") == ["claim: hub-one by alice"]
    assert subjects(hub, "close") == ["close: hub-one by alice"]


def test_the_same_key_with_another_body_is_refused(alice: Caller, bob: Caller, ada: Caller) -> None:
    made = alice.send("POST", "/beads", key="k", title="One").json()
    for path, values in (("/beads", {"title": "Two"}), ("/beads/hub-one/comments", {"text": "One"}), ("/claim", {})):
        assert alice.refused("POST", path, key="k", **values) == (409, "key_reused")
    assert alice.send("POST", "/beads", key="k", title="One").json()["id"] == made["id"]
    for other in (bob, ada):  # a key is its caller's
        assert other.send("POST", "/beads", key="k", title="Two").json()["id"] != made["id"]


def test_a_key_is_plain_and_short(alice: Caller) -> None:
    assert alice.refused("POST", "/beads", key="x" * 201, title="One") == (400, "bad_input")


# --- hosts and origins ----------------------------------------------------------------------------


BINDS = {
    "this machine": ("127.0.0.1", ()),
    "this machine by name": ("localhost", ()),
    "everywhere": ("0.0.0.0", ()),  # noqa: S104
    "everywhere with a name": ("0.0.0.0", ("fleet.example.org",)),  # noqa: S104
    "everywhere, IPv6": ("::", ()),
}
STRANGERS = ("evil.example", "127.0.0.1.evil.example", "fleet.example.org.evil.example", "localhost@evil.example", "1.evil", "")


@pytest.mark.parametrize("bind", BINDS)
def test_hosts_and_origins_are_checked_on_every_bind(clone: Callable[[str], Clone], bind: str) -> None:
    host, names = BINDS[bind]
    site = site_on(clone("server"), lambda: (ALICE,))
    site.names = of_bind(host, names)
    client, bearer = TestClient(application(site), base_url=HOST), {"authorization": f"Bearer {ALICE.token}"}
    path = f"{PREFIX}/openapi.json"
    for stranger in STRANGERS:
        assert client.get(path, headers={**bearer, "host": stranger}).status_code == 421, stranger
    for known in ("127.0.0.1:8750", "localhost", *(f"{name}:443" for name in names)):
        assert client.get(path, headers={**bearer, "host": known}).status_code == 200, known
    is_everywhere = host in ("0.0.0.0", "::") and not names  # noqa: S104
    for address in ("192.168.1.20:8750", "[2001:db8::1]:8750"):  # nobody can make an address point elsewhere
        assert client.get(path, headers={**bearer, "host": address}).status_code == (200 if is_everywhere else 421)
    for origin in ("http://evil.example", "null", "", "http://127.0.0.1:9999", "https://localhost.evil.example"):
        assert client.get(path, headers={**bearer, "origin": origin}).status_code == 403, origin
        assert client.post(f"{PREFIX}/claim", headers={**bearer, "origin": origin}).status_code == 403, origin
    assert client.get(path, headers={**bearer, "origin": HOST}).status_code == 200


# --- bodies ---------------------------------------------------------------------------------------


def test_bodies_are_json_objects_within_a_limit(api: Api, alice: Caller) -> None:
    def sent(content: Any, kind: str = "application/json", path: str = "/claim") -> int:
        headers = {"authorization": f"Bearer {ALICE.token}", **({"content-type": kind} if kind else {})}
        return int(api.client.post(PREFIX + path, content=content, headers=headers).status_code)

    for content in (b"[]", b"{", b"1", b'{"count": NaN}', b"\xff", b"[" * 200_000, b'{"a": "' + b"\\ud800" + b'"}'):
        assert sent(content) == 400, content[:20]
    assert sent(b'{"id": "\\ud800"}') == 400
    assert sent(b'{"id": "a\\u0000b"}') == 400
    assert sent(b"id=hub-one", "application/x-www-form-urlencoded") == 415
    assert sent(b"{}", "") == 415
    for path in ("/claim", "/beads", "/beads/hub-one/close"):
        assert sent(b" " * (LARGE + 1), path=path) == 413
        assert sent(iter([b" " * 100_000] * 50), path=path) == 413
    assert api.client.request(
        "GET", f"{PREFIX}/ready", content=b"{}", headers={"authorization": f"Bearer {ALICE.token}"}
    ).is_success


@pytest.mark.parametrize(
    ("method", "path", "values"),
    [
        ("GET", "/ready", {"limit": 0}),
        ("GET", "/ready", {"limit": 1001}),
        ("GET", "/ready", {"limit": "many"}),
        ("GET", "/ready", {"nothing": "x"}),
        ("GET", "/search", {}),
        ("POST", "/claim", {"count": 101}),
        ("POST", "/claim", {"count": True}),
        ("POST", "/claim", {"id": 7}),
        ("POST", "/claim", {"id": "hub-one", "count": 2}),
        ("POST", "/beads", {}),
        ("POST", "/beads", {"title": ""}),
        ("POST", "/beads/hub-one/release", {"reason": " "}),
        ("GET", "/search", {"q": " "}),
        ("POST", "/beads", {"title": "x", "labels": "a,b"}),
        ("POST", "/beads", {"title": "x", "priority": 9}),
        ("POST", "/beads/hub-one/fail", {"reason": "whatever"}),
    ],
)
def test_wrong_values_are_named(alice: Caller, method: str, path: str, values: dict[str, Any]) -> None:
    assert alice.refused(method, path, **values) == (400, "bad_input")


def test_unknown_beads_and_paths(alice: Caller) -> None:
    assert alice.refused("GET", "/beads/hub-nope") == (404, "no_such_bead")
    assert alice.refused("GET", "/nowhere") == (404, "refused")
    assert alice.refused("POST", "/ready") == (405, "refused")
    assert "GET" in alice.send("POST", "/ready").headers["allow"]


def test_no_work_says_when_to_ask_again(api: Api, alice: Caller) -> None:
    claimed(alice)
    answer = alice.send("POST", "/claim")
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_ready")
    assert int(answer.headers["retry-after"]) == answer.json()["retry_after_s"]


def test_a_server_that_learns_of_the_request_while_it_looks(
    api: Api, alice: Caller, hub: Path, clone: Callable[[str], Clone]
) -> None:
    """Between its look at the history and its push the other server's feed may fetch: whatever came by then counts."""
    api.clone.here("create", "Another", "--id", "hub-three")
    elsewhere = clone("elsewhere")
    other, find = site_on(elsewhere, lambda: tuple(api.accounts)), KeyIndex.find
    first: list[Any] = []

    def find_and_fetch(self: KeyIndex, at: Any, key: str) -> Any:
        found = find(self, at, key)
        if at.place.folder.startswith(str(elsewhere.path)):
            if not first:
                first.append(alice.send("POST", "/claim", key="lost").json())
            at.fetch()
        return found

    with TestClient(application(other), base_url=HOST) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyIndex, "find", find_and_fetch)
        told = alice._replace(client=client).send("POST", "/claim", key="lost")
    assert told.json()[0]["claim"] == first[0][0]["claim"]
    assert subjects(hub, "claim") == ["claim: hub-one by alice"]
