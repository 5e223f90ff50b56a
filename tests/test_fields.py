"""Whoever adds a key to bead files is asked where else it has to be known."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from bd.compat import bead_json
from bd.core.errors import BadInput
from bd.core.field_kinds import of_bead
from bd.core.model import Bead
from bd.core.schema import BEAD_FIELDS, INNER_FIELDS, LONG_FIELDS
from bd.store.trust import guarded_fields
from bd.store.yaml import codec
from tests.store.values import NASTY

# Keys that the Issue object of lists shows under another name, works out, or leaves to `show`.
SHOWN_OTHERWISE = frozenset("id status labels depends_on links parent comments claimed_at".split())
NOT_IN_LISTS = frozenset("priority_boost_per_minute retry notified routed".split())


def test_lists_show_every_key_or_leave_it_out_on_purpose() -> None:
    """`_AS_THEY_ARE`: a key that is in no table here is missing from `list --json` and `ready --json` without a word."""
    tables = (bead_json._AS_THEY_ARE, SHOWN_OTHERWISE, NOT_IN_LISTS)
    assert set(BEAD_FIELDS) == set().union(*tables)
    assert sum(map(len, tables)) == len(BEAD_FIELDS)


def test_every_key_is_anybodys_or_guarded_where_signatures_are_required() -> None:
    assert set(BEAD_FIELDS) >= guarded_fields.UNSIGNED_FIELDS
    assert set(BEAD_FIELDS) >= guarded_fields.TERMS
    assert not guarded_fields.UNSIGNED_FIELDS & guarded_fields.TERMS


def test_what_no_list_reads_are_keys() -> None:
    assert set(BEAD_FIELDS) >= LONG_FIELDS


SCALARS = (
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(NASTY)
    | st.text(max_size=8)
)
NAMES = st.sampled_from(sorted({name for table in INNER_FIELDS.values() for name in table})) | st.text(
    "ab", min_size=1, max_size=2
)
VALUES = st.recursive(SCALARS, lambda one: st.lists(one, max_size=3) | st.dictionaries(NAMES, one, max_size=3), max_leaves=6)


@given(st.sampled_from([key for key, kind in BEAD_FIELDS.items() if kind not in ("time", "duration", "status")]), VALUES)
@example("priority", ["x"])
@example("labels", "abc")
@example("reviewed", 7)
@example("comments", [{"at": "x"}])
def test_a_value_of_unknown_origin_is_refused_or_read_back_as_it_was_written(key: str, value: Any) -> None:
    """What has no time in it: those are converted by who takes them."""
    assume(value not in (None, ""))
    try:
        kept = of_bead(key, value)
    except BadInput:
        return
    written = Bead({}).evolve(**{key: kept})
    assert codec.parse(codec.dump(written.fields, BEAD_FIELDS).encode(), BEAD_FIELDS).fields == written.fields
