"""Outputs are checked before a close counts: by schema, pattern, URL, tests or a judge; each passes, fails, or can't be checked."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import BaseRequestHandler, TCPServer
from typing import TYPE_CHECKING, Any

import pytest

from bd.store.hub_location import locate
from bd.store.replica import Replica
from bd.worker import validation
from bd.worker.result import DONE, Outcome
from bd.worker.validation_run import Trial
from tests.memory import make_bead
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip_bead
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(20)

SCHEMA = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


@pytest.fixture
def opened(local_hub: Clone) -> Iterator[Replica]:
    configure(local_hub, url_allow="127.0.0.1")
    hub = open_clone(locate(str(local_hub.path)))
    hub.snapshot()
    yield hub
    hub.close()


def verdict(hub: Replica, **output: Any) -> validation.Verdict:
    return validation.check(hub, make_bead(output=output))


@pytest.mark.parametrize(
    ("rule", "data", "passed", "words"),
    [
        ("^done$", "well\ndone", True, ""),
        ("^done$", "undone", False, "nothing in the output matches"),
        ("n.: 1", {"n": 1}, True, ""),
        ("(", "x", None, "the pattern can't be read"),
        ("x", None, False, "there is no output"),
        (None, "x", None, "validation_schema"),
    ],
)
def test_a_pattern(opened: Replica, rule: Any, data: Any, passed: bool | None, words: str) -> None:
    found = verdict(opened, validation="regex", validation_schema=rule, data=data)
    assert (found.passed, words in found.words) == (passed, True), found


def test_a_pattern_that_never_ends_is_ended(opened: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "CHECK_LIMIT_S", 1.0)
    found = verdict(opened, validation="regex", validation_schema="(a+)+$", data="a" * 60 + "b")
    assert (found.passed, "took longer" in found.words) == (None, True)


@pytest.mark.parametrize(
    ("rule", "data", "passed", "words"),
    [
        (SCHEMA, {"n": 1}, True, ""),
        (json.dumps(SCHEMA), {"n": 1}, True, ""),
        (SCHEMA, {"n": "x"}, False, "n: 'x' is not of type 'integer'"),
        (SCHEMA, {}, False, "'n' is a required property"),
        ("{", {}, None, "the schema can't be read"),
        ({"type": 7}, {}, None, "the schema can't be read"),
        ({"$ref": "http://127.0.0.1:9/x"}, {}, None, "the schema can't be used"),
    ],
)
def test_a_schema(opened: Replica, rule: Any, data: Any, passed: bool | None, words: str) -> None:
    pytest.importorskip("jsonschema")
    found = verdict(opened, validation="json-schema", validation_schema=rule, data=data)
    assert (found.passed, words in found.words) == (passed, True), found


class _Page(BaseHTTPRequestHandler):
    answers: list[int] = []

    def do_GET(self) -> None:
        self.send_response(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def page() -> Iterator[Callable[..., str]]:
    """A page that answers so, one after the other; the last one for ever."""
    server = HTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def answering(*answers: int) -> str:
        _Page.answers = list(answers)
        return f"http://127.0.0.1:{server.server_port}/page"

    yield answering
    server.shutdown()
    server.server_close()


@pytest.fixture
def speaks_otherwise() -> Iterator[int]:
    """The port of a server that speaks no HTTP."""

    class Greeting(BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"220 mail.example.org ESMTP\r\n")
            self.request.recv(1024)

    with TCPServer(("127.0.0.1", 0), Greeting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_page_has_to_be_live(
    opened: Replica, page: Callable[..., str], speaks_otherwise: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(RUNTIME, "sleep", pauses.append)
    assert verdict(opened, validation="url", artifacts=[{"name": "site", "ref": page(200)}]).passed
    assert pauses == []
    assert verdict(opened, validation="url", data={"url": page(503, 404, 204)}).passed
    assert pauses == [5, 10]
    never = verdict(opened, validation="url", data=page(404))
    assert (never.passed, never.words) == (False, f"{page(404)} is not reachable (asked 6 times)")
    assert never.told_here == f"{page(404)} answers 404"
    pauses.clear()
    assert verdict(opened, validation="url", validation_schema={"url": page(500), "tries": 3, "pause": "1m"}).passed is False
    assert pauses == [60, 60]
    for nowhere in ({"data": "file:///etc/passwd"}, {"data": "done"}, {"artifacts": ["x", 7]}, {}):
        assert verdict(opened, validation="url", **nowhere).passed is False
    closed = verdict(opened, validation="url", validation_schema={"url": "http://127.0.0.1:9/", "tries": 1})
    assert "does not answer" in closed.told_here
    for url in ("http://a host/", f"http://127.0.0.1:{speaks_otherwise}/"):
        strange = verdict(opened, validation="url", validation_schema={"url": url, "tries": 1})
        assert (strange.passed, "does not answer" in strange.told_here) == (False, True)


def test_a_check_that_is_given_up_asks_no_more(opened: Replica, page: Callable[..., str]) -> None:
    """Its pauses end, too: who gave it up is not outlived by it."""
    before, url = set(threading.enumerate()), page(503, 500, 200)
    made = make_bead(output={"validation": "url", "validation_schema": {"url": url, "pause": "1m"}})
    ended = threading.Event()
    trial = Trial(Outcome(DONE, "", ""), made, "", lambda: open_clone(opened.place), ended.set, RUNTIME)
    until(lambda: len(_Page.answers) < 3, every_s=0.01)
    trial.give_up("the worker was stopped")
    ended.wait()
    assert trial.concluded().text == "could not be validated: the worker was stopped"
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert _Page.answers == [500, 200]


def configure(clone: Clone, **commands: dict[str, str] | str) -> None:
    folder = clone.path / ".git" / "bd"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(json.dumps(commands) + "\n")


@pytest.mark.parametrize(
    ("said", "passed", "words"),
    [
        ("echo pass", True, ""),
        ("echo 'fail: it rambles'", False, "it rambles"),
        ("""echo '{"verdict": "fail", "reasons": ["too long", "no sources"]}'""", False, "too long; no sources"),
        ("""grep -q '"data": "good"' && echo pass || echo fail""", True, ""),
        ("echo perhaps", None, "neither pass nor fail"),
        ("exit 3", None, "neither pass nor fail"),
    ],
)
def test_a_judge(local_hub: Clone, said: str, passed: bool | None, words: str) -> None:
    configure(local_hub, judges={"judge": said})
    hub = open_clone(locate(str(local_hub.path)))
    try:
        found = verdict(hub, validation="judge", data="good")
    finally:
        hub.close()
    assert (found.passed, words in found.words) == (passed, True), found


def test_commands_come_from_trusted_configuration_alone(local_hub: Clone) -> None:
    hub = open_clone(locate(str(local_hub.path)))
    try:
        for kind, rule in (
            ("test-pass", None),
            ("test-pass", "touch /tmp/never; true"),
            ("judge", "echo pass"),
            ("prayer", None),
        ):
            found = verdict(hub, validation=kind, validation_schema=rule, data="x")
            assert found.passed is None
    finally:
        hub.close()


def asking(clone: Clone, bead_id: str, **output: Any) -> None:
    """A published bead that asks for a check."""
    clone.here("create", f"Make {bead_id}", "--id", bead_id, "--max-attempts", "2")
    path = clone.path / "beads" / f"{bead_id}.yaml"
    path.write_text(f"{path.read_text()}output: {json.dumps(output)}\n")
    clone.here("sync")


def test_close_checks_first_and_a_failure_is_a_failed_attempt(clone: Clones, hub: Path) -> None:
    one = clone("one")
    configure(one, validators={"tests": "test -e good || { echo 3 tests are red; exit 1; }"})
    asking(one, "hub-a", validation="test-pass")
    one.here("claim", "hub-a", "--agent", "coder")
    refused = one.here("close", "hub-a", "--agent", "coder", code=5)
    assert "hub-a is not valid: 3 tests are red" in refused.err
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, bead.get("failures")[0]["reason"]) == ("open", "invalid_output")
    assert bead.get("failures")[0]["error"] == "not valid: 3 tests are red"
    assert "validate: hub-a by coder" in git(hub, "log", "--format=%s")
    (one.path / "good").touch()
    one.here("close", "hub-a", "--reason", "by hand")
    done = tip_bead(hub, "hub-a")
    assert done is not None
    assert (done.status, done.get("output")["validated"]["kind"]) == ("closed", "test-pass")
    assert "every change kept the rules" in one.here("audit").out


def test_who_can_not_check_closes_nothing_and_spends_nothing(clone: Clones, hub: Path) -> None:
    one = clone("one")
    asking(one, "hub-a", validation="test-pass")
    one.here("claim", "hub-a", "--agent", "coder")
    refused = one.here("close", "hub-a", "--agent", "coder", code=5)
    assert "no command validators.tests is trusted in this clone" in refused.err
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.claim is not None, bead.get("failures")) == (True, None)
    one.here("close", "hub-a", "--agent", "coder", "--force", "--reason", "looked at it")
    assert tip_bead(hub, "hub-a").status == "closed"


def test_work_checks_what_its_command_made(clone: Clones, hub: Path) -> None:
    one = clone("one")
    asking(one, "hub-a", validation="regex", validation_schema="^[0-9]+$")
    script = 'if [ $BD_ATTEMPT = 1 ]; then D=soon; else D=42; fi; echo "{\\"output\\": \\"$D\\"}" > $BD_RESULT_FILE'
    one.here("work", "--agent", "coder", "--once", "--max-tasks", "1", "--", "sh", "-c", script)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.get("failures")[0]["error"].startswith("not valid: nothing in the output matches")
    one.here("update", "hub-a", "--status", "open")
    path = one.path / "beads" / "hub-a.yaml"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if not line.startswith("retry_at")))
    one.here("sync")
    one.here("work", "--agent", "coder", "--once", "--max-tasks", "1", "--", "sh", "-c", script)
    done = tip_bead(hub, "hub-a")
    assert done is not None
    assert (done.status, done.get("output")["data"], done.attempts) == ("closed", "42", 2)


def test_work_names_the_model_its_command_should_use(clone: Clones, hub: Path) -> None:
    one = clone("one")
    one.here("agent", "add", "coder", "--model", "big,small")
    one.here("create", "Try", "--id", "hub-a")
    path = one.path / "beads" / "hub-a.yaml"
    path.write_text(path.read_text() + "spec: {model_preferences: [huge, big], fallback_models: [small]}\n")
    one.here("sync")
    script = 'echo "{\\"output\\": \\"$BD_MODEL\\"}" > $BD_RESULT_FILE'
    one.here("work", "--agent", "coder", "--once", "--max-tasks", "1", "--", "sh", "-c", script)
    done = tip_bead(hub, "hub-a")
    assert done is not None
    assert done.get("output")["data"] == "big"


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "words",
    [
        ("update", "hub-a", "--status", "closed"),
        ("handoff", "hub-a", "--to", "new:Go on", "--note", "as agreed"),
        ("handoff", "hub-a", "--to", "new:Go on", "--artifact", "site=https://example.org/"),
    ],
)
def test_an_update_and_a_handoff_check_as_a_close_does(clone: Clones, hub: Path, words: tuple[str, ...]) -> None:
    one = clone("one")
    configure(one, validators={"tests": "test -e good || { echo 3 tests are red; exit 1; }"})
    asking(one, "hub-a", validation="test-pass")
    path = one.path / "beads" / "hub-a.yaml"
    path.write_text(f"{path.read_text()}retry: {{strategy: immediate}}\n")
    one.here("sync")
    one.here("claim", "hub-a", "--agent", "coder")
    refused = one.here(*words, "--agent", "coder", code=5)
    assert "hub-a is not valid: 3 tests are red" in refused.err
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert (bead.status, [one["reason"] for one in bead.get("failures")]) == ("open", ["invalid_output"])
    (one.path / "good").touch()
    one.here("claim", "hub-a", "--agent", "coder")
    told = one.here(*words, "--agent", "coder", "--json").json
    assert (told[0]["id"], told[0]["status"]) == ("hub-a", "closed")
    done = tip_bead(hub, "hub-a")
    assert done is not None
    assert (done.status, done.get("output")["validated"]["kind"]) == ("closed", "test-pass")
    assert "every change kept the rules" in one.here("audit").out


def test_what_is_handed_over_is_what_has_to_pass(clone: Clones, hub: Path) -> None:
    one = clone("one")
    configure(one, judges={"judge": "grep -q example.org && echo pass || echo fail it names no site"})
    asking(one, "hub-a", validation="judge")
    refused = one.here("handoff", "hub-a", "--to", "new:Go on", "--note", "x", code=5)
    assert "it names no site" in refused.err
    one.here("handoff", "hub-a", "--to", "new:Go on", "--artifact", "site=https://example.org/")
    assert tip_bead(hub, "hub-a").status == "closed"
