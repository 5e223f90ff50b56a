"""The refs beside the hub branch: the probe, beats that come and go with claims, and servers that want none of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import BadInput, RemoteUnreachable, StaleToken
from bd.operations.claims import Claim, Release
from bd.store import Clone as Opened
from bd.store.contract import SideRef
from bd.store.git.repository import deletion
from bd.store.heartbeat.objects import beat_age_s, beat_at
from bd.store.heartbeat.side_refs import CLAIMS
from bd.store.hub_location import locate
from bd.worker import manual_heartbeat
from tests.clocks import START
from tests.hub.hooks import git_wrapper, hook
from tests.race.interleaving import install
from tests.race.seeds import seed
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from bd.store.contract import Remote
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(27)

AT = "2026-02-21T10:00:00.000000Z"


@pytest.fixture
def opened() -> Iterator[Callable[[Path], Opened]]:
    hubs: list[Opened] = []

    def make(path: Path) -> Opened:
        hubs.append(open_clone(locate(str(path))))
        return hubs[-1]

    yield make
    for one in hubs:
        one.close()


def beats_on(hub: Path) -> dict[str, str]:
    lines = git(hub, "for-each-ref", "--format=%(refname) %(objectname)", "refs/bd/claims").splitlines()
    return dict(line.split() for line in lines)


def claim(hub: Opened, bead: str = "hub-a", by: str = "ref") -> str:
    """Claim a bead with heartbeats; the token."""
    operation = Claim(by="agent:coder", at=AT, runtime=RUNTIME, agent="coder", ids=[bead], heartbeat={"interval_s": 30, "by": by})
    written = hub.publish(operation)
    assert written.change is not None
    return written.change.tokens[0][0]


def test_a_beat_is_the_same_object_everywhere_and_tells_its_time(clone: Clones, opened: Callable[[Path], Opened]) -> None:
    one, other = opened(clone("alice").path), opened(clone("bob").path)
    first = beat_at(one.repo, START, 30, 40)
    assert beat_at(other.repo, START + timedelta(seconds=10), 30, 40) == first
    assert beat_at(one.repo, START + timedelta(seconds=30), 30, 40) != first
    assert git(clone("carol").path, "rev-parse", "HEAD") != first
    assert git(one.repo.work_tree or "", "ls-tree", first) == ""
    for ago_s in (0, 29, 3600, 86400):
        age_s = beat_age_s(first, START + timedelta(seconds=ago_s), 30)
        assert age_s is not None
        assert ago_s <= age_s < ago_s + 30
    assert beat_age_s(first, START - timedelta(seconds=900), 30) == pytest.approx(-900, abs=30)
    assert beat_age_s("0" * 40, START, 30) is None


def test_the_probe_leaves_only_its_mark_and_is_remembered(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    mine = opened(clone("alice").path)
    assert mine.sides.verdict() is None
    assert not mine.sides.usable()
    assert mine.sides.probe(START)
    assert git(hub, "for-each-ref", "--format=%(refname)", "refs/bd") == "refs/bd/probed"
    hook(hub, "update", "exit 1")  # it is not asked again
    again = opened(clone("alice2").path)
    assert not again.sides.probe(START)
    assert mine.sides.probe(START)


def test_a_probe_takes_no_longer_than_any_other_push(clone: Clones, tmp_path: Path) -> None:
    alice = clone("alice")
    silent = git_wrapper(tmp_path / "bin", 'if [ "$verb" = push ]; then exec sleep 600; fi')
    told = alice.here("heartbeat", "--agent", "coder", env={**silent, "BD_GIT_TIMEOUT": "0.3"}, code=6)
    assert "does not answer" in told.err


@pytest.mark.parametrize(
    "ask",
    [
        lambda remote: remote.fetch(),
        lambda remote: remote.fetch_objects(["refs/heads/main"]),
        lambda remote: remote.list("refs/bd/"),
        lambda remote: remote.push(None, None, [SideRef(CLAIMS + "x", "0" * 40, None)]),
    ],
)
def test_a_server_that_says_nothing_is_told_as_unreachable_whatever_it_was_asked(
    clone: Clones,
    opened: Callable[[Path], Opened],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[Remote], object],
) -> None:
    mine = opened(clone("alice").path)
    silent = git_wrapper(tmp_path / "bin", '[ -z "$verb" ] || exec sleep 600')
    monkeypatch.setenv("PATH", silent["PATH"])
    mine.repo.timeout_s = 0.3
    with pytest.raises(RemoteUnreachable, match="the remote origin does not answer"):
        ask(mine.remote)


def test_a_server_that_declines_a_beat_is_named(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    mine = opened(alice.path)
    mine.sides.probe(START)
    token = claim(mine)
    hook(hub, "pre-receive", "exit 1")
    now = mine.sides.beats()[token]
    with pytest.raises(RemoteUnreachable, match="the remote origin did not accept the heartbeat"):
        mine.sides.move([SideRef(CLAIMS + token, mine.sides.beat(START + timedelta(minutes=5), 30), now)])


def test_a_server_that_hides_them_is_found_out(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    git(hub, "config", "transfer.hideRefs", "refs/bd")
    mine = opened(clone("alice").path)
    assert not mine.sides.probe(START)
    assert mine.sides.verdict() not in (None, "works")


def test_a_server_that_takes_them_and_lists_none_is_found_out(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    git(hub, "config", "uploadpack.hideRefs", "refs/bd")
    mine = opened(clone("alice").path)
    assert not mine.sides.probe(START)


def test_a_claims_ref_comes_with_it_and_goes_with_it(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    mine = opened(alice.path)
    assert mine.sides.probe(START)
    token = claim(mine)
    assert list(beats_on(hub)) == [CLAIMS + token]
    assert tip_bead(hub, "hub-a").get("claim")["heartbeat_by"] == "ref"
    mine.publish(Release(by="agent:coder", at=AT, runtime=RUNTIME, tokens={"hub-a": token}, ids=["hub-a"], reason="enough"))
    assert beats_on(hub) == {}


def test_a_person_who_takes_a_claim_away_takes_its_ref_along(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    """From a clone that has never seen the ref."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    mine = opened(alice.path)
    mine.sides.probe(START)
    claim(mine)
    bob.bd("release", "hub-a", "--force", "--reason", "wanted elsewhere")
    assert beats_on(hub) == {}


def test_a_beat_between_look_and_push_makes_the_push_fail_as_a_whole(
    clone: Clones, hub: Path, opened: Callable[[Path], Opened]
) -> None:
    """Another process of the holder moved the ref: what this clone knew of it is old, so it looks and goes on."""
    alice = clone("alice")
    seed(alice, "hub-a")
    mine = opened(alice.path)
    mine.sides.probe(START)
    token = claim(mine)
    ref = CLAIMS + token
    newer = mine.sides.beat(START + timedelta(hours=1), 30)
    git(alice.path, "push", "--quiet", "--force", str(hub), f"{newer}:{ref}")
    written = mine.publish(
        Release(by="agent:coder", at=AT, runtime=RUNTIME, tokens={"hub-a": token}, ids=["hub-a"], reason="enough")
    )
    assert written.tries == 2
    assert beats_on(hub) == {}
    assert tip_bead(hub, "hub-a").status == "open"


def test_a_server_that_refuses_them_after_the_probe_gets_the_claim_alone(
    clone: Clones, hub: Path, opened: Callable[[Path], Opened]
) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    mine = opened(alice.path)
    assert mine.sides.probe(START)
    refusing = hook(hub, "update", 'case "$1" in refs/bd/*) echo "none of these here"; exit 1;; esac')
    claim(mine)
    assert tip_bead(hub, "hub-a").get("claim")["heartbeat_by"] == "branch"
    assert tip_bead(hub, "hub-a").get("claim")["heartbeat_interval_s"] >= 900
    assert beats_on(hub) == {}
    assert not mine.sides.usable()
    assert "accepts no side refs" in alice.bd("doctor").out
    refusing.unlink()
    now = RUNTIME.now()
    assert not mine.sides.probe(now + timedelta(minutes=59)), "it is not asked again at once"
    assert mine.sides.probe(now + timedelta(minutes=61)), "it may only have been a trouble that passes"


@pytest.mark.parametrize("overtaken", [False, True])
def test_a_server_that_is_no_longer_atomic_gets_the_branch_alone(
    overtaken: bool, clone: Clones, hub: Path, opened: Callable[[Path], Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git says of no ref what became of it; still nothing is in doubt, neither for a claim with its ref nor for an ask."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    bob.here("sync")
    mine = opened(alice.path)
    mine.sides.probe(START)
    git(hub, "config", "receive.advertiseAtomic", "false")
    if overtaken:  # so that it would be asked for
        steps = install(monkeypatch)
        steps.at("push", lambda: bob.here("comment", "hub-a", "faster"))
        alice.here("comment", "hub-a", "slower")
        assert len(tip_bead(hub, "hub-a").comments) == 2
        assert list((alice.path / ".git" / "bd" / "journal").iterdir()) == []
    else:
        claim(mine)
        assert tip_bead(hub, "hub-a").claim is not None
    assert not mine.sides.usable() or overtaken
    assert beats_on(hub) == {}


def test_a_hook_that_declines_the_branch_is_told_as_before(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    mine = opened(alice.path)
    mine.sides.probe(START)
    hook(hub, "pre-receive", 'echo "frozen until Monday"; exit 1')
    with pytest.raises(Exception, match="frozen until Monday"):
        claim(mine)
    assert mine.sides.usable()


def test_a_hub_without_a_remote_keeps_them_itself(local_hub: Clone, opened: Callable[[Path], Opened]) -> None:
    local_hub.bd("create", "One", "--id", "hub-a")
    mine = opened(local_hub.path)
    token = claim(mine)
    assert list(beats_on(local_hub.path)) == [CLAIMS + token]
    mine.publish(Release(by="agent:coder", at=AT, runtime=RUNTIME, tokens={"hub-a": token}, ids=["hub-a"], reason="enough"))
    assert beats_on(local_hub.path) == {}


def test_a_ref_is_moved_only_from_what_was_expected(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    mine = opened(clone("alice").path)
    one, two = (mine.sides.beat(START + timedelta(minutes=minute), 30) for minute in (0, 1))
    ref = f"{CLAIMS}T"
    assert mine.sides.move([SideRef(ref, one, None)])
    assert not mine.sides.move([SideRef(ref, two, None)])
    assert mine.sides.move([SideRef(ref, two, one)])
    assert not mine.sides.move([SideRef(ref, None, one)])
    assert mine.sides.move([SideRef(ref, None, two)])


def test_nothing_but_bds_own_refs_can_be_deleted() -> None:
    with pytest.raises(BadInput):
        deletion("refs/heads/main")


def test_a_first_sign_by_hand_leaves_no_ref_of_a_claim_that_ends_meanwhile(
    clone: Clones, hub: Path, opened: Callable[[Path], Opened]
) -> None:
    """The claim promised no signs, so that whoever ends it does not look for any."""
    alice = clone("alice")
    alice.bd("create", "Work", "--id", "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder")
    mine = opened(alice.path)
    mine.sides.probe(START)
    token = tip_bead(hub, "hub-a").claim.token
    probe = mine.sides.probe

    def closed_meanwhile(at: datetime) -> bool:
        alice.bd("close", "hub-a", "--reason", "done", "--agent", "coder")
        return probe(at)

    mine.sides.probe = closed_meanwhile  # type: ignore[method-assign]
    with pytest.raises(StaleToken):
        manual_heartbeat.give(mine, "coder", lambda ids: dict.fromkeys(ids, token))
    assert beats_on(hub) == {}


def test_a_first_sign_by_hand_is_made_alone_in_its_clone(clone: Clones, hub: Path, opened: Callable[[Path], Opened]) -> None:
    """Nobody in the clone ends the claim between the look and the sign; who ends it afterwards knows of the sign."""
    alice = clone("alice")
    alice.bd("create", "Work", "--id", "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder")
    mine, other = opened(alice.path), opened(alice.path)
    token = tip_bead(hub, "hub-a").claim.token
    mine.sides.probe(START)
    move, seen = mine.sides.move, []

    def watched(sides: list[SideRef]) -> bool:
        if sides[0].ref == CLAIMS + token:
            seen.append(other.lock().try_enter())
        return move(sides)

    mine.sides.move = watched  # type: ignore[assignment, method-assign]
    manual_heartbeat.give(mine, "coder", lambda ids: dict.fromkeys(ids, token))
    assert seen == [False]
    assert list(beats_on(hub)) == [CLAIMS + token]
    alice.bd("close", "hub-a", "--reason", "done", "--agent", "coder")
    assert beats_on(hub) == {}
