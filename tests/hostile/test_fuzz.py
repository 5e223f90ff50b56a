"""Every reader of what others wrote, fuzzed for a moment: the same inputs each time, many more with `python -m bench --only fuzz`."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import fuzz

pytestmark = pytest.mark.one_in(3)

COUNT = {"codec": 400, "plans": 300}


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_mutated_seeds_break_nothing(name: str) -> None:
    for data in islice(fuzz.mutants(name, random.Random(7)), COUNT.get(name, 3000)):
        assert fuzz.broken_by(name, data) is None, data


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_seeds_break_nothing(name: str) -> None:
    for data in fuzz.SEEDS[name]:
        assert fuzz.broken_by(name, data) is None, data


@given(
    st.sampled_from(sorted(set(fuzz.TARGETS) - {"plans"})),
    st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode())),
)
def test_any_bytes_break_nothing(name: str, data: bytes) -> None:
    assert fuzz.broken_by(name, data) is None


def test_a_fuzzer_that_finds_nothing_would_be_no_fuzzer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fuzz.TARGETS, "times", int)
    _, found = fuzz.run("times", 0.05, seed=1)
    assert any(words.startswith("ValueError") for words in found)
