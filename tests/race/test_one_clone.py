"""Many processes of one clone: who finds it locked leaves its operation, and one push carries them all."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from bd.core import times
from bd.store.local.lock import CloneLock
from tests.hub.hooks import git_wrapper, hook
from tests.race.history import subjects
from tests.race.seeds import seed
from tests.running import Result, result_of
from tests.runtime import RUNTIME
from tests.truth import git, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(5)

NUMBER = 6


def count_pushes(hub: Path) -> Callable[[], int]:
    """How many pushes have moved the branch since now."""
    log = hub.parent / "pushes"
    log.write_text("")
    hook(hub, "post-receive", f'while read old new ref; do case "$ref" in refs/heads/*) echo "$ref" >> {log};; esac; done')
    return lambda: len(log.read_text().splitlines())


def waiting(clone: Clone) -> list[dict[str, object]]:
    """The operations that wait in a clone's journal."""
    found = []
    for path in (clone.path / ".git" / "bd" / "journal").glob("*.json"):
        try:
            data = json.loads(path.read_text().splitlines()[-1])
        except (ValueError, IndexError):  # just being written
            continue
        if data["state"] == "waiting":
            found.append(data)
    return found


def released_together(writer: Clone, commands: Sequence[Sequence[str]], env: dict[str, str] | None = None) -> list[Result]:
    """Run commands that all find the clone locked, and wait until each has left its operation; how they ended."""
    with CloneLock(str(writer.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        processes = [writer.start(*words, env=env) for words in commands]
        until(lambda: len(waiting(writer)) == len(commands), every_s=0.02)
    return [result_of(process) for process in processes]


@pytest.fixture
def writer(clone: Clones) -> Iterator[Clone]:
    alice = clone("alice")
    seed(alice, *(f"hub-{place}" for place in range(NUMBER)))
    alice.here("list", "--fetch")
    yield alice
    left = {path.name: path.read_text() for path in (alice.path / ".git" / "bd" / "journal").iterdir()}
    assert left == {}
    assert git(alice.path, "status", "--porcelain") == ""


def claims(number: int) -> list[list[str]]:
    return [["claim", "--next", "--agent", f"agent-{place}", "--json"] for place in range(number)]


def test_one_push_carries_everything_that_waits(writer: Clone, hub: Path) -> None:
    pushes = count_pushes(hub)
    results = released_together(writer, claims(NUMBER))
    assert [result.code for result in results] == [0] * NUMBER
    assert len({result.json[0]["id"] for result in results}) == NUMBER
    assert pushes() == 1
    for place, result in enumerate(results):
        bead = tip_bead(hub, result.json[0]["id"])
        assert bead is not None
        assert bead.claim is not None
        assert (bead.claim.agent, bead.claim.token) == (f"agent-{place}", result.json[0]["claim"]["token"])
        writer.here("close", bead.id, "--reason", "done", "--agent", f"agent-{place}")


def test_each_fails_alone(writer: Clone, hub: Path) -> None:
    commands = [
        ["claim", "hub-0", "--agent", "one", "--json"],
        ["claim", "hub-0", "--agent", "two", "--json"],
        ["create", "Made meanwhile", "--json"],
        ["comment", "hub-nonsense", "to nobody", "--json"],
        ["comment", "hub-1", "to somebody", "--json"],
    ]
    results = released_together(writer, commands)
    assert sorted(result.code for result in results[:2]) == [0, 5]
    assert [result.code for result in results[2:]] == [0, 4, 0]
    lost = next(result for result in results[:2] if result.code == 5)
    assert lost.json["code"] == "already_claimed"
    assert "nonsense" in results[3].json["error"]
    assert tip_bead(hub, results[2].json["id"]) is not None
    assert len(subjects(hub, "claim")) == 1


def test_without_a_remote(local_hub: Clone) -> None:
    before = git(local_hub.path, "rev-list", "--count", "main")
    results = released_together(local_hub, [["create", f"Bead {place}", "--json"] for place in range(NUMBER)])
    assert [result.code for result in results] == [0] * NUMBER
    assert len({result.json["id"] for result in results}) == NUMBER
    assert int(git(local_hub.path, "rev-list", "--count", "main")) == int(before) + NUMBER
    assert git(local_hub.path, "status", "--porcelain") == ""


def test_other_settings_are_left_to_their_own_process(writer: Clone, hub: Path) -> None:
    pushes = count_pushes(hub)
    with CloneLock(str(writer.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        processes = [
            writer.start("claim", "hub-0", "--reserve", "--agent", "one", "--json"),
            writer.start("claim", "hub-1", "--reserve", "--agent", "two", "--json", env={"BD_CLAIM_TTL": "1d"}),
        ]
        until(lambda: len(waiting(writer)) == 2, every_s=0.02)
    results = [result_of(process) for process in processes]
    assert [result.code for result in results] == [0, 0]
    ends = [times.instant_of(result.json[0]["claim"]["expires_at"]) for result in results]
    assert (ends[1] - ends[0]).total_seconds() > 3600
    assert pushes() == 2


def test_what_waits_when_its_process_dies_is_dropped(writer: Clone, hub: Path) -> None:
    with CloneLock(str(writer.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        process = writer.start("create", "Never mind", "--json")
        until(lambda: waiting(writer), every_s=0.02)
        process.kill()
        process.wait()
    writer.here("comment", "hub-0", "goes on")
    assert subjects(hub, "create") == []


def test_a_holder_that_dies_after_the_push_leaves_no_answer_open(writer: Clone, hub: Path) -> None:
    """The first to get the lock carries everybody's operation out and is killed: the next one finds that out for all."""
    pushes = count_pushes(hub)
    with CloneLock(str(writer.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        processes = [writer.start(*words, env={"BD_TEST_STOP_AT": "pushed"}) for words in claims(NUMBER)]
        until(lambda: len(waiting(writer)) == NUMBER, every_s=0.02)
    ended = [(process.wait(), process.stdout.read() if process.stdout else b"") for process in processes]
    assert sorted(code for code, _ in ended) == [0] * (NUMBER - 1) + [137]
    assert pushes() == 1
    told = [json.loads(out)[0] for code, out in ended if code == 0]
    assert len({bead["id"] for bead in told}) == NUMBER - 1
    assert len(subjects(hub, "claim")) == NUMBER
    dead = next(place for place, (code, _) in enumerate(ended) if code)
    again = writer.here("claim", "--next", "--agent", f"agent-{dead}", "--json")
    assert again.json[0]["id"] not in {bead["id"] for bead in told}
    assert len(subjects(hub, "claim")) == NUMBER


def test_who_waits_too_long_takes_its_operation_back(writer: Clone, hub: Path) -> None:
    with CloneLock(str(writer.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        result = writer.bd("create", "Not now", "--json", env={"BD_LOCK_TIMEOUT": "0.2"}, code=6)
    assert result.json["code"] == "lock_timeout"
    writer.here("comment", "hub-0", "goes on")
    assert subjects(hub, "create") == []


def test_ctrl_c_while_waiting(writer: Clone, hub: Path) -> None:
    with CloneLock(str(writer.path / ".git" / "bd" / "lock"), 60, RUNTIME):
        process = writer.start("create", "Never mind", "--json")
        until(lambda: waiting(writer), every_s=0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    writer.here("comment", "hub-0", "goes on")
    assert subjects(hub, "create") == []


def test_who_is_overtaken_asks_others_for_everybody(writer: Clone, clone: Clones, hub: Path, tmp_path: Path) -> None:
    other = clone("other")
    git(other.path, "commit", "--quiet", "--allow-empty", "-m", "by hand")
    once = f"{tmp_path}/once"
    script = f'if [ "$verb" = push ] && mkdir {once} 2> /dev/null; then "$real" -C {other.path} push -q origin HEAD; fi'
    commands = [*claims(3), ["comment", "hub-0", "once", "--json"]]
    results = released_together(writer, commands, {**git_wrapper(tmp_path / "bin", script), "BD_FRESH_TIME": "0"})
    assert [result.code for result in results] == [0] * 4
    assert len({result.json[0]["id"] for result in results[:3]}) == 3
    assert len(subjects(hub, "claim")) == 3
    bead = tip_bead(hub, "hub-0")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["once"]
    assert git(hub, "for-each-ref", "refs/bd/intents") == ""
