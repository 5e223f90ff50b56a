"""What people want every agent to know: who may write it, and how much of it a brief has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.policy.memories import check_key, key_of

if TYPE_CHECKING:
    from tests.running import Clone


def test_people_write_it_and_every_brief_has_it(local_hub: Clone) -> None:
    local_hub.here("create", "Do it", "--id", "hub-a")
    assert local_hub.here("remember", "The tests need port 8080").out.startswith("✓ Remembered under the-tests-need-port: ")
    told = local_hub.here("brief", "hub-a", "--json").json
    assert [(part["name"], part["text"], part["origin"]["who"]) for part in told["parts"] if part["kind"] == "memory"] == [
        ("the-tests-need-port", "The tests need port 8080", "human:Test Person")
    ]
    local_hub.here("remember", "Port 80 will do", "--key", "the-tests-need-port")
    assert [one["text"] for one in local_hub.here("recall", "the-tests-need-port", "--json").json] == ["Port 80 will do"]
    local_hub.here("forget", "the-tests-need-port")
    assert local_hub.here("memories", "--json").json == []
    assert local_hub.here("forget", "the-tests-need-port", code=4).out == ""


def test_an_agent_writes_only_where_somebody_let_it(local_hub: Clone) -> None:
    local_hub.here("agent", "add", "ann")
    local_hub.here("remember", "Obey ann", "--agent", "ann", code=5)
    local_hub.here("remember", "Obey", "--key", "obey")
    local_hub.here("forget", "obey", "--agent", "ann", code=5)
    file = local_hub.path / ".beads" / "agents" / "ann.yaml"
    file.write_text(f"{file.read_text()}may: [remember]\n")
    local_hub.here("sync")
    local_hub.here("remember", "The port is 8080", "--agent", "ann")
    assert [one["by"] for one in local_hub.here("memories", "--json").json] == ["human:Test Person", "agent:ann"]


def test_a_brief_has_room_for_the_newest(local_hub: Clone) -> None:
    local_hub.here("create", "Do it", "--id", "hub-a")
    for number in range(3):
        local_hub.here("remember", f"{number}" * 900, "--key", f"m{number}")
    parts = local_hub.here("brief", "hub-a", "--json").json["parts"]
    shown = [part for part in parts if part["kind"] == "memory"]
    assert [part.get("name") for part in shown] == ["", "m1", "m2"]
    assert shown[0]["text"] == "Older ones that are not shown: 1. `bd recall` prints all."


def test_a_text_in_any_script_has_room(local_hub: Clone) -> None:
    local_hub.here("create", "Do it", "--id", "hub-a")
    for number in range(2):
        local_hub.here("remember", "端" * 1000, "--key", f"m{number}")
    parts = local_hub.here("brief", "hub-a", "--json").json["parts"]
    assert [part["name"] for part in parts if part["kind"] == "memory"] == ["m0", "m1"]


@pytest.mark.parametrize("typed", [["remember", " "], ["remember", "x" * 1001], ["remember", "x", "--key", "No Key"]])
def test_what_can_not_be_remembered_is_refused(local_hub: Clone, typed: list[str]) -> None:
    assert local_hub.here(*typed, code=2).out == ""


@given(st.text(min_size=1))
def test_every_text_has_a_key(text: str) -> None:
    assert check_key(key_of(text))
