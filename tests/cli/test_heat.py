"""Temperature as it is typed and shown: one order in every list, and where it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.clocks import FakeClock
    from tests.running import Clone


def ids(answer: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in answer]


def test_every_list_and_the_claim_go_by_one_order(board: Clone) -> None:
    before = ["hub-bug", "hub-kid1", "hub-epic", "hub-res"]
    assert ids(board.here("ready", "--json").json) == before
    board.here("heat", "hub-epic", "+25")
    after = ["hub-bug", "hub-epic", "hub-kid1", "hub-res"]
    assert ids(board.here("ready", "--json").json) == after
    assert [name for name in ids(board.here("list", "--sort", "effective", "--json").json) if name in after] == after
    assert ids(board.here("list", "--status", "ready", "--sort", "effective", "--json").json) == after
    assert [name for name in ids(board.here("list", "--json").json) if name in after] == after, "heat has its say in lists too"
    # An epic with beads below it is no work by itself.
    work = ["hub-bug", "hub-kid1"]
    assert ids(board.here("ready", "--agent", "bob", "--no-fetch", "--json").json) == work
    assert ids(board.here("claim", "--next", "--count", "3", "--agent", "bob", "--json").json) == work


def test_a_list_from_the_cache_shows_the_temperature_as_stored_and_its_effect_now(board: Clone, clock: FakeClock) -> None:
    board.here("heat", "hub-kid1", "+40")
    board.here("dep", "add", "hub-kid1", "hub-res")  # so that it does not age
    for hours, effective in ((0, 14), (24, 16), (24, 17), (24 * 20, 18)):
        clock.move(hours=hours)
        listed = next(bead for bead in board.here("list", "--json").json if bead["id"] == "hub-kid1")
        shown = board.here("show", "hub-kid1", "--json").json[0]
        for bead in (listed, shown):
            assert (bead["temperature"], bead["effective_priority"]) == (40, effective)
            assert bead["heated_at"] == "2026-02-21T16:14:00.000000Z"


def test_show_tells_the_temperature_while_there_is_one(board: Clone, clock: FakeClock) -> None:
    assert "temperature 5" in board.here("show", "hub-bug").out, "it was commented on"
    assert "temperature" not in board.here("show", "hub-kid1").out
    clock.move(days=3)
    assert "temperature" not in board.here("show", "hub-bug").out


def test_why_tells_what_the_priority_is_made_of(board: Clone) -> None:
    assert "priority" not in board.here("why", "hub-later").out, "there is nothing to it but the base"
    assert board.here("why", "hub-later", "--json").json["priority_parts"] == {"base": 50}
    words = "hub-kid1 is ready.\n  priority 10.7 (high): base 20, critical path -2, age -7.3\n"
    assert board.here("why", "hub-kid1").out == words
    board.here("heat", "hub-kid1", "+25")
    board.here("update", "hub-kid1", "--due", "2026-02-21T22:14:00Z")
    told = board.here("why", "hub-kid1", "--json").json
    parts = {"base": 20, "deadline": -20, "critical_path": -2, "temperature": -2.5, "age": -7.3, "held_back": 21.8}
    assert (told["effective_priority"], told["tier"], told["priority_parts"]) == (10, "high", parts)
    board.here("close", "hub-kid1")
    assert "priority" not in board.here("why", "hub-kid1").out


def test_the_half_life_is_the_hubs_alone(board: Clone, clock: FakeClock) -> None:
    board.here("heat", "hub-kid1", "+40")
    assert board.here("config", "get", "heat_half_life").out == "1d\n"
    board.here("config", "set", "heat_half_life", "2h")
    clock.move(hours=4)
    env = {"BD_HEAT_HALF_LIFE": "100d"}
    assert board.here("why", "hub-kid1", "--json", env=env).json["priority_parts"]["temperature"] == -1
    assert board.here("config", "show", "--json", env=env).json["heat_half_life"] == {"value": 7200, "source": "hub"}


@pytest.mark.parametrize("words", [("+10.5",), ("--by", "10.5"), ("--by=10.5",), ("--by", "+10.5")])
def test_the_ways_to_say_by_how_much(words: tuple[str, ...], board: Clone) -> None:
    assert board.here("heat", "hub-kid1", "hub-res", *words, "--json").json[1]["temperature"] == 10.5


def test_one_bead_of_two_that_is_not_there(board: Clone) -> None:
    result = board.here("heat", "hub-nope", "hub-res", code=4)
    assert result.out == "✓ Heated to 10: hub-res — Compare queues\n"
    assert "hub-nope" in result.err


def test_history_says_it_without_the_stamp(board: Clone) -> None:
    board.here("heat", "hub-kid1", "+25")
    event = board.here("history", "hub-kid1", "-n", "1", "--json").json[-1]
    assert (event["verb"], event["changes"]) == ("heat", {"temperature": {"new": 25}})


def test_an_export_keeps_the_heat_and_an_import_gives_it_back(board: Clone) -> None:
    board.here("heat", "hub-kid1", "+25")
    board.here("export", "-o", "../all.jsonl")
    board.here("delete", "hub-kid1", "--force")
    board.here("import", "../all.jsonl")
    bead = board.here("show", "hub-kid1", "--json").json[0]
    assert (bead["temperature"], bead["heated_at"]) == (25, "2026-02-21T16:14:00.000000Z")


@pytest.mark.parametrize(
    ("end", "back"),
    [
        (("close", "hub-bug"), ("reopen", "hub-bug")),
        (("cancel", "hub-bug"), ("update", "hub-bug", "--status", "open")),
        (("update", "hub-bug", "--status", "dead_letter"), ("dlq", "retry", "hub-bug")),
        (("defer", "hub-bug"), ("undefer", "hub-bug")),
        (("wait-human", "hub-bug", "--reason", "which?"), ("answer", "hub-bug", "that")),
    ],
)
def test_what_comes_back_after_days_is_not_starved(
    board: Clone, clock: FakeClock, end: tuple[str, ...], back: tuple[str, ...]
) -> None:
    board.here(*end)
    clock.move(days=10)
    board.here(*back)
    clock.move(hours=1)
    assert board.here("why", "hub-bug", "--json").json["priority_parts"]["age"] == -6
