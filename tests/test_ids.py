"""Identifiers: minting, shortening, resolving."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from bd.cli.runtime import SystemRuntime
from bd.core import ids
from bd.core.errors import Ambiguous, BadInput, NoSuchBead
from bd.core.schema import is_agent
from tests.memory import MemorySnapshot, make_bead

if TYPE_CHECKING:
    from collections.abc import Callable

NOBODY: Callable[[str], bool] = lambda _: False  # noqa: E731


# --- minting ----------------------------------------------------------------------------------


def test_a_ulid_is_what_the_ulid_library_reads() -> None:
    before = ULID()
    minted = [SystemRuntime().new_id() for _ in range(100)]
    after = ULID()
    for text in minted:
        read = ULID.from_str(text)
        assert str(read) == text
        assert before.milliseconds <= read.milliseconds <= after.milliseconds
    assert len(set(minted)) == 100


@pytest.mark.parametrize(("at_ms", "random"), [(0, bytes(10)), (1, b"\xff" * 10), (2**48 - 1, bytes(range(10)))])
def test_the_same_moment_and_randomness_are_the_same_text(at_ms: int, random: bytes) -> None:
    assert ids.ulid(at_ms, random) == str(ULID.from_bytes(at_ms.to_bytes(6, "big") + random))


def test_ulids_sort_by_time() -> None:
    minted = [ids.ulid(at_ms, bytes(10)) for at_ms in (1_000, 2_000, 1_700_000_000_000, 1_700_000_000_001, 4_000_000_000_000)]
    assert minted == sorted(minted)


# --- bead ids ---------------------------------------------------------------------------------

UID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def test_an_id_is_cut_from_the_random_part() -> None:
    assert ids.bead_id("hub", UID, NOBODY) == "hub-tsv4"
    assert ids.bead_id("hub", UID, NOBODY, parent="hub-a1b2") == "hub-a1b2.tsv4"
    assert ids.bead_id("my-hub", UID, NOBODY) == "my-hub-tsv4"


def test_a_taken_id_is_made_longer() -> None:
    taken = {"hub-tsv4", "hub-tsv4r"}
    assert ids.bead_id("hub", UID, taken.__contains__) == "hub-tsv4rr"


def test_when_every_length_is_taken_it_says_so() -> None:
    with pytest.raises(BadInput, match="taken"):
        ids.bead_id("hub", UID, lambda _: True)


@given(st.binary(min_size=16, max_size=16))
def test_minted_ids_are_ids(data: bytes) -> None:
    uid = str(ULID.from_bytes(data))
    for suffix in ids.suffixes(uid):
        assert re.fullmatch(r"[0-9a-hjkmnp-tv-z]{4,16}", suffix)
        assert ids.check_bead_id(f"hub-{suffix}") == f"hub-{suffix}"


@pytest.mark.parametrize("text", ["hub-7k3q", "  hub-7k3q ", "HUB-1", "a", "beads-hub-a1b2.2x", "a_b-c.d-e", "7", "x" * 120])
def test_what_can_be_an_id(text: str) -> None:
    assert ids.check_bead_id(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        ".hidden",
        "-x",
        "a b",
        "a..b",
        "a.",
        "é",
        "a\n",
        "a\nb",
        "a\0b",
        "x" * 121,
        "con",
        "NUL",
        "aux.x",
        "com1",
        "lpt9.a",
        "hub-a:b",
        "hub-a?",
        "hub-a*",
        'hub-a"',
        "hub-<a>",
        "hub|a",
        "hub-a ..",
        "hub-a~1",
        "con.hub-a",
    ],
)
def test_what_can_not_be_an_id(text: str) -> None:
    if text == "a\n":
        assert ids.check_bead_id(text) == "a", "blanks around an id are trimmed"
        return
    with pytest.raises(BadInput, match="can't be a bead's id"):
        ids.check_bead_id(text)


@pytest.mark.parametrize(
    ("text", "is_name"),
    [
        ("coder", True),
        ("a", True),
        ("7of9", True),
        ("pool-1", True),
        ("x" * 63, True),
        ("x" * 64, False),
        ("", False),
        ("-a", False),
        ("Coder", False),
        ("a b", False),
        ("a.b", False),
        ("con", False),
        ("nul", False),
        ("com1", False),
        ("lpt0", False),
        ("con-1", True),
        ("console", True),
        ("a_b", False),
        ("a@b", False),
        ("a\n", False),
        ("ä", False),
    ],
)
def test_agent_names(text: str, is_name: bool) -> None:
    assert is_agent(text) is is_name
    if is_name:
        assert ids.check_agent(f" {text} ") == text
    elif "_" in text:  # it is read as the dash that is stored
        assert ids.check_agent(text) == text.replace("_", "-")
    elif text.strip() == text:
        with pytest.raises(BadInput, match="can't be an agent's name"):
            ids.check_agent(text)


@pytest.mark.parametrize(
    ("person", "agent"),
    [("Ada Lovelace", "ada-lovelace"), ("  X!! ", "x"), ("José", "jos"), ("a" * 80, "a" * 63), ("B. & C.", "b-c")],
)
def test_a_persons_name_as_an_agents(person: str, agent: str) -> None:
    assert ids.agent_from_person(person) == agent
    assert is_agent(agent)


@pytest.mark.parametrize("person", ["", "!!!", "李"])
def test_a_name_without_anything_to_make_one_of(person: str) -> None:
    with pytest.raises(BadInput):
        ids.agent_from_person(person)


@pytest.mark.parametrize("text", ["hub", "my-hub", "H1", "a_b"])
def test_prefixes(text: str) -> None:
    assert ids.check_prefix(text) == text


@pytest.mark.parametrize("text", ["", "-x", "a.b", "a b", "x" * 41, "hub\n", "ü"])
def test_what_is_no_prefix(text: str) -> None:
    with pytest.raises(BadInput):
        ids.check_prefix(text)


# --- what was typed ---------------------------------------------------------------------------

HUB_IDS = ("q-dv7", "q-dv78", "q-xdv7", "q-m2v8", "my-hub-a1b2", "my-hub-a1b2.2x")
HUB = MemorySnapshot([make_bead(bead_id) for bead_id in HUB_IDS])


def resolve(typed: str) -> str:
    return ids.resolve(typed, HUB.starting, HUB.exists)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("q-dv7", "q-dv7"),  # exact, although it starts another
        ("  q-dv7 ", "q-dv7"),
        ("q-dv78", "q-dv78"),
        ("q-x", "q-xdv7"),
        ("x", "q-xdv7"),
        ("m2", "q-m2v8"),
        ("dv78", "q-dv78"),
        ("my-hub-a1b2", "my-hub-a1b2"),
        ("my-hub-a1b2.", "my-hub-a1b2.2x"),
        ("a1b2.2x", "my-hub-a1b2.2x"),
    ],
)
def test_the_exact_id_or_the_only_one_that_starts_so(typed: str, meant: str) -> None:
    if typed.endswith("."):
        with pytest.raises(NoSuchBead):  # no id ends in a dot, so this is no part of one
            resolve(typed)
        return
    assert resolve(typed) == meant


@pytest.mark.parametrize(
    ("typed", "candidates"),
    [
        ("q-dv", ["q-dv7", "q-dv78"]),
        ("dv", ["q-dv7", "q-dv78"]),
        ("dv7", ["q-dv7", "q-dv78"]),
        ("q", ["q-dv7", "q-dv78", "q-m2v8", "q-xdv7"]),
        ("a1", ["my-hub-a1b2", "my-hub-a1b2.2x"]),
    ],
)
def test_an_ambiguous_one_names_the_candidates(typed: str, candidates: list[str]) -> None:
    with pytest.raises(Ambiguous) as refusal:
        resolve(typed)
    assert refusal.value.data["candidates"] == candidates
    assert all(name in str(refusal.value) for name in candidates)


@pytest.mark.parametrize(
    "typed", ["v7", "v8", "2v8", "-dv7", "b2", "2x", "hub", "q-dv7x", "none", "*", "%", "_", "q-dv_", "q_dv7"]
)
def test_never_by_substring_and_never_by_pattern(typed: str) -> None:
    with pytest.raises(NoSuchBead):
        resolve(typed)


@pytest.mark.parametrize("typed", ["m", "my", "my-", "my-hub", "my-hub-", " my-hub- "])
def test_the_prefix_alone_is_no_id_although_only_one_begins_so(typed: str) -> None:
    alone = MemorySnapshot([make_bead("my-hub-a1b2")])
    with pytest.raises(BadInput, match="is only a prefix"):
        ids.resolve(typed, alone.starting, alone.exists)
    for more in ("my-hub-a", "a1", "my-hub-a1b2"):
        assert ids.resolve(more, alone.starting, alone.exists) == "my-hub-a1b2"


@pytest.mark.parametrize("typed", ["", "  ", "\n"])
def test_nothing_typed(typed: str) -> None:
    with pytest.raises(BadInput, match="an empty id"):
        resolve(typed)


WHOLE = [part for bead_id in HUB_IDS for part in (bead_id, bead_id.rpartition("-")[2])]
STARTS = sorted({part[:end] for part in WHOLE for end in range(1, len(part) + 1)})
MIDDLES = sorted({part[start:] for part in STARTS for start in range(1, len(part))})


@given(st.one_of(st.sampled_from(STARTS), st.sampled_from(MIDDLES), st.text(max_size=8)))
def test_whatever_is_typed_means_a_bead_that_starts_so_or_is_an_error(typed: str) -> None:
    try:
        meant = resolve(typed)
    except (NoSuchBead, Ambiguous, BadInput):
        return
    text = typed.strip()
    starting = [one for one in HUB_IDS if one.startswith(text) or one.rpartition("-")[2].startswith(text)]
    assert meant == text if text in HUB_IDS else [meant] == starting


# --- other file systems ---------------------------------------------------------------------------

# What Windows refuses in a file's name, by its own rules: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
_FORBIDDEN = set('<>:"/\\|?*') | {chr(number) for number in range(32)}
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])( *\.|$)")


@given(st.one_of(st.text(max_size=12), st.from_regex(r"(?i)\A(con|nul|com1|hub-a|x)[.\- :~_]{0,2}[a-z]{0,2}\Z")))
def test_an_id_and_a_name_are_file_names_everywhere(text: str) -> None:
    for is_one in (ids.is_bead_id, is_agent):
        if is_one(text):
            name = f"{text}.yaml"
            assert not _FORBIDDEN & set(name)
            assert not _DEVICES.match(name)
            assert not text.endswith((".", " "))
            assert name.isascii(), "no two spellings of one name (macOS)"


@given(
    st.sampled_from(["hub-7k3q", "HUB-7k3q", "Hub-7K3Q", "hub-7k3r"]),
    st.lists(st.sampled_from(["hub-7k3q", "hub-7K3Q", "hub-7k"])),
)
def test_a_twin_is_another_id_of_the_same_letters(text: str, others: list[str]) -> None:
    twins = [other for other in others if other.lower() == text.lower() and other != text]
    assert ids.twin_of(text, others) == (twins[0] if twins else None)
