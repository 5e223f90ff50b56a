"""Whether an agent may take anything, and why not: every command that is asked gives the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.running import Clone

pytestmark = pytest.mark.one_in(3)

# What keeps the agent `solo` from the one bead that is ready: what is typed before, and the code of it.
STATES: dict[str, tuple[list[list[str]], str]] = {
    "paused": ([["pause", "--reason", "no power"]], "paused"),
    "offline": ([["offline", "solo"]], "offline"),
    "draining": ([["drain", "solo"]], "draining"),
    "busy": ([["create", "Held", "--id", "hub-held"], ["claim", "hub-held", "--agent", "solo"]], "busy"),
    "overloaded": (
        [
            words
            for bead in ("hub-hard", "hub-harder")
            for words in (
                ["create", "Hard", "--id", bead],
                ["claim", bead, "--agent", "solo"],
                ["fail", bead, "--reason", "crash", "--error", "no", "--agent", "solo"],
            )
        ],
        "overloaded",
    ),
    "nothing fits": ([["update", "hub-one", "--assignee", "other"]], "nothing_fits"),
    "nothing is ready": ([["close", "hub-one", "--reason", "done"]], "nothing_ready"),
}


@pytest.mark.parametrize("state", STATES)
def test_for_an_agent_that_can_take_nothing_there_is_nothing(state: str, local_hub: Clone) -> None:
    typed, code = STATES[state]
    local_hub.here("agent", "add", "solo", "--max", "1", "--interval", "10m")
    local_hub.here("create", "One", "--id", "hub-one")
    for words in typed:
        local_hub.here(*words)
    agent = ("--agent", "solo")
    assert local_hub.here("ready", "--json", *agent).json == []
    assert local_hub.here("count", "--ready", "--json", *agent).json["count"] == 0
    polled = local_hub.here("poll", "--json", *agent, code=3).json
    assert polled["ready"] == 0
    assert polled["reasons"][0]["code"] == code
    assert all(set(reason) == {"code", "text"} for reason in polled["reasons"])
    assert (polled["reason"], polled["reason_text"]) == (code, polled["reasons"][0]["text"])
    assert local_hub.here("work", "--dry-run", "--json", *agent, "--", "true", code=3).json["would_claim"] is None
    local_hub.here("wait", "--timeout", "0s", *agent, code=3)
    refused = local_hub.here("claim", "--next", "--json", *agent, code=3).json
    assert refused.get("reason", code) == code
    if state != "nothing is ready":
        assert local_hub.here("why", "hub-one", "--json", *agent).json["fits"] is False


def test_what_does_not_fit_is_named_by_kind(local_hub: Clone) -> None:
    local_hub.here("agent", "add", "solo")
    local_hub.here("create", "One", "--id", "hub-one", "--needs", "gpu")
    local_hub.here("create", "Two", "--id", "hub-two", "--needs", "tpu")
    local_hub.here("create", "Three", "--id", "hub-three", "--assignee", "other")
    polled = local_hub.here("poll", "--json", "--agent", "solo", code=3).json
    assert [reason["code"] for reason in polled["reasons"]] == ["nothing_fits", "needs", "routed"]
    assert "needs gpu" in polled["reasons"][1]["text"]


def test_all_that_is_ready_can_still_be_seen(local_hub: Clone) -> None:
    local_hub.here("create", "One", "--id", "hub-one")
    local_hub.here("agent", "add", "solo")
    local_hub.here("pause", "--reason", "no power")
    assert [bead["id"] for bead in local_hub.here("ready", "--all", "--json", "--agent", "solo").json] == ["hub-one"]
    told = local_hub.here("ready", "--agent", "solo")
    assert "the fleet is paused" in told.out
    assert "Ready in all: 1 (`bd ready --all`)" in told.out
