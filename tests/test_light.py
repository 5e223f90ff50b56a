"""The light stand-ins give what the originals give."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd import light
from bd.clock import is_canonical
from bd.ids import is_agent
from bd.store import yamltext
from bd.store.answers import is_oid, is_ref


class Light(light.NamedTuple):
    """A point."""

    x: int
    y: str = "up"
    z: tuple[int, ...] = ()

    @property
    def double(self) -> int:
        return self.x * 2

    def size(self) -> int:
        return super().__len__()


class Full(typing.NamedTuple):
    """A point."""

    x: int
    y: str = "up"
    z: tuple[int, ...] = ()


CALLS: list[tuple[tuple[object, ...], dict[str, object]]] = [
    ((1,), {}),
    ((1, "a"), {}),
    ((1, "a", (2,)), {}),
    ((), {"x": 1}),
    ((1,), {"z": (1,)}),
    ((), {"z": (), "x": 3, "y": "b"}),
]


@pytest.mark.parametrize(("values", "named"), CALLS)
def test_a_named_tuple_is_what_typing_makes(values: tuple[object, ...], named: dict[str, object]) -> None:
    ours, theirs = Light(*values, **named), Full(*values, **named)  # type: ignore[arg-type]
    assert ours == theirs
    assert hash(ours) == hash(theirs)
    assert repr(ours) == repr(theirs).replace("Full", "Light")
    assert (ours.x, ours.y, ours.z) == tuple(theirs)
    assert ours._asdict() == theirs._asdict()
    assert ours._replace(y="new") == theirs._replace(y="new")
    assert (ours.double, ours.size()) == (2 * ours.x, 3)


@pytest.mark.parametrize(("values", "named"), [((), {}), ((1, 2, 3, 4), {}), ((1,), {"x": 1}), ((1,), {"w": 1})])
def test_a_named_tuple_takes_no_other_values(values: tuple[object, ...], named: dict[str, object]) -> None:
    for kind in (Light, Full):
        with pytest.raises(TypeError):
            kind(*values, **named)  # type: ignore[arg-type]


def test_a_named_tuple_can_be_copied_and_matched_but_not_changed() -> None:
    point = Light(1, "a")
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point  # noqa: S301
    assert type(copy.copy(point)) is Light
    match point:
        case Light(x, y, _):
            assert (x, y) == (1, "a")
    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        point.other = 2  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="w"):
        point._replace(w=1)  # type: ignore[call-arg]
    assert Light._fields == Full._fields
    assert Light._field_defaults == Full._field_defaults
    assert Light.__doc__ == "A point."


def test_a_default_before_a_field_without_one_is_a_mistake() -> None:
    with pytest.raises(TypeError):

        class Wrong(light.NamedTuple):
            x: int = 1
            y: int  # type: ignore[misc]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=10,
)


@given(PLAIN)
def test_json_text_is_what_json_writes(value: object) -> None:
    assert light.json_text(value) == json.dumps(value)
    assert light.json_text(value, compact=True) == json.dumps(value, separators=(",", ":"))


DOCUMENTS = [
    "",
    " ",
    "nul",
    "{",
    '{"a" 1}',
    "[1,]",
    '"\n"',
    '"\\ud800"',
    "1 2",
    "-",
    "NaN",
    "-Infinity",
    "1e999",
    "\ufeff1",
    '{"a": 1, "a": 2}',
    "\f1",
    " 1\r\n",
]
PIECES = st.sampled_from([*'{}[]":, -+.0123eEaln\\\n', "null", "true", "NaN", "Infinity", '"a"'])


@given(
    st.one_of(
        st.sampled_from(DOCUMENTS),
        PLAIN.map(json.dumps),
        PLAIN.map(lambda value: json.dumps(value, indent=1)),
        st.lists(PIECES).map("".join),
    )
)
def test_json_value_is_what_json_reads(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError):
            light.json_value(text)
    else:
        assert repr(light.json_value(text)) == repr(expected)  # also where it is no number, which equals nothing


def test_json_text_leaves_other_kinds_to_json() -> None:
    odd = {1: "a", None: [True], "b": {2.5: ()}}
    assert light.json_text(odd) == json.dumps(odd)
    with pytest.raises(TypeError):
        light.json_text({"a": object()})


def test_suppress_takes_only_what_it_names() -> None:
    with light.suppress(OSError, ValueError):
        raise FileNotFoundError
    with pytest.raises(KeyError), light.suppress(OSError):
        raise KeyError


def test_a_pattern_is_a_regular_expression() -> None:
    pattern = light.Pattern(r"(?i)b(\d+)")
    found = pattern.search("aB12")
    assert found is not None
    assert found.group(1) == "12"
    assert pattern.match("aB12") is None
    assert pattern.sub("x", "b1 B2") == "x x"
    assert pattern.findall("b1 B2") == ["1", "2"]


# --- questions that were regular expressions ------------------------------------------------

ODD = st.text(alphabet=st.sampled_from("aZ09_-:. \t\r\n#TZ+é²٣\x7f\x00[~*"), max_size=24)


@given(ODD | st.text())
def test_what_is_a_key_line(text: str) -> None:
    found = re.match(r"([A-Za-z_][A-Za-z0-9_-]*)[ ]*:(?=[ \t\r\n]|\Z)", text)
    assert yamltext._key_of(text) == (found.group(1) if found else None)


@given(ODD | st.text() | st.sampled_from(["true", "a: b", "a:", "x ", "\ud800"]))
def test_what_is_plain(text: str) -> None:
    unprintable = re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
    )
    rest = (
        text.lower() not in ("null", "true", "false", "yes", "no", "on", "off", "y", "n", "~")
        and ": " not in text
        and not text.endswith((":", " "))
        and not unprintable.search(text)
    )
    plain = bool(re.match(r"[^\W\d_][^#\t\n\r]*\Z", text)) and rest
    in_flow = bool(re.match(r"[^\W\d_][^#\t\n\r,\[\]{}:\"'?]*\Z", text)) and rest
    assert yamltext._is_plain(text) == plain
    assert yamltext._is_plain(text, yamltext._NOT_IN_FLOW) == in_flow


@given(
    ODD
    | st.datetimes().map(lambda instant: instant.isoformat() + "Z")
    | st.from_regex(r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d*)?Z?\Z")
)
def test_what_is_a_canonical_time(text: str) -> None:
    expected = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\Z", text, re.ASCII)
    assert is_canonical(text) == bool(expected)


@given(ODD | st.from_regex(r"\A[a-z0-9-]{1,70}\Z"))
def test_what_is_an_agent(text: str) -> None:
    assert is_agent(text) == bool(re.match(r"[a-z0-9][a-z0-9-]{0,62}\Z", text))


@given(ODD | st.from_regex(r"\Arefs/\S*\Z") | st.from_regex(r"\Arefs/[a/.-]*\Z") | st.text().map(lambda text: f"refs/{text}"))
def test_what_is_a_ref(text: str) -> None:
    rules = r"refs(?:/(?!\.)(?:(?!\.\.|@\{|\.lock(?:/|\Z)|\.\Z)[^\s~^:?*\[\\/\x00-\x20\x7f])+)+\Z"
    assert is_ref(text) == bool(re.match(rules, text))


@given(ODD | st.from_regex(r"\A[0-9a-f]{39,65}\Z") | st.from_regex(r"\A[0-9a-fA-F]{40}\Z"))
def test_what_is_an_object_name(text: str) -> None:
    assert is_oid(text) == bool(re.match(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z", text))


def test_a_property_is_worked_out_once_and_kept() -> None:
    calls = []

    class Thing:
        @light.cached_property
        def size(self) -> int:
            """How large."""
            calls.append(self)
            return 3

    thing, other = Thing(), Thing()
    assert (thing.size, thing.size, other.size) == (3, 3, 3)
    assert calls == [thing, other]
    assert thing.__dict__ == {"size": 3}
    assert Thing.size.__doc__ == "How large."


def test_answers_are_remembered_up_to_a_limit() -> None:
    calls: list[int] = []

    @light.lru_cache(maxsize=2)
    def double(number: int) -> int:
        calls.append(number)
        return 2 * number

    assert [double(number) for number in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
    assert calls == [1, 2, 3, 1]


LOADS = """
import sys
from bd.light import light_functools
with light_functools():
    import _sqlite3
assert "functools" not in sys.modules
import functools
assert functools.partial(int, "7")() == 7
db = _sqlite3.connect(":memory:", cached_statements=1)
print([db.execute(f"select {n}").fetchone() for n in (1, 2, 1)])
"""


def test_an_extension_gets_along_with_the_light_functools() -> None:
    """Its statements are remembered with it, and whoever comes later gets the whole module."""
    place = {**os.environ, "PYTHONPATH": str(Path(light.__file__).parents[1])}
    ended = subprocess.run([sys.executable, "-S", "-c", LOADS], capture_output=True, text=True, env=place)
    assert (ended.stdout, ended.stderr) == ("[(1,), (2,), (1,)]\n", "")
