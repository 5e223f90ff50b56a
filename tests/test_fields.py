"""Whoever adds a key to bead files is asked where else it has to be known."""

from __future__ import annotations

from bd.compat import bead_json
from bd.core.schema import BEAD_FIELDS, LONG_FIELDS
from bd.store.trust import guarded_fields

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
