"""A push that was not simply accepted: what happened is found out by looking, and each outcome has its own answer."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from bd.core import times
from tests.hub.hooks import SPOILT_REPORTS, git_wrapper, hook, spoil_reports
from tests.race.history import operations, subjects
from tests.race.seeds import seed
from tests.running import BD, run_here
from tests.runtime import RUNTIME
from tests.truth import git, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.race.interleaving import Interleaving
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(45)

DECLINE_ALL = 'echo "the branch is frozen until Monday"; exit 1'
# Declines a push in which some new commit's subject names a certain bead.
DECLINE_BEAD = """
while read old new ref; do
  if git log --format=%s $old..$new | grep -q hub-bad; then echo "hub-bad is not wanted here"; exit 1; fi
done
"""


# --- rejected once ------------------------------------------------------------------------

REJECTIONS = {
    "cannot lock ref": "! [remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)",
    "fetch first": "! [rejected] (fetch first)",
    "non-fast-forward": "! [rejected] (non-fast-forward)",
    "failed to update ref": "! [remote rejected] (failed to update ref)",
}


@pytest.mark.parametrize("words", REJECTIONS)
def test_a_push_rejected_once_is_tried_again(words: str, clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    flag, _, summary = REJECTIONS[words].partition(" ")
    script = (
        f'if [ "$verb" = push ] && ! [ -e {tmp_path}/once ]; then touch {tmp_path}/once; '
        f"printf '{flag}\\trefs/x:refs/heads/main\\t%s\\n' \"{summary}\"; echo 'error: failed to push some refs' >&2; exit 1; fi"
    )
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", env=git_wrapper(tmp_path / "bin", script))
    assert (tmp_path / "once").exists()
    assert result.json[0]["status"] == "in_progress"
    assert len(subjects(hub, "claim")) == 1
    assert git(hub, "log", "-1", "--format=%(trailers:key=Bd-Tries,valueonly)", "main") == "2"


def test_a_branch_that_the_server_could_not_lock_once(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """The server's own words, of a real lock that is gone at the second try."""
    alice = clone("alice")
    seed(alice, "hub-a")
    lock = hub / "refs" / "heads" / "main.lock"
    lock.touch()
    # The first push finds the lock; whoever held it is done when bd looks again.
    script = f'if [ "$verb" = fetch ] && [ -e {tmp_path}/pushed ]; then rm -f {lock}; fi; if [ "$verb" = push ]; then touch {tmp_path}/pushed; fi'
    alice.bd("claim", "hub-a", "--agent", "coder", env=git_wrapper(tmp_path / "bin", script))
    assert not lock.exists()
    assert len(subjects(hub, "claim")) == 1


def test_a_lock_left_in_the_hub_is_named_with_its_path(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    before = tip(hub)
    lock = hub / "refs" / "heads" / "main.lock"
    lock.touch()
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", code=6)
    assert result.json["written"] == "no"
    assert f"{hub}/./refs/heads/main.lock" in result.json["error"]  # as git writes it
    assert lock.exists()
    assert tip(hub) == before
    lock.unlink()
    alice.bd("claim", "hub-a", "--agent", "coder")


def test_a_push_that_the_server_took_without_saying_so_is_a_success(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """The connection dies after the server has moved the branch."""
    alice = clone("alice")
    seed(alice, "hub-a")
    script = (
        f'if [ "$verb" = push ] && ! [ -e {tmp_path}/once ]; then touch {tmp_path}/once; '
        '"$real" "$@" >/dev/null 2>&1; echo "fatal: the remote end hung up unexpectedly" >&2; exit 128; fi'
    )
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", env=git_wrapper(tmp_path / "bin", script))
    assert len(subjects(hub, "claim")) == 1
    held = tip_bead(hub, "hub-a")
    assert held is not None
    assert held.claim is not None
    assert result.json[0]["claim"]["token"] == held.claim.token


def test_a_push_of_which_nothing_is_known_leaves_an_unknown_write(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """The connection dies within the push and stays dead; the next command finds out that it had landed."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    script = (
        f'if [ -e {tmp_path}/dead ]; then echo "fatal: unable to connect" >&2; exit 128; fi; '
        f'if [ "$verb" = push ]; then touch {tmp_path}/dead; "$real" "$@" >/dev/null 2>&1; exit 128; fi'
    )
    result = alice.bd("claim", "--next", "--agent", "coder", "--json", code=6, env=git_wrapper(tmp_path / "bin", script))
    assert result.json["written"] == "unknown"
    won = tip_bead(hub, "hub-a")
    assert won is not None
    assert won.claim is not None
    again = alice.bd("claim", "--next", "--agent", "coder", "--json")
    assert again.json[0]["id"] == "hub-a"
    assert again.json[0]["claim"]["token"] == won.claim.token
    assert len(subjects(hub, "claim")) == 1


@pytest.mark.parametrize("report", SPOILT_REPORTS)
def test_a_report_that_does_not_name_the_branch_leaves_an_unknown_write(
    report: str, clone: Clones, hub: Path, tmp_path: Path
) -> None:
    """Git prints a rejection all the same (`[remote failure]`), or an error of its own. The server has said neither."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    pushed = spoil_reports(alice, tmp_path, SPOILT_REPORTS[report])
    told = alice.here("claim", "--next", "--agent", "coder", "--json", code=6).json
    assert (told["code"], told["written"]) == ("remote_unreachable", "unknown")
    pushed.unlink()
    git(alice.path, "config", "--unset", "remote.origin.receivepack")
    won = tip_bead(hub, "hub-a")
    assert won is not None
    assert won.claim is not None
    again = alice.here("claim", "--next", "--agent", "coder", "--json").json
    assert again[0]["claim"]["token"] == won.claim.token
    assert len(subjects(hub, "claim")) == 1


def test_a_late_first_push_and_a_second_try_are_one_write(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first push gets no answer and lands while the second one is on its way: the note stands there once."""
    alice = clone("alice")
    seed(alice, "hub-a")
    script = (
        f'if [ "$verb" = push ] && ! [ -e {tmp_path}/once ]; then touch {tmp_path}/once; printf "%s\\n" "$@" > {tmp_path}/args; '
        "exit 128; fi"
    )
    monkeypatch.setenv("PATH", git_wrapper(tmp_path / "bin", script)["PATH"])

    def deliver() -> None:
        """What was on its way arrives."""
        arguments = (tmp_path / "args").read_text().splitlines()
        git(alice.path, *arguments)

    steps.at("push", lambda: None, deliver)
    alice.here("note", "hub-a", "seen once")
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.get("notes") == "seen once"
    assert len(subjects(hub, "note")) == 1


def test_the_claim_that_landed_is_the_one_that_is_told(
    clone: Clones, hub: Path, steps: Interleaving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first push, without an answer, lands after all, while the second try has taken a bead that became due meanwhile."""
    alice = clone("alice")
    seed(alice, "hub-b")
    seed(alice, "hub-a", priority="0", status="deferred", defer_until="2026-02-21T00:00:00Z")
    script = (
        f'if [ "$verb" = push ] && ! [ -e {tmp_path}/once ]; then touch {tmp_path}/once; printf "%s\\n" "$@" > {tmp_path}/args; '
        "exit 128; fi"
    )
    monkeypatch.setenv("PATH", git_wrapper(tmp_path / "bin", script)["PATH"])
    moments = iter([times.instant_of("2026-02-20T12:00:00Z")] * 3)
    late = times.instant_of("2026-02-22T12:00:00Z")
    monkeypatch.setattr(RUNTIME, "now", lambda: next(moments, late))

    def deliver() -> None:
        git(alice.path, *(tmp_path / "args").read_text().splitlines())

    steps.at("push", lambda: None, deliver)
    told = alice.here("claim", "--next", "--agent", "coder", "--json").json[0]
    held = [bead for bead in (tip_bead(hub, "hub-a"), tip_bead(hub, "hub-b")) if bead is not None and bead.claim is not None]
    assert [bead.id for bead in held] == [told["id"]]
    assert held[0].claim is not None
    assert held[0].claim.token == told["claim"]["token"]
    listed = {bead["id"]: bead["status"] for bead in alice.here("list", "--all", "--json").json}
    assert [bead_id for bead_id, status in listed.items() if status == "in_progress"] == [told["id"]]


def test_who_is_overtaken_for_too_long_gives_up_and_wrote_nothing(
    clone: Clones, hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(hub, "config", "transfer.hideRefs", "refs/bd")  # nobody can be asked to carry it out
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    monkeypatch.setattr(RUNTIME, "sleep", lambda seconds: None)
    now_s = [0.0]
    monkeypatch.setattr(RUNTIME, "monotonic", lambda: now_s[0])

    def overtake() -> None:
        bob.bd("comment", "hub-a", "faster")
        now_s[0] += 40

    steps.at("push", overtake, overtake)
    result = alice.here("claim", "hub-a", "--agent", "coder", "--json", env={"BD_RETRY_TIME": "60s"}, code=6)
    assert (result.json["code"], result.json["written"]) == ("contention", "no")
    assert subjects(hub, "claim") == []
    assert alice.here("show", "hub-a", "--json").json[0]["status"] == "open"


def test_the_pauses_between_tries_are_random_grow_and_stay_short(
    clone: Clones, hub: Path, steps: Interleaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(hub, "config", "transfer.hideRefs", "refs/bd")  # nobody can be asked to carry it out
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    pauses: list[float] = []
    monkeypatch.setattr(RUNTIME, "sleep", pauses.append)
    steps.at("push", *(lambda number=number: bob.here("comment", "hub-a", f"{number}") for number in range(8)))
    alice.here("claim", "hub-a", "--agent", "coder", env={"BD_FRESH_TIME": "0"})
    assert len(set(pauses)) == 8
    assert all(0 <= pause <= min(2.0, 0.05 * 2**number) for number, pause in enumerate(pauses, start=1))


@pytest.mark.slow
@pytest.mark.parametrize("lands", [True, False])
def test_a_push_without_an_answer_is_ended_and_found_out_about(lands: bool, clone: Clones, hub: Path, tmp_path: Path) -> None:
    """The line hangs: the push is given up after git's time-out, and looked for."""
    alice = clone("alice")
    seed(alice, "hub-a")
    push = '"$real" "$@" > /dev/null 2>&1; ' if lands else ""
    script = f'if [ "$verb" = push ] && ! [ -e {tmp_path}/once ]; then touch {tmp_path}/once; {push}exec sleep 600; fi'
    env = {**git_wrapper(tmp_path / "bin", script), "BD_GIT_TIMEOUT": "5s"}
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", env=env)
    assert result.json[0]["attempts"] == 1
    assert len(subjects(hub, "claim")) == 1
    assert git(hub, "log", "-1", "--format=%(trailers:key=Bd-Tries,valueonly)", "main") == ("1" if lands else "2")


# --- refused for good ---------------------------------------------------------------------


def test_a_declined_claim_says_the_servers_words_and_leaves_no_trace(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    before = tip(hub)
    declining = hook(hub, "pre-receive", f"echo x >> {tmp_path}/tries; {DECLINE_ALL}")
    result = alice.bd("claim", "hub-a", "--agent", "coder", "--json", code=5)
    assert result.json["code"] == "server_refused"
    assert "the branch is frozen until Monday" in result.json["error"]
    assert "faster" not in result.err
    assert len((tmp_path / "tries").read_text().split()) <= 2
    assert tip(hub) == before
    assert set(git(alice.path, "for-each-ref", "--format=%(objectname)", "refs/heads", "refs/bd/").split()) == {before}
    assert git(alice.path, "status", "--porcelain") == ""
    assert alice.bd("show", "hub-a", "--json").json[0]["status"] == "open"
    assert alice.bd("doctor").code == 0
    declining.unlink()
    alice.bd("claim", "hub-a", "--agent", "coder")
    assert len(subjects(hub, "claim")) == 1


@pytest.mark.parametrize("setting", ["receive.denyCurrentBranch", "receive.denyUpdates"])
def test_a_hub_that_is_somebodys_checkout_refuses_for_good(setting: str, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    if setting == "receive.denyCurrentBranch":
        git(hub, "config", "core.bare", "false")
        git(hub, "config", "receive.denyCurrentBranch", "refuse")
    else:
        hook(hub, "update", 'echo "GH006: Protected branch update failed"; exit 1')
    before = tip(hub)
    result = alice.bd("create", "Something", "--json", code=5)
    assert result.json["code"] == "server_refused"
    assert tip(hub) == before


@pytest.mark.parametrize("by", ["the hub", "the user's own settings"])
def test_a_hook_that_ends_the_transaction_is_a_refusal_in_its_words(by: str, clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    before = tip(hub)
    script = hook(hub, "reference-transaction", 'echo "refs are frozen" >&2; exit 1')
    if by != "the hub":  # which the server of a hub in a folder reads, too
        git(tmp_path, "config", "--global", "core.hooksPath", str(hub / "hooks"))
    result = alice.bd("create", "Something", "-d", "my long text", "--json", code=5)
    assert (result.json["code"], result.json["written"]) == ("server_refused", "local")
    assert "refs are frozen" in result.json["error"]
    assert tip(hub) == before
    [kept] = alice.bd("sync", "--kept", "--json").json
    assert "my long text" in git(alice.path, "show", kept["commit"])
    assert [bead["title"] for bead in alice.bd("list", "--json").json] == []
    script.unlink()
    alice.bd("create", "Something else")


def test_a_hub_with_other_hashes_is_refused_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other.git"
    git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", str(other))
    result = run_here("init", "made/hub", "--remote", str(other), "--json", cwd=tmp_path, code=5)
    assert (result.json["code"], result.json["scope"], "written" in result.json) == ("server_refused", "hub", False)
    assert "hash algorithm" in result.json["error"]
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("where", ["new/folder", "empty", "full"])
def test_an_init_that_fails_leaves_things_as_they_were(where: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    run_here("init", where, "--remote", str(tmp_path / "nowhere.git"), cwd=tmp_path, code=6)
    assert sorted(tmp_path.rglob("*")) == before


def make_unreachable(writer: Clone) -> Callable[[], str]:
    """Point the clone's remote at nothing; call what is returned to get it back."""
    url = git(writer.path, "remote", "get-url", "origin")
    git(writer.path, "remote", "set-url", "origin", str(writer.path / "nowhere.git"))
    return lambda: git(writer.path, "remote", "set-url", "origin", url)


def test_of_several_writes_only_the_declined_one_is_set_aside(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good")
    back = make_unreachable(alice)
    alice.bd("create", "Not wanted", "--id", "hub-bad")
    alice.bd("comment", "hub-good", "first")
    alice.bd("comment", "hub-good", "second")
    back()
    hook(hub, "pre-receive", DECLINE_BEAD)
    result = alice.bd("sync", "--json", code=5)
    assert [item["code"] for item in result.json["refused"]] == ["server_refused"]
    assert "hub-bad is not wanted here" in result.json["refused"][0]["error"]
    bead = tip_bead(hub, "hub-good")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["first", "second"]
    assert "beads/hub-bad.yaml" not in tip_paths(hub)
    [kept] = alice.bd("sync", "--kept", "--json").json
    assert "beads/hub-bad.yaml" in git(alice.path, "show", "--name-only", "--format=", kept["commit"])
    assert git(alice.path, "rev-parse", "refs/bd/view") == tip(hub)


def test_a_declined_write_does_not_keep_the_next_one_back(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good")
    back = make_unreachable(alice)
    alice.bd("create", "Not wanted", "--id", "hub-bad")
    back()
    hook(hub, "pre-receive", DECLINE_BEAD)
    alice.bd("claim", "hub-good", "--agent", "coder")
    assert subjects(hub, "claim") == ["claim: hub-good by coder"]
    assert len(alice.bd("sync", "--kept", "--json").json) == 1


def test_a_declined_write_does_not_take_the_earlier_ones_along(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good")
    back = make_unreachable(alice)
    alice.bd("comment", "hub-good", "first")
    back()
    hook(hub, "pre-receive", DECLINE_BEAD)
    result = alice.bd("create", "Not wanted", "--id", "hub-bad", "--json", code=5)
    assert "hub-bad is not wanted here" in result.json["error"]
    assert result.json["written"] == "local"
    assert subjects(hub, "comment") == ["comment: hub-good by Test Person"]
    [kept] = alice.bd("sync", "--kept", "--json").json
    assert kept["uid"] == result.json["kept"]
    assert "hub-bad is not wanted here" in kept["error"]
    assert "beads/hub-bad.yaml" in git(alice.path, "show", "--name-only", "--format=", kept["commit"])


def test_where_everything_is_declined_what_waits_goes_on_waiting(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good")
    back = make_unreachable(alice)
    alice.bd("comment", "hub-good", "first")
    alice.bd("comment", "hub-good", "second")
    back()
    before = tip(hub)
    declining = hook(hub, "pre-receive", DECLINE_ALL)
    result = alice.bd("sync", "--json", code=5)
    assert "the branch is frozen until Monday" in result.json["error"]
    assert tip(hub) == before
    assert alice.bd("sync", "--kept", "--json").json == []
    declining.unlink()
    assert alice.bd("sync", "--json").json["replayed"] == 2
    bead = tip_bead(hub, "hub-good")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["first", "second"]


def test_declined_commits_made_by_hand_are_set_aside_one_by_one(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-good", "hub-bad")
    for bead_id in ("hub-bad", "hub-good"):
        file = alice.path / "beads" / f"{bead_id}.yaml"
        file.write_text(file.read_text() + "notes: by hand\n")
        git(alice.path, "commit", "--quiet", "-am", f"work on {bead_id}")
    hook(hub, "pre-receive", DECLINE_BEAD)
    result = alice.bd("sync", "--json", code=5)
    assert [item["code"] for item in result.json["refused"]] == ["server_refused"]
    good, bad = tip_bead(hub, "hub-good"), tip_bead(hub, "hub-bad")
    assert good is not None
    assert bad is not None
    assert good.get("notes") == "by hand"
    assert bad.get("notes") is None
    assert len(operations(hub)) == len(set(operations(hub)))


# --- the remote can't be talked to --------------------------------------------------------


class _Refuses(http.server.BaseHTTPRequestHandler):
    """The first part of the path is the status that everybody gets."""

    def do_GET(self) -> None:
        status = int(self.path.split("/")[1])
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="the hub"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def refusing() -> Iterator[Callable[[int], str]]:
    """A server on loopback: the URL at which it answers everything with a status."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refuses)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield lambda status: f"http://127.0.0.1:{server.server_port}/{status}/hub.git"
    server.shutdown()
    server.server_close()


@pytest.fixture
def locked_url(refusing: Callable[[int], str]) -> str:
    """A server on loopback that wants a password."""
    return refusing(401)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_hub_that_refuses_whatever_it_is_asked(status: int, clone: Clones, hub: Path, refusing: Callable[[int], str]) -> None:
    """Who looks for work ends with it; who writes is told, and keeps the text; who reads is answered from the clone."""
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    url = git(alice.path, "remote", "get-url", "origin")
    git(alice.path, "config", "protocol.http.allow", "always")
    git(alice.path, "remote", "set-url", "origin", refusing(status))
    for args in (("claim", "--next"), ("claim", "hub-a"), ("poll",), ("wait",), ("work", "--", "true")):
        told = alice.here("--agent", "coder", "--json", *args, code=5)
        assert (told.json["code"], told.json["scope"]) == ("server_refused", "hub"), args
    for words in ("create Words", "comment hub-a words", "update hub-b -d text"):
        told = alice.here(*words.split(), "--json", code=5)
        assert (told.json["scope"], told.json["written"]) == ("hub", "local"), words
    assert "refuses this clone" in alice.here("ready", "--agent", "coder").err
    assert len(alice.here("list", "--json").json) == 3
    alice.here("list", "--fetch", code=5)
    kept = alice.here("sync", "--kept", "--json").json
    assert [item["error"].partition(" by ")[0].partition(":")[0] for item in kept] == ["create", "comment", "update"]
    assert alice.here("sync", "--kept").out.count("(waits; `bd sync` publishes it)") == 3
    refused = alice.here("sync", "--dismiss", kept[0]["uid"], "--json", code=5).json
    assert "waits to be published" in refused["error"]
    told = alice.here("attention", "--json", "--no-fetch", env={"BD_TEST_CLOCK_OFFSET_S": "7300"}).json
    assert (len(told["refused"]), told["unpublished"]) == (3, [])
    git(alice.path, "remote", "set-url", "origin", url)
    assert alice.here("sync", "--json").json["replayed"] == 3
    assert alice.here("sync", "--kept", "--json").json == []


def test_what_a_hub_refuses_to_everybody_is_published_once_that_is_repaired(clone: Clones, hub: Path) -> None:
    """Reading works, and no push does: the right is missing, not the write at fault."""
    alice = clone("alice")
    seed(alice, "hub-a")
    script = hook(hub, "pre-receive", 'echo "remote: You do not have permission to push to this repository" >&2; exit 1')
    for words in ("create Words", "comment hub-a words"):
        told = alice.here(*words.split(), "--json", code=5)
        assert (told.json["scope"], told.json["written"], "kept" in told.json) == ("hub", "local", False), words
    assert alice.here("claim", "--next", "--agent", "coder", "--json", code=5).json["scope"] == "hub"
    script.unlink()
    assert alice.here("sync", "--json").json["replayed"] == 2
    assert alice.here("sync", "--kept", "--json").json == []
    assert "Words" in [bead["title"] for bead in alice.here("list", "--json").json]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_says_when_to_come_back(status: int, clone: Clones, refusing: Callable[[int], str]) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    git(alice.path, "config", "protocol.http.allow", "always")
    git(alice.path, "remote", "set-url", "origin", refusing(status))
    told = alice.here("claim", "--next", "--agent", "coder", "--json", code=6)
    assert (told.json["code"], told.json["written"], told.json["retry_after_s"]) == ("remote_unreachable", "no", 60)
    assert f"error: {status}" in told.json["error"]
    assert alice.here("create", "Kept", "--json").json["published"] is False


def alone(folder: Path, *args: str) -> tuple[int, str]:
    """Run bd as the leader of its own process group, stdin closed; its exit code and stderr. Nothing may be left of it."""
    process = subprocess.Popen(
        [*BD, *args],
        cwd=folder,
        env={**os.environ, "EDITOR": "vim"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _, err = process.communicate()
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    # Who is about to end has no command line any more, and stands in brackets.
    left = [row[-1] for row in rows if row[0] == str(process.pid) and not row[1].startswith("Z") and row[-1][0] != "["]
    assert not left
    return process.returncode, err.decode()


def test_a_remote_that_wants_a_password_is_never_asked_for_one(clone: Clones, hub: Path, locked_url: str) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    before = git(alice.path, "rev-parse", "refs/heads/main")
    git(alice.path, "config", "protocol.http.allow", "always")
    git(alice.path, "remote", "set-url", "origin", locked_url)
    code, err = alone(alice.path, "claim", "hub-a", "--agent", "coder")
    assert code == 5
    assert "refuses this clone" in err
    assert git(alice.path, "rev-parse", "refs/heads/main") == before
    code, err = alone(alice.path, "create", "Something new")
    assert code == 5
    assert "`bd sync` publishes it" in err
    assert git(alice.path, "rev-parse", "refs/heads/main") == before
    assert "not published" in alice.bd("doctor", "--no-fetch").out


def test_no_process_is_left_when_the_remote_is_gone(clone: Clones) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    make_unreachable(alice)
    code, err = alone(alice.path, "claim", "hub-a", "--agent", "coder")
    assert code == 6
    assert "can't be reached" in err


def test_no_process_is_left_after_a_claim(clone: Clones) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    assert alone(alice.path, "claim", "hub-a", "--agent", "coder")[0] == 0
