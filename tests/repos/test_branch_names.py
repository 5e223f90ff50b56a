"""Names of branches, for every id that a hub accepts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bd.core.ids import is_bead_id
from bd.repos.branch_names import attempt_branch, branch_of, component, is_in_the_way, refusal
from tests.truth import git

_WORDS = st.text("abzABZ019-_", min_size=1, max_size=12)
_IDS = st.lists(_WORDS, min_size=1, max_size=4).map(".".join).filter(is_bead_id)
_ANY = st.one_of(_IDS, _IDS.map(lambda text: f"{text}.lock"), _IDS.map(str.upper))
_UIDS = st.text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", min_size=26, max_size=26)
# git check-ref-format(1), for one component; compared with git itself below.
_REFUSED = re.compile(r"\.\.|@\{|[\x00-\x20\x7f~^:?*\[\\]|^\.|\.$|\.lock$|^@$|^-")


@given(_ANY, _UIDS)
def test_every_id_names_a_branch_that_git_takes(bead_id: str, uid: str) -> None:
    assert is_bead_id(bead_id)
    name = component(bead_id, uid)
    assert not _REFUSED.search(name), name
    assert "/" not in name
    assert not refusal(branch_of(bead_id, uid), "main", "beads")


@given(_ANY, _ANY, _UIDS, _UIDS)
def test_two_beads_never_share_a_branch_even_where_case_does_not_count(one: str, other: str, uid: str, uid2: str) -> None:
    if one != other and uid[-6:] != uid2[-6:]:
        assert component(one, uid).lower() != component(other, uid2).lower() or uid[-6:].lower() in (other + one).lower()


@given(_IDS, _UIDS)
def test_a_name_says_which_bead_it_is(bead_id: str, uid: str) -> None:
    name = component(bead_id, uid)
    assert name == bead_id if bead_id == bead_id.lower() else name.startswith(f"{bead_id}-")


@pytest.mark.parametrize("bead_id", ["hub-7k3q", "hub-7k3q.2x", "Hub-7K3Q", "a.lock", "A-b_c.D", "x" * 120])
def test_git_agrees(bead_id: str, tmp_path: object) -> None:
    branch = branch_of(bead_id, None)
    for name in (branch, attempt_branch(branch, 3), attempt_branch(branch, 3, 2)):
        git(str(tmp_path), "check-ref-format", "--branch", name)


@pytest.mark.parametrize(
    ("branch", "why"),
    [
        ("main", "is the base"),
        ("MAIN", "is the base"),
        ("beads", "is the hub's branch"),
        ("refs/bd/claims/x", "is not a branch"),
        ("refs/heads/main", "is the base"),
        ("-x", "is not a branch"),
        ("", "is not a branch"),
        ("agents/hub-1", ""),
    ],
)
def test_what_bd_never_pushes_to(branch: str, why: str) -> None:
    assert refusal(branch, "main", "beads") == why


def test_a_branch_named_like_the_folder_is_in_the_way() -> None:
    assert [name for name in ("agents", "Agents", "agents/x", "agent") if is_in_the_way(name)] == ["agents", "Agents"]
