"""Settings: which layer wins, where a value comes from, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from bd.core.errors import BadInput
from bd.core.settings import KEYS, from_environment, merge

LAYERS = ("flag", "environment", "clone", "user", "hub")


def test_the_defaults() -> None:
    settings = merge([])
    assert (settings.prefix, settings.max_attempts, settings.claim_ttl, settings.stall_factor) == ("bd", 3, 900.0, 2.0)
    assert set(settings.sources.values()) == {"default"}


@pytest.mark.parametrize("present", [LAYERS[start:] for start in range(len(LAYERS))])
def test_the_strongest_layer_that_says_it_wins(present: tuple[str, ...]) -> None:
    layers = [(name, {"prefix": f"from-{name}"} if name in present else {}) for name in LAYERS]
    settings = merge(layers)
    assert settings.prefix == f"from-{present[0]}"
    assert settings.sources["prefix"] == present[0]


@pytest.mark.parametrize(("stronger", "weaker"), list(pairwise(LAYERS)))
def test_each_layer_beats_the_next(stronger: str, weaker: str) -> None:
    values = {stronger: {"max_attempts": "7"}, weaker: {"max_attempts": "8"}}
    settings = merge([(name, values.get(name, {})) for name in LAYERS])
    assert (settings.max_attempts, settings.sources["max_attempts"]) == (7, stronger)


@pytest.mark.parametrize("nothing", [None, ""])
def test_an_empty_value_says_nothing(nothing: Any) -> None:
    assert merge([("clone", {"prefix": nothing}), ("hub", {"prefix": "hub"})]).prefix == "hub"


def test_zero_is_a_value() -> None:
    assert merge([("clone", {"lock_timeout": "0"}), ("hub", {"lock_timeout": "9s"})]).lock_timeout == 0


def test_defaults_of_a_hub_may_stand_in_their_own_map() -> None:
    settings = merge([("hub", {"defaults": {"max_attempts": 5, "claim_ttl": "20m", "expected": {"task": "3h"}}})])
    assert (settings.max_attempts, settings.claim_ttl) == (5, 1200.0)
    assert settings.expected_s("task") == 10800


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("claim_ttl", "20m", 1200.0),
        ("claim_ttl", 90, 90.0),
        ("stall_factor", "2.5", 2.5),
        ("max_attempts", "4", 4),
        ("types", "spike, poem", ["spike", "poem"]),
        ("types", ["spike"], ["spike"]),
        ("git_timeout", "2m", 120.0),
    ],
)
def test_how_texts_are_read(key: str, value: Any, read: Any) -> None:
    assert getattr(merge([("hub", {key: value})]), key) == read


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_attempts", "three"), ("stall_factor", "twice"), ("claim_ttl", "soon"), ("types", 5), ("max_attempts", [1])],
)
def test_a_bad_value_is_named_with_its_layer(key: str, value: Any) -> None:
    with pytest.raises(BadInput, match=rf"{key} = .*\(clone\)"):
        merge([("clone", {key: value}), ("hub", {})])


def test_the_environment() -> None:
    environment = {"BD_PREFIX": "env", "BD_CLAIM_TTL": "5m", "BD_TYPES": "", "BD_NONSENSE": "x", "PREFIX": "no"}
    assert from_environment(environment) == {"prefix": "env", "claim_ttl": "5m"}
    assert merge([("environment", from_environment(environment))]).claim_ttl == 300


@pytest.mark.parametrize(
    ("bead_type", "hours"),
    [
        *((name, 1) for name in ("code", "bug", "task", "chore", "test")),
        *((name, 2) for name in ("feature", "review", "deploy", "publish")),
        *((name, 4) for name in ("research", "synthesis", "epic")),
        ("something-else", 1),
    ],
)
def test_what_a_type_is_expected_to_take(bead_type: str, hours: float) -> None:
    assert merge([]).expected_s(bead_type) == hours * 3600


def test_what_a_bead_says_of_itself_wins_over_its_type() -> None:
    settings = merge([("hub", {"expected": {"task": "3h"}})])
    assert settings.expected_s("task", "45m") == 2700
    assert settings.expected_s("task") == 10800
    assert settings.expected_s("bug") == 3600


def test_expectations_of_several_layers_add_up() -> None:
    layers = [("clone", {"expected": {"task": "1h"}}), ("hub", {"expected": {"task": "2h", "bug": "5h"}})]
    settings = merge(layers)
    assert (settings.expected_s("task"), settings.expected_s("bug")) == (3600, 18000)


@pytest.mark.parametrize(("fields", "owner"), [({"prefix": "hub"}, "coder@hub"), ({"prefix": "hub", "domain": "b4"}, "coder@b4")])
def test_owners(fields: dict[str, Any], owner: str) -> None:
    assert merge([("hub", fields)]).owner("coder") == owner


def test_every_key_has_a_help_and_a_default_that_reads_as_itself() -> None:
    for name, key in KEYS.items():
        assert key.help, name
        assert key.default in ("", []) or key.read(key.default) == key.default, name
