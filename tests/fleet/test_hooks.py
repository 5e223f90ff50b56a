"""People are told of dead letters: once, by whoever has a trusted hook; again, with the same key, where somebody died doing it."""

from __future__ import annotations

import json
import signal
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.race.history import subjects
from tests.race.processes import at_once
from tests.running import result_of
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.clocks import FakeClock
    from tests.running import Clone

    Clones = Callable[[str], Clone]


pytestmark = pytest.mark.one_in(27)


def give_up(clone: Clone, *names: str) -> None:
    for name in names:
        clone.here("create", f"Try {name}", "--id", name)
        clone.here("claim", name, "--agent", "coder")
        clone.here("fail", name, "--agent", "coder", "--reason", "budget_exceeded", "--error", "the key is revoked")


# The parent of a hook is its supervisor, whose parent is bd.
KILLS_BD = "kill -9 $(sed 's/.*) //' /proc/$PPID/stat | cut -f 2 -d ' ')"


def hook(clone: Clone, text: str) -> None:
    """A hook of the clone's own configuration."""
    folder = clone.path / ".git" / "bd"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(f"notify: {json.dumps(text)}\n")


def told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_people_are_told_once_by_whoever_has_a_hook(clone: Clones, hub: Path, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    plain, one, other = clone("plain"), clone("one"), clone("other")
    hook(one, f"cat >> {heard}")
    hook(other, f"cat >> {heard}")
    give_up(plain, "hub-a")
    assert not heard.exists(), "it has no hook"
    first = tip_bead(hub, "hub-a")
    assert first is not None
    assert list(first.get("notified")) == ["key"]
    results = at_once((each.path, ["poll", "--agent", each.path.name, "--json"]) for each in (one, other))
    assert {result.code for result in results} <= {0, 3}
    [message] = told(heard)
    assert message["key"] == first.get("notified")["key"]
    assert (message["event"], message["id"], message["reason"]) == ("dead_letter", "hub-a", "budget_exceeded")
    assert (message["agent"], message["error"], message["attempts"]) == ("coder", "the key is revoked", 1)
    done = tip_bead(hub, "hub-a")
    assert done is not None
    assert (done.get("notified")["done"], done.get("notified")["tries"]) == (True, 1)
    assert len(subjects(hub, "notify")) == 1
    assert "people were notified" in plain.here("dlq", "show", "hub-a", "--fetch").out


def test_who_gives_up_tells_at_once(clone: Clones, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    one = clone("one")
    hook(one, f"cat >> {heard}")
    give_up(one, "hub-a")
    assert [message["id"] for message in told(heard)] == ["hub-a"]
    one.here("dlq", "retry", "hub-a")
    one.here("claim", "hub-a", "--agent", "coder")
    one.here("fail", "hub-a", "--agent", "coder", "--reason", "budget_exceeded", "--error", "again")
    assert len({message["key"] for message in told(heard)}) == 2, "each transition has its own"


@pytest.mark.skipif(sys.platform == "win32", reason="a hook that kills its parent")
def test_after_a_kill_between_telling_and_saying_so_another_tells_with_the_same_key(
    clone: Clones, hub: Path, tmp_path: Path, clock: FakeClock
) -> None:
    heard = tmp_path / "heard"
    plain, dies, other = clone("plain"), clone("dies"), clone("other")
    give_up(plain, "hub-a")
    hook(dies, f"cat >> {heard}; {KILLS_BD}")
    hook(other, f"cat >> {heard}")
    killed = dies.bd("overseer", "--once", "--agent", "dies", check=False)
    assert killed.code == -signal.SIGKILL
    assert len(told(heard)) == 1
    began = tip_bead(hub, "hub-a")
    assert began is not None
    assert (began.get("notified")["by"], began.get("notified").get("done")) == ("agent:dies", None)
    clock.set(began.get("notified")["at"])
    clock.move(minutes=9)
    other.here("overseer", "--once", "--agent", "other")
    assert len(told(heard)) == 1, "its right has not lapsed"
    clock.move(minutes=1)
    other.here("overseer", "--once", "--agent", "other")
    clock.move(days=1)
    other.here("overseer", "--once", "--agent", "other")
    assert [message["key"] for message in told(heard)] == [began.get("notified")["key"]] * 2
    done = tip_bead(hub, "hub-a")
    assert done is not None
    assert (done.get("notified")["by"], done.get("notified")["done"]) == ("agent:other", True)
    assert "every change kept the rules" in plain.here("audit", "--fetch").out


def test_a_hook_that_fails_is_tried_again_later_and_not_for_ever(clone: Clones, hub: Path, clock: FakeClock) -> None:
    one = clone("one")
    hook(one, "echo the door is shut >&2; exit 4")
    clock.set("2026-02-21T15:00:00Z")
    give_up(one, "hub-a")
    for _ in range(8):
        clock.move(minutes=10)
        said = one.here("overseer", "--once", "--agent", "one").out
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.get("notified")["tries"], bead.get("notified").get("done")) == (5, None)
    assert "door" not in said


def test_a_hubs_hook_runs_only_where_it_is_trusted(clone: Clones, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    one = clone("one")
    with (one.path / ".beads" / "config.yaml").open("a") as file:
        file.write(f"notify:\n  people: cat >> {heard}\n")
    one.here("sync")
    give_up(one, "hub-a")
    assert not heard.exists()
    one.here("trust", "--yes")
    one.here("overseer", "--once", "--agent", "one")
    assert [message["id"] for message in told(heard)] == ["hub-a"]


class _Listener(BaseHTTPRequestHandler):
    heard: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_a_url_is_told_through_apprise(clone: Clones) -> None:
    pytest.importorskip("apprise")
    server = HTTPServer(("127.0.0.1", 0), _Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        one = clone("one")
        hook(one, f"json://127.0.0.1:{server.server_port}/hook")
        give_up(one, "hub-a")
    finally:
        server.shutdown()
        server.server_close()
    [message] = _Listener.heard
    assert message["title"] == "Given up: hub-a Try hub-a"
    assert "the key is revoked" in message["message"]
    assert git(one.path, "log", "-1", "--format=%s").startswith("notified: hub-a")


def test_without_the_extra_a_url_says_what_is_missing(clone: Clones, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    one = clone("one")
    hook(one, "slack://token/channel")
    one.here("create", "Try", "--id", "hub-a")
    one.here("claim", "hub-a", "--agent", "coder")
    failed = one.here("fail", "hub-a", "--agent", "coder", "--reason", "budget_exceeded", "--error", "x")
    assert "pip install 'gitbeads[notify]'" in failed.err


# --- other occasions --------------------------------------------------------------------------


def ask(clone: Clone) -> None:
    clone.here("create", "Paint it", "--id", "hub-a")
    clone.here("claim", "hub-a", "--agent", "coder")
    clone.here("wait-human", "hub-a", "--reason", "Red or green?", "--agent", "coder")


def stall(clone: Clone) -> None:
    """A claim that nobody gives a sign for; the hub frees none by itself."""
    with (clone.path / ".beads" / "config.yaml").open("a") as file:
        file.write("recover: false\n")
    clone.here("sync")
    clone.here("create", "Sleep on it", "--id", "hub-a", "--expected", "1m")
    clone.here("claim", "hub-a", "--agent", "coder")


def finish(clone: Clone) -> None:
    clone.here("create", "All of it", "--id", "hub-a", "-t", "epic")
    clone.here("create", "A part", "--id", "hub-part", "--parent", "hub-a")
    clone.here("close", "hub-part", "--force", "--reason", "done")


def later(clock: FakeClock, clone: Clone, **parts: float) -> None:
    """Go on, and have somebody write something then: it confirms the clocks of those that poll."""
    clock.move(**parts)
    clone.here("create", "Something else", "--agent", "clock")


OCCASIONS = [
    (ask, "waiting", {"question": "Red or green?", "agent": "coder"}),
    (stall, "stalled", {"agent": "coder"}),
    (finish, "dag_done", {"done": 1, "total": 1}),
]


@pytest.mark.one_in(9)
@pytest.mark.parametrize(("happen", "event", "facts"), OCCASIONS)
def test_other_occasions_are_told_once_by_one_of_many(
    clone: Clones, hub: Path, tmp_path: Path, clock: FakeClock, happen: Any, event: str, facts: dict[str, Any]
) -> None:
    heard = tmp_path / "heard"
    plain, one, other = clone("plain"), clone("one"), clone("other")
    hook(one, f"cat >> {heard}")
    hook(other, f"cat >> {heard}")
    happen(plain)
    later(clock, plain, minutes=50)
    ahead = {"BD_TEST_CLOCK_OFFSET_S": str((clock.read() - datetime.now(UTC)).total_seconds())}
    started = [each.start("poll", "--agent", each.path.name, env=ahead) for each in (one, other)]
    for process in started:
        assert result_of(process).code in (0, 3)
    [message] = told(heard)
    assert (message["event"], message["id"]) == (event, "hub-a")
    assert facts.items() <= message.items()
    for each in (one, other):
        each.here("poll", "--agent", each.path.name, check=False)
    assert len(told(heard)) == 1
    assert len(subjects(hub, "notify")) == 1
    assert "every change kept the rules" in plain.here("audit", "--fetch").out


@pytest.mark.one_in(9)
@pytest.mark.skipif(sys.platform == "win32", reason="a hook that kills its parent")
@pytest.mark.parametrize(("happen", "event", "facts"), OCCASIONS)
def test_other_occasions_after_a_kill_have_the_same_key(
    clone: Clones, tmp_path: Path, clock: FakeClock, happen: Any, event: str, facts: dict[str, Any]
) -> None:
    heard = tmp_path / "heard"
    plain, dies, other = clone("plain"), clone("dies"), clone("other")
    happen(plain)
    later(clock, plain, minutes=50)
    ahead = {"BD_TEST_CLOCK_OFFSET_S": str((clock.read() - datetime.now(UTC)).total_seconds())}
    hook(dies, f"cat >> {heard}; {KILLS_BD}")
    hook(other, f"cat >> {heard}")
    assert dies.bd("poll", "--agent", "dies", env=ahead, check=False).code == -signal.SIGKILL
    other.here("poll", "--agent", "other", check=False)
    assert len(told(heard)) == 1, "the right of who died has not lapsed"
    for _ in range(2):
        later(clock, plain, hours=4)  # so that a poll is due
        other.here("poll", "--agent", "other", check=False)
    first, second = told(heard)
    assert (first["key"], first["event"]) == (second["key"], event)


def test_who_asks_tells_at_once_and_each_question_is_news(clone: Clones, tmp_path: Path, clock: FakeClock) -> None:
    heard = tmp_path / "heard"
    one = clone("one")
    hook(one, f"cat >> {heard}")
    ask(one)
    clock.move(minutes=1)
    one.here("answer", "hub-a", "green")
    one.here("wait-human", "hub-a", "--reason", "Which green?")
    assert [message["question"] for message in told(heard)] == ["Red or green?", "Which green?"]


def test_dags_of_before_the_hook_are_old_news(clone: Clones, tmp_path: Path, clock: FakeClock) -> None:
    heard = tmp_path / "heard"
    one = clone("one")
    finish(one)
    clock.move(days=2)
    hook(one, f"cat >> {heard}")
    one.here("overseer", "--once", "--agent", "one")
    assert told(heard) == []
