"""Values that a bead's fields may hold, for property tests: every kind of the table, with the nastiest texts first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from bd.core.schema import BEAD_FIELDS, INNER_FIELDS
from bd.core.times import time_text

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from bd.core.schema import Kind

# What some YAML reader takes for something else than the text it is, or can't read unless it is quoted with care.
NASTY = [
    *["", " ", "  ", "\t", "\n", "\n\n", " \n", "\n ", "\r", "\r\n", "\0", "\x07", "\x1b[31mred", "\x7f", "\x85", "\xa0", "\xad"],
    *[
        "no",
        "No",
        "yes",
        "on",
        "off",
        "y",
        "N",
        "true",
        "True",
        "false",
        "null",
        "Null",
        "NULL",
        "~",
        "none",
        "nan",
        ".nan",
        ".inf",
    ],
    *["12:30", "1:20:30", "0123", "0o17", "0x1F", "0b1", "1e3", "1.", ".5", "-1", "+1", "1_000", "12", "3.14", "-0", "1e999"],
    *["2026-02-21", "2026-02-21 15:00:00", "2026-02-21T15:00:00Z", "2026-02-21T15:00:00.5Z", "2001-12-14t21:59:43.10-05:00"],
    *[
        "=",
        "<<",
        "-",
        "- a",
        "? a",
        "a: b",
        "a:",
        ": a",
        ":",
        "#",
        "# a",
        "a # b",
        "a #",
        "a#b",
        "@a",
        "`a",
        "%a",
        "&a",
        "*a",
        "!a",
    ],
    *[
        "|",
        ">",
        "|+",
        "a |+ b",
        "> a",
        "[a",
        "a]",
        "{a",
        "a}",
        "[a, b]",
        "{a: b}",
        ",",
        "a, b",
        "'a",
        "it's",
        '"a',
        'say "hi"',
        "\\",
        "\\n",
    ],
    *[
        "---",
        "--- a",
        "...",
        "----",
        "<<<<<<< ours",
        "=======",
        ">>>>>>> theirs",
        "\ufeffa",
        "a\ufeff",
        "\ufffe",
        "\uffff",
        "\ufffd",
    ],
    *[
        "\u2028",
        "a\u2028b",
        "a\u2029b",
        "a\x0bb",
        "a\x0cb",
        "a\x1cb",
        "\u202eevil",
        "\u200eltr",
        "日本語",
        "é",
        "e\u0301",
        "🚀 go",
        "\U0010ffff",
    ],
    *[
        "a\nb",
        "a\nb\n",
        "a\nb\n\n",
        "\na\n",
        " a\nb",
        "a\n  b\n c",
        "a\n\nb",
        "a\n \nb",
        "a\n\t\nb",
        "\ta\nb",
        "a\n\tb",
        "a \nb ",
        "a\n#b\n",
    ],
    *[
        "a\n---\nb",
        "a\n...\nb",
        "a\r\nb",
        "a\rb",
        "a\n\n\n",
        "x" * 200,
        "x " * 100,
        "a\n" + "y" * 200 + "\n",
        "key: value\nother: value\n",
    ],
]

readable = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.sampled_from(NASTY),
    st.text(readable, max_size=40),
    st.text(st.sampled_from(" \n\t#:-'\"a\\|>[]{},&*!%@`?\r\x85\u2028"), max_size=12),
    st.lists(st.sampled_from(NASTY), min_size=2, max_size=3).map("".join),
)
numbers = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
json_values: SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
times = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001  the strategy takes naive bounds
    lambda instant: time_text(instant.replace(tzinfo=UTC), exact=bool(instant.microsecond))
)

_SIMPLE: dict[str, SearchStrategy[Any]] = {
    "text": texts,
    "int": st.integers(-(10**12), 10**12),
    "number": numbers,
    "bool": st.booleans(),
    "time": times,
    "duration": st.sampled_from(["90s", "45m", "2h", "1d", "1h30m", "90", "1.5h"]),
    "list": st.lists(texts, min_size=1, max_size=6),
    "priority": st.integers(0, 4),
    "status": st.from_regex(r"[a-z][a-z_]{0,12}", fullmatch=True).filter(lambda word: word != "ready"),
    "any": json_values.filter(lambda value: value is not None),
}


def map_of(key: str) -> SearchStrategy[dict[str, Any]]:
    """A map under this key: its known keys typed, and others of any JSON."""
    known = INNER_FIELDS.get(key, {})
    typed = st.fixed_dictionaries({}, optional={name: value_of(name, kind) for name, kind in known.items()})
    others = st.dictionaries(texts.filter(lambda name: name not in known), json_values, max_size=3)
    return st.builds(lambda one, two: {**one, **two}, typed, others).filter(bool)


def value_of(key: str, kind: Kind) -> SearchStrategy[Any]:
    """A value of the kind."""
    if kind == "map":
        return map_of(key)
    if kind == "maps":
        return st.lists(map_of(key), min_size=1, max_size=3)
    return _SIMPLE[kind]


_FIELD = st.sampled_from(list(BEAD_FIELDS)).flatmap(lambda key: value_of(key, BEAD_FIELDS[key]).map(lambda value: (key, value)))
_UNKNOWN = st.tuples(
    st.from_regex(r"x_[a-z]{1,5}", fullmatch=True) | texts.filter(lambda key: key not in BEAD_FIELDS), _SIMPLE["any"]
)


def fields(*, unknown: bool = True, min_size: int = 1) -> SearchStrategy[dict[str, Any]]:
    """Any fields a bead file may have; `unknown` with keys that are in no table."""
    one = st.one_of(_FIELD, _FIELD, _FIELD, _UNKNOWN) if unknown else _FIELD
    return st.lists(one, min_size=min_size, max_size=8).map(dict)


def same(one: Any, two: Any) -> bool:
    """Equal in value and in type; whole numbers may come back as int or float."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, (int, float)) and isinstance(two, (int, float)):
        return one == two
    return type(one) is type(two) and bool(one == two)
