"""Settings of the hub: one is changed, and no other is lost."""

from __future__ import annotations

import pytest

from bd.core.errors import WrongState
from bd.core.schema import CONFIG_PATH
from bd.operations.settings import SetSetting
from tests.memory import MemoryStore
from tests.operations.asking import by


def test_a_command_that_another_clone_set_meanwhile_is_not_dropped() -> None:
    store = MemoryStore(records={CONFIG_PATH: {"prefix": "hub", "notify": "./tell"}})
    with pytest.raises(WrongState, match="notify is one text here"):
        store.publish(SetSetting(path=["notify", "chat"], value="./other", **by()))
    store.publish(SetSetting(path=["notify", "chat"], value=None, **by()))
    assert store.tip.config()["notify"] == "./tell"
