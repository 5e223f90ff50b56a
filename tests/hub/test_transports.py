"""Every transport a hub is shared through: a path, ssh and smart HTTP, each with its real server.

Where a server can't be had, the tests that need it are skipped with the reason, and a warning
at the end of the session says so; under CI (`CI=true`) they fail instead.
"""

from __future__ import annotations

import os
import shutil
import stat
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from tests.hub.servers import READ_ONLY_WORDS, CannotServe, HttpServer, SshServer
from tests.running import Clone, Result, result_of, run_here
from tests.truth import commits, git, log, tip, tip_bead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.slow  # CI runs them beside the quick ones

RACERS = ("ada", "bob", "cyd", "dan")


def give_up(transport: str, why: object) -> None:
    """A test can't be run: fail where that may not go unseen, else skip, loudly."""
    words = f"NOT TESTED over {transport}: {why}"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(words)
    warnings.warn(pytest.PytestWarning(words), stacklevel=2)
    pytest.skip(words)


class Way:
    """How clones reach the hub at `hub`: its URL and what the environment needs; `stop` and `start` the road."""

    def __init__(self, name: str, hub: Path, url: str, environment: Mapping[str, str], server: Any = None) -> None:
        self.name = name
        self.hub = hub
        self.url = url
        self.environment = dict(environment)
        self._server = server

    def stop(self) -> None:
        if self._server:
            self._server.stop()
        else:
            self.hub.rename(f"{self.hub}.away")

    def start(self) -> None:
        if self._server:
            self._server.start()
        else:
            self.hub.with_name(f"{self.hub.name}.away").rename(self.hub)

    def run(self, folder: Path, *args: str, **how: Any) -> Result:
        return run_here(*args, cwd=folder, env=self.environment, **how)

    def clone(self, folder: Path) -> Clone:
        self.run(folder.parent, "clone", self.url, str(folder))
        return Clone(folder)


@pytest.fixture(scope="session")
def ssh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    try:
        server = SshServer(tmp_path_factory.mktemp("sshd"))
    except CannotServe as why:
        give_up("ssh", why)
        raise
    yield server
    server.stop()


@pytest.fixture
def http_server(tmp_path: Path) -> Iterator[HttpServer]:
    try:
        server = HttpServer(tmp_path)
    except CannotServe as why:
        give_up("HTTP", why)
        raise
    yield server
    server.stop()


@pytest.fixture(params=["file", "ssh", "http"])
def way(request: pytest.FixtureRequest, hub: Path, monkeypatch: pytest.MonkeyPatch) -> Way:
    """A hub that is there, and a road to it."""
    found = _way(request, request.param, hub)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


def _way(request: pytest.FixtureRequest, name: str, hub: Path) -> Way:
    git(hub, "config", "http.receivepack", "true")
    if name == "ssh":
        ssh: SshServer = request.getfixturevalue("ssh_server")
        return Way(name, hub, ssh.url(hub), ssh.environment(), ssh)
    if name == "http":
        http: HttpServer = request.getfixturevalue("http_server")
        return Way(name, hub, http.url(hub), http.environment(), http)
    return Way(name, hub, str(hub), {})


def hook(hub: Path, name: str, script: str) -> None:
    path = hub / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


# --- what always has to work --------------------------------------------------------------


def test_init_makes_a_hub_on_an_empty_remote_and_clone_joins_it(
    request: pytest.FixtureRequest, remote: Path, tmp_path: Path
) -> None:
    for name in ("file", "ssh", "http"):
        shutil.rmtree(remote)
        git(tmp_path, "init", "--quiet", "--bare", str(remote))
        way = _way(request, name, remote)
        way.run(tmp_path, "init", f"{name}-alice", "--prefix", "hub", "--remote", way.url)
        made = tip(remote)
        again = way.run(tmp_path, "init", f"{name}-alice", "--remote", way.url, "--json").json
        assert (again["created"], again["commit"]) == (False, made)
        bead_id = way.run(tmp_path / f"{name}-alice", "q", f"Over {name}").out.strip()
        bob = way.clone(tmp_path / f"{name}-bob")
        shown = way.run(bob.path, "show", bead_id, "--json").json
        assert shown[0]["title"] == f"Over {name}"
        assert tip_bead(remote, bead_id) is not None


def test_of_four_clones_one_gets_the_bead(way: Way, tmp_path: Path) -> None:
    first = way.clone(tmp_path / RACERS[0])
    bead_id = first.here("q", "The one").out.strip()
    clones = [first]
    for name in RACERS[1:]:
        shutil.copytree(first.path, tmp_path / name)
        clones.append(Clone(tmp_path / name))
    racing = [clone.start("claim", bead_id, "--agent", name, "--json") for clone, name in zip(clones, RACERS, strict=True)]
    results = [result_of(process) for process in racing]
    assert sorted(result.code for result in results) == [0, 5, 5, 5], "\n".join(map(str, results))
    winner = next(result for result in results if result.code == 0).json[0]
    bead = tip_bead(way.hub, bead_id)
    assert bead is not None
    assert bead.claim is not None
    assert (bead.claim.token, bead.attempts) == (winner["claim"]["token"], 1)
    assert sum(subject.startswith("claim:") for subject in log(way.hub)) == 1
    for loser in (result for result in results if result.code == 5):
        assert loser.json["code"] == "already_claimed"


def test_close_and_the_next_claim_are_one_commit(way: Way, tmp_path: Path) -> None:
    alice = way.clone(tmp_path / "alice")
    one, two = (alice.here("q", title, "-p", priority).out.strip() for title, priority in (("One", "0"), ("Two", "1")))
    alice.here("claim", "--next", "--agent", "alice")
    before = len(commits(way.hub))
    answer = alice.here("close", one, "--reason", "done", "--next", "--agent", "alice", "--json").json
    assert [(bead["id"], bead["status"], bead["published"]) for bead in answer] == [
        (one, "closed", True),
        (two, "in_progress", True),
    ]
    assert len(commits(way.hub)) == before + 1
    assert tip_bead(way.hub, one).status == "closed"
    assert tip_bead(way.hub, two).claim.agent == "alice"


def test_away_and_back(way: Way, tmp_path: Path) -> None:
    """Without the hub: reads answer, new beads are kept, claims are not made up; then everything is published."""
    alice = way.clone(tmp_path / "alice")
    held, free = alice.here("q", "Held").out.strip(), alice.here("q", "Free").out.strip()
    alice.here("claim", held, "--agent", "alice")
    before = tip(way.hub)
    way.stop()
    try:
        kept = alice.here("create", "Made on the train", "--json")
        assert kept.json["published"] is False
        assert "bd sync" in kept.err
        claim = alice.here("claim", free, "--agent", "alice", "--json", code=6)
        assert (claim.json["code"], claim.json["written"]) == ("remote_unreachable", "no")
        close = alice.here("close", held, "--reason", "done", "--agent", "alice", "--json", code=6)
        assert close.json["written"] == "local"
        assert {bead["id"] for bead in alice.here("ready", "--json").json} == {free, kept.json["id"]}
        assert "can't be reached" in alice.here("ready", "--agent", "alice").err
        alice.here("ready", "--fetch", code=6)
        assert alice.here("sync", code=6).out == ""
    finally:
        way.start()
    assert tip(way.hub) == before
    sync = alice.here("sync", "--json").json
    assert (sync["published"], sync["replayed"], sync["refused"]) == (True, 2, [])
    assert tip_bead(way.hub, kept.json["id"]).title == "Made on the train"
    assert tip_bead(way.hub, held).status == "closed"
    assert tip_bead(way.hub, free).claim is None


def test_a_hook_that_declines_is_a_refusal_with_its_words(way: Way, tmp_path: Path) -> None:
    alice = way.clone(tmp_path / "alice")
    bead_id = alice.here("q", "There").out.strip()
    before = tip(way.hub)
    hook(way.hub, "pre-receive", 'echo "no pushes on Fridays" >&2; exit 1')
    for args in (("create", "Not there"), ("claim", bead_id, "--agent", "alice")):
        refused = alice.here(*args, "--json", code=5)
        assert refused.json["code"] == "server_refused"
        assert "no pushes on Fridays" in refused.err
    assert tip(way.hub) == before
    assert [bead["id"] for bead in alice.here("list", "--json").json] == [bead_id]
    assert git(alice.path, "status", "--porcelain") == ""
    (way.hub / "hooks" / "pre-receive").unlink()
    alice.here("claim", bead_id, "--agent", "alice")
    assert alice.here("sync", "--json").json["replayed"] == 0


# --- what a transport refuses in its own way ----------------------------------------------


def _is_refused_for_good(alice: Clone, hub: Path, bead_id: str, words: str) -> None:
    before = tip(hub)
    for args in (("create", "Not there"), ("claim", bead_id, "--agent", "alice")):
        refused = alice.here(*args, "--json", code=5)
        assert refused.json["code"] == "server_refused"
        assert words in refused.json["error"]
        assert words in refused.err
    assert tip(hub) == before
    # What was written waits here until somebody has changed the server's mind.
    assert {bead["title"] for bead in alice.here("list", "--json", "--fetch").json} == {"There", "Not there"}
    [kept] = alice.here("sync", "--kept", "--json").json
    assert kept["error"].startswith("create: ")


def test_a_folder_that_may_not_be_written(request: pytest.FixtureRequest, hub: Path, tmp_path: Path) -> None:
    way = _way(request, "file", hub)
    alice = way.clone(tmp_path / "alice")
    bead_id = alice.here("q", "There").out.strip()
    hook(hub, "update", 'echo "permission denied: this hub is read only" >&2; exit 1')
    _is_refused_for_good(alice, hub, bead_id, "read only")


def test_a_key_that_may_only_read(hub: Path, tmp_path: Path, ssh_server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way("ssh", hub, ssh_server.url(hub), ssh_server.environment())
    alice = way.clone(tmp_path / "alice")
    bead_id = way.run(alice.path, "q", "There").out.strip()
    for name, value in ssh_server.environment("reader").items():
        monkeypatch.setenv(name, value)
    _is_refused_for_good(alice, hub, bead_id, READ_ONLY_WORDS)


def test_http_without_push(hub: Path, tmp_path: Path, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way("http", hub, http_server.url(hub), http_server.environment())
    for name, value in way.environment.items():
        monkeypatch.setenv(name, value)
    git(hub, "config", "http.receivepack", "true")
    alice = way.clone(tmp_path / "alice")
    bead_id = alice.here("q", "There").out.strip()
    git(hub, "config", "http.receivepack", "false")
    _is_refused_for_good(alice, hub, bead_id, "403")


# --- nobody is asked anything -------------------------------------------------------------


@pytest.mark.parametrize("why", ["key", "host"])
def test_ssh_never_asks(hub: Path, tmp_path: Path, ssh_server: SshServer, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """A key nobody knows would ask for a password, a host nobody knows whether to go on."""
    way = Way("ssh", hub, ssh_server.url(hub), ssh_server.environment())
    alice = way.clone(tmp_path / "alice")
    bead_id = way.run(alice.path, "q", "There").out.strip()
    shut = ssh_server.environment("stranger") if why == "key" else ssh_server.environment(known=False)
    for name, value in shut.items():
        monkeypatch.setenv(name, value)
    refused = alice.here("claim", bead_id, "--agent", "alice", "--json", code=5)
    assert (refused.json["code"], refused.json["scope"], "written" in refused.json) == ("server_refused", "hub", False)
    assert ("Permission denied" if why == "key" else "Host key verification failed") in refused.err
    assert alice.here("create", "Kept", "--json", code=5).json["written"] == "local"
    run_here("clone", way.url, str(tmp_path / "bob"), cwd=tmp_path, code=5)


@pytest.fixture
def locked(hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpServer]:
    """Smart HTTP where everybody has to say a password."""
    git(hub, "config", "http.receivepack", "true")
    try:
        server = HttpServer(tmp_path, phrase="open sesame")
    except CannotServe as why:
        give_up("HTTP with a password", why)
        raise
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    yield server
    server.stop()


def test_a_password_is_never_asked_for(locked: HttpServer, hub: Path, tmp_path: Path) -> None:
    refused = run_here("clone", locked.url(hub), "bob", "--json", cwd=tmp_path, code=5)
    assert (refused.json["code"], refused.json["scope"]) == ("server_refused", "hub")
    assert "Authentication failed" in refused.err
    assert any('" 401 ' in line for line in locked.requests)


def test_a_password_that_stopped_working(locked: HttpServer, hub: Path, tmp_path: Path) -> None:
    login = locked.url(hub, login="bd:open%20sesame")
    run_here("clone", login, "alice", cwd=tmp_path)
    alice = Clone(tmp_path / "alice")
    bead_id = alice.here("q", "There").out.strip()
    locked.phrase = "changed"
    refused = alice.here("claim", bead_id, "--agent", "alice", "--json", code=5)
    assert refused.json["scope"] == "hub"
    assert "sesame" not in refused.out + refused.err
    assert alice.here("create", "Kept", "--json", code=5).json["written"] == "local"
    assert "Kept" in [bead["title"] for bead in alice.here("list", "--json").json]
    locked.phrase = "open sesame"
    assert alice.here("sync", "--json").json["replayed"] == 1


def test_the_users_own_credential_helper_is_asked(locked: HttpServer, hub: Path, tmp_path: Path) -> None:
    git(tmp_path, "config", "--global", "credential.helper", "!f() { echo username=bd; echo 'password=open sesame'; }; f")
    run_here("clone", locked.url(hub), "alice", cwd=tmp_path)
    bead_id = Clone(tmp_path / "alice").here("q", "With a helper").out.strip()
    assert tip_bead(hub, bead_id) is not None
