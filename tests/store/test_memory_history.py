"""The history of a repository in memory, against a search through all of it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bd.store.memory.repository import MemoryRepository

# For each commit the places of its parents among those before it: lines, forks, and here and there a merge.
SHAPES = st.lists(st.lists(st.integers(0, 30), max_size=2), min_size=1, max_size=30)


@settings(max_examples=60)
@given(SHAPES)
def test_who_is_before_whom(shape: list[list[int]]) -> None:
    repo = MemoryRepository()
    made: list[str] = []
    above: dict[str, set[str]] = {}
    for number, places in enumerate(shape):
        parents = list(dict.fromkeys(made[place % len(made)] for place in places)) if made else []
        lines = "".join(f"parent {parent}\n" for parent in parents)
        commit = repo.write_object("commit", f"tree {'0' * 40}\n{lines}author a\n\n{number}\n".encode())
        above[commit] = {commit}.union(*(above[parent] for parent in parents))
        made.append(commit)
    for older in made:
        for newer in made:
            assert repo.is_ancestor(older, newer) == (older in above[newer])
            between = repo.commits_between(older, newer)
            assert set(between) == above[newer] - above[older]
            assert {commit for commit, _ in repo.messages(newer, [older])} == above[newer] - above[older]
            assert all(not above[commit] & {*between[place + 1 :]} for place, commit in enumerate(between)), "oldest first"
