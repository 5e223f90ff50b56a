"""What a command, the hub or the machine does wrong while a worker works: no bead is lost, and the worker goes on."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from bd.fleet.child import Child
from bd.fleet.outcome import DONE, FAILED, outcome_of, read_result
from bd.store.hub import Hub
from bd.store.place import locate
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

QUICK = {"BD_HEARTBEAT_INTERVAL": "1s"}


def work(clone: Clone, *words: str, options: tuple[str, ...] = ("--once",)) -> list[tuple[str, str]]:
    """Run a worker to its end: each attempt's bead and outcome."""
    result = clone.bd("work", "--agent", "coder", "--json", *options, "--", *words, env=QUICK)
    return [(one["id"], one["outcome"]) for one in result.json]


# --- what a command hands over -----------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"cost": Infinity}', '{"output": NaN}', "[" * 200_000, '{"outcome": [1]}', "\xff{"])
def test_a_result_that_is_no_json_is_invalid_output(text: str) -> None:
    outcome = outcome_of(0, text.encode("latin-1"), [])
    assert (outcome.what, outcome.kind) == (FAILED, "invalid_output")


@pytest.mark.parametrize("cost", ["9" * 400, "1e400", "-1", "true", '"much"'])
def test_a_cost_that_is_no_amount_is_left_out(cost: str) -> None:
    outcome = outcome_of(0, f'{{"cost": {cost}}}'.encode(), [])
    assert (outcome.what, outcome.cost_usd) == (DONE, None)


def test_halves_of_characters_in_a_text_are_replaced() -> None:
    assert outcome_of(0, rb'{"text": "a\ud800b"}', []).text == "a?b"


def test_a_result_file_that_is_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("{}")
    found = [read_result(str(tmp_path / name)) for name in ("pipe", "device", "folder", "missing", "file")]
    assert found == [None, None, None, None, b"{}"]


@pytest.mark.parametrize("output", [r'"\udfff"', "[" * 100 + "]" * 100])
def test_what_the_hub_can_not_keep_is_a_failure_and_the_worker_goes_on(clone: Clones, hub: Path, output: str) -> None:
    alice = clone("alice")
    for bead_id in ("hub-a", "hub-b"):
        alice.bd("create", "Do it", "--id", bead_id)
    script = f"[ $BD_BEAD_ID = hub-b ] || printf '%s' '{{\"output\": {output}}}' > $BD_RESULT_FILE"
    assert work(alice, "sh", "-c", script) == [("hub-a", "failed"), ("hub-b", "done")]
    (failure,) = tip_bead(hub, "hub-a").get("failures")
    assert failure["reason"] == "invalid_output"
    assert git(hub, "for-each-ref", "refs/bd/claims") == ""


def test_a_bead_that_may_not_be_closed_is_a_failure_and_not_left_claimed(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    alice.bd("create", "Do it", "--id", "hub-a")
    child = f"cd {bob.path} && {sys.executable} -m bd create Part --id hub-a.1 --parent hub-a --assignee other"
    alice.bd("agent", "add", "other", "--role", "coding")
    assert work(alice, "sh", "-c", child, options=("--once", "--max-tasks", "1")) == [("hub-a", "failed")]
    bead = tip_bead(hub, "hub-a")
    assert bead.claim is None
    assert "unfinished children" in bead.get("failures")[0]["error"]


# --- what a command prints ---------------------------------------------------------------------


def run_child(*words: str, on_line: Callable[[str], None] = lambda line: None) -> Child:
    ended = threading.Event()
    import os

    child = Child(words, ".", os.environ, None, on_line, ended.set)
    assert ended.wait(60)
    return child


def test_of_a_line_without_end_only_the_beginning_is_kept() -> None:
    script = "import sys\nfor _ in range(100): sys.stdout.write('x' * 100_000)\nprint()\nprint('end')"
    seen: list[str] = []
    child = run_child(sys.executable, "-c", script, on_line=seen.append)
    assert [len(line) for line in child.lines] == [4000, 3]
    assert seen == list(child.lines)


def test_a_command_that_ends_without_a_line_end_is_heard() -> None:
    assert list(run_child("printf", "one\n\ntwo").lines) == ["one", "", "two"]


def test_a_listener_that_has_gone_does_not_block_the_command() -> None:
    def gone(line: str) -> None:
        raise BrokenPipeError

    child = run_child(sys.executable, "-c", "for _ in range(20_000): print('words, words')", on_line=gone)
    assert child.code == 0


# --- the clone's own notes ---------------------------------------------------------------------


def test_threads_of_one_worker_note_things_at_the_same_time(clone: Clones) -> None:
    hub = Hub(locate(str(clone("alice").path)))
    failed: list[Exception] = []

    def note(number: int) -> None:
        try:
            for _ in range(300):
                hub.note_json("same.json", {"by": number, "words": "x" * 5000})
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=note, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert json.dumps(hub.noted_json("same.json"))
    hub.close()
