"""Polls of agents that could take nothing, whatever is ready: they say why by a code, and keep the pace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.clocks import FakeClock
    from tests.running import Clone

pytestmark = pytest.mark.one_in(5)

WAYS: dict[str, list[tuple[str, ...]]] = {
    "paused": [("pause",)],
    "draining": [("drain", "coder")],
    "offline": [("offline", "coder")],
    "busy": [("create", "Do it", "--id", "hub-a"), ("claim", "hub-a", "--agent", "coder")],
    "overloaded": [
        step
        for bead in ("hub-a", "hub-b")
        for step in (
            ("create", "Do it", "--id", bead, "--assignee", "coder"),
            ("claim", bead, "--agent", "coder"),
            ("fail", bead, "--agent", "coder", "--reason", "crash", "--error", "x"),
        )
    ],
}


@pytest.mark.parametrize("code", WAYS)
def test_a_cycle_in_which_it_could_take_nothing_is_not_empty(local_hub: Clone, clock: FakeClock, code: str) -> None:
    for name in ("coder", "other"):
        local_hub.here("agent", "add", name, "--interval", "30m")
    local_hub.here("poll", "--agent", "coder", code=3)
    for step in WAYS[code]:
        local_hub.here(*step)
    for _ in range(4):
        clock.move(minutes=5)
        local_hub.here("create", "Something else")  # so that it looks
        poll = local_hub.here("poll", "--agent", "coder", "--json", code=3).json
        assert (poll["reason"], poll["reasons"][0]["code"]) == (code, code)
        assert (poll["due"], poll["interval_s"]) == (True, 1800)
        assert poll["empty_cycles"] == (0 if code == "busy" else 1)
    record = local_hub.here("agent", "status", "coder", "--json").json[0]
    assert not record.get("idle")


def test_a_limit_in_a_capacity_file_counts_where_no_agent_file_says_another(local_hub: Clone) -> None:
    """The source paper keeps it there."""
    for number in range(4):
        local_hub.here("create", f"Bead {number}")
    folder = local_hub.path / ".agent-status"
    folder.mkdir(exist_ok=True)
    (folder / "codemonkey.yaml").write_text("agent: codemonkey\nstatus: available\ncurrent_tasks: 0\nmax_concurrent: 2\n")
    local_hub.here("sync")
    for _ in range(2):
        local_hub.here("claim", "--next", "--agent", "codemonkey")
    refused = local_hub.here("claim", "--next", "--agent", "codemonkey", "--json", code=3).json
    assert refused["reason"] == "busy"
    assert "max_concurrent: 2" in (folder / "codemonkey.yaml").read_text()


def test_a_limit_that_an_agent_file_contradicts_is_refused_aloud(local_hub: Clone) -> None:
    local_hub.here("agent", "add", "coder", "--max", "1")
    local_hub.here("create", "Do it", "--id", "hub-a")
    local_hub.here("claim", "hub-a", "--agent", "coder")
    file = local_hub.path / ".agent-status" / "coder.yaml"
    file.write_text(file.read_text().replace("max_concurrent: 1", "max_concurrent: 7"))
    synced = local_hub.here("sync", code=5)
    assert "max_concurrent is 1, as .beads/agents/coder.yaml says" in synced.err + synced.out
    assert local_hub.here("agent", "show", "coder", "--json").json["max_concurrent"] == 1


def test_an_agent_may_have_its_own_claim_ttl_and_heartbeats(local_hub: Clone, clock: FakeClock) -> None:
    local_hub.here("agent", "add", "quick", "--claim-ttl", "60s", "--heartbeat", "10s")
    local_hub.here("create", "Do it", "--id", "hub-a")
    claim = local_hub.here("claim", "hub-a", "--agent", "quick", "--reserve", "--json").json[0]["claim"]
    clock.move(seconds=59)
    assert claim["expires_at"] == clock.text(seconds=1)
    assert local_hub.here("stalled", "--json").json == []
    clock.move(hours=1)
    assert [one["why"] for one in local_hub.here("stalled", "--json").json] == ["never_started"]
    shown = local_hub.here("agent", "show", "quick").out
    assert "claim ttl:    60s" in shown
    assert "heartbeats:   every 10s" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("claim", "hub-a", "--agent", "agent_coder_01"),
        ("update", "hub-a", "--assignee", "agent_coder_01"),
        ("assign", "hub-a", "agent_coder_01"),
        ("create", "Another", "--assignee", "agent_coder_01"),
        ("agent", "add", "agent_coder_01"),
        ("offline", "agent_coder_01"),
        ("config", "set", "agent", "agent_coder_01", "--clone"),
    ],
)
@pytest.mark.parametrize("variable", ["", "BD_AGENT", "BD_ACTOR"])
def test_an_underscore_in_an_agents_name_is_a_hyphen_and_never_stored(
    local_hub: Clone, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], variable: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, "agent_coder_01")
    local_hub.here("agent", "add", "agent-coder-01")
    local_hub.here("create", "Do it", "--id", "hub-a")
    local_hub.here(*words)
    stored = [path.read_text() for path in local_hub.path.rglob("*.yaml")]
    assert not [text for text in stored if "agent_coder_01" in text]
    assert not list(local_hub.path.rglob("*agent_coder_01*"))
    assert any("agent-coder-01" in text for text in stored)
    log = local_hub.here("log", "--json").out
    assert "agent_coder_01" not in log
