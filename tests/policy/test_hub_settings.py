"""The settings below a key: each can be set, found, listed and unset, typed; what is none is refused with the nearest."""

from __future__ import annotations

from typing import Any

import pytest

from bd.core import known_keys
from bd.core.errors import BadInput
from bd.core.known_keys import unknown_keys
from bd.core.schema import AGENT_FIELDS, CONFIG_FIELDS, CONFIG_PATH, RETRY_KEYS
from bd.core.settings import KEYS, PLACE_KEYS, may_set, merge
from bd.policy.friction import rules_of as friction_rules
from bd.policy.hub_settings import NAME, SETTINGS, TYPE, find_setting, in_the_way, is_set, leaves, setting_of, with_value
from bd.policy.retry import rule_of
from bd.policy.stealing import rules_of as stealing_rules
from tests.memory import MemorySnapshot, make_bead

_WORDS = {TYPE: "code", NAME: "own-name"}
# A value of each kind, tried until one is taken.
_VALUES = ("90s", "true", "fixed", "timeout", "3", "echo hello")


def _path(pattern: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_WORDS.get(level, level) for level in pattern)


def _taken(key: str) -> Any:
    for text in ("7", *_VALUES):
        try:
            return setting_of(key).read(text)
        except BadInput:
            continue
    raise AssertionError(key)


@pytest.mark.parametrize("pattern", [one.path for one in SETTINGS], ids=".".join)
def test_every_setting_is_set_found_and_unset(pattern: tuple[str, ...]) -> None:
    path = _path(pattern)
    value = _taken(".".join(path))
    before = {"format": 2, "prefix": "hub", "paused": {"by": "ada"}}
    after = with_value(before, path, value)
    assert is_set(after, path)
    assert (path, value) in list(leaves(after))
    assert {key: after[key] for key in before} == before
    assert unknown_keys(CONFIG_PATH, after) == []  # what can be set is read
    assert with_value(after, path, None) == before
    assert with_value(before, path, None) == before


@pytest.mark.parametrize(
    ("above", "known"),
    [
        (("stealing",), known_keys._STEALING),
        (("friction",), known_keys._FRICTION),
        (("defaults", "retry"), RETRY_KEYS),
        (("defaults", "retry", "types", TYPE), known_keys._TYPES_OF_RETRY),
    ],
)
def test_what_is_read_below_a_key_can_be_set(above: tuple[str, ...], known: tuple[str, ...]) -> None:
    assert {one.path[-1] for one in SETTINGS if one.path[:-1] == above} == {*known}


def test_a_value_leaves_its_neighbours_alone() -> None:
    layer = {"defaults": {"expected": {"task": "1h", "bug": "2h"}, "max_attempts": 4}}
    assert with_value(layer, ("defaults", "expected", "task"), None) == {
        "defaults": {"expected": {"bug": "2h"}, "max_attempts": 4}
    }
    assert with_value(layer, ("defaults", "expected", "code"), "3h")["defaults"]["expected"] == {
        "task": "1h",
        "bug": "2h",
        "code": "3h",
    }
    assert layer == {"defaults": {"expected": {"task": "1h", "bug": "2h"}, "max_attempts": 4}}


def test_what_is_set_holds() -> None:
    config: dict[str, Any] = {}
    for key, text in (
        ("defaults.expected.code", "5m"),
        ("defaults.retry.initial_delay", "1m"),
        ("defaults.retry.types.code.jitter", "no"),
        ("defaults.retry.types.code.max_attempts", "2"),
        ("defaults.claim_ttl", "20m"),
        ("stealing.pending", "8"),
        ("stealing.idle", "5m"),
        ("friction.window", "1d"),
        ("friction.rate", "0.5"),
    ):
        setting = setting_of(key)
        config = with_value(config, setting.path, setting.read(text))
    settings = merge([("hub", config)])
    rule = rule_of(make_bead("hub-a", type="code"), settings)
    assert (settings.expected_s("code"), settings.claim_ttl, settings.attempt_limit("code")) == (300, 1200, 2)
    assert (rule.initial_s, rule.jitter) == (60, False)
    hub = MemorySnapshot(records={CONFIG_PATH: config})
    assert (stealing_rules(hub).pending, stealing_rules(hub).idle_s) == (8, 300)
    assert (friction_rules(hub).window_s, friction_rules(hub).rate) == (86400, 0.5)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("vlidators.tests", "did you mean validators.tests?"),
        ("defaults.expcted.task", "did you mean defaults.expected.task?"),
        ("defaults.expected.tsk", "did you mean defaults.expected.task?"),
        ("defaults.retry.max_dely", "did you mean defaults.retry.max_delay?"),
        ("defaults.retry.types.cod.jiter", "did you mean defaults.retry.types.code.jitter?"),
        ("expected.task", "did you mean defaults.expected.task?"),
        ("clam_ttl", "did you mean claim_ttl?"),
        ("stealling.pending", "did you mean stealing.pending?"),
        ("friction.wndow", "did you mean friction.window?"),
        ("stealing", "stealing.pending"),
        ("defaults.expected", "one of defaults.expected.TYPE"),
        ("xyzzy", "`bd config list` shows every setting"),
        ("defaults.xyzzy", "shows every setting below defaults"),
        ("paused", "`bd pause`"),
        ("min_version", "`bd upgrade`"),
        ("max_concurent", "--max"),
        ("validators.a.b", "nothing is below"),
        ("validators.", "nothing is below"),
    ],
)
def test_what_is_no_setting_is_refused_with_the_nearest(key: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        setting_of(key)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("key", [*CONFIG_FIELDS, *AGENT_FIELDS])
def test_every_key_of_the_files_is_a_setting_or_has_a_way_to_set_it(key: str) -> None:
    is_setting = key in (*KEYS, *PLACE_KEYS) or any(one.path[0] == key for one in SETTINGS)
    if is_setting:
        return
    with pytest.raises(BadInput) as caught:
        setting_of(key)
    assert "bd config list" not in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("defaults.expected.task", "soon"),
        ("defaults.max_cost_usd.task", "cheap"),
        ("defaults.max_cost_usd.task", "-1"),
        ("defaults.retry.strategy", "quick"),
        ("defaults.retry.retry_on", "timeout, boredom"),
        ("defaults.retry.jitter", "maybe"),
        ("defaults.retry.types.task.max_attempts", "0"),
        ("defaults.max_attempts", "many"),
        ("stealing.pending", "1.5"),
        ("stealing.base", "nan"),
        ("friction.rate", "inf"),
        ("friction", "perhaps"),
        # Their readers ignore these.
        ("friction.rate", "0"),
        ("friction.window", "0s"),
        ("friction.least", "0"),
        ("defaults.retry.backoff_multiplier", "0.5"),
        ("defaults.retry.types.task.backoff_multiplier", "0"),
    ],
)
def test_a_value_of_another_kind_is_refused(key: str, text: str) -> None:
    with pytest.raises(BadInput):
        setting_of(key).read(text)


@pytest.mark.parametrize("name", KEYS)
def test_a_layer_that_counts_for_a_setting_counts_for_it_below_defaults(name: str) -> None:
    layers = setting_of(f"defaults.{name}").layers
    assert [*layers] == [layer for layer in ("hub", "clone", "user") if may_set(name, layer)]


@pytest.mark.parametrize(
    ("layer", "key", "says"),
    [
        ({"notify": "./tell"}, "notify.chat", "notify is one text here: './tell'"),
        ({"friction": False}, "friction.window", "friction is false here, and friction.window would make it true"),
        ({"defaults": {"retry": 3}}, "defaults.retry.jitter", "defaults.retry is one value here: 3"),
        ({"friction": True}, "friction.window", None),
        ({"friction": {"rate": 0.5}}, "friction.window", None),
        ({}, "friction.window", None),
    ],
)
def test_a_value_that_would_be_lost_is_in_the_way(layer: dict[str, Any], key: str, says: str | None) -> None:
    assert in_the_way(layer, tuple(key.split("."))) == says


def test_nothing_below_a_text_is_taken_away() -> None:
    assert with_value({"notify": "./tell"}, ("notify", "chat"), None) == {"notify": "./tell"}


def test_a_hubs_own_types_count() -> None:
    assert find_setting(("defaults", "expected", "rig-x")) is None
    assert find_setting(("defaults", "expected", "rig-x"), ["rig-x"]) is not None
