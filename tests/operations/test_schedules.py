"""Beads of schedules: made from what is stored, which names beads by their whole ids."""

from __future__ import annotations

import pytest

from bd.core.errors import NoSuchBead
from bd.core.schema import CONFIG_PATH
from bd.operations.schedules import RunSchedule
from tests.memory import MemoryStore, make_bead
from tests.operations.asking import by

DAILY = {
    "name": "daily",
    "cron": "0 9 * * *",
    "tz": "UTC",
    "title": "Look",
    "last_tick": "2026-02-20T09:00:00Z",
    "parent": "hub-p",
}


def test_a_deleted_parent_is_not_taken_for_the_beginning_of_an_id() -> None:
    store = MemoryStore(make_bead("hub-p.kid"), records={CONFIG_PATH: {"prefix": "hub", "schedules": [DAILY]}})
    with pytest.raises(NoSuchBead):
        store.publish(RunSchedule(name="daily", **by()))


def test_a_parent_that_is_there_gets_the_bead() -> None:
    store = MemoryStore(
        make_bead("hub-p"), make_bead("hub-p.kid"), records={CONFIG_PATH: {"prefix": "hub", "schedules": [DAILY]}}
    )
    change = store.publish(RunSchedule(name="daily", **by()))
    assert store.bead(change.touched[0]).parent == "hub-p"
