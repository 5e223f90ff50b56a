"""Outputs whose check takes long: `close` answers when it is over, other writes go on meanwhile, and it ends with the server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from bd.web import checks
from tests.waiting import until
from tests.web.api.conftest import claimed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.web.api.conftest import Api, Caller

pytestmark = pytest.mark.one_in(3)

# It says what it has begun with, and waits for its verdict.
JUDGE = "cat > {0}/asked; until [ -e {0}/verdict ]; do sleep 0.05; done; cat {0}/verdict"


@pytest.fixture
def judged(api: Api, alice: Caller, tmp_path: Path) -> tuple[str, Path]:
    """The token of a claim on a bead that asks for a judge, and the folder of the judge."""
    folder = tmp_path / "judge"
    folder.mkdir()
    api.clone.here("config", "set", "judges.judge", JUDGE.format(folder), "--clone")
    api.clone.here("update", "hub-one", "--validation", "judge")
    return claimed(alice), folder


def test_a_judge_holds_up_its_own_close_alone(
    api: Api, alice: Caller, judged: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "AT_ONCE", 1)
    token, folder = judged
    with ThreadPoolExecutor(1) as pool:
        for said, status in (("fail it is too short", 409), ("pass", 200)):
            close = pool.submit(alice.send, "POST", "/beads/hub-one/close", token=token, output="done it")
            until((folder / "asked").exists)
            alice.post("/beads/hub-one/progress", token=token, text="waiting for the judge")
            busy = alice.send("POST", "/beads/hub-one/close", token=token, output="done it")
            assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
            (folder / "asked").unlink()
            (folder / "verdict").write_text(said)
            assert close.result().status_code == status, close.result().text
            (folder / "verdict").unlink()
            if status == 409:
                assert "it is too short" in close.result().json()["error"]
                assert alice.get("/beads/hub-one")["status"] == "in_progress", "the attempt goes on"
    assert "validated" in api.clone.here("show", "hub-one", "--json").json[0]["output"]


def test_a_check_ends_with_its_server(api: Api, alice: Caller, judged: tuple[str, Path]) -> None:
    token, folder = judged
    with ThreadPoolExecutor(1) as pool:
        close = pool.submit(alice.send, "POST", "/beads/hub-one/close", token=token, output="done it")
        until((folder / "asked").exists)
        api.site.checks.give_up()
        assert close.result().json()["code"] == "not_validated"
    assert alice.get("/beads/hub-one")["status"] == "in_progress"


def test_an_address_that_is_not_public_is_not_asked(api: Api, alice: Caller) -> None:
    api.clone.here("update", "hub-one", "--validation", "url")
    refused = alice.send("POST", "/beads/hub-one/close", token=claimed(alice), output="http://127.0.0.1:1/page")
    assert (refused.status_code, refused.json()["code"]) == (409, "url_not_allowed")
    assert "127.0.0.1" not in refused.text
