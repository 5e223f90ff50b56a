"""What people with a token change: ordinary operations, in their name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.web.authentication import session_of
from tests.truth import all_beads, git, tip
from tests.waiting import until
from tests.web.conftest import ADA, HOST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2 as httpx

    from bd.core.model import Bead
    from tests.running import Clone
    from tests.web.conftest import Served

pytestmark = pytest.mark.one_in(18)

BEARER = {"authorization": f"Bearer {ADA.token}"}
BROWSER = {"cookie": f"bd_session_80={session_of(ADA.token)}", "origin": HOST, "accept": "text/html"}


def sent(served: Served, path: str, **fields: str) -> httpx.Response:
    """A page's form, sent by Ada's browser."""
    return served.client.post(path, data=fields, headers=BROWSER, follow_redirects=False)


def beads_at(hub: Path) -> dict[str, Bead]:
    return {bead.id: bead for bead in all_beads(hub)}


def last_commit(hub: Path) -> str:
    return git(hub, "log", "-1", "--format=%an|%s", "main")


def test_a_bead_is_made_in_a_persons_name(served: Served, hub: Path) -> None:
    answer = sent(
        served, "/beads", title=" Wash up ", type="bug", priority="1", labels="a, b", deps="hub-one", description="Now.\r\nThen."
    )
    assert answer.status_code == 303
    (made,) = [bead for bead in beads_at(hub).values() if bead.title == "Wash up"]
    assert answer.headers["location"] == f"/beads/{made.id}"
    assert (made.type, made.priority, made.labels, made.depends_on) == ("bug", 1, ["a", "b"], ["hub-one"])
    assert made.get("description") == "Now.\nThen."
    assert made.get("created_by") == "human:Ada Lovelace"
    assert last_commit(hub) == f"Ada Lovelace|create: {made.id} by Ada Lovelace"


def test_a_program_says_the_same_in_json(served: Served, hub: Path) -> None:
    answer = served.client.post("/beads", json={"title": "Wash up", "priority": 3}, headers=BEARER)
    assert answer.status_code == 200
    told = answer.json()
    assert told["published"] is True
    assert told["by"] == "Ada Lovelace"
    assert beads_at(hub)[told["ids"][0]].priority == 3


def test_a_comment_is_hers(served: Served, hub: Path) -> None:
    assert sent(served, "/beads/hub-one/comment", text="It is\nthe proxy").headers["location"] == "/beads/hub-one"
    (comment,) = beads_at(hub)["hub-one"].comments
    assert (comment["author"], comment["text"]) == ("Ada Lovelace", "It is\nthe proxy")


def test_a_question_is_answered(served: Served, hub: Path) -> None:
    served.clone.bd("wait-human", "hub-one", "--reason", "which?")
    assert "Answer, and reopen it" in served.reader("/beads/hub-one", cookie=BROWSER["cookie"])
    assert sent(served, "/beads/hub-one/answer", text="the blue one").status_code == 303
    assert beads_at(hub)["hub-one"].status == "open"


def test_a_dead_letter_is_tried_again(served: Served, hub: Path) -> None:
    served.clone.bd("claim", "hub-one", "--agent", "bob")
    served.clone.bd("fail", "hub-one", "--reason", "budget_exceeded", "--error", "revoked", "--agent", "bob")
    assert beads_at(hub)["hub-one"].status == "dead_letter"
    assert sent(served, "/beads/hub-one/retry", reason="a new key").status_code == 303
    assert beads_at(hub)["hub-one"].status == "open"


def test_the_fleet_is_paused_and_goes_on(served: Served, hub: Path) -> None:
    assert sent(served, "/pause", reason="moving").headers["location"] == "/"
    assert "paused: " in served.reader("/", cookie=BROWSER["cookie"])
    served.clone.bd("claim", "hub-one", "--agent", "bob", code=3)
    assert sent(served, "/resume").status_code == 303
    served.clone.bd("claim", "hub-one", "--agent", "bob")


def test_all_of_it_keeps_the_rules(served: Served) -> None:
    sent(served, "/beads", title="Wash up")
    sent(served, "/beads/hub-one/comment", text="x")
    sent(served, "/pause")
    sent(served, "/resume")
    served.clone.bd("audit")


@pytest.mark.parametrize(
    ("path", "fields", "status", "says"),
    [
        ("/beads", {"title": "  "}, 400, "needs a title"),
        ("/beads", {"title": "x", "priority": "9"}, 400, "not a priority"),
        ("/beads", {"title": "x", "type": "<b>"}, 400, "type"),
        ("/beads", {"title": "x", "deps": "hub-nope"}, 404, "hub-nope"),
        ("/beads/hub-one/comment", {"text": " "}, 400, "empty comment"),
        ("/beads/hub-one/answer", {"text": "x"}, 409, "hub-one"),
        ("/beads/hub-one/retry", {}, 409, "not a dead letter"),
        ("/beads/hub-nope/comment", {"text": "x"}, 404, "hub-nope"),
    ],
)
def test_what_is_refused_is_said_and_changes_nothing(
    path: str, fields: dict[str, str], status: int, says: str, served: Served, hub: Path
) -> None:
    before = git(hub, "rev-parse", "main")
    answer = sent(served, path, **fields)
    assert answer.status_code == status
    assert says in answer.text
    assert git(hub, "rev-parse", "main") == before


PATHS = ("/beads", "/beads/hub-one/comment", "/beads/hub-one/answer", "/beads/hub-one/retry", "/pause", "/resume")


@pytest.mark.parametrize("path", PATHS)
def test_without_a_token_or_from_another_site_nothing_is_changed(path: str, served: Served, hub: Path) -> None:
    before = git(hub, "rev-parse", "main")
    fields = {"title": "x", "text": "x"}
    assert served.client.post(path, data=fields).status_code == 401
    assert served.client.post(path, data=fields, headers={**BROWSER, "origin": "http://evil.example"}).status_code == 403
    assert served.client.post(path, data={"text": "x" * 300_000}, headers=BEARER).status_code == 413
    assert git(hub, "rev-parse", "main") == before


@pytest.mark.parametrize("body", [b"[1]", b"{", b'{"title": {}}', b'{"title": true}', b"[" * 100_000, b"\xff"])
def test_a_body_that_is_no_object_of_texts_is_refused(body: bytes, served: Served) -> None:
    answer = served.client.post("/beads", content=body, headers={**BEARER, "content-type": "application/json"})
    assert answer.status_code == 400


def test_a_hub_that_is_away_is_said_and_the_write_goes_through_when_it_is_back(
    served: Served, hub: Path, clone: Callable[[str], Clone]
) -> None:
    hub.rename(hub.with_name("away.git"))
    answer = served.client.post("/beads/hub-one/comment", json={"text": "later"}, headers=BEARER)
    assert (answer.status_code, answer.json()["published"]) == (200, False)
    until(lambda: served.site.feed.stale_since)
    hub.with_name("away.git").rename(hub)
    clone("other").bd("create", "Meanwhile", "--id", "hub-new")
    until(lambda: served.site.feed.tip == tip(hub))
    assert [comment["text"] for comment in beads_at(hub)["hub-one"].comments] == ["later"]
    assert git(hub, "log", "--grep=^comment: hub-one", "--format=%an", "main") == ADA.name
    assert "Meanwhile" in served.reader("/beads/hub-new"), "and what others did meanwhile is seen"


def test_signing_in_takes_a_token_for_a_cookie_and_signing_out_forgets_it(served: Served) -> None:
    client = served.client
    wrong = client.post("/sign-in", data={"token": "not-the-token-of-anybody"}, headers={"origin": HOST})
    assert wrong.status_code == 401
    assert client.post("/sign-in", data={"token": ADA.token}, headers={"origin": "http://evil.example"}).status_code == 403
    half = {"origin": HOST, "content-type": "application/json"}
    assert client.post("/sign-in", content=b'{"token": "half a character: \\ud800"}', headers=half).status_code == 401
    answer = client.post("/sign-in", data={"token": ADA.token}, headers={"origin": HOST}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert ADA.token not in cookie
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Ada Lovelace" in served.reader("/")
    client.post("/sign-out", headers={"origin": HOST})
    assert "Sign in" in served.reader("/")
