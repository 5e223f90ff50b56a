"""A hub that requires signatures: what nobody who may has signed counts as not made, for readers, writers and the audit."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.running import Clone
from tests.truth import commit_file, git, tip, tip_bead, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"),
    pytest.mark.one_in(15),
]
FORGED = """\
id: hub-a
uid: UID
title: Work
type: task
status: in_progress
priority: 2
assignee: coder
owner: coder@hub
claimed_at: 2026-02-21T15:00:00Z
attempts: 1
claim: {agent: coder, token: 01ARZ3NDEKTSV4RRFFQ69G5FAV, attempt: 1, claimed_at: 2026-02-21T15:00:00Z, started_at: 2026-02-21T15:00:00Z}
"""
MESSAGE = """\
claim: hub-a by coder

Bd-Op: {"verb":"claim","uid":"01ARZ3NDEKTSV4RRFFQ69G5FAW","by":"agent:coder","at":"2026-02-21T15:00:00Z","args":{"ids":["hub-a"],"agent":"coder"}}
Bd-Bead: hub-a
Bd-Agent: coder
Bd-Token: 01ARZ3NDEKTSV4RRFFQ69G5FAV
Bd-Uid: 01ARZ3NDEKTSV4RRFFQ69G5FAW
Bd-Tries: 1
"""


def key_path(tmp_path: Path, name: str) -> str:
    return str(tmp_path / "home" / "config" / "bd" / "keys" / name)


def codes(clone: Clone) -> list[tuple[str, str]]:
    found = clone.here("audit", "--json", check=False).json["violations"]
    return [(one["code"], one.get("bead", "")) for one in found]


def state(clone: Clone, bead: str = "hub-a") -> str:
    """What a clone believes of a bead, by every way of reading it."""
    clone.here("sync", "--agent", "ada")
    shown = clone.here("show", bead, "--json").json[0]
    listed = next(one for one in clone.here("list", "--all", "--json").json if one["id"] == bead)
    ready = bead in [one["id"] for one in clone.here("ready", "--json").json]
    assert shown["status"] == listed["status"]
    assert ("claim" in shown) == (shown["status"] == "in_progress")
    assert ready == (shown["status"] == "open")
    return f"{shown['status']} {shown.get('assignee', '-')}"


@pytest.fixture
def ada(clone: Callable[[str], Clone]) -> Clone:
    """A clone of a hub where ada and coder may sign, that requires it, and has the beads hub-a and hub-b."""
    made = clone("ada")
    for name in ("ada", "coder", "mallory"):
        made.here("identity", "init", "--agent", name)
    made.here("identity", "allow", "--agent", "ada")
    made.here("identity", "allow", "coder", "--agent", "ada")
    made.here("config", "set", "require_signed", "true", "--agent", "ada")
    for bead in ("hub-a", "hub-b"):
        made.here("create", "Work", "--id", bead, "--agent", "ada")
    return made


def forge(
    folder: Path, *, key: str | None = None, text: str = FORGED, message: str = MESSAGE, path: str = "beads/hub-a.yaml"
) -> str:
    """A commit made with plain git under coder's name, signed with a key or not, and pushed."""
    git(folder, "pull", "--quiet", "--rebase")
    there = (folder / path).read_text() if (folder / path).exists() else ""
    uid = next(
        (line.partition(" ")[2] for line in there.splitlines() if line.startswith("uid: ")), '"01ARZ3NDEKTSV4RRFFQ69G5FAZ"'
    )
    (folder / path).write_text(text.replace("UID", uid))
    git(folder, "add", path)
    signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key}"] if key else []
    who = ["-c", "user.name=coder", "-c", "user.email=coder@hub"]
    git(folder, *who, *signing, "commit", "--quiet", *(["-S"] if key else []), "-m", message)
    git(folder, "push", "--quiet", "origin", "HEAD:main")
    return git(folder, "rev-parse", "HEAD")


def test_signed_work_goes_on_as_ever_and_audits_clean(ada: Clone, clone: Callable[[str], Clone], hub: Path) -> None:
    bob = clone("bob")
    bob.here("claim", "hub-a", "--agent", "coder")
    assert state(ada) == "in_progress coder"
    bob.here("close", "hub-a", "--next", "--agent", "coder")
    assert state(ada) == "closed coder"
    assert state(ada, "hub-b") == "in_progress coder"
    ada.here("release", "hub-b", "--force", "--reason", "overseen", "--agent", "ada")
    assert state(bob, "hub-b") == "open -"
    assert codes(ada) == codes(bob) == []
    assert git(hub, "log", "--format=%s").count("claim") >= 1


def test_who_has_no_key_that_is_believed_writes_nothing(ada: Clone, clone: Callable[[str], Clone], hub: Path) -> None:
    bob, before = clone("bob"), tip(hub)
    assert bob.here("claim", "hub-a", "--agent", "mallory", "--json", code=5).json["code"] == "not_allowed"
    assert bob.here("claim", "hub-a", "--agent", "nobody", "--json", code=2).json["code"] == "no_key"
    assert tip(hub) == before


@pytest.mark.one_in(45)
@pytest.mark.parametrize("how", ["unsigned", "with mallory's key", "with ada's key"])
def test_a_forged_claim_is_not_believed(how: str, ada: Clone, clone: Callable[[str], Clone], hub: Path, tmp_path: Path) -> None:
    key = {"unsigned": None, "with mallory's key": key_path(tmp_path, "mallory"), "with ada's key": key_path(tmp_path, "ada")}[
        how
    ]
    forge(clone("mallory").path, key=key)
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.status == "in_progress", "that is what stands there"
    fresh = clone("fresh")
    assert state(ada) == state(fresh) == "open -"
    found = codes(fresh)
    assert ("unsigned", "hub-a") in found
    assert "unsigned" in fresh.here("audit", "--json", code=7).out
    fresh.here("claim", "hub-a", "--agent", "coder")
    assert state(ada) == state(clone("last")) == "in_progress coder"
    real = tip_bead(hub, "hub-a")
    assert real is not None
    assert real.claim is not None
    assert real.claim.token not in FORGED
    assert real.attempts == 1


def test_a_signature_that_is_another_commit_s_proves_nothing(ada: Clone, clone: Callable[[str], Clone], hub: Path) -> None:
    bob = clone("bob")
    bob.here("claim", "hub-b", "--agent", "coder")
    mallory = clone("mallory").path
    forge(mallory)
    real, forged = (git(hub, "cat-file", "commit", name) for name in ("main~1", "main"))
    start = real.index("gpgsig ")
    signature = real[start : real.index("\n\n")]
    head, _, message = forged.partition("\n\n")
    data = f"{head}\n{signature}\n\n{message}\n".encode()
    replayed = git(hub, "hash-object", "-t", "commit", "-w", "--stdin", data=data)
    git(hub, "update-ref", "refs/heads/main", replayed)
    fresh = clone("fresh")
    assert state(fresh) == "open -"
    assert state(fresh, "hub-b") == "in_progress coder", "whose signature it is"
    assert "does not match this commit" in fresh.here("audit", code=7).out


def test_an_allowed_agent_takes_nothing_for_another(ada: Clone, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    ada.here("identity", "allow", "mallory", "--agent", "ada")
    message = MESSAGE.replace('"by":"agent:coder"', '"by":"agent:mallory"')
    forge(clone("mallory").path, key=key_path(tmp_path, "mallory"), message=message)
    fresh = clone("fresh")
    assert state(fresh) == state(ada) == "open -"
    assert ("unsigned", "hub-a") in codes(fresh)


def test_a_revoked_key_signs_no_more_and_what_it_signed_stays(
    ada: Clone, clone: Callable[[str], Clone], hub: Path, tmp_path: Path
) -> None:
    bob = clone("bob")
    bob.here("claim", "hub-b", "--agent", "coder")
    ada.here("identity", "revoke", "coder", "--agent", "ada")
    assert b"valid-before=" in (tip_file(hub, ".beads/allowed_signers") or b"")
    assert state(clone("fresh"), "hub-b") == "in_progress coder"
    assert codes(ada) == []
    before = tip(hub)
    assert bob.here("claim", "hub-a", "--agent", "coder", "--json", code=5).json["code"] == "not_allowed"
    assert tip(hub) == before
    backdated = clone("thief").path  # the key is stolen, and the date is made up
    subprocess.run(["git", "-C", str(backdated), "config", "user.useConfigOnly", "false"], check=True)
    forge(backdated, key=key_path(tmp_path, "coder"))
    assert state(ada) == "open -"
    assert codes(ada) == [("unsigned", "hub-a")]


@pytest.mark.one_in(30)
@pytest.mark.parametrize("what", ["a line is added", "the requirement is turned off"])
def test_what_decides_whose_word_counts_is_changed_only_by_those(
    what: str, ada: Clone, clone: Callable[[str], Clone], tmp_path: Path
) -> None:
    folder = clone("mallory").path
    if what == "a line is added":
        public = (tmp_path / "home" / "config" / "bd" / "keys" / "mallory.pub").read_text()
        lines = (folder / ".beads" / "allowed_signers").read_text() + f"mallory {public}"
        forge(folder, key=key_path(tmp_path, "mallory"), path=".beads/allowed_signers", text=lines, message="let me in")
    else:
        forge(folder, path=".beads/config.yaml", text="format: 1\nprefix: hub\n", message="no more signatures")
    forge(
        folder,
        key=key_path(tmp_path, "mallory"),
        message=MESSAGE.replace("coder", "mallory"),
        text=FORGED.replace("coder", "mallory"),
    )
    fresh = clone("fresh")
    for reader in (fresh, ada):
        assert state(reader) == "open -"
        assert ("unsigned", "hub-a") in codes(reader)
        assert ("unsigned", "") in codes(reader), "the change itself too"
    if what == "a line is added":
        said = {one["name"]: one["believed"] for one in fresh.here("identity", "list", "--json").json}
        assert said == {"ada": True, "coder": True, "mallory": False}
        ada.here("identity", "allow", "mallory", "--agent", "ada", check=False)
    ada.here("claim", "hub-b", "--agent", "coder")
    assert state(clone("last"), "hub-b") == "in_progress coder"
    assert state(clone("later")) == "open -", "nobody has believed it since"


def test_a_person_signs_by_hand(ada: Clone, clone: Callable[[str], Clone], tmp_path: Path) -> None:
    closed = "id: hub-a\nuid: UID\ntitle: Work\nstatus: closed\npriority: 2\n"
    folder = clone("other").path
    forge(folder, text=closed, message="by hand")
    assert state(ada) == "open -"
    forge(folder, text=closed + "notes: signed\n", message="by hand", key=key_path(tmp_path, "coder"))
    assert state(ada) == state(clone("fresh")) == "closed -"


def test_nobody_signs_for_another_clone(ada: Clone, clone: Callable[[str], Clone], hub: Path) -> None:
    bob = clone("bob")
    bob.here("list")
    racing = [ada.start("claim", "hub-a", "--agent", "coder"), bob.start("claim", "hub-b", "--agent", "ada")]
    for process in racing:
        process.communicate()
        assert process.returncode == 0
    assert codes(ada) == []
    assert all("gpgsig" in git(hub, "cat-file", "commit", commit) for commit in git(hub, "rev-list", "main~2..main").split())


def test_without_anybody_who_may_sign_nothing_is_required(clone: Callable[[str], Clone]) -> None:
    alone = clone("alone")
    alone.here("config", "set", "require_signed", "true")
    alone.here("create", "Work", "--id", "hub-a")
    alone.here("claim", "hub-a", "--agent", "coder")
    assert codes(alone) == []


def test_what_was_there_before_is_believed(clone: Callable[[str], Clone], hub: Path) -> None:
    early = clone("early")
    commit_file(early.path, "beads/hub-z.yaml", FORGED.replace("hub-a", "hub-z"))
    git(early.path, "push", "--quiet", "origin", "main")
    early.here("identity", "init", "--agent", "ada")
    early.here("identity", "allow", "--agent", "ada")
    early.here("config", "set", "require_signed", "true", "--agent", "ada")
    assert state(clone("fresh"), "hub-z") == "in_progress coder"


def test_a_shallow_clone_begins_with_what_it_has(ada: Clone, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{hub}", "shallow")
    shallow = Clone(tmp_path / "shallow")
    forge(clone("mallory").path)
    assert state(shallow) == "open -"


def test_the_doctor_says_that_nobody_may_sign(clone: Callable[[str], Clone]) -> None:
    alone = clone("alone")
    alone.here("config", "set", "require_signed", "true")
    found = alone.here("doctor", "--json").json["findings"]
    assert [one["code"] for one in found] == ["nobody_signs"]


@pytest.mark.parametrize("verb", ["delete", "edit", ""])
def test_a_bead_that_nobody_who_may_has_removed_is_told(verb: str, ada: Clone, clone: Callable[[str], Clone]) -> None:
    """It stays gone for readers, since nobody can say what it would be by now; whoever audits hears of it, whatever it says of itself."""
    other = clone("mallory")
    form = f'{{"verb":"{verb}","uid":"01ARZ3NDEKTSV4RRFFQ69G5FAW","by":"agent:ada","at":"2026-02-21T15:00:00Z","args":{{"ids":["hub-b"]}}}}'
    git(other.path, "rm", "--quiet", "beads/hub-b.yaml")
    git(other.path, "commit", "--quiet", "-m", f"{verb}: hub-b\n\nBd-Op: {form}\n" if verb else "tidied up")
    git(other.path, "push", "--quiet", "origin", "HEAD")
    assert ("unsigned", "hub-b") in codes(clone("fresh"))


# --- signed, and still not true ---------------------------------------------------------------


@pytest.fixture
def mallory(ada: Clone, clone: Callable[[str], Clone]) -> Clone:
    """A clone of mallory, who may sign, while coder holds hub-a; hub-b is open."""
    ada.here("identity", "allow", "mallory", "--agent", "ada")
    clone("coder").here("claim", "hub-a", "--agent", "coder")
    return clone("mallory")


def token_of(hub: Path) -> str:
    bead = tip_bead(hub, "hub-a")
    assert bead is not None
    assert bead.claim is not None
    return bead.claim.token


def closes_anothers_claim(mallory: Clone, hub: Path, tmp_path: Path) -> None:
    mallory.here("close", "hub-a", "--agent", "mallory", env={"BD_TOKEN": token_of(hub)})


def frees_a_claim_of_a_moment_ago(mallory: Clone, hub: Path, tmp_path: Path) -> None:
    """As `bd stalled --reassign` would, a second after the claim."""
    bead = tip_bead(hub, "hub-a")
    claim = bead.get("claim")
    stall = {"id": "hub-a", "token": claim["token"], "attempt": 1, "why": "overdue", "since": claim["started_at"]}
    form = {"verb": "reassign", "uid": "01ARZ3NDEKTSV4RRFFQ69G5FAX", "by": "agent:mallory", "at": claim["started_at"]}
    message = f"reassign: hub-a by mallory\n\nBd-Op: {json.dumps({**form, 'args': {'stalls': [stall]}})}\nBd-Agent: mallory\n"
    text = "id: hub-a\nuid: UID\ntitle: Work\nstatus: open\npriority: 2\nattempts: 1\n"
    forge(mallory.path, text=text, message=message, key=key_path(tmp_path, "mallory"))


def writes_with_a_clock_that_is_behind(mallory: Clone, hub: Path, tmp_path: Path) -> None:
    mallory.here("comment", "hub-b", "long ago", "--agent", "mallory", env={"BD_TEST_CLOCK_OFFSET_S": "-7200"})


@pytest.mark.one_in(30)
@pytest.mark.parametrize(
    ("does", "code"),
    [
        (closes_anothers_claim, "not_holder"),
        (frees_a_claim_of_a_moment_ago, "unproved_stall"),
        (writes_with_a_clock_that_is_behind, "backdated"),
    ],
)
def test_what_signatures_prove_of_the_rest_is_a_violation(
    does: Callable[[Clone, Path, Path], None], code: str, mallory: Clone, hub: Path, tmp_path: Path, clone: Callable[[str], Clone]
) -> None:
    does(mallory, hub, tmp_path)
    found = clone("fresh").here("audit", "--json", code=7).json
    assert [(one["code"], one["commit"], one["by"]) for one in found["violations"]] == [(code, tip(hub), "mallory")]
    assert found["notes"] == []


def test_what_was_kept_while_the_hub_was_away_is_dated_by_when_it_was_published(mallory: Clone, hub: Path, ada: Clone) -> None:
    hours_ago = {"BD_TEST_CLOCK_OFFSET_S": "-7200"}
    away = hub.rename(hub.with_name("away.git"))
    mallory.here("comment", "hub-b", "kept", "--agent", "mallory", env=hours_ago)
    away.rename(hub)
    ada.here("comment", "hub-b", "newer", "--agent", "ada")
    mallory.here("sync", "--agent", "mallory")
    written, placed = (int(git(hub, "log", "-1", f"--format={form}")) for form in ("%at", "%ct"))
    assert placed - written > 7000
    found = ada.here("audit", "--fetch", "--json").json
    assert (found["violations"], found["notes"]) == ([], [])


def test_a_stall_that_others_can_confirm_audits_clean(mallory: Clone, ada: Clone, hub: Path) -> None:
    later = {"BD_TEST_CLOCK_OFFSET_S": "10000"}
    ada.here("comment", "hub-b", "confirms the clock", "--agent", "ada", env=later)
    mallory.here("stalled", "--reassign", "--agent", "mallory", env=later)
    assert tip_bead(hub, "hub-a").claim is None
    found = ada.here("audit", "--fetch", "--json").json
    assert (found["violations"], found["notes"]) == ([], [])
