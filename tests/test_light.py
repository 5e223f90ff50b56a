"""The light stand-ins give what the originals give."""

from __future__ import annotations

import copy
import heapq
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

from bd.core import light, queries, times
from bd.core.errors import BadInput
from bd.core.ids import agent_from_person, check_prefix, is_agent, is_bead_id
from bd.core.times import is_canonical
from bd.store.git import porcelain
from bd.store.git.porcelain import is_ref
from bd.store.object_names import is_oid
from bd.store.yaml import codec, editor, types


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
    assert editor._key_of(text) == (found.group(1) if found else None)


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
    assert editor._is_plain(text) == plain
    assert editor._is_plain(text, editor._NOT_IN_FLOW) == in_flow


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


@given(ODD | st.text(alphabet="01234567 89", max_size=7))
def test_what_is_a_mode(text: str) -> None:
    assert porcelain._is_mode(text) == bool(re.match(r"[0-7]{5,6}\Z", text))


WORDS = st.text(alphabet=st.sampled_from("aZ09_-. é٣\n"), max_size=8)


@given(ODD | WORDS | st.text(alphabet="aZ0-", min_size=39, max_size=42))
def test_what_is_an_id_and_what_a_prefix(text: str) -> None:
    assert is_bead_id(text) == bool(re.match(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\Z", text))
    try:
        is_prefix = check_prefix(text) == text
    except BadInput:
        is_prefix = False
    assert is_prefix == bool(re.match(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}\Z", text))


@given(
    st.sampled_from(["con", "PRN", "Aux", "nul", "com0", "LPT9", "com", "lpt10", "cons", "xcon"]),
    st.sampled_from(["", ".a", "-a"]),
)
def test_what_is_a_device(name: str, rest: str) -> None:
    is_device = re.match(r"(?i)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", name + rest)
    assert is_bead_id(name + rest) == (not is_device)


@given(ODD | WORDS | st.text())
def test_an_agents_name_is_made_of_a_persons(text: str) -> None:
    cleaned = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-")
    try:
        assert agent_from_person(text) == cleaned
    except BadInput:
        assert not is_agent(cleaned)


@given(ODD | WORDS | st.text(alphabet="a_-", min_size=63, max_size=66))
def test_what_is_a_token(text: str) -> None:
    assert codec._is_token(text) == bool(re.match(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}\Z", text))


NUMBERS = st.text(alphabet=st.sampled_from("0019.eE+-_ ²٣"), max_size=8)


@given(ODD | NUMBERS | st.floats().map(str) | st.integers().map(str))
def test_what_is_a_number(text: str) -> None:
    assert types._is_whole(text) == bool(re.match(r"[-+]?\d+\Z", text, re.ASCII))
    written = r"-?(?:0|[1-9]\d*)(\.\d+)?(?:[eE][-+]?\d+)?\Z"
    assert types._is_json_number(text) == bool(re.match(written, text, re.ASCII))


@given(ODD | st.text(alphabet=st.sampled_from("0019.smhdwx \t²٣"), max_size=10))
def test_what_is_a_duration(text: str) -> None:
    number, factors = r"\d+(?:\.\d+)?", {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    expected = None
    if re.match(rf"{number}\Z", text, re.ASCII):
        expected = float(text)
    elif re.match(rf"(?:{number}\s*[smhdw])+\Z", text, re.ASCII):
        expected = sum(float(much) * factors[unit] for much, unit in re.findall(rf"({number})\s*([smhdw])", text, re.ASCII))
    assert times._seconds_of(text) == expected


PLACES = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.just(""), st.sampled_from("ab")), max_size=6).map(sorted)


@given(st.lists(PLACES, max_size=4))
def test_several_lists_in_order_are_merged_as_heapq_does(lists: list[list[tuple[float, str, str]]]) -> None:
    named = [[(place, (number, at)) for at, place in enumerate(part)] for number, part in enumerate(lists)]
    merged = queries._merged([iter(part) for part in named])
    assert list(merged) == list(heapq.merge(*named, key=lambda entry: entry[0]))


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
from bd.core.light import light_functools
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
    place = {**os.environ, "PYTHONPATH": str(Path(light.__file__).parents[2])}
    ended = subprocess.run([sys.executable, "-S", "-c", LOADS], capture_output=True, text=True, env=place)
    assert (ended.stdout, ended.stderr) == ("[(1,), (2,), (1,)]\n", "")
