"""What each endpoint does, and that it answers as the command does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.truth import git
from tests.web.api.conftest import claimed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone
    from tests.web.api.conftest import Api, Caller

pytestmark = pytest.mark.one_in(3)


def test_an_agent_without_git_does_a_whole_cycle(api: Api, alice: Caller) -> None:
    [best] = alice.get("/ready")
    assert best["id"] == "hub-one"
    [mine] = alice.post("/claim")
    assert (mine["claim"]["agent"], mine["published"]) == ("alice", True)
    token = mine["claim"]["token"]
    assert "Mend the proxy" in alice.get("/beads/hub-one/brief")["text"]
    assert alice.post("/beads/hub-one/heartbeat", token=token)["beads"] == ["hub-one"]
    assert alice.post("/beads/hub-one/progress", token=token, text="half way")["progress"][0]["text"] == "half way"
    part = alice.post("/beads/hub-one/spawn", token=token, title="Look at the logs", type="research")
    assert part["id"].startswith("hub-one.")
    assert alice.post("/beads/hub-one/comments", text="the cause is the cache")["author"] == "alice"
    [done] = alice.post("/beads/hub-one/close", token=token, reason="mended", output={"lines": 3})
    assert (done["status"], done["close_reason"], done["output"]["data"]) == ("closed", "mended", {"lines": 3})
    assert done["progress"][0]["text"] == "half way"
    assert {bead["id"] for bead in alice.get("/ready")} == {part["id"], "hub-two"}
    assert git(api.clone.path, "log", "--format=%an", "-3", "origin/main").split() == ["alice"] * 3


def test_close_can_claim_the_next_bead(alice: Caller) -> None:
    done, following = alice.post("/beads/hub-one/close", token=claimed(alice), next=True)
    assert (done["id"], following["id"], following["claim"]["agent"]) == ("hub-one", "hub-two", "alice")


def test_what_can_end_an_attempt(api: Api, alice: Caller) -> None:
    for path, values, status in (
        ("release", {"reason": "no access"}, "open"),
        ("fail", {"reason": "crash", "error": "out of memory"}, "open"),
        ("wait-human", {"question": "which logo?"}, "blocked"),
    ):
        made = alice.post("/beads", title=f"To {path}", priority=0)
        token = claimed(alice, made["id"])
        [bead] = alice.post(f"/beads/{made['id']}/{path}", token=token, **values)
        assert (bead["status"], bead.get("claim")) == (status, None), path
        assert alice.refused("POST", f"/beads/{made['id']}/{path}", token=token, **values) == (409, "stale_token"), path


def test_a_reserved_bead_is_started(alice: Caller) -> None:
    [bead] = alice.post("/claim", reserve=True)
    assert "started_at" not in bead["claim"]
    [bead] = alice.post("/beads/hub-one/start", token=bead["claim"]["token"])
    assert bead["claim"]["started_at"]


def as_of_then(value: Any) -> Any:
    """An answer without what changes from one moment to the next."""
    if isinstance(value, dict):
        moving = ("effective_priority", "priority_parts")
        return {key: as_of_then(inner) for key, inner in value.items() if key not in moving}
    return [as_of_then(one) for one in value] if isinstance(value, list) else value


def test_reads_answer_as_the_commands_do(api: Api, alice: Caller, ada: Caller) -> None:
    def told(*words: str) -> Any:
        return as_of_then(api.clone.here(*words, "--json").json)

    assert as_of_then(alice.get("/ready")) == told("ready", "--agent", "alice")
    assert as_of_then(ada.get("/ready")) == told("ready")
    shown = as_of_then(alice.get("/beads/two"))
    assert shown.pop("schema_version") == 1
    assert [shown] == told("show", "hub-two")
    assert as_of_then(alice.get("/beads/hub-two/why")) == told("why", "hub-two", "--agent", "alice")
    assert as_of_then(alice.get("/search", q="PROXY mend")) == told("search", "proxy", "mend")
    assert "Mend the proxy" in alice.get("/board")["text"]


def test_lists_are_cut_at_the_limit_and_say_so(alice: Caller) -> None:
    for number in range(3):
        alice.post("/beads", title=f"One of many {number}")
    answer = alice.send("GET", "/search", q="many", limit=2)
    assert (len(answer.json()), answer.headers["bd-more"]) == (2, "true")
    assert alice.send("GET", "/search", q="many", limit=3).headers["bd-more"] == "false"


def test_an_answer_names_the_commit_that_it_is_of(api: Api, alice: Caller) -> None:
    before = alice.send("GET", "/ready").headers["bd-tip"]
    api.clone.here("create", "Something new")
    after = alice.send("GET", "/ready")
    assert after.headers["bd-tip"] != before
    assert len(after.json()) == 2


def test_while_the_clone_writes_answers_are_of_what_it_has_fetched_already(
    api: Api, alice: Caller, clone: Callable[[str], Clone]
) -> None:
    """A write has fetched a newer tip, and the clone's view follows when the write is over."""
    hub, before = api.site.open_hub(), alice.send("GET", "/ready").headers["bd-tip"]
    try:
        hub.begin_write(fetch=False)
        clone("other").here("create", "From elsewhere", "--priority", "0")
        tip = hub.finish_fetch()
        assert (hub.view(), hub.published()) == (before, tip)
        answer = alice.send("GET", "/ready")
        assert answer.headers["bd-tip"] == tip
        assert [bead["title"] for bead in answer.json()] == ["From elsewhere", "Mend the proxy"]
    finally:
        hub.close()


def test_what_is_kept_in_the_clone_is_answered_as_of_the_tip_below_it(api: Api, alice: Caller, hub: Path) -> None:
    tip, away = alice.send("GET", "/ready").headers["bd-tip"], hub.with_name("away")
    hub.rename(away)
    api.clone.here("create", "While it was away")
    answer = alice.send("GET", "/ready")
    away.rename(hub)
    assert answer.headers["bd-tip"] == tip
    assert len(answer.json()) == 2


def test_waiting_answers_at_once_if_there_is_work(alice: Caller) -> None:
    assert alice.get("/wait", timeout=5) == {"agent": "alice", "ready": ["hub-one"]}
    claimed(alice)
    assert alice.get("/wait", timeout=0)["ready"] == []


def test_an_output_is_validated_where_that_runs_nothing(api: Api, alice: Caller) -> None:
    api.clone.here("update", "hub-one", "--validation", "regex:^ok")
    token = claimed(alice)
    assert alice.refused("POST", "/beads/hub-one/close", token=token, output="bad") == (409, "not_validated")
    [done] = alice.post("/beads/hub-one/close", token=token, output="ok then")
    assert done["status"] == "closed"
    made = api.clone.here("create", "Test it", "--validation", "test-pass", "--json").json["id"]  # needs the files of the work
    assert alice.refused("POST", f"/beads/{made}/close", token=claimed(alice, made)) == (409, "not_validated")


def test_a_check_is_for_whom_the_close_is_and_not_made_again(api: Api, alice: Caller, bob: Caller) -> None:
    api.clone.here("update", "hub-one", "--validation", "regex:^ok")
    token = claimed(alice)
    for values in ({}, {"token": token}):
        assert bob.refused("POST", "/beads/hub-one/close", output="bad", **values) == (409, "stale_token")
    done = alice.send("POST", "/beads/hub-one/close", key="k", token=token, output="ok then").json()
    api.clone.here("reopen", "hub-one")
    api.clone.here("update", "hub-one", "--validation", "regex:^no")
    again = alice.send("POST", "/beads/hub-one/close", key="k", token=token, output="ok then")
    assert (again.status_code, [bead["status"] for bead in again.json()]) == (200, [done[0]["status"]])


def test_a_text_that_seems_to_hold_a_secret_is_warned_of(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVERS_OWN_TOKEN", "correct-horse-battery")
    token, secret = claimed(alice), "ghp_" + "x1" * 18
    for path, values in (
        ("comments", {"text": secret}),
        ("progress", {"token": token, "text": secret}),
        ("heartbeat", {"token": token, "progress": secret}),
        ("close", {"token": token, "output": secret * 1000}),
    ):
        answer = alice.send("POST", f"/beads/hub-one/{path}", **values)
        assert "seems to hold a secret (GitHub token)" in answer.headers["bd-notes"], path
    answer = alice.send("POST", "/beads", title="correct-horse-battery")
    assert "bd-notes" not in answer.headers, "what the server's own secrets are is not told"


def test_a_large_output_lies_beside_the_bead(api: Api, alice: Caller) -> None:
    [done] = alice.post("/beads/hub-one/close", token=claimed(alice), output="x" * 100_000)
    [artifact] = done["output"]["artifacts"]
    assert (api.clone.path / artifact["ref"]).read_text() == "x" * 100_000
