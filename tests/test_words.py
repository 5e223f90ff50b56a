"""Questions about words that bd answers without a regular expression, held against one."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from bd.core import field_kinds, times
from bd.core.errors import BadInput
from bd.core.ids import agent_from_person, check_prefix, is_bead_id
from bd.core.schema import is_agent, is_token
from bd.core.times import is_canonical
from bd.store.git import porcelain
from bd.store.git.porcelain import is_ref
from bd.store.object_names import is_oid
from bd.store.yaml import editor

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
    assert is_token(text) == bool(re.match(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}\Z", text))


NUMBERS = st.text(alphabet=st.sampled_from("0019.eE+-_ ²٣"), max_size=8)


@given(ODD | NUMBERS | st.floats().map(str) | st.integers().map(str))
def test_what_is_a_number(text: str) -> None:
    assert field_kinds._is_whole(text) == bool(re.match(r"[-+]?\d+\Z", text, re.ASCII))
    written = r"-?(?:0|[1-9]\d*)(\.\d+)?(?:[eE][-+]?\d+)?\Z"
    assert field_kinds._is_json_number(text) == bool(re.match(written, text, re.ASCII))


@given(ODD | st.text(alphabet=st.sampled_from("0019.smhdwx \t²٣"), max_size=10))
def test_what_is_a_duration(text: str) -> None:
    number, factors = r"\d+(?:\.\d+)?", {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    expected = None
    if re.match(rf"{number}\Z", text, re.ASCII):
        expected = float(text)
    elif re.match(rf"(?:{number}\s*[smhdw])+\Z", text, re.ASCII):
        expected = sum(float(much) * factors[unit] for much, unit in re.findall(rf"({number})\s*([smhdw])", text, re.ASCII))
    assert times._seconds_of(text) == expected
