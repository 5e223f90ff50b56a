"""Trees edited in their bytes are the trees that git would make."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.store.git.trees import FOLDER, Tree, TreeEntry

pytestmark = pytest.mark.one_in(2)

FILE = b"100644"
# Few letters, so that names begin with one another; blanks, modes and bytes that stand in object names too.
NAMES = st.lists(
    st.sampled_from([b"a", b"b", b".", b"-", b"/"[:0], b" ", b"100644 a", b"40000 a", b"\x01", b"\xff"]), min_size=1, max_size=4
)
NAME = NAMES.map(b"".join).filter(lambda name: name not in (b"", b".", b".."))
# Object names in which entries seem to stand.
OID = st.binary(min_size=20, max_size=20) | st.sampled_from([b"100644 a\x00" + b"x" * 11, b" a\x00" * 6 + b"40", b"\x00" * 20])
ENTRY = st.builds(TreeEntry, st.sampled_from([FILE, b"100755", b"120000", b"160000", FOLDER]), OID)


def raw_of(entries: dict[bytes, TreeEntry]) -> bytes:
    """As git writes a tree: sorted as if folders' names ended in a slash."""
    order = sorted(entries, key=lambda name: name + b"/" if entries[name].mode == FOLDER else name)
    return b"".join(b"%s %s\0%s" % (entries[name].mode, name, entries[name].oid) for name in order)


@given(st.dictionaries(NAME, ENTRY, max_size=12), st.dictionaries(NAME, st.none() | ENTRY, max_size=5))
def test_an_edited_tree_is_the_tree_of_its_entries(there: dict[bytes, TreeEntry], changes: dict[bytes, TreeEntry | None]) -> None:
    after = {name: entry for name, entry in {**there, **changes}.items() if entry is not None}
    assert Tree(raw_of(there), 20).edited(changes) == raw_of(after)


@given(st.dictionaries(NAME, ENTRY, max_size=12), NAME)
def test_what_is_found_is_what_is_there(there: dict[bytes, TreeEntry], name: bytes) -> None:
    tree = Tree(raw_of(there), 20)
    for known in (name, *there):
        assert tree.entry(known) == there.get(known)


@pytest.mark.parametrize("cut", [1, 20, 21, 25])
def test_a_tree_that_is_cut_off_is_refused(cut: int) -> None:
    raw = raw_of({b"hub-1.yaml": TreeEntry(FILE, b"1" * 20)})
    tree = Tree(raw[:-cut], 20)
    with pytest.raises(ValueError):
        tree.entry(b"hub-2.yaml")
    with pytest.raises(ValueError):
        tree.edited({b"hub-2.yaml": None})
