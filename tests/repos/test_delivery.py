"""Branches: only bd pushes to a bead's, by fast-forward, and nothing of anybody's is ever overwritten."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.errors import BdError
from bd.repos.cache import Cache, cache_for
from bd.repos.delivery import deliver, deliver_by_hand
from bd.repos.folders import state_folder
from tests.truth import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bd.repos.attempt import Attempt
    from tests.repos.conftest import Site

pytestmark = pytest.mark.one_in(12)


def ended(site: Site, attempt: Attempt, *, is_current: bool = True) -> tuple[str, bool, str]:
    """Finish an attempt: the branch, whether it is beside the bead's own, and what people are told."""
    found = attempt.finish(site.hub(), {}, is_current=is_current)
    return found.branch, found.is_beside, "; ".join(found.notes)


def test_commits_go_to_the_branch_of_the_bead(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    made = site.work(attempt, "new")
    assert ended(site, attempt) == (f"agents/{bead}", False, "")
    assert site.branches()[f"agents/{bead}"] == made


def test_a_second_attempt_goes_on_where_the_first_ended_and_takes_the_new_base(site: Site) -> None:
    bead = site.bead()
    first = site.begin(bead)
    site.work(first, "one")
    ended(site, first)
    base = site.commit("main", "meanwhile")
    site.clone.here("release", bead, "--force", "--reason", "again")
    second = site.begin(bead)
    assert {"one", "meanwhile", "readme"} <= {*os.listdir(second.folder)}
    made = site.work(second, "two")
    assert ended(site, second)[0] == f"agents/{bead}"
    assert site.branches()[f"agents/{bead}"] == made
    git(site.code, "merge-base", "--is-ancestor", base, made)


def test_commits_are_counted_before_the_end(site: Site) -> None:
    attempt = site.begin(site.bead())
    assert attempt.commits() == (0, 0)
    site.work(attempt, "one")
    site.work(attempt, "two")
    assert attempt.commits() == (2, 0)
    ended(site, attempt)


def _killed_after_the_push(site: Site, bead: str) -> None:
    """An attempt whose worker is killed before it can end the claim."""
    attempt = site.begin(bead)
    site.work(attempt, "one")
    site.work(attempt, "two")
    assert attempt.entry is not None
    deliver(attempt.workspace, attempt.entry, cache_for(attempt.entry, site.hub()), site.hub(), is_current=True)
    attempt.abandon()
    site.clone.here("release", bead, "--force", "--reason", "its worker is gone")


def _on_another_machine(site: Site, bead: str) -> None:
    _killed_after_the_push(site, bead)
    shutil.rmtree(state_folder())


def _ended(site: Site, bead: str, *end: str) -> None:
    attempt = site.begin(bead)
    site.work(attempt, "one")
    site.work(attempt, "two")
    ended(site, attempt)
    site.clone.here(*(word.format(bead=bead) for word in end))


def _failed(site: Site, bead: str) -> None:
    _ended(site, bead, "fail", "{bead}", "--agent", "coder", "--reason", "turn_limit", "--error", "x")


def _asked_and_answered(site: Site, bead: str) -> None:
    _ended(site, bead, "wait-human", "{bead}", "--agent", "coder", "--reason", "is that all?")
    site.clone.here("answer", bead, "it is")


def _closed_and_reopened(site: Site, bead: str) -> None:
    _ended(site, bead, "close", "{bead}", "--agent", "coder", "--reason", "done")
    site.clone.here("reopen", bead, "--reason", "it does not work")


def _person_began_it(site: Site, bead: str) -> None:
    site.commit(f"agents/{bead}", "person")


def _empty_branch(site: Site, bead: str) -> None:
    git(site.code, "branch", f"agents/{bead}", "main")
    attempt = site.begin(bead)
    ended(site, attempt)
    site.clone.here("release", bead, "--force", "--reason", "again")


def _merged(site: Site, bead: str) -> None:
    _killed_after_the_push(site, bead)
    git(site.code, "update-ref", "refs/heads/main", f"agents/{bead}")


@pytest.mark.parametrize(
    ("before", "count"),
    [
        (_killed_after_the_push, 2),
        (_on_another_machine, 2),
        (_failed, 2),
        (_asked_and_answered, 2),
        (_closed_and_reopened, 0),
        (_person_began_it, 0),
        (_empty_branch, 0),
        (_merged, 0),
    ],
)
def test_commits_of_earlier_attempts_count_while_they_wait_for_the_end_of_the_bead(
    site: Site, before: Callable[[Site, str], None], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bead = site.bead("--retry", "immediate")
    before(site, bead)
    monkeypatch.setenv("BD_TEST_CLOCK_OFFSET_S", "60")
    attempt = site.begin(bead)
    assert attempt.commits() == (0, count)
    assert (f"has {count} commits of earlier attempts" in site.brief) == bool(count)
    if count:
        git(attempt.folder, "reset", "--quiet", "--hard", "origin/main")  # what it has thrown away it does not hand in
        assert attempt.commits() == (0, 0)
    ended(site, attempt)


def test_what_dependencies_delivered_is_not_the_bead_s(site: Site) -> None:
    needed = site.bead()
    first = site.begin(needed)
    site.work(first, "one")
    ended(site, first)
    site.clone.here("close", needed, "--agent", "coder", "--reason", "done")
    bead = site.bead("--deps", needed)
    site.begin(bead).abandon()
    git(site.code, "branch", f"agents/{bead}", f"agents/{needed}")
    site.clone.here("release", bead, "--force", "--reason", "again")
    attempt = site.begin(bead)
    assert attempt.commits() == (0, 0)
    ended(site, attempt)


def test_where_nothing_is_delivered_nobody_counts(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--deliver", "none")
    attempt = site.begin(site.bead())
    assert attempt.commits() is None
    ended(site, attempt)


def test_an_attempt_without_commits_pushes_nothing(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    assert ended(site, attempt) == ("", False, "")
    assert [*site.branches()] == ["main"]


def test_what_is_not_delivered_stays_here(site: Site) -> None:
    site.clone.here("repo", "add", "relay", str(site.code), "--deliver", "none")
    bead = site.bead()
    attempt = site.begin(bead)
    site.work(attempt, "new")
    assert ended(site, attempt) == ("", False, "")
    assert [*site.branches()] == ["main"]
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert [left["kind"] for left in one["unpushed"]] == ["commits"]


def _person_pushed(site: Site, attempt: Attempt, bead: str) -> str:
    return site.commit(f"agents/{bead}", "person")


def _stale(site: Site, attempt: Attempt, bead: str) -> str:
    return ""


def _rewrote(site: Site, attempt: Attempt, bead: str) -> str:
    git(attempt.folder, "reset", "--quiet", "--hard", "HEAD~1")
    site.work(attempt, "instead")
    return site.branches()[f"agents/{bead}"]


@pytest.mark.parametrize(
    ("meanwhile", "is_current", "why"),
    [
        (_person_pushed, True, "has moved since"),
        (_person_pushed, False, "no longer current"),
        (_stale, False, "no longer current"),
        (_rewrote, True, "has commits that are missing there"),
    ],
)
def test_what_can_not_be_fast_forwarded_goes_beside(
    site: Site, meanwhile: Callable[[Site, Attempt, str], str], is_current: bool, why: str
) -> None:
    bead = site.bead()
    if meanwhile is _rewrote:
        first = site.begin(bead)
        site.work(first, "first")
        ended(site, first)
        site.clone.here("release", bead, "--force", "--reason", "again")
    attempt = site.begin(bead)
    before = meanwhile(site, attempt, bead)
    made = site.work(attempt, "new")
    number = attempt.workspace.attempt
    branch, is_beside, words = ended(site, attempt, is_current=is_current)
    assert (branch, is_beside) == (f"agents/{bead}-attempt-{number}", True)
    count = "2 commits" if meanwhile is _rewrote else "1 commit"
    assert f"pushed {count} to {branch}, because " in words
    assert why in words
    found = site.branches()
    assert found[branch] == made
    assert found.get(f"agents/{bead}", "") == before


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_person_who_pushes_between_bds_fetch_and_its_push_loses_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, has_begun: bool
) -> None:
    bead = site.bead()
    if has_begun:
        first = site.begin(bead)
        site.work(first, "first")
        ended(site, first)
        site.clone.here("release", bead, "--force", "--reason", "again")
    attempt = site.begin(bead)
    made = site.work(attempt, "new")
    run = Cache.run
    theirs: list[str] = []

    def late(self: Cache, *args: str, **more: Any) -> Any:
        if args[0] == "push" and not theirs:
            theirs.append(site.commit(f"agents/{bead}", "person"))
        return run(self, *args, **more)

    monkeypatch.setattr(Cache, "run", late)
    branch, is_beside, words = ended(site, attempt)
    assert (branch, is_beside) == (f"agents/{bead}-attempt-{attempt.workspace.attempt}", True)
    assert "has moved since" in words
    assert (site.branches()[f"agents/{bead}"], site.branches()[branch]) == (theirs[0], made)


def test_what_is_given_back_by_hand_after_somebody_else_has_pushed_goes_beside(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    ended(site, attempt)
    theirs = site.commit(f"agents/{bead}", "theirs")
    mine = site.work(attempt, "mine")
    assert attempt.entry is not None
    found = deliver_by_hand(attempt.workspace, attempt.entry, site.hub())
    assert found.notes == (
        f"pushed 1 commit to agents/{bead}-attempt-1, because agents/{bead} has commits that are missing there",
    )
    assert (site.branches()[f"agents/{bead}"], site.branches()[found.branch]) == (theirs, mine)


def test_a_branch_of_an_attempt_that_exists_is_not_overwritten_either(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    theirs = site.commit(f"agents/{bead}-attempt-1", "theirs")
    made = site.work(attempt, "new")
    assert ended(site, attempt, is_current=False)[0] == f"agents/{bead}-attempt-1-2"
    assert site.branches()[f"agents/{bead}-attempt-1"] == theirs
    assert site.branches()[f"agents/{bead}-attempt-1-2"] == made


def test_commits_that_the_agent_pushed_itself_count(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    made = site.work(attempt, "new")
    git(attempt.folder, "push", "--quiet", str(site.code), f"HEAD:agents/{bead}")
    assert ended(site, attempt) == (f"agents/{bead}", False, "")
    assert site.branches()[f"agents/{bead}"] == made


@pytest.mark.parametrize("where", [("--detach",), ("-B", "main"), ("-b", "own-name")])
def test_commits_made_elsewhere_are_moved_and_reported(site: Site, where: tuple[str, ...]) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    git(attempt.folder, "checkout", "--quiet", *where)
    made = site.work(attempt, "new")
    branch, _, words = ended(site, attempt)
    assert branch == f"agents/{bead}"
    assert "moved to" in words
    assert site.branches() == {"main": site.branches()["main"], branch: made}


def test_commits_on_the_base_count_after_a_return_to_the_branch(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    git(attempt.folder, "checkout", "--quiet", "-B", "main")
    made = site.work(attempt, "new")
    git(attempt.folder, "checkout", "--quiet", f"agents/{bead}")
    assert ended(site, attempt)[0] == f"agents/{bead}"
    assert site.branches()[f"agents/{bead}"] == made


def test_a_push_of_the_agents_own_says_who_pushes(site: Site) -> None:
    attempt = site.begin(site.bead())
    site.work(attempt, "new")
    assert git(attempt.folder, "remote", "get-url", "origin") == str(site.code)
    assert "bd-pushes-the-branch" in git(attempt.folder, "remote", "get-url", "--push", "origin")


def test_a_server_that_is_away_leaves_everything_here(site: Site) -> None:
    bead = site.bead()
    attempt = site.begin(bead)
    site.work(attempt, "new")
    site.code.rename(site.code.with_name("away.git"))
    with pytest.raises(BdError):
        attempt.finish(site.hub(), {}, is_current=True)
    (one,) = site.clone.here("workspace", "list", "--json").json
    assert [left["kind"] for left in one["unpushed"]] == ["commits"]
    site.code.with_name("away.git").rename(site.code)


def test_a_hook_that_refuses_the_branch_is_told(site: Site) -> None:
    hook = site.code / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no agents here >&2\nexit 1\n")
    hook.chmod(0o755)
    attempt = site.begin(site.bead())
    site.work(attempt, "new")
    with pytest.raises(BdError, match="no agents here"):
        attempt.finish(site.hub(), {}, is_current=True)


def test_the_hub_in_the_same_repository_is_never_fetched_nor_a_target(site: Site, hub: Path) -> None:
    url = git(site.clone.path, "remote", "get-url", "origin")
    said = site.clone.here("repo", "add", "own", url, "--base", "main", code=2).err
    assert "is the branch of the hub" in said
    git(site.code.parent / "seed", "push", "--quiet", str(hub), "main:code")
    site.clone.here("repo", "add", "own", url, "--base", "code")
    bead = site.clone.here("create", "X", "--repo", "own", "--json").json["id"]
    attempt = site.begin(bead)
    assert git(attempt.folder, "branch", "-r", "--format=%(refname:short)") == "origin/code"
    site.work(attempt, "new")
    assert ended(site, attempt)[0] == f"agents/{bead}"
    assert "bd/claims" not in git(attempt.folder, "for-each-ref")


def test_a_merge_that_bd_made_is_nobodys_unpushed_work(site: Site) -> None:
    bead = site.bead()
    first = site.begin(bead)
    site.work(first, "one")
    ended(site, first)
    site.commit("main", "meanwhile")
    site.clone.here("release", bead, "--force", "--reason", "again")
    second = site.begin(bead)
    assert ended(site, second) == ("", False, "")
    assert [one["unpushed"] for one in site.clone.here("workspace", "list", "--json").json] == [[], []]
    site.clone.here("workspace", "prune", bead)
    assert site.clone.here("workspace", "list", "--json").json == []
