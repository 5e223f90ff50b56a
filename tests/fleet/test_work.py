"""The agent's cycle with real processes on a real hub: claim, run, close; fail, release, lose, stop, die."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.fleet.poolhost import is_alive
from tests.race.history import subjects
from tests.running import BD
from tests.truth import git, tip_bead
from tests.waiting import PATIENCE_S, until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(30)

SAYS = """
import json, os, sys

json.dump({words}, open(os.environ["BD_RESULT_FILE"], "w"))
"""


def make(clone: Clone, *ids: str, title: str = "Do it") -> None:
    for bead_id in ids:
        clone.here("create", f"{title} {bead_id}", "--id", bead_id)


def says(**words: object) -> tuple[str, ...]:
    """A command that writes this into its result file."""
    return (sys.executable, "-c", SAYS.format(words=json.dumps(words).replace("null", "None")))


def start(clone: Clone, *words: str, log: Path, beat: str = "1s", bd: tuple[str, ...] = BD) -> subprocess.Popen[str]:
    """A worker that goes on until it is stopped."""
    import os

    with log.open("w") as err:
        return subprocess.Popen(
            [*bd, "work", *words],
            cwd=clone.path,
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            env={**os.environ, "BD_HEARTBEAT_INTERVAL": beat},
        )


def in_hand(hub: Path, bead_id: str = "hub-a") -> bool:
    return tip_bead(hub, bead_id).claim is not None


def test_a_worker_drains_the_queue_with_one_push_a_bead(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a", "hub-b", "hub-c")
    before = int(git(hub, "rev-list", "--count", "main"))
    done = alice.bd("work", "--agent", "coder", "--once", "--json", "--", "sh", "-c", "echo did $BD_BEAD_ID")
    assert [(one["id"], one["outcome"], one["text"]) for one in done.json] == [
        (bead_id, "done", f"did {bead_id}") for bead_id in ("hub-a", "hub-b", "hub-c")
    ]
    assert int(git(hub, "rev-list", "--count", "main")) - before == 4  # one claim, two closes with the next claim, one close
    assert tip_bead(hub, "hub-b").get("close_reason") == "did hub-b"
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_nothing_to_do_is_exit_3_and_says_why(clone: Clones) -> None:
    alice = clone("alice")
    result = alice.bd("work", "--agent", "coder", "--once", "--json", "--", "true", code=3)
    assert (result.json["code"], result.json["retry_after_s"]) == ("nothing_ready", 60)


def test_a_worker_that_waits_says_so_once(clone: Clones) -> None:
    alice = clone("alice")
    waited = alice.bd("work", "--agent", "coder", "--max-idle", "1s", "--", "true", code=3)
    assert waited.err.count("nothing is ready that fits coder; waiting\n") == 1
    once = alice.bd("work", "--agent", "coder", "--once", "--", "true", code=3)
    assert "waiting" not in once.err


def test_the_command_gets_the_bead_and_says_how_it_went(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    alice.here("create", "Do it", "--id", "hub-a", "--description", "All of it.")
    script = (
        "import json, os, sys; bead = json.load(open(os.environ['BD_BEAD_FILE'])); "
        "assert bead['id'] == os.environ['BD_BEAD_ID'] == 'hub-a'; "
        "assert bead['claim']['token'] == os.environ['BD_TOKEN']; assert os.environ['BD_ATTEMPT'] == '1'; "
        "assert os.environ['BD_AGENT'] == 'coder'; assert 'All of it.' in sys.stdin.read(); "
        "json.dump({'outcome': 'done', 'text': 'well', 'cost': 0.5, 'output': {'n': 1}, 'artifacts': ['x']}, "
        "open(os.environ['BD_RESULT_FILE'], 'w'))"
    )
    alice.bd("work", "--agent", "coder", "--once", "--prompt", "--", sys.executable, "-c", script)
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.get("close_reason")) == ("closed", "well")
    assert bead.get("cost")["usd"] == 0.5
    assert bead.get("output") == {"data": {"n": 1}, "artifacts": ["x"]}


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [
        (("sh", "-c", "echo broken; exit 1"), "open", "other"),
        (("sh", "-c", "exit 124"), "open", "timeout"),
        (("sh", "-c", "kill -9 $$"), "open", "crash"),
        (("sh", "-c", "echo '{' > $BD_RESULT_FILE"), "open", "invalid_output"),
    ],
)
def test_a_failure_is_kept_with_its_kind(clone: Clones, hub: Path, command: tuple[str, ...], status: str, reason: str) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("work", "--agent", "coder", "--once", "--", *command)
    bead = tip_bead(hub, "hub-a")
    assert bead.status == status
    assert [failure["reason"] for failure in bead.get("failures")] == [reason]
    assert bead.get("retry_at")
    assert bead.claim is None


def test_75_gives_the_bead_back_without_an_attempt(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("work", "--agent", "coder", "--once", "--max-tasks", "1", "--", "sh", "-c", "echo no access; exit 75")
    bead = tip_bead(hub, "hub-a")
    assert (bead.status, bead.attempts_counted, bead.get("status_reason")) == ("open", 0, "no access")


def test_what_the_command_settled_itself_is_left_alone(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    bd = " ".join(BD)
    done = alice.bd(
        "work", "--agent", "coder", "--once", "--json", "--", "sh", "-c", f"{bd} close $BD_BEAD_ID --reason mine; exit 1"
    )
    assert [one["outcome"] for one in done.json] == ["settled"]
    assert tip_bead(hub, "hub-a").get("close_reason") == "mine"


def test_notes_made_while_working_ride_into_the_bead(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    bd = " ".join(BD)
    alice.bd(
        "work",
        "--agent",
        "coder",
        "--once",
        "--",
        "sh",
        "-c",
        f"{bd} progress $BD_BEAD_ID half && {bd} progress $BD_BEAD_ID most",
    )
    notes = [note["text"] for note in tip_bead(hub, "hub-a").get("progress")]
    assert notes[:2] == ["half", "most"]
    assert [note.split(":")[0] for note in notes[2:]] == ["full output"]


def test_a_command_that_takes_too_long_is_ended(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    alice.here("create", "--file", "-", input="tasks:\n- title: Long\n  id: hub-a\n  spec: {max_duration: 1s}\n")
    bead_id = alice.here("list", "-q").lines[0]
    alice.bd("work", "--agent", "coder", "--once", "--", "sleep", "86400")
    (failure,) = tip_bead(hub, bead_id).get("failures")
    assert failure["reason"] == "timeout"


def test_a_silent_command_is_ended(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("work", "--agent", "coder", "--once", "--idle-timeout", "1s", "--", "sleep", "86400")
    (failure,) = tip_bead(hub, "hub-a").get("failures")
    assert failure["reason"] == "timeout"
    assert "had no output" in failure["error"]


def test_a_claim_that_is_taken_away_stops_the_command(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    worker = start(alice, "--agent", "coder", "--max-tasks", "1", "--json", "--", "sleep", "86400", log=tmp_path / "log")
    until(lambda: in_hand(hub))
    bob.here("cancel", "hub-a", "--force", "--reason", "not wanted")
    out, _ = worker.communicate(timeout=PATIENCE_S)
    assert [one["outcome"] for one in json.loads(out)] == ["lost"]
    assert tip_bead(hub, "hub-a").status == "cancelled"


def test_a_claim_that_is_taken_away_is_seen_also_after_a_write_was_kept(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """As by a command that comments on its bead while the hub is away."""
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    worker = start(alice, "--agent", "coder", "--max-tasks", "1", "--json", "--", "sleep", "1000", log=tmp_path / "log")
    until(lambda: in_hand(hub))
    hub.rename(tmp_path / "away")
    assert alice.bd("comment", "hub-a", "half done", "--json").json["published"] is False
    (tmp_path / "away").rename(hub)
    bob.here("cancel", "hub-a", "--force", "--reason", "not wanted")
    out, _ = worker.communicate(timeout=PATIENCE_S)
    assert [one["outcome"] for one in json.loads(out)] == ["lost"]


@pytest.mark.parametrize(("script", "outcome"), [("trap 'exit 0' TERM; sleep 86400 & wait", "done"), ("sleep 86400", "released")])
def test_a_worker_that_is_stopped_finishes_or_gives_back(
    clone: Clones, hub: Path, tmp_path: Path, script: str, outcome: str
) -> None:
    alice = clone("alice")
    make(alice, "hub-a", "hub-b")
    ready = f"touch {tmp_path}/ready; {script}"
    worker = start(
        alice, "--agent", "coder", "--json", "--", "sh", "-c", ready.replace("touch", "trap '' HUP; touch"), log=tmp_path / "log"
    )
    until((tmp_path / "ready").exists)
    worker.send_signal(signal.SIGTERM)
    out, _ = worker.communicate(timeout=PATIENCE_S)
    assert worker.returncode == 0
    assert [one["outcome"] for one in json.loads(out)] == [outcome]
    assert [tip_bead(hub, bead_id).claim for bead_id in ("hub-a", "hub-b")] == [None, None]
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_a_killed_workers_bead_is_freed_and_done_by_another(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    worker = start(alice, "--agent", "coder", "--", "sh", "-c", f"echo $$ > {tmp_path}/child; sleep 86400", log=tmp_path / "log")
    until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip() != "")
    worker.kill()
    worker.wait()
    until(lambda: not is_alive(int((tmp_path / "child").read_text())))  # its supervisor ends it
    assert bob.bd("stalled", "--json").json == []  # this observer has only just begun to look
    # A last push may have been on its way when its worker was killed: then the second look is the first of that sign.
    looks = [bob.bd("stalled", "--json", env={"BD_TEST_UPTIME_OFFSET_S": str(later_s)}).json for later_s in (60, 120)]
    assert [one["why"] for one in looks[-1]] == ["silent"]
    bob.bd("stalled", "--reassign", env={"BD_TEST_UPTIME_OFFSET_S": "180"})
    assert tip_bead(hub, "hub-a").get("failures")[0]["reason"] == "stalled"
    done = bob.bd("work", "--agent", "other", "--once", "--json", "--", "true", env={"BD_TEST_CLOCK_OFFSET_S": "600"})
    assert [(one["id"], one["outcome"]) for one in done.json] == [("hub-a", "done")]
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


@pytest.mark.slow
def test_a_job_that_beats_is_never_taken_away(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """Watched by an observer on whose clock an hour passes between its looks: at each there is a sign that it has not seen."""
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    command = ("sh", "-c", f"until [ -e {tmp_path / 'enough'} ]; do sleep 0.1; done")
    worker = start(alice, "--agent", "coder", "--max-tasks", "1", "--", *command, log=tmp_path / "log")
    until(lambda: in_hand(hub))
    seen = ""
    for hours in range(4):
        until(lambda seen=seen: git(hub, "for-each-ref", "refs/bd/claims") not in ("", seen))  # type: ignore[misc]
        seen = git(hub, "for-each-ref", "refs/bd/claims")
        assert bob.bd("stalled", "--reassign", "--json", env={"BD_TEST_UPTIME_OFFSET_S": str(3600 * hours)}).json == []
    (tmp_path / "enough").touch()
    worker.wait(timeout=PATIENCE_S)
    assert subjects(hub, "reassign") == []
    assert tip_bead(hub, "hub-a").status == "closed"


def test_two_clocks_fifteen_minutes_apart_steal_nothing(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    command = ("sh", "-c", f"until [ -e {tmp_path / 'enough'} ]; do sleep 0.1; done")
    worker = start(alice, "--agent", "coder", "--max-tasks", "1", "--", *command, log=tmp_path / "log")
    until(lambda: in_hand(hub))
    for offset in ("900", "-900"):
        assert bob.bd("stalled", "--json", env={"BD_TEST_CLOCK_OFFSET_S": offset}).json == []
    (tmp_path / "enough").touch()
    worker.wait(timeout=PATIENCE_S)
    assert tip_bead(hub, "hub-a").status == "closed"


@pytest.mark.slow
def test_an_idle_worker_makes_no_commits(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("work", "--agent", "coder", "--once", "--", "true")
    before = git(hub, "rev-parse", "main")
    for hour in range(1, 6):
        alice.bd("work", "--agent", "coder", "--once", "--", "true", code=3, env={"BD_TEST_CLOCK_OFFSET_S": str(hour * 7200)})
        alice.bd("poll", "--agent", "coder", code=3, env={"BD_TEST_CLOCK_OFFSET_S": str(hour * 7200 + 60)})
    assert git(hub, "rev-parse", "main") == before


def test_a_dry_run_changes_nothing(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    before = git(hub, "for-each-ref")
    assert alice.bd("work", "--agent", "coder", "--dry-run", "--json", "--", "true").json["would_claim"] == "hub-a"
    assert git(hub, "for-each-ref") == before


def test_a_command_that_does_not_exist_claims_nothing(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("work", "--agent", "coder", "--once", "--", "no-such-command", code=2)
    alice.bd("work", "--agent", "coder", "--once", code=2)
    assert tip_bead(hub, "hub-a").attempts == 0


def test_several_jobs_at_once_stay_within_the_limit(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a", "hub-b", "hub-c", "hub-d")
    done = alice.bd("work", "--agent", "coder", "--jobs", "3", "--once", "--json", "--", "sleep", "0.3")
    assert sorted(one["id"] for one in done.json) == ["hub-a", "hub-b", "hub-c", "hub-d"]
    assert {one["outcome"] for one in done.json} == {"done"}


def test_where_no_refs_beside_the_branch_are_taken_signs_are_commits(clone: Clones, hub: Path) -> None:
    git(hub, "config", "transfer.hideRefs", "refs/bd")
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("work", "--agent", "coder", "--once", "--", "true")
    assert tip_bead(hub, "hub-a").status == "closed"
    assert "heartbeat_by: branch" in git(hub, "log", "-p", "--format=", "main", "--", "beads/hub-a.yaml")


def test_claim_next_frees_what_has_stalled_when_there_is_nothing_else(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder", "--reserve")
    bob.bd("claim", "--next", "--agent", "other", code=3)
    ever_later = {"BD_TEST_CLOCK_OFFSET_S": "7200"}
    alice.here("comment", "hub-a", "confirms his clock", env=ever_later)
    bob.bd("claim", "--next", "--agent", "other", code=3, env={**ever_later, "BD_RECOVER": "false"})
    assert subjects(hub, "reassign") == []
    bob.bd("claim", "--next", "--agent", "other", code=3, env=ever_later)  # freed, and tried again a little later
    assert len(subjects(hub, "reassign")) == 1
    bob.bd("claim", "--next", "--agent", "other", env={"BD_TEST_CLOCK_OFFSET_S": "7300"})
    claim = tip_bead(hub, "hub-a").claim
    assert claim is not None
    assert (claim.agent, claim.attempt) == ("other", 2)


def test_a_poll_keeps_its_pace_between_runs_and_is_woken_by_the_hub(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    first = alice.bd("poll", "--agent", "coder", "--json", code=3).json
    assert (first["due"], first["ready"], first["empty_cycles"], first["interval_s"]) == (True, 0, 1, 1800)
    again = alice.bd("poll", "--agent", "coder", "--json", code=3).json
    assert (again["due"], again["empty_cycles"]) == (False, 1)
    make(bob, "hub-a")
    woken = alice.bd("poll", "--agent", "coder", "--json").json
    assert (woken["due"], woken["ready"], woken["empty_cycles"]) == (True, 1, 0)


@pytest.mark.slow
def test_three_empty_polls_double_the_interval(clone: Clones) -> None:
    alice = clone("alice")
    polls = [
        alice.bd("poll", "--agent", "coder", "--json", code=3, env={"BD_TEST_CLOCK_OFFSET_S": str(hour * 7200)}).json
        for hour in range(7)
    ]
    assert [poll["interval_s"] for poll in polls] == [1800, 1800, 3600, 3600, 3600, 7200, 7200]


def test_a_sign_by_hand_moves_no_branch(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    make(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder")
    before = git(hub, "rev-parse", "main")
    given = alice.bd("heartbeat", "--agent", "coder", "--progress", "half", "--json").json
    assert (given["beads"], given["by"]) == (["hub-a"], "ref")
    assert git(hub, "rev-parse", "main") == before
    assert git(hub, "for-each-ref", "--format=%(refname)", "refs/bd/agents", "refs/bd/claims").split() == [
        "refs/bd/agents/coder",
        f"refs/bd/claims/{tip_bead(hub, 'hub-a').get('claim')['token']}",
    ]
    assert re.search(r"progress, \d+s ago: half", alice.bd("show", "hub-a", "--fetch").out)
    alice.here("close", "hub-a", "--agent", "coder")
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""
    assert [note["text"] for note in tip_bead(hub, "hub-a").get("progress")] == ["half"]


def test_a_sign_for_a_claim_that_was_taken_away_is_refused(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder")
    alice.bd("heartbeat", "--agent", "coder")
    bob.here("cancel", "hub-a", "--force", "--reason", "not wanted")
    alice.bd("heartbeat", "--agent", "coder", code=5, env={"BD_TEST_CLOCK_OFFSET_S": "60"})


def test_an_overseer_frees_and_keeps_house(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder", "--reserve")
    git(alice.path, "push", "--quiet", str(hub), "HEAD:refs/bd/claims/01ARZ3NDEKTSV4RRFFQ69G5FAV")
    two_hours_later = {"BD_TEST_CLOCK_OFFSET_S": "7200"}
    alice.here("comment", "hub-a", "confirms the boss's clock", env=two_hours_later)
    result = bob.bd("overseer", "--once", "--agent", "boss", "--json", env=two_hours_later).json
    assert result["freed"] == ["hub-a"]
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_a_claim_from_the_future_is_a_warning_and_never_stolen(clone: Clones) -> None:
    alice, bob = clone("alice"), clone("bob")
    make(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_CLOCK_OFFSET_S": "7200"})
    bob.here("sync")
    assert "a clock is wrong" in bob.here("doctor").out
    assert bob.bd("stalled", "--json").json == []


def test_notes_on_two_beads_stand_beside_each_other(clone: Clones) -> None:
    alice = clone("alice")
    make(alice, "hub-a", "hub-b")
    for bead_id in ("hub-a", "hub-b"):
        alice.bd("claim", bead_id, "--agent", "coder")
        alice.bd("progress", bead_id, f"at {bead_id}", "--agent", "coder")
    assert "at hub-a" in alice.bd("show", "hub-a").out
    assert "at hub-b" in alice.bd("show", "hub-b").out


def test_a_server_that_refused_refs_is_asked_again_after_a_week(clone: Clones, hub: Path) -> None:
    git(hub, "config", "transfer.hideRefs", "refs/bd")
    alice = clone("alice")
    alice.bd("poll", "--agent", "coder", code=3)
    git(hub, "config", "--unset", "transfer.hideRefs")
    alice.bd("poll", "--agent", "coder", code=3, env={"BD_TEST_CLOCK_OFFSET_S": "86400"})
    assert "refs/bd/agents" not in git(hub, "for-each-ref")
    alice.bd("poll", "--agent", "coder", code=3, env={"BD_TEST_CLOCK_OFFSET_S": str(8 * 86400)})
    assert "refs/bd/agents/coder" in git(hub, "for-each-ref")


def test_a_note_for_nothing_in_hand_is_refused_and_not_lost_silently(clone: Clones) -> None:
    alice = clone("alice")
    alice.bd("heartbeat", "--agent", "coder", "--progress", "half", code=5)


def test_an_agents_own_heartbeat_interval_is_what_its_claims_promise(clone: Clones, hub: Path) -> None:
    ada = clone("ada")
    ada.here("agent", "add", "quick", "--heartbeat", "7s")
    ada.here("create", "Do it", "--id", "hub-a")
    script = f"{shlex.join(BD)} show hub-a --json > ../claimed.json"
    ada.bd("work", "--agent", "quick", "--once", "--", "sh", "-c", script)
    claim = json.loads((ada.path.parent / "claimed.json").read_text())[0]["claim"]
    assert claim["heartbeat_interval_s"] == 7
