"""Many clones at once: asking, folding, hearing, withdrawing, burying (docs/protocol.md, "Many writers at once")."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from bd.core import times
from bd.core.versions import REQUEST, rules
from bd.store.cache.cache import Cache
from bd.store.group_commit.requests import LIMIT
from tests.hub.hooks import git_wrapper, hook
from tests.race.history import subjects
from tests.race.processes import at_once
from tests.race.seeds import put, seed
from tests.runtime import RUNTIME
from tests.truth import git, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(24)

LOOK_FIRST = {"BD_FRESH_TIME": "0"}
ASK_AND_DIE = {**LOOK_FIRST, "BD_TEST_STOP_AT": "asked"}


def intents(hub: Path) -> list[str]:
    """The intents that wait on the hub."""
    return git(hub, "for-each-ref", "--format=%(refname)", "refs/bd/intents").split()


def trailers(hub: Path, key: str) -> list[str]:
    """The values of a trailer in the hub's history, newest first."""
    return git(hub, "log", f"--format=%(trailers:key={key},valueonly,separator=%x0A)", "main").split("\n")


def asks_and_dies(writer: Clone, hub: Path, other: Clone, *args: str, env: dict[str, str] | None = None) -> None:
    """The writer is overtaken, leaves its operation on the hub, and is killed before it can do anything else."""
    script = (
        f'if [ "$verb" = push ] && [ -e {hub}.overtake ]; then rm {hub}.overtake; "$real" -C {other.path} push -q origin HEAD; fi'
    )
    (hub.parent / f"{hub.name}.overtake").touch()
    (other.path / "README.md").write_text(f"overtaken by a person: {args}\n")
    git(other.path, "pull", "--quiet", "--rebase")
    git(other.path, "add", "README.md")
    git(other.path, "commit", "--quiet", "-m", "by hand")
    wrapped = git_wrapper(hub.parent / f"bin-{len(intents(hub))}", script)
    writer.bd(*args, env={**ASK_AND_DIE, **wrapped, **(env or {})}, code=137)
    assert len(intents(hub)) >= 1


@pytest.fixture
def trio(clone: Clones) -> tuple[Clone, Clone, Clone]:
    """Three clones; the third is used with plain git only."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b", "hub-c")
    return alice, clone("bob"), clone("hand")


# --- 1: asking ----------------------------------------------------------------------------


def test_who_is_alone_asks_nobody(clone: Clones, hub: Path) -> None:
    hook(hub, "post-receive", f"cat >> {hub}.pushes; echo . >> {hub}.pushes")
    alice = clone("alice")
    alice.here("create", "One", env=LOOK_FIRST)
    told = (hub.parent / f"{hub.name}.pushes").read_text()
    assert told.count("\n.") == 1
    assert "refs/bd/" not in told


def test_who_is_overtaken_asks_and_the_next_write_of_anybody_carries_it_out(
    trio: tuple[Clone, Clone, Clone], hub: Path, steps: Interleaving
) -> None:
    alice, bob, _ = trio
    steps.at("push", lambda: bob.here("comment", "hub-a", "first", env=LOOK_FIRST))
    steps.at("asked", lambda: bob.here("comment", "hub-a", "second", env=LOOK_FIRST))
    result = alice.here("claim", "--next", "--agent", "coder", "--json", env=LOOK_FIRST)
    bead = tip_bead(hub, result.json[0]["id"])
    assert bead is not None
    assert bead.claim is not None
    assert (bead.claim.agent, bead.claim.token) == ("coder", result.json[0]["claim"]["token"])
    assert len(subjects(hub, "claim")) == 1
    verdict = next(line for line in trailers(hub, "Bd-Verdict") if line)
    assert verdict.split(" ")[1] == "ok"
    assert intents(hub) == []
    alice.here("close", bead.id, "--reason", "done", "--agent", "coder")  # the token is known here


# --- 2: folding ---------------------------------------------------------------------------


def test_a_write_carries_out_what_it_sees_as_commits_of_their_authors(trio: tuple[Clone, Clone, Clone], hub: Path) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "create", "Asked for", "--agent", "coder")
    before = tip(hub)
    bob.here("comment", "hub-a", "by the way", "--agent", "other", env=LOOK_FIRST)
    rows = git(hub, "log", "--format=%an %s", f"{before}..main").splitlines()
    assert sorted(row.split(":")[0] for row in rows) == ["coder create", "other comment"]
    assert intents(hub) == []


def test_a_refusal_is_told_by_the_commit_it_was_found_out_with(trio: tuple[Clone, Clone, Clone], hub: Path) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "claim", "hub-a", "--agent", "coder")
    git(hand.path, "pull", "--quiet", "--rebase")
    (hand.path / "beads" / "hub-a.yaml").write_text(
        (hand.path / "beads" / "hub-a.yaml").read_text().replace("status: open", "status: closed")
    )
    put(hand, "beads", "closed by hand")
    bob.here("comment", "hub-b", "by the way", env=LOOK_FIRST)
    told = [line.split(" ")[1] for line in trailers(hub, "Bd-Verdict") if line]
    assert told == ["wrong_state"]
    assert subjects(hub, "claim") == []
    assert intents(hub) == []


def test_the_author_hears_a_refusal_as_its_own(trio: tuple[Clone, Clone, Clone], hub: Path, steps: Interleaving) -> None:
    alice, bob, _ = trio
    steps.at("push", lambda: bob.here("comment", "hub-a", "first", env=LOOK_FIRST))
    steps.at("asked", lambda: bob.here("claim", "hub-a", "--agent", "other", env={"BD_RETRY_TIME": "0s"}, check=False))
    result = alice.here("claim", "hub-a", "--agent", "coder", "--json", env=LOOK_FIRST, check=False)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.claim is not None
    assert (result.code == 0) == (bead.claim.agent == "coder")
    assert result.code in (0, 5)
    assert intents(hub) == []


def test_one_that_vanished_makes_the_whole_push_fail(trio: tuple[Clone, Clone, Clone], hub: Path, steps: Interleaving) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "create", "Withdrawn in time", "--agent", "coder")
    (ref,) = intents(hub)
    steps.at("push", lambda: git(hub, "update-ref", "-d", ref))
    bob.here("comment", "hub-a", "by the way", env=LOOK_FIRST)
    assert [subject for subject in subjects(hub, "create") if "coder" in subject] == []
    assert len(subjects(hub, "comment")) == 1


# --- 4: hearing ---------------------------------------------------------------------------


def test_gone_without_a_verdict_is_as_if_never_asked(trio: tuple[Clone, Clone, Clone], hub: Path, steps: Interleaving) -> None:
    alice, bob, _ = trio
    steps.at("push", lambda: bob.here("comment", "hub-a", "first", env=LOOK_FIRST))
    steps.at("asked", lambda: [git(hub, "update-ref", "-d", ref) for ref in intents(hub)])
    alice.here("comment", "hub-a", "once", env=LOOK_FIRST)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["first", "once"]


def test_an_intent_that_comes_to_the_hub_after_its_operation_does_nothing(
    trio: tuple[Clone, Clone, Clone], hub: Path, tmp_path: Path
) -> None:
    """A push of an intent that was believed lost lands late: what it asks for is in the history already."""
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "update", "hub-a", "--append-notes", "only once")
    (ref,) = intents(hub)
    oid = git(hub, "rev-parse", ref)
    bob.here("comment", "hub-b", "folds it", env=LOOK_FIRST)
    git(hub, "update-ref", ref, oid)
    bob.here("comment", "hub-b", "sees it again", env=LOOK_FIRST)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.get("notes") == "only once"
    assert intents(hub) == []


# --- 5: withdrawing -----------------------------------------------------------------------


def test_who_gives_up_takes_its_intent_back_and_nothing_was_written(
    trio: tuple[Clone, Clone, Clone], hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob, hand = trio
    ahead = [0.0]
    real = RUNTIME.monotonic
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: real() + ahead[0])

    def overtake_by_hand() -> None:
        git(hand.path, "pull", "--quiet", "--rebase")
        git(hand.path, "commit", "--quiet", "--allow-empty", "-m", "by hand")
        git(hand.path, "push", "--quiet", "origin", "HEAD")
        ahead[0] = 3600.0

    steps.at("push", lambda: bob.here("comment", "hub-a", "first", env=LOOK_FIRST), overtake_by_hand)
    result = alice.here("claim", "hub-a", "--agent", "coder", "--json", env=LOOK_FIRST, code=6)
    assert (result.json["code"], result.json["written"]) == ("contention", "no")
    assert intents(hub) == []
    bob.here("comment", "hub-a", "later", env=LOOK_FIRST)
    assert subjects(hub, "claim") == []


def test_who_gives_up_too_late_says_what_became_of_it(
    trio: tuple[Clone, Clone, Clone], hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob, _ = trio
    ahead = [0.0]
    real = RUNTIME.monotonic
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: real() + ahead[0])

    def fold_it() -> None:
        bob.here("comment", "hub-a", "folds", env=LOOK_FIRST)
        ahead[0] = 3600.0

    steps.at("push", lambda: bob.here("comment", "hub-a", "first", env=LOOK_FIRST), fold_it)
    result = alice.here("claim", "hub-a", "--agent", "coder", "--json", env=LOOK_FIRST)
    assert result.json[0]["claim"]["agent"] == "coder"
    assert len(subjects(hub, "claim")) == 1


def test_a_dead_authors_intent_is_removed_by_the_next_command_of_its_clone(trio: tuple[Clone, Clone, Clone], hub: Path) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "claim", "hub-a", "--agent", "coder")
    alice.here("comment", "hub-b", "alive again", env=LOOK_FIRST)
    assert intents(hub) == []
    assert subjects(hub, "claim") == []
    bob.here("comment", "hub-b", "nothing to fold", env=LOOK_FIRST)
    assert subjects(hub, "claim") == []


def test_a_claim_that_was_made_for_a_dead_author_goes_to_the_next_claim_of_the_same_agent_there(
    trio: tuple[Clone, Clone, Clone], hub: Path
) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "claim", "hub-a", "--agent", "coder")
    bob.here("comment", "hub-b", "folds it", env=LOOK_FIRST)
    held = tip_bead(hub, "hub-a")
    assert held is not None
    assert held.claim is not None
    result = alice.here("claim", "--next", "--agent", "coder", "--json", env=LOOK_FIRST)
    assert (result.json[0]["id"], result.json[0]["claim"]["token"]) == ("hub-a", held.claim.token)
    assert len(subjects(hub, "claim")) == 1


@pytest.mark.parametrize(
    ("words", "code"), [(("sync",), 0), (("claim", "hub-a", "--agent", "coder"), 5)], ids=["sync", "a write that is refused"]
)
def test_what_was_kept_without_the_hub_goes_along_with_what_others_ask_for(
    words: tuple[str, ...], code: int, trio: tuple[Clone, Clone, Clone], hub: Path
) -> None:
    """Where nothing else of this clone is to be pushed: what it had told as kept would be lost with the intent's round."""
    alice, bob, hand = trio
    bob.here("claim", "hub-a", "--agent", "other")
    alice.here("sync")
    asks_and_dies(bob, hub, hand, "claim", "hub-b", "--agent", "other")
    gone = hub.rename(hub.with_name("away"))
    alice.bd("comment", "hub-c", "kept in the clone", env=LOOK_FIRST)
    gone.rename(hub)
    alice.here(*words, env=LOOK_FIRST, code=code)
    assert len(subjects(hub, "comment")) == 1
    assert [bead.claim.agent for bead in [tip_bead(hub, "hub-b")] if bead and bead.claim] == ["other"]
    assert intents(hub) == []


# --- 6: burying ---------------------------------------------------------------------------


def test_an_old_intent_is_removed_and_not_carried_out(trio: tuple[Clone, Clone, Clone], hub: Path) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "claim", "hub-a", "--agent", "coder", env={"BD_TEST_CLOCK_OFFSET_S": "-2000"})
    bob.here("comment", "hub-b", "by the way", env=LOOK_FIRST)
    assert intents(hub) == []
    assert subjects(hub, "claim") == []


def test_a_claim_made_for_somebody_who_never_came_back_costs_no_attempt(trio: tuple[Clone, Clone, Clone], hub: Path) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "claim", "hub-a", "--agent", "coder")
    bob.here("comment", "hub-b", "folds it", env=LOOK_FIRST)
    held = tip_bead(hub, "hub-a")
    assert held is not None
    assert held.get("claim")["folded"] is True
    a_day_later = {"BD_TEST_CLOCK_OFFSET_S": "86400"}
    bob.here("comment", "hub-b", "confirms the chief's clock", env=a_day_later)
    bob.bd("stalled", "--reassign", "--agent", "chief", env=a_day_later)
    freed = tip_bead(hub, "hub-a")
    assert freed is not None
    assert (freed.status, freed.claim, freed.attempts, freed.get("attempts_forgiven")) == ("open", None, 1, 1)
    assert not freed.get("failures")


# --- 7: leaving alone ---------------------------------------------------------------------


def crafted(hub: Path, name: str, text: str) -> None:
    """An intent made by hand."""
    tree = git(hub, "mktree", data=b"")
    commit = git(hub, "-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, data=text.encode())
    git(hub, "update-ref", f"refs/bd/intents/{name}", commit)


def form(uid: str, base: str, **changes: object) -> dict[str, object]:
    told: dict[str, object] = {
        "intent": REQUEST,
        "rules": rules(),
        "base": base,
        "at": times.time_text(RUNTIME.now()),
        "valid_s": 90,
        "author": "coder <coder@hub>",
        "tries": 1,
        "op": {"verb": "comment", "uid": uid, "by": "agent:coder", "at": "2026-02-20T09:00:00Z", "args": {}, "tokens": {}},
    }
    return {**told, **changes}


def test_what_is_not_understood_is_left_where_it_is(trio: tuple[Clone, Clone, Clone], hub: Path) -> None:
    _, bob, _ = trio
    base = tip(hub)
    crafted(hub, "newer", json.dumps(form("newer", base, intent=REQUEST + 1)))
    verb = {"verb": "levitate", "uid": "verb", "by": "agent:x", "at": "2026-02-20T09:00:00Z", "args": {}, "tokens": {}}
    crafted(hub, "verb", json.dumps(form("verb", base, op=verb)))
    crafted(hub, "large", json.dumps(form("large", base, padding="x" * LIMIT)))
    crafted(hub, "garbage", "no JSON")
    crafted(hub, "unknownbase", json.dumps(form("unknownbase", "f" * 40)))
    crafted(hub, "args", json.dumps(form("args", base)))
    crafted(hub, "evil", json.dumps(form("evil", base, author="x\ny <z>")))
    bob.here("comment", "hub-a", "goes on", env=LOOK_FIRST)
    assert [ref.rpartition("/")[2] for ref in intents(hub)] == [
        "args",
        "evil",
        "garbage",
        "large",
        "newer",
        "unknownbase",
        "verb",
    ]
    assert len(subjects(hub, "comment")) == 1


def test_a_server_that_declines_what_others_asked_gets_the_own_operation_alone(
    trio: tuple[Clone, Clone, Clone], hub: Path
) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "create", "Not wanted", "--agent", "coder")
    script = (
        'case "$1" in refs/heads/*) git log --format=%an "$2..$3" | grep -q coder && { echo no coder; exit 1; };; esac; exit 0'
    )
    hook(hub, "update", script)
    bob.here("comment", "hub-a", "wanted", env=LOOK_FIRST)
    assert len(subjects(hub, "comment")) == 1
    assert len(intents(hub)) == 1


def test_where_the_server_hides_them_everybody_tries_again_by_itself(clone: Clones, hub: Path) -> None:
    git(hub, "config", "transfer.hideRefs", "refs/bd")
    clones = [clone(f"c{number}") for number in range(4)]
    seed(clones[0], *(f"hub-{number}" for number in range(4)))
    results = at_once([(one.path, ("claim", "--next", "--agent", f"agent-{n}", "--json")) for n, one in enumerate(clones)])
    assert [result.code for result in results] == [0] * 4
    assert len({result.json[0]["id"] for result in results}) == 4
    assert not any("Bd-Verdict" in line for line in git(hub, "log", "--format=%B", "main").splitlines())


# --- all of it ----------------------------------------------------------------------------


@pytest.mark.parametrize("number", [3, 8])
def test_many_at_once_each_get_a_bead_and_no_bead_has_two(number: int, clone: Clones, hub: Path) -> None:
    clones = [clone(f"c{place}") for place in range(number)]
    seed(clones[0], *(f"hub-{place}" for place in range(number)))
    results = at_once([(one.path, ("claim", "--next", "--agent", f"agent-{n}", "--json")) for n, one in enumerate(clones)])
    assert [(result.code, result.err) for result in results] == [(0, "")] * number
    assert len({result.json[0]["id"] for result in results}) == number
    for result in results:
        bead = tip_bead(hub, result.json[0]["id"])
        assert bead is not None
        assert bead.claim is not None
        assert bead.claim.token == result.json[0]["claim"]["token"]
    assert intents(hub) == []


# --- where nobody carries out what others ask for any more --------------------------------


def not_atomic(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(hub, "config", "receive.advertiseAtomic", "false")


def only_signed(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cache, "requires_signatures", lambda cache: True)


@pytest.mark.parametrize("turn", [not_atomic, only_signed])
def test_what_the_dead_have_asked_for_is_taken_back_where_nobody_answers_any_more(
    turn: Callable[[Path, pytest.MonkeyPatch], None], trio: tuple[Clone, Clone, Clone], hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, _, hand = trio
    asks_and_dies(alice, hub, hand, "comment", "hub-a", "never said")
    turn(hub, monkeypatch)
    for number in range(3):
        alice.here("comment", "hub-b", f"{number}", env=LOOK_FIRST)
    assert intents(hub) == []
    assert list((alice.path / ".git" / "bd" / "journal").iterdir()) == []
    assert "never said" not in [comment["text"] for comment in tip_bead(hub, "hub-a").comments]


def test_what_others_have_left_long_ago_goes_too(
    trio: tuple[Clone, Clone, Clone], hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob, hand = trio
    asks_and_dies(alice, hub, hand, "comment", "hub-a", "never said")
    not_atomic(hub, monkeypatch)
    for _ in range(2):
        bob.here("comment", "hub-b", "meanwhile", env=LOOK_FIRST)
    assert len(intents(hub)) == 1, "its author may live"
    real = RUNTIME.now
    monkeypatch.setattr(RUNTIME, "now", lambda: real() + timedelta(hours=1))
    bob.here("comment", "hub-b", "later", env=LOOK_FIRST)
    assert intents(hub) == []
