"""The list names conditions and tests that there are."""

from __future__ import annotations

import pytest

from tests.branches.conditions import conditions, wrapped
from tests.branches.listed import ROOT, keys, listed


def test_a_listed_condition_is_there() -> None:
    known = listed()
    assert known
    assert known.keys() <= set(keys()), "python -m tests.branches"


@pytest.mark.parametrize("test", sorted({test.partition("[")[0] for test in listed().values()}))
def test_a_listed_test_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name.rpartition('::')[2]}(" in (ROOT / path).read_text(encoding="utf-8")


def test_each_condition_is_wrapped_for_itself() -> None:
    source = (
        "from __future__ import annotations\ndef f(a, b):\n    return [c for c in a if c > 1 and b] if a or not b else b or a\n"
    )
    assert [condition.text for condition in conditions(source)] == ["c > 1", "b", "a", "not b", "b"]
    text = wrapped(source, "m.py").replace("from tests.branches.switch import check as _check\n", "")
    met: list[str] = []
    names: dict[str, object] = {"_check": lambda key, value: met.append(key) or value}
    exec(text, names)  # noqa: S102  the text of this test
    assert names["f"]([1, 2], 1) == [2]  # type: ignore[operator]
    assert met == ["m.py | f | a", "m.py | f | c > 1", "m.py | f | c > 1", "m.py | f | b"]
