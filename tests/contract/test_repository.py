"""contract.Repository and contract.Remote: what both implementations keep of what they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bd.core.errors import Damaged, HubRewritten, TryAgain
from bd.store.contract import PUBLISHED, ZERO, Draft, SideRef
from bd.store.hub_location import locate
from tests.hub.hooks import git_wrapper
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from bd.store import Clone
    from tests.contract.conftest import Hub

MARK = "refs/bd/claims/01TOKEN"


def draft(message: str, **files: bytes | None) -> Draft:
    return Draft(f"{message}\n", "Ada <ada@hub>", 1_700_000_000, {name.replace("__", "/"): data for name, data in files.items()})


def fetched(clone: Clone) -> str:
    """The branch's tip, its objects here."""
    with clone.lock():
        tip = clone.remote.fetch().tip
    assert tip
    return tip


def test_commits_and_their_files(shared: Hub) -> None:
    clone = shared.clone()
    base, repo = fetched(clone), clone.repo
    one, two = repo.write_commits(base, [draft("one", a=b"1", d__b=b"2"), draft("two", a=None, d__b=b"3", d__c=b"4")])
    assert repo.objects.read(f"{one}:a") == b"1"
    assert repo.objects.read(f"{two}:a") is None
    assert repo.objects.read(f"{two}:d/b", at_most=1) == b"3"
    assert repo.objects.read("0" * 40) is None
    with pytest.raises(Damaged):
        repo.objects.known("0" * 40)
    assert [(entry.path, entry.oid is None) for entry in repo.diff(one, two)] == [("a", True), ("d/b", False), ("d/c", False)]
    assert [entry.path for entry in repo.diff(base, two, "d")] == ["d/b", "d/c"]
    changed = next(entry for entry in repo.diff(one, two) if entry.path == "d/b")
    assert list(repo.objects.read_many([changed.old or "", changed.oid or ""])) == [b"2", b"3"]
    assert {entry.path for entry in repo.diff(None, two)} >= {"d/b", "d/c"}
    assert repo.commits_between(base, two) == [one, two]
    assert repo.commits_between(base, two, without=[one]) == [two]
    assert repo.is_ancestor(one, two)
    assert not repo.is_ancestor(two, one)
    assert [(commit, text.strip()) for commit, text in repo.messages(two, [base])] == [(two, "two"), (one, "one")]
    assert [commit for commit, _ in repo.messages(two, [base, one])] == [two, one], "what only one of them has is told, too"
    assert [commit for commit, _ in repo.messages(two, ["1" * 40, one])] == [two], "what is not here counts for nothing"
    assert repo.ever_had(two, "a")
    assert not repo.ever_had(two, "never")


def test_refs_move_together_or_not_at_all(shared: Hub) -> None:
    clone = shared.clone()
    base, repo = fetched(clone), clone.repo
    [one] = repo.write_commits(base, [draft("one", a=b"1")])
    repo.update_refs([("refs/bd/kept/x", one, ZERO), ("refs/bd/kept/y", base, None)])
    assert repo.refs("refs/bd/kept/") == {"refs/bd/kept/x": one, "refs/bd/kept/y": base}
    with pytest.raises(TryAgain):
        repo.update_refs([("refs/bd/kept/y", one, base), ("refs/bd/kept/x", base, ZERO)])
    assert repo.ref("refs/bd/kept/y") == base
    repo.update_refs([("refs/bd/kept/x", None, None)])
    assert repo.ref("refs/bd/kept/x") is None
    repo.set_private_refs({"refs/bd/kept/y": one})
    assert repo.ref("refs/bd/kept/y") == one


def test_a_push_moves_the_branch_and_the_refs_beside_it(shared: Hub) -> None:
    clone = shared.clone()
    base = fetched(clone)
    [one] = clone.repo.write_commits(base, [draft("one", a=b"1")])
    called: list[str] = []
    answer = clone.remote.push(one, base, [SideRef(MARK, base, None)], meanwhile=lambda: called.append("meanwhile"))
    assert called == ["meanwhile"]
    assert {ref: line.landed for ref, line in answer.lines.items()} == {clone.branch: True, MARK: True}
    assert (shared.server_ref(clone.branch), shared.server_ref(MARK)) == (one, base)
    assert clone.remote.list("refs/bd/claims/", clone.branch) == {MARK: base, clone.branch: one}
    gone = clone.remote.push(None, None, [SideRef(MARK, None, base)])
    assert gone.lines[MARK].landed
    assert shared.server_ref(MARK) is None


def test_a_push_that_comes_too_late_moves_nothing(shared: Hub) -> None:
    alice, bob = shared.clone("alice"), shared.clone("bob")
    base = fetched(alice)
    fetched(bob)
    [one] = alice.repo.write_commits(base, [draft("one", a=b"1")])
    [other] = bob.repo.write_commits(base, [draft("other", b=b"1")])
    assert alice.remote.push(one, base).lines[alice.branch].landed
    answer = bob.remote.push(other, base, [SideRef(MARK, base, None)])
    assert not any(line.landed for line in answer.lines.values())
    assert "fetch first" in answer.lines[bob.branch].summary
    assert (shared.server_ref(bob.branch), shared.server_ref(MARK)) == (one, None)
    late = bob.remote.push(other, base, exactly=True)
    assert "stale info" in late.lines[bob.branch].summary


def test_a_ref_beside_the_branch_that_is_not_as_expected_holds_all_of_it_back(shared: Hub) -> None:
    clone = shared.clone()
    base = fetched(clone)
    [one] = clone.repo.write_commits(base, [draft("one", a=b"1")])
    assert clone.remote.push(None, None, [SideRef(MARK, base, None)]).lines[MARK].landed
    for old in (None, one):
        answer = clone.remote.push(one, base, [SideRef(MARK, one, old)])
        assert not any(line.landed for line in answer.lines.values())
        assert "stale info" in answer.lines[MARK].summary
    assert shared.server_ref(clone.branch) == base


def test_a_fetch_brings_the_branch_and_what_is_asked_for_beside_it(shared: Hub) -> None:
    alice, bob = shared.clone("alice"), shared.clone("bob")
    base = fetched(alice)
    fetched(bob)
    [one] = alice.repo.write_commits(base, [draft("one", a=b"1")])
    assert alice.remote.push(one, base, [SideRef("refs/bd/intents/01UID", base, None)]).lines[alice.branch].landed
    with bob.lock():
        bob.remote.begin_fetch()
        found = bob.remote.fetch()
    assert (found.tip, dict(found.requests)) == (one, {"01UID": base})
    assert found.is_probed == bool(alice.remote.list("refs/bd/probed"))
    assert bob.repo.ref(PUBLISHED) == one
    assert bob.repo.objects.read(f"{one}:a") == b"1"
    alice.remote.push(None, None, [SideRef("refs/bd/probed", base, None)])
    with bob.lock():
        assert bob.remote.fetch().is_probed
    bob.remote.drop_fetch()


def test_history_that_does_not_go_on_is_told(shared: Hub) -> None:
    clone = shared.clone()
    base = fetched(clone)
    [one], [other] = (clone.repo.write_commits(base, [draft(name, a=name.encode())]) for name in ("one", "other"))
    clone.remote.push(one, base)
    clone.repo.set_private_refs({PUBLISHED: other})
    with clone.lock(), pytest.raises(HubRewritten):
        clone.remote.fetch()
    assert clone.repo.ref(PUBLISHED) == other


def test_a_remote_that_shows_an_older_tip_lags(shared: Hub) -> None:
    clone = shared.clone()
    base = fetched(clone)
    one, two = clone.repo.write_commits(base, [draft("one", a=b"1"), draft("two", a=b"2")])
    clone.remote.push(one, base)
    clone.repo.set_private_refs({PUBLISHED: two})
    with clone.lock():
        found = clone.remote.fetch()
    assert (found.tip, found.lags, clone.repo.ref(PUBLISHED)) == (two, True, two)
    clone.remote.push(two, one)
    with clone.lock():
        found = clone.remote.fetch()
    assert (found.tip, found.lags) == (two, False)


@pytest.mark.parametrize("breaks", ["kill -9 $$", "exit 128", "exit 129"])
def test_a_git_that_breaks_down_is_not_taken_for_a_no(
    breaks: str, clone: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a push has landed hangs on both answers."""
    script = f'case " $* " in *" merge-base "* | *" log "*) {breaks} ;; esac'
    path = git_wrapper(tmp_path / "bin", script)["PATH"]
    place = locate(str(clone("alice").path))
    tip = git(clone("bob").path, "rev-parse", "HEAD")
    [newer] = place.repo.write_commits(tip, [draft("newer", a=b"1")])
    place.repo.close()
    monkeypatch.setenv("PATH", path)
    repo = locate(str(tmp_path / "alice")).repo
    for ask in (lambda: repo.is_ancestor(tip, newer), lambda: list(repo.messages(newer, [tip]))):
        with pytest.raises(TryAgain):
            ask()
    assert not repo.is_ancestor("1" * 40, newer), "it is not here"
    repo.close()
