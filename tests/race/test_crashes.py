"""kill -9 at every step of every kind of write: the clone stays usable, nothing is doubled, the next command settles it."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.hub.hooks import git_wrapper, hook
from tests.race.history import assert_nothing_twice, assert_one_owner, subjects
from tests.race.seeds import limit, seed
from tests.running import BD, result_of
from tests.truth import all_beads, bead_files, git, tip, tip_bead, tip_file, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(100)

STOPPED = 137
WITH_REMOTE = ("look", "build", "push", "pushed", "refs")
WITHOUT_REMOTE = ("look", "build", "push", "checked-out", "pushed", "refs")
WRITES = {
    "create": ["create", "Something new", "--agent", "coder"],
    "claim": ["claim", "--next", "--agent", "coder"],
    "close": ["close", "hub-mine", "--reason", "done", "--next", "--agent", "coder"],
    "update": ["update", "hub-a", "--priority", "0", "--append-notes", "seen", "--agent", "coder"],
    "heat": ["heat", "hub-a", "+25", "--agent", "coder"],
    "comment": ["comment", "hub-a", "seen", "--agent", "coder"],
    "agent-remove": ["agent", "remove", "coder", "--release", "--agent", "chief"],
    "pause": ["pause", "--reason", "moving", "--agent", "chief"],
    "handoff": ["handoff", "hub-mine", "--to", "hub-a", "--artifact", "https://x.org/r.md", "--agent", "coder"],
    "archive": ["archive", "--older-than", "0s"],
    "plan-apply": ["plan", "apply", "../plan.yaml", "--idempotency-key", "k", "--agent", "coder"],
    "dag-add": ["dag", "add", "hub-a", "hub-mine", "--agent", "coder"],
    "spawn": ["spawn", "hub-mine", "More", "--wait", "--agent", "coder"],
    "fail": ["fail", "hub-mine", "--reason", "crash", "--error", "broke", "--agent", "coder"],
    "wait-human": ["wait-human", "hub-mine", "--reason", "which", "--agent", "coder"],
}


def cases(steps: tuple[str, ...]) -> list[ParameterSet]:
    """Every write killed at every step. In the quick suite a claim is, and every other write at one step after another.

    What the transaction does about it is the same for all of them, and tests/contract has it in thousands of orders.
    """
    late = steps[2:]
    quick = {(verb, late[place % len(late)]) for place, verb in enumerate(WRITES)}
    return [
        pytest.param(verb, step, marks=[] if verb == "claim" or (verb, step) in quick else [pytest.mark.slow])
        for verb in WRITES
        for step in steps
    ]


def landed(verb: str, repository: Path) -> bool:
    """Whether the write is in the branch; it must be there whole or not at all."""
    count = len(subjects(repository, verb))
    before = 1 if verb == "claim" else 0
    assert count in (before, before + 1)
    if count == before:
        return False
    if verb == "archive":
        assert len([path for path in bead_files(repository) if path.endswith("hub-old.yaml")]) == 1
        return True
    first, mine = tip_bead(repository, "hub-a"), tip_bead(repository, "hub-mine")
    assert first is not None
    assert mine is not None
    if verb == "create":
        assert len(tip_paths(repository)) == len(set(tip_paths(repository)))
    elif verb in ("claim", "close"):
        assert first.claim is not None
        assert first.claim.agent == "coder"
    elif verb == "update":
        assert (first.priority, first.get("notes")) == (0, "seen")
    elif verb == "handoff":
        assert (mine.status, mine.get("output")) == ("closed", {"artifacts": [{"name": "r.md", "ref": "https://x.org/r.md"}]})
        assert first.get("spec") == {"context_refs": ["https://x.org/r.md"]}
        assert len(first.comments) == 1
    elif verb == "fail":
        assert (mine.status, mine.claim, len(mine.get("failures"))) == ("open", None, 1)
    elif verb == "wait-human":
        assert (mine.status, mine.claim, mine.get("prefer_agent")) == ("blocked", None, "coder")
    elif verb == "heat":
        assert first.get("temperature") == 25
    elif verb == "agent-remove":
        assert (mine.status, mine.claim) == ("open", None)
        assert ".agent-status/coder.yaml" not in tip_paths(repository)
    elif verb == "spawn":
        (made,) = [bead for bead in all_beads(repository) if bead.parent == "hub-mine"]
        assert (mine.status, mine.claim, mine.depends_on) == ("open", None, [made.id])
    elif verb == "dag-add":
        assert (mine.parent, first.depends_on) == ("hub-a", ["hub-mine"])
    elif verb == "plan-apply":
        assert sorted(bead.get("idempotency_key", "") for bead in all_beads(repository))[-3:] == ["k", "k/one", "k/two"]
    elif verb == "pause":
        assert b"reason: moving" in (tip_file(repository, ".beads/config.yaml") or b"")
    else:
        assert [comment["text"] for comment in first.comments] == ["seen"]
    if verb == "close":
        assert mine.status == "closed"
    return True


def prepared(writer: Clone) -> None:
    """Two beads, and one that is done; coder holds hub-mine."""
    seed(writer, "hub-a", "hub-mine")
    seed(writer, "hub-old", status="closed")
    (writer.path.parent / "plan.yaml").write_text("title: Plan\ntasks: [{name: one, title: One}, {name: two, title: Two}]\n")
    writer.here("claim", "hub-mine", "--agent", "coder")


def check_usable(clone: Clone) -> None:
    """Everything works, nothing of ours is in the way, and the files are as the branch says."""
    assert clone.here("doctor").out.strip().endswith("0 damaged, 0 warnings")
    made = clone.here("create", "The next thing", "--json").json
    assert clone.here("show", made["id"], "--json").json[0]["title"] == "The next thing"
    assert git(clone.path, "status", "--porcelain") == ""
    git(clone.path, "fsck", "--strict")
    locks = [str(path) for path in (clone.path / ".git").rglob("*.lock")]
    assert not locks
    clone.here("comment", made["id"], "the tip has moved on: whatever the dead had begun can't land any more")
    assert not list((clone.path / ".git" / "bd" / "journal").iterdir())


@pytest.mark.one_in(60)
@pytest.mark.parametrize(("verb", "step"), cases(WITH_REMOTE))
def test_killed_at_a_step(verb: str, step: str, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    prepared(alice)
    alice.bd(*WRITES[verb], env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    assert landed(verb, hub) == (step in ("pushed", "refs"))
    if verb in ("claim", "close"):
        check_handed_over(alice, hub, verb)
    if (verb, step) == ("close", "push"):  # the claim after it has shown that it can't land any more
        (lost,) = alice.here("sync", "--kept", "--json").json
        assert "close: hub-mine" in lost["error"]
        alice.here("sync", "--dismiss", lost["uid"])
    check_usable(alice)
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def check_handed_over(alice: Clone, hub: Path, verb: str) -> None:
    """The next command of that agent has hub-a, by the claim that was won, or wins it now: one claim in either case."""
    before = tip_bead(hub, "hub-a")
    assert before is not None
    [bead] = alice.here(*[word for word in WRITES["claim"] if word], "--json").json
    assert bead["id"] == "hub-a"
    assert bead["attempts"] == 1
    if before.claim is not None:
        assert bead["claim"]["token"] == before.claim.token
    # The agent knows its token from now on, without anybody typing it.
    alice.here("release", "hub-a", "--reason", "not now", "--agent", "coder")


@pytest.mark.one_in(75)
@pytest.mark.parametrize(("verb", "step"), cases(WITHOUT_REMOTE))
def test_killed_at_a_step_without_a_remote(verb: str, step: str, local_hub: Clone) -> None:
    prepared(local_hub)
    local_hub.bd(*WRITES[verb], env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    assert landed(verb, local_hub.path) == (step in ("pushed", "refs"))
    if verb in ("claim", "close"):
        check_handed_over(local_hub, local_hub.path, verb)
    check_usable(local_hub)
    assert_one_owner(local_hub.path)
    assert_nothing_twice(local_hub.path)


@pytest.mark.one_in(60)
@pytest.mark.parametrize("verb", ["create", "comment", "update"])
@pytest.mark.parametrize("step", ["look", "keep"])
def test_killed_while_the_remote_is_away(verb: str, step: str, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    prepared(alice)
    url = git(alice.path, "remote", "get-url", "origin")
    git(alice.path, "remote", "set-url", "origin", "/nowhere")
    alice.bd(*WRITES[verb], env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    git(alice.path, "remote", "set-url", "origin", url)
    assert alice.bd("sync", "--json").json["replayed"] == 0
    assert not landed(verb, hub)
    check_usable(alice)


@pytest.mark.one_in(45)
@pytest.mark.parametrize("verb", ["close", "claim"])
def test_a_claim_won_by_the_dead_goes_to_nobody_else(verb: str, clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    prepared(alice)
    alice.bd(*WRITES[verb], env={"BD_TEST_STOP_AT": "pushed"}, code=STOPPED)
    for other in (alice, bob):
        assert "nothing is ready" in other.bd("claim", "--next", "--agent", "stranger", code=3).err
    [bead] = alice.bd("claim", "--next", "--agent", "coder", "--json").json
    assert bead["id"] == "hub-a"
    assert len(subjects(hub, "claim")) + len(subjects(hub, "close")) == 2


def test_a_close_that_is_typed_again_after_a_crash_takes_the_claim_it_had_won(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    prepared(alice)
    seed(alice, "hub-b")
    alice.bd(*WRITES["close"], env={"BD_TEST_STOP_AT": "pushed"}, code=STOPPED)
    shown = alice.bd(*WRITES["close"], "--json").json
    assert [bead["id"] for bead in shown] == ["hub-mine", "hub-a"]
    other = tip_bead(hub, "hub-b")
    assert other is not None
    assert other.claim is None
    alice.bd("close", "hub-a", "--reason", "done", "--agent", "coder")


def test_an_agent_with_room_for_one_gets_its_lost_claim_back(clone: Clones, hub: Path) -> None:
    """The claim that nobody heard of fills the agent's room; asking again must not say that it is busy."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    limit(alice, "coder", 1)
    alice.bd(*WRITES["claim"], env={"BD_TEST_STOP_AT": "refs"}, code=STOPPED)
    [bead] = alice.bd(*WRITES["claim"], "--json").json
    assert bead["id"] == "hub-a"
    assert "holds" in alice.bd(*WRITES["claim"], code=3).err


def test_two_claims_lost_one_after_the_other_are_handed_back_one_by_one(clone: Clones, hub: Path) -> None:
    """One claim at a time is handed over, however many the dead had won."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    alice.bd(*WRITES["claim"], env={"BD_TEST_STOP_AT": "pushed"}, code=STOPPED)
    # Another agent's command finds the first claim won, so that the second one is not taken for it.
    alice.bd("claim", "hub-b", "--agent", "other")
    alice.bd("release", "hub-b", "--reason", "not mine", "--agent", "other")
    assert alice.bd(*WRITES["claim"], "--json").json[0]["id"] == "hub-a"
    assert alice.bd(*WRITES["claim"], "--json").json[0]["id"] == "hub-b"


# --- hand edits ---------------------------------------------------------------------------


@pytest.mark.one_in(60)
@pytest.mark.parametrize(
    ("step", "with_remote"),
    [
        *((step, True) for step in ("push", "pushed", "refs")),
        *((step, False) for step in ("push", "checked-out", "pushed", "refs")),
    ],
)
def test_a_sync_of_hand_edits_killed_at_a_step(step: str, with_remote: bool, clone: Clones, local_hub: Clone) -> None:
    """An edited bead, a new one and a deleted one: the next sync has them all on the hub, once, and refuses nothing."""
    person = clone("person") if with_remote else local_hub
    repository = person.path.parent / "hub.git" if with_remote else person.path
    seed(person, "hub-a", "hub-gone")
    folder = person.path / "beads"
    (folder / "hub-a.yaml").write_text((folder / "hub-a.yaml").read_text() + "notes: by hand\n")
    (folder / "hub-new.yaml").write_text("id: hub-new\ntitle: By hand\n")
    (folder / "hub-gone.yaml").unlink()
    person.bd("sync", env={"BD_TEST_STOP_AT": step}, code=STOPPED)
    result = person.here("sync", "--json").json
    assert result["refused"] == []
    assert sorted(path for path in tip_paths(repository) if path.startswith("beads/")) == [
        "beads/hub-a.yaml",
        "beads/hub-new.yaml",
    ]
    edited, new = tip_bead(repository, "hub-a"), tip_bead(repository, "hub-new")
    assert edited is not None
    assert new is not None
    assert edited.get("notes") == "by hand"
    assert new.uid
    assert len(subjects(repository, "edit")) == 1
    check_usable(person)


@pytest.mark.parametrize("following", ["create", "sync"])
def test_edits_survive_a_sync_that_was_killed_after_it_had_moved_the_files(following: str, local_hub: Clone) -> None:
    """The next command puts the files back as the person left them, not as the branch has them."""
    seed(local_hub, "hub-a")
    file = local_hub.path / "beads" / "hub-a.yaml"
    file.write_text(file.read_text() + "notes: by hand\n")
    local_hub.bd("sync", env={"BD_TEST_STOP_AT": "checked-out"}, code=STOPPED)
    local_hub.here(*(["create", "Something"] if following == "create" else ["sync"]))
    assert "notes: by hand" in file.read_text()
    local_hub.here("sync")
    bead = tip_bead(local_hub.path, "hub-a")
    assert bead is not None
    assert bead.get("notes") == "by hand"
    assert git(local_hub.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("verb", ["create", "claim", "close"])
def test_files_of_a_write_that_did_not_land_are_not_taken_for_edits(verb: str, local_hub: Clone) -> None:
    prepared(local_hub)
    before = tip(local_hub.path)
    local_hub.bd(*WRITES[verb], env={"BD_TEST_STOP_AT": "checked-out"}, code=STOPPED)
    result = local_hub.here("sync", "--json").json
    assert (result["refused"], result["replayed"]) == ([], 0)
    assert tip(local_hub.path) == before
    assert git(local_hub.path, "status", "--porcelain") == ""


def test_a_sync_that_finds_a_lost_write_says_so(local_hub: Clone) -> None:
    """Somebody commits by hand after the write was killed: it can't land any more, and holds a text."""
    seed(local_hub, "hub-a")
    local_hub.bd("comment", "hub-a", "words", env={"BD_TEST_STOP_AT": "checked-out"}, code=STOPPED)
    git(local_hub.path, "checkout", "--quiet", "HEAD", "--", ".")
    git(local_hub.path, "commit", "--quiet", "--allow-empty", "--message", "by hand")
    result = local_hub.here("sync")
    [kept] = local_hub.here("sync", "--kept", "--json").json
    assert f"it is kept: `git show {kept['commit'][:10]}` shows it" in result.err


# --- killed for real, in the middle of git's work ------------------------------------------


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM], ids=lambda sent: sent.name)
@pytest.mark.parametrize("agent", ["coder", "other"])
def test_a_push_that_lands_after_its_client_died(
    agent: str, sent: signal.Signals, clone: Clones, hub: Path, tmp_path: Path
) -> None:
    """The server has the push and takes its time; the client is killed; then the push lands."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    waiting, proceed, through = tmp_path / "waiting", tmp_path / "proceed", tmp_path / "through"
    os.mkfifo(waiting)
    os.mkfifo(proceed)
    os.mkfifo(through)
    slow = hook(hub, "pre-receive", f"echo here > {waiting}; cat {proceed} > /dev/null; exit 0")
    hook(hub, "post-receive", f"echo done > {through}; exit 0")
    process = alice.start("claim", "--next", "--agent", "coder")
    waiting.read_text()
    process.send_signal(sent)
    assert process.wait() == -sent
    slow.unlink()
    proceed.write_text("")
    through.read_text()
    (hub / "hooks" / "post-receive").unlink()
    process.communicate()
    won = tip_bead(hub, "hub-a")
    assert won is not None
    assert won.claim is not None
    [bead] = alice.bd("claim", "--next", "--agent", agent, "--json").json
    if agent == "coder":
        assert (bead["id"], bead["claim"]["token"]) == ("hub-a", won.claim.token)
        assert len(subjects(hub, "claim")) == 1
    else:
        assert bead["id"] == "hub-b"


@pytest.mark.parametrize("has_landed", [True, False])
def test_interrupted_within_the_push(has_landed: bool, clone: Clones, hub: Path, tmp_path: Path) -> None:
    """Control-C: exit 130, and the next command finds out whether the claim is there."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    waiting = tmp_path / "waiting"
    os.mkfifo(waiting)
    push = '"$real" "$@" > /dev/null 2>&1; ' if has_landed else ""
    script = f'if [ "$verb" = push ]; then {push}echo here > {waiting}; exec sleep 600; fi'
    process = alice.start("claim", "--next", "--agent", "coder", env=git_wrapper(tmp_path / "bin", script))
    waiting.read_text()
    process.send_signal(signal.SIGINT)
    result = result_of(process)
    assert result.code == 130
    assert result.out == ""
    assert len(subjects(hub, "claim")) == has_landed
    [bead] = alice.bd("claim", "--next", "--agent", "coder", "--json").json
    assert (bead["id"], bead["attempts"]) == ("hub-a", 1)
    assert len(subjects(hub, "claim")) == 1
    check_usable(alice)


def test_a_push_that_lands_while_the_next_command_decides(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """The client is dead and its push not yet through; the next command of that agent must not end with two beads."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    script = f'if [ "$verb" = push ]; then printf "%s\\n" "$@" > {tmp_path}/late; kill -9 $PPID; exit 1; fi'
    process = alice.start("claim", "--next", "--agent", "coder", env=git_wrapper(tmp_path / "bin", script))
    assert result_of(process).code == -signal.SIGKILL
    real = git_wrapper(
        tmp_path / "bin2",
        f'if [ "$verb" = push ] && [ -e {tmp_path}/late ]; then mv {tmp_path}/late {tmp_path}/now; '
        f'xargs -d "\\n" "$real" < {tmp_path}/now > /dev/null 2>&1; fi',
    )
    [bead] = alice.bd("claim", "--next", "--agent", "coder", "--json", env=real).json
    assert (tmp_path / "now").exists()
    assert bead["id"] == "hub-a"
    assert len(subjects(hub, "claim")) == 1
    held = tip_bead(hub, "hub-a")
    assert held is not None
    assert held.claim is not None
    assert bead["claim"]["token"] == held.claim.token


@pytest.mark.parametrize("with_remote", [True, False])
def test_killed_with_its_git_while_files_are_written(
    with_remote: bool, clone: Clones, local_hub: Clone, hub: Path, tmp_path: Path
) -> None:
    """A clean-up nobody lived to do: the index is locked and some of the files are new."""
    alice = clone("alice") if with_remote else local_hub
    (alice.path / ".gitattributes").write_text("*.yaml filter=deadly\n")
    git(alice.path, "add", ".gitattributes")
    git(alice.path, "commit", "--quiet", "-m", "attributes")
    if with_remote:
        git(alice.path, "push", "--quiet", "origin", "HEAD")
    seed(alice, "hub-a", "hub-b")
    alice.bd("sync")
    fatal = tmp_path / "fatal"
    git(
        alice.path,
        "config",
        "filter.deadly.smudge",
        f"if [ -e {fatal} ]; then rm {fatal}; kill -9 -$(cat {tmp_path}/group); fi; cat",
    )
    fatal.touch()
    command = ["sh", "-c", f'echo $$ > {tmp_path}/group; exec "$@"', "sh", *BD, "claim", "hub-b", "--agent", "coder"]
    process = subprocess.Popen(command, cwd=alice.path, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not fatal.exists()
    assert alice.bd("claim", "hub-b", "--agent", "coder", "--json").json[0]["attempts"] == 1
    assert alice.bd("doctor").out.strip().endswith("0 damaged, 0 warnings")
    assert git(alice.path, "status", "--porcelain") == ""
    assert not (alice.path / ".git" / "index.lock").exists()
