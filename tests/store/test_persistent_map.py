"""A mapping that never changes, against a dictionary that does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bd.store.persistent_map import PersistentMap

CHANGES = st.lists(st.dictionaries(st.text("abc", max_size=3), st.none() | st.integers(0, 3), max_size=6), max_size=8)


@given(CHANGES)
def test_it_holds_what_a_dictionary_would(changes: list[dict[str, int | None]]) -> None:
    made: PersistentMap[int] = PersistentMap()
    plain: dict[str, int] = {}
    for change in changes:
        before, was = made, dict(plain)
        made = made.after(change)
        plain = {key: value for key, value in {**plain, **change}.items() if value is not None}
        assert {key: made.get(key) for key in made} == plain
        assert (len(made), sorted(made.values())) == (len(plain), sorted(plain.values()))
        assert {key: before.get(key) for key in before} == was, "the old one stays as it was"
        differing = {key for key in {*was, *plain} if was.get(key) != plain.get(key)}
        assert made.differing(before) == before.differing(made) == differing
        assert all((key in made) == (key in plain) for key in change)
