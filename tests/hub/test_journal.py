"""What a clone has begun and not settled: entries of the living are left alone, entries of the dead are settled once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bd.store.local.journal import Journal
from bd.store.local.lock import CloneLock
from tests.hub.hooks import git_wrapper
from tests.race.history import subjects
from tests.race.seeds import seed
from tests.runtime import RUNTIME
from tests.truth import git, tip, tip_bead, tip_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bd.store.local.journal import Entry
    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(54)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def test_a_new_entry_is_on_disk_with_its_first_write(folder: Path) -> None:
    journal = Journal(str(folder))
    entry = journal.begin("01UID", verb="claim", agent="coder")
    assert journal.is_empty()
    entry.write(state="pushing", base="b", commits=["c"], tokens=["t"])
    stored = json.loads((folder / "01UID.json").read_text().splitlines()[-1])
    assert stored == {
        "v": 1, "uid": "01UID", "verb": "claim", "agent": "coder", "state": "pushing", "base": "b", "commits": ["c"], "tokens": ["t"]
    }  # fmt: skip
    assert not journal.is_empty()


CUT_OFF = """
import resource, signal, sys
from bd.store.local.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
entry = Journal(sys.argv[1]).begin("01UID")
entry.write(state="asked", gone=False)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    entry.write(state="pushing", commits=["c" * 40])
except OSError:
    print("told")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
if sys.argv[3] == "again":
    entry.write(state="won")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of file sizes there")
@pytest.mark.parametrize("limit", [0, 20, 60, 90])
@pytest.mark.parametrize(("then", "state"), [("no more", "asked"), ("again", "won")])
def test_a_step_that_a_full_disk_cuts_off_leaves_the_one_before_it(limit: int, then: str, state: str, folder: Path) -> None:
    """The system takes a part of it first, without an error, and what was there already can always be written over."""
    ended = subprocess.run([sys.executable, "-c", CUT_OFF, folder, str(limit), then], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("told\n", "")
    assert [dead.data["state"] for dead in Journal(str(folder)).of_the_dead()] == [state]


def test_a_shorter_write_leaves_nothing_of_a_longer_one(folder: Path) -> None:
    entry = Journal(str(folder)).begin("01UID")
    entry.write(state="pushing", commits=["c" * 40] * 20)
    entry.write(state="won", commits=[])
    assert json.loads((folder / "01UID.json").read_text().splitlines()[-1]) == {
        "v": 1,
        "uid": "01UID",
        "state": "won",
        "commits": [],
    }


def test_entries_of_the_living_are_not_looked_at(folder: Path) -> None:
    journal = Journal(str(folder))
    entry = journal.begin("01UID")
    entry.write(state="pushing")
    assert list(journal.of_the_dead()) == []
    entry.close()
    assert [dead.uid for dead in journal.of_the_dead()] == ["01UID"]


def test_entries_of_a_process_that_lives_are_not_looked_at(folder: Path) -> None:
    script = (
        "import sys\nfrom bd.store.local.journal import Journal\n"
        "entry = Journal(sys.argv[1]).begin('01UID')\nentry.write(state='pushing')\nprint('written', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    journal = Journal(str(folder))
    assert list(journal.of_the_dead()) == []
    process.kill()
    process.communicate()
    assert [dead.data["state"] for dead in journal.of_the_dead()] == ["pushing"]


def test_the_dead_come_in_the_order_in_which_they_began(folder: Path) -> None:
    journal = Journal(str(folder))
    for uid in ("01B", "01A", "01C"):
        entry = journal.begin(uid)
        entry.write(state="pushing")
        entry.close()
    assert [dead.uid for dead in journal.of_the_dead()] == ["01A", "01B", "01C"]


def test_what_a_crash_of_the_machine_left_behind_the_last_step_is_passed_over(folder: Path) -> None:
    folder.mkdir()
    (folder / "01UID.json").write_bytes(b'{"uid": "01UID", "state": "asked"}\n\0\0\0\0\n{"uid": "01UID", "sta')
    (dead,) = Journal(str(folder)).of_the_dead()
    assert dead.data["state"] == "asked"


@pytest.mark.parametrize("content", ["", "{", '{"uid": "01UID", "state'])
def test_an_entry_cut_short_is_dropped(content: str, folder: Path) -> None:
    """Whoever died within the first write had pushed nothing."""
    folder.mkdir()
    (folder / "01UID.json").write_text(content)
    journal = Journal(str(folder))
    assert list(journal.of_the_dead()) == []
    assert journal.is_empty()


def test_a_removed_entry_is_gone_for_good(folder: Path) -> None:
    journal = Journal(str(folder))
    entry = journal.begin("01UID")
    entry.write(state="pushing")
    entry.remove()
    entry.remove()
    assert journal.is_empty()


def test_an_empty_journal_needs_no_folder(folder: Path) -> None:
    journal = Journal(str(folder))
    assert journal.is_empty()
    assert list(journal.of_the_dead()) == []


# --- through whole commands ---------------------------------------------------------------


def entries(clone: Clone) -> list[dict[str, object]]:
    return [
        json.loads(path.read_text().splitlines()[-1]) for path in sorted((clone.path / ".git" / "bd" / "journal").glob("*.json"))
    ]


def test_a_command_that_ended_leaves_no_entry(clone: Clones) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.bd("create", "Something")
    alice.bd("claim", "hub-a", "--agent", "coder")
    alice.bd("claim", "hub-a", "--agent", "other", code=5)
    alice.bd("close", "hub-nowhere", code=4)
    assert entries(alice) == []


def test_what_was_begun_says_what_it_was_about(clone: Clones) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    base = git(alice.path, "rev-parse", "HEAD")
    alice.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_STOP_AT": "push"}, code=137)
    [entry] = entries(alice)
    assert (entry["verb"], entry["agent"], entry["ids"], entry["state"]) == ("claim", "coder", ["hub-a"], "pushing")
    assert entry["base"] == base
    assert len(entry["commits"]) == len(entry["tokens"]) == 1


def test_what_can_no_longer_land_is_forgotten(clone: Clones, hub: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_STOP_AT": "push"}, code=137)
    bob.bd("comment", "hub-a", "in between")
    alice.bd("comment", "hub-a", "and after")
    assert entries(alice) == []
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.claim is None


def test_a_claim_for_named_beads_is_handed_only_to_the_same_request(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a", "hub-b")
    alice.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_STOP_AT": "pushed"}, code=137)
    assert alice.bd("claim", "hub-b", "--agent", "coder", "--json").json[0]["id"] == "hub-b"
    won = alice.bd("claim", "hub-a", "--agent", "coder", "--json").json[0]
    assert won["attempts"] == 1
    assert len(subjects(hub, "claim")) == 2
    assert entries(alice) == []


def test_a_lost_claim_that_was_taken_away_meanwhile_is_not_handed_over(clone: Clones, hub: Path) -> None:
    """The old token is dead; a new claim has its own."""
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    alice.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_STOP_AT": "pushed"}, code=137)
    lost = tip_bead(hub, "hub-a")
    bob.bd("release", "hub-a", "--reason", "nobody is there", "--force", "--agent", "overseer")
    bead = alice.bd("claim", "--next", "--agent", "coder", "--json").json[0]
    assert lost is not None
    assert lost.claim is not None
    assert bead["claim"]["token"] != lost.claim.token
    assert bead["claim"]["attempt"] == 2
    assert entries(alice) == []


@pytest.mark.parametrize("name", ["view", "published"])
@pytest.mark.parametrize("is_away", [True, False])
def test_a_lock_that_a_killed_git_left_on_a_private_ref_is_in_nobodys_way(
    name: str, is_away: bool, clone: Clones, hub: Path
) -> None:
    """Refs below refs/bd/ are bd's alone and moved under the clone's lock: whoever locked one is dead."""
    alice = clone("alice")
    seed(alice, "hub-a")
    alice.here("comment", "hub-a", "before")
    lock = alice.path / ".git" / "refs" / "bd" / f"{name}.lock"
    lock.touch()
    if is_away:
        url = git(alice.path, "remote", "get-url", "origin")
        git(alice.path, "remote", "set-url", "origin", "/nowhere")
        alice.here("comment", "hub-a", "after")
        git(alice.path, "remote", "set-url", "origin", url)
        alice.here("sync")
    else:
        alice.here("comment", "hub-a", "after")
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert [comment["text"] for comment in bead.comments] == ["before", "after"]


@pytest.mark.parametrize("verb", ["create", "comment"])
def test_an_unknown_write_that_landed_is_there_once(verb: str, clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    script = (
        f'if [ -e {tmp_path}/dead ]; then echo "fatal: unable to connect" >&2; exit 128; fi; '
        f'if [ "$verb" = push ]; then touch {tmp_path}/dead; "$real" "$@" >/dev/null 2>&1; exit 128; fi'
    )
    typed = {"create": ["create", "Something"], "comment": ["comment", "hub-a", "seen"]}[verb]
    result = alice.bd(*typed, "--json", code=6, env=git_wrapper(tmp_path / "bin", script))
    assert result.json["written"] == "unknown"
    assert [entry["state"] for entry in entries(alice)] == ["unknown"]
    alice.bd("sync")
    assert len(subjects(hub, verb)) == 1
    assert entries(alice) == []
    assert git(alice.path, "rev-parse", "HEAD") == tip(hub)


def test_an_unknown_write_that_did_not_land_is_not_made_up_for(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """Its author was told that it may or may not be there, and will look; carrying it out now could do it twice."""
    alice = clone("alice")
    seed(alice, "hub-a")
    script = (
        f'if [ -e {tmp_path}/dead ]; then echo "fatal: unable to connect" >&2; exit 128; fi; '
        f'if [ "$verb" = push ]; then touch {tmp_path}/dead; exit 128; fi'
    )
    result = alice.bd("comment", "hub-a", "seen", "--json", code=6, env=git_wrapper(tmp_path / "bin", script))
    assert result.json["written"] == "unknown"
    alice.bd("comment", "hub-a", "something else")
    alice.bd("sync")
    assert len(subjects(hub, "comment")) == 1
    assert entries(alice) == []


DEAD = (
    'if [ -e {flag} ]; then echo "fatal: unable to connect" >&2; exit 128; fi; '
    'if [ "$verb" = push ]; then touch {flag}; exit 128; fi'
)
TEXTS = {
    "create": ["create", "My long text", "-d", "important words"],
    "comment": ["comment", "hub-a", "important words"],
    "update": ["update", "hub-a", "--description", "important words"],
    "close": ["close", "hub-a", "--reason", "important words"],
    "fail": ["fail", "hub-a", "--reason", "crash", "--error", "important words", "--agent", "coder"],
}


@pytest.mark.one_in(18)
@pytest.mark.parametrize("verb", TEXTS)
def test_text_whose_push_never_arrived_is_kept_and_shown(verb: str, clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    if verb == "fail":
        alice.bd("claim", "hub-a", "--agent", "coder")
    env = git_wrapper(tmp_path / "bin", DEAD.format(flag=tmp_path / "dead"))
    refused = alice.bd(*TEXTS[verb], "--json", code=6, env=env)
    assert refused.json["written"] == "unknown"
    assert "may still reach the hub" in alice.bd("doctor").out
    bob.bd("create", "Somebody else's")
    told = alice.bd("create", "Another")
    (kept,) = alice.here("sync", "--kept", "--json").json
    assert "did not reach the hub" in told.err
    assert kept["uid"] in told.err
    assert "important words" in git(alice.path, "show", kept["commit"])
    assert "did not reach the hub" in alice.here("doctor").out
    assert entries(alice) == []
    assert all("important words" not in git(hub, "show", f"main:{path}") for path in tip_paths(hub))
    alice.here("sync", "--dismiss", kept["uid"])
    assert alice.here("sync", "--kept", "--json").json == []


def test_a_claim_whose_push_never_arrived_lapses_and_that_is_said(clone: Clones, hub: Path, tmp_path: Path) -> None:
    alice, bob = clone("alice"), clone("bob")
    seed(alice, "hub-a")
    env = git_wrapper(tmp_path / "bin", DEAD.format(flag=tmp_path / "dead"))
    assert alice.bd("claim", "hub-a", "--agent", "coder", "--json", code=6, env=env).json["written"] == "unknown"
    bob.bd("create", "Somebody else's")
    assert "the claim has lapsed" in alice.bd("create", "Another").err
    assert alice.here("sync", "--kept", "--json").json == []
    assert entries(alice) == []
    held = tip_bead(hub, "hub-a")
    assert held is not None
    assert held.claim is None


# A step of the journal that this version can't have written, or that something has damaged. The last line counts.
UNREADABLE = {
    "another version": b'{"uid": "01X", "state": "pushing", "v": 2, "commits": ["c"]}\n',
    "an unknown state": b'{"uid": "01X", "state": "splitting"}\n',
    "no JSON": b'{"uid": "01X", "state": "pushing"\n',
    "no object": b'["01X", "pushing"]\n',
    "bytes that are no text": b'{"uid": "01X", "state": "\xff"}\n',
    "another kind of value": b'{"uid": "01X", "state": "pushing", "commits": "c"}\n',
    "a good step before it": b'{"uid": "01X", "state": "begun"}\n{"uid": "01X", "state": "split\n',
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_entry_that_can_not_be_read_is_neither_decided_nor_dropped(what: str, clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    path = alice.path / ".git" / "bd" / "journal" / "01X.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(UNREADABLE[what])
    before = tip(hub)
    refused = alice.here("create", "Another", "--json", code=6)
    assert refused.json["written"] == "unknown"
    assert "update bd in this clone" in refused.json["hint"]
    assert str(path) in refused.json["error"]
    assert tip(hub) == before
    assert path.read_bytes() == UNREADABLE[what]
    assert [bead["id"] for bead in alice.here("list", "--json").json] == ["hub-a"]
    assert str(path) in alice.here("doctor", code=7).out
    path.unlink()
    alice.here("create", "Another")


@pytest.mark.parametrize("text", [b"", b'{"uid": "01X", "sta'])
def test_an_entry_whose_first_step_was_cut_off_pushed_nothing_and_goes(text: bytes, clone: Clones) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    path = alice.path / ".git" / "bd" / "journal" / "01X.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    alice.here("create", "Another")
    assert not path.exists()


def test_only_who_holds_the_lock_looks_at_what_the_dead_left(
    clone: Clones, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that is looked at is locked meanwhile, and would pass for that of a living process."""
    alice = clone("alice")
    seed(alice, "hub-a")
    folder = alice.path / ".git" / "bd"
    env = git_wrapper(tmp_path / "bin", DEAD.format(flag=tmp_path / "dead"))
    alice.bd("claim", "hub-a", "--agent", "coder", code=6, env=env)
    lock, of_the_dead, looks = CloneLock(str(folder / "lock"), 0, RUNTIME), Journal.of_the_dead, []

    def watched(journal: Journal) -> Iterator[Entry]:
        looks.append(lock.try_enter())
        if looks[-1]:
            lock.__exit__()
        return of_the_dead(journal)

    monkeypatch.setattr(Journal, "of_the_dead", watched)
    assert "may still reach the hub" in alice.here("doctor").out
    with lock:
        assert "may still reach the hub" not in alice.here("doctor").out, "its holder is about to settle it"
    alice.here("close", "hub-a", "--agent", "coder", check=False)
    alice.here("create", "Another")
    assert looks == [False] * len(looks)
    assert len(looks) >= 3


def test_a_half_written_answer_is_removed_by_who_may_write_answers(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal"))
    half = tmp_path / "journal" / "01A.answer.12-34"
    half.parent.mkdir()
    half.write_text('{"com')
    assert list(journal.of_the_dead()) == []
    assert journal.unreadable() == []
    assert half.exists(), "its writer may be writing it now"
    journal.put_back()
    assert not half.exists()
