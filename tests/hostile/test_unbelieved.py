"""What who is not believed may try beside a forged claim: other fields, other files, other places, other histories."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from bd.core.schema import BEAD_FIELDS
from bd.store.hub_location import locate
from bd.store.trust import guarded_fields
from bd.store.trust.authority import NOBODY
from bd.store.trust.verification import walk
from tests.hostile.test_signed_claims import FORGED, ada, codes, forge, key_path, state
from tests.runtime import RUNTIME, open_clone
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

__all__ = ["ada"]
pytestmark = [
    pytest.mark.slow,  # CI runs them beside the quick ones
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"),
]
_OPEN = "id: hub-a\nuid: UID\ntitle: Work\nstatus: open\npriority: 2\n"


def push(folder: Path, message: str = "by hand", *more: str) -> str:
    """Commit everything with plain git, unsigned, and push it."""
    git(folder, "add", "--all")
    git(folder, *more, "commit", "--quiet", "--allow-empty", "-m", message)
    git(folder, "push", "--quiet", "origin", "HEAD:main")
    return git(folder, "rev-parse", "HEAD")


def merge(folder: Path, tree: str, *parents: str) -> None:
    """Push a merge with any tree of any parents."""
    made = git(
        folder, "commit-tree", f"{tree}^{{tree}}", "-m", "merged", *(word for parent in parents for word in ("-p", parent))
    )
    git(folder, "push", "--quiet", "origin", f"{made}:refs/heads/main")


@pytest.fixture
def held(ada: Clone, clone: Clones) -> Clone:
    """hub-a is coder's, signed."""
    ada.here("claim", "hub-a", "--agent", "coder")
    assert state(ada) == "in_progress coder"
    return ada


def everywhere(clone: Clones, *known: Clone, expected: str, bead: str = "hub-a") -> None:
    """Those who have seen the hub before and who comes to it anew believe the same."""
    for reader in (*known, clone("fresh")):
        assert state(reader, bead) == expected, reader.path.name


def test_a_bead_taken_away_and_made_again_is_as_it_was(held: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    text = (mallory / "beads" / "hub-a.yaml").read_text()
    uid = next(line for line in text.splitlines() if line.startswith("uid: "))
    (mallory / "beads" / "hub-a.yaml").unlink()
    push(mallory)
    (mallory / "beads" / "hub-a.yaml").write_text(_OPEN.replace("uid: UID", uid))
    push(mallory)
    everywhere(clone, held, expected="in_progress coder")
    assert ("unsigned", "hub-a") in codes(held)


def test_a_bead_that_was_moved_is_as_it_was(held: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    (mallory / "beads" / "archive" / "2026-01").mkdir(parents=True)
    git(mallory, "mv", "beads/hub-a.yaml", "beads/archive/2026-01/hub-a.yaml")
    push(mallory)
    everywhere(clone, held, expected="in_progress coder")


def test_a_state_that_is_not_believed_is_no_better_at_another_path(ada: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    forge(mallory, text="id: hub-a\nuid: UID\ntitle: Work\nstatus: closed\nclosed_at: 2026-01-01T00:00:00Z\n")
    (mallory / "beads" / "archive" / "2026-01").mkdir(parents=True)
    git(mallory, "mv", "beads/hub-a.yaml", "beads/archive/2026-01/hub-a.yaml")
    push(mallory)
    ada.here("sync", "--agent", "ada")
    for reader in (ada, clone("fresh")):
        assert reader.here("show", "hub-a", "--json").json[0]["status"] == "open"


def test_a_second_file_of_an_archived_bead_opens_nothing(ada: Clone, clone: Clones) -> None:
    ada.here("close", "hub-a", "--reason", "done", "--agent", "ada")
    ada.here("archive", "--older-than", "0d", "--agent", "ada")
    assert not (ada.path / "beads" / "hub-a.yaml").exists()
    forge(clone("mallory").path, text=_OPEN)
    ada.here("sync", "--agent", "ada")
    for reader in (ada, clone("fresh")):
        assert reader.here("show", "hub-a", "--json").json[0]["status"] == "closed"


def test_a_broken_bead_is_told_and_mended_to_what_it_was(held: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    forge(mallory, text="[")
    assert ("unsigned", "hub-a") in codes(clone("other"))
    forge(mallory, text="id: hub-a\ntitle: Work\nstatus: open\n")
    everywhere(clone, held, expected="in_progress coder")


def test_every_guarded_field_stays_and_every_other_changes(ada: Clone, clone: Clones, hub: Path) -> None:
    """A bead with all fields; each one is changed by who is not believed."""
    typed = {
        "text": ("one", "two"),
        "int": ("1", "2"),
        "number": ("1.5", "2.5"),
        "bool": ("true", "false"),
        "time": ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        "duration": ("1h", "2h"),
        "list": ("[one]", "[two]"),
        "map": ("{one: 1}", "{two: 2}"),
        "maps": ("[{one: 1}]", "[{two: 2}]"),
        "any": ("1", "2"),
        "priority": ("1", "2"),
        "status": ("open", "blocked"),
    }
    special = {
        "id": ("hub-z", "hub-z"),
        "type": ("task", "bug"),
        "depends_on": ("[hub-b]", "[hub-c]"),
        "parent": ("hub-b", "hub-c"),
        "claim_mode": ("exclusive", "advisory"),
        "uid": ('"01ARZ3NDEKTSV4RRFFQ69G5FAZ"', '"01ARZ3NDEKTSV4RRFFQ69G5FAY"'),
        "claim": ("{agent: coder, token: one}", "{agent: coder, token: two}"),
        "claims": ("[{agent: coder, token: one}]", "[]"),
    }
    one, two = (
        "".join(f"{key}: {special.get(key, typed[kind])[place]}\n" for key, kind in BEAD_FIELDS.items()) for place in (0, 1)
    )
    folder = clone("coder").path
    made = clone("keys")
    del made
    forge(
        folder,
        key=str(hub.parent / "home" / "config" / "bd" / "keys" / "coder"),
        text=one,
        path="beads/hub-z.yaml",
        message="made",
    )
    ada.here("sync", "--agent", "ada")
    before = fields(ada)
    assert set(before) == set(BEAD_FIELDS)
    forge(folder, text=two, path="beads/hub-z.yaml", message="by hand")
    ada.here("sync", "--agent", "ada")
    for reader in (ada, clone("fresh")):
        after = fields(reader)
        changed = {key for key in BEAD_FIELDS if after.get(key) != before[key]}
        assert changed == guarded_fields.UNSIGNED_FIELDS - {"id"}


def fields(clone: Clone, bead: str = "hub-z") -> dict[str, object]:
    """All fields of a bead, as a clone believes them."""
    from bd.store.cache.cache import Cache
    from bd.store.git.discovery import find_repo

    clone.here("show", bead)
    repo = find_repo(str(clone.path))
    assert repo is not None
    cache = Cache(None, repo, RUNTIME)
    try:
        cache.move_to(repo.ref("refs/bd/published") or repo.ref("HEAD") or "")
        found = cache.bead(bead)
        assert found is not None
        return found[3]
    finally:
        repo.close()


def test_every_field_is_one_kind() -> None:
    assert set(BEAD_FIELDS) >= guarded_fields.UNSIGNED_FIELDS | guarded_fields.TERMS
    assert not guarded_fields.UNSIGNED_FIELDS & guarded_fields.TERMS


def test_a_new_bead_needs_no_signature_and_keeps_its_terms(ada: Clone, clone: Clones) -> None:
    text = "id: hub-n\ntitle: New\nstatus: closed\nattempts: 7\nneeds: [gpu]\ndepends_on: [hub-a]\nexclusive: disk\n"
    forge(clone("mallory").path, text=text, path="beads/hub-n.yaml", message="by hand")
    ada.here("sync", "--agent", "ada")
    for reader in (ada, clone("fresh")):
        bead = reader.here("show", "hub-n", "--json").json[0]
        assert bead["status"] == "open"
        assert not bead.get("attempts")
        assert bead["needs"] == ["gpu"]
        assert fields(reader, "hub-n")["exclusive"] == "disk"


@pytest.mark.parametrize(
    ("path", "text", "asked"),
    [
        (".beads/config.yaml", "format: 1\nprefix: hub\nrequire_signed: true\ndefaults: {expected: 1s}\n", ("config", "list")),
        (".beads/agents/coder.yaml", "name: coder\ncapabilities: [root]\nbudget_usd: 1000\n", ("agent", "show", "coder")),
        (".agent-status/coder.yaml", "agent: coder\nstatus: draining\n", ("agent", "status", "coder")),
        (".beads/triggers/evil.yaml", "name: evil\non: dag_done\nplan: [{title: Evil}]\n", ("trigger", "list")),
    ],
)
def test_the_hub_s_own_files_are_as_they_were(path: str, text: str, asked: tuple[str, ...], ada: Clone, clone: Clones) -> None:
    if "coder" in path:
        ada.here("agent", "add", "coder", "--capability", "git", "--agent", "ada")

    def told(reader: Clone) -> str:
        return reader.here(*asked, "--json", check=False).out.replace("fresh", "ada")

    before = told(ada)
    mallory = clone("mallory").path
    (mallory / path).parent.mkdir(exist_ok=True)
    (mallory / path).write_text(text)
    push(mallory)
    assert ("unsigned", "") in codes(clone("auditor"))
    ada.here("sync", "--agent", "ada")
    assert told(ada) == told(clone("fresh")) == before
    if path == ".beads/config.yaml":
        ada.here("config", "set", "defaults.heartbeat_interval", "6m", "--agent", "ada")
        assert "1s" not in git(ada.path, "show", f"origin/main:{path}"), "the next signed write puts it right"


def test_who_takes_the_signers_away_turns_nothing_off(ada: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    (mallory / ".beads" / "allowed_signers").unlink()
    push(mallory)
    forge(mallory)
    everywhere(clone, ada, expected="open -")


@pytest.mark.parametrize("broken", ["prefix: [", "prefix: hub\nrequire_signed: perhaps\n"])
@pytest.mark.usefixtures("ada")
def test_settings_that_can_not_be_read_turn_nothing_off(broken: str, clone: Clones, tmp_path: Path) -> None:
    """Also where somebody who may has broken them, and mends them again."""
    mallory, key, path = clone("mallory").path, key_path(tmp_path, "coder"), ".beads/config.yaml"
    sound = (mallory / path).read_text()
    forge(mallory, key=key, text=broken, message="by hand", path=path)
    assert (mallory / path).read_text() == broken
    forge(mallory)
    forge(mallory, key=key, text=sound, message="by hand", path=path)
    everywhere(clone, expected="open -")
    assert ("unsigned", "hub-a") in codes(clone("other"))


def test_what_is_believed_instead_is_there_once_for_all_later_commits(ada: Clone, clone: Clones) -> None:
    """Else a few thousand beads that somebody took away would be held as often as there are commits."""
    forge(clone("mallory").path)
    for number in range(3):
        ada.here("create", f"More {number}", "--agent", "ada")
    repo = open_clone(locate(str(ada.path))).repo
    *_, one, two, three = walk(repo, git(ada.path, "rev-parse", "HEAD"), None, NOBODY)
    assert set(one.masks) == {"hub-a"}
    assert one.masks is two.masks is three.masks


# --- merges ------------------------------------------------------------------------------------


def test_a_pull_that_merges_takes_nothing_back(ada: Clone, clone: Clones) -> None:
    """A person with plain git: edits, pulls what was signed meanwhile, and pushes the merge."""
    person = clone("person").path
    ada.here("claim", "hub-a", "--agent", "coder")
    (person / "beads" / "hub-new.yaml").write_text("id: hub-new\ntitle: New\nstatus: open\n")
    git(person, "add", "--all")
    git(person, "commit", "--quiet", "-m", "a new bead")
    git(person, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    assert len(git(person, "show", "-s", "--format=%P", "HEAD").split()) == 2
    git(person, "push", "--quiet", "origin", "HEAD:main")
    everywhere(clone, ada, expected="in_progress coder")
    assert codes(ada) == []
    ada.here("close", "hub-a", "--reason", "done", "--agent", "coder")
    everywhere(lambda name: clone(f"{name}2"), ada, expected="closed coder")


@pytest.mark.parametrize("tree", ["theirs", "ours"])
@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_a_merge_takes_no_claim_back(tree: str, first: str, ada: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    git(mallory, "commit", "--quiet", "--allow-empty", "-m", "beside")
    aside = git(mallory, "rev-parse", "HEAD")
    ada.here("claim", "hub-a", "--agent", "coder")
    git(mallory, "fetch", "--quiet")
    tip = git(mallory, "rev-parse", "origin/main")
    sides = {"ours": tip, "theirs": aside}
    merge(mallory, sides[tree], sides[first], sides["theirs" if first == "ours" else "ours"])
    everywhere(clone, ada, expected="in_progress coder")
    assert ("unsigned" in [code for code, _ in codes(ada)]) == (tree == "theirs")


def test_a_merge_brings_in_no_forged_claim(ada: Clone, clone: Clones) -> None:
    mallory = clone("mallory").path
    (mallory / "beads" / "hub-a.yaml").write_text(FORGED.replace("uid: UID\n", ""))
    git(mallory, "commit", "--quiet", "--all", "-m", "beside")
    aside = git(mallory, "rev-parse", "HEAD")
    ada.here("create", "More", "--agent", "ada")
    git(mallory, "fetch", "--quiet")
    merge(mallory, aside, aside, "origin/main")
    everywhere(clone, ada, expected="open -")


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_a_merge_with_what_was_before_turns_nothing_off(hides: bool, first: bool, ada: Clone, clone: Clones) -> None:
    """One side forked from before anybody was allowed; behind the merge a claim is forged."""
    mallory = clone("mallory").path
    root = git(mallory, "rev-list", "--max-parents=0", "HEAD").split()[0]
    git(mallory, "checkout", "--quiet", "--detach", root)
    git(mallory, "commit", "--quiet", "--allow-empty", "-m", "beside")
    aside = git(mallory, "rev-parse", "HEAD")
    merge(mallory, aside if hides else "origin/main", *((aside, "origin/main") if first else ("origin/main", aside)))
    git(mallory, "fetch", "--quiet")
    git(mallory, "checkout", "--quiet", "-B", "main", "origin/main")
    (mallory / "beads").mkdir(exist_ok=True)
    forge(mallory)
    ada.here("sync", "--agent", "ada")
    for reader in (ada, clone("fresh")):
        found = reader.here("show", "hub-a", "--json", check=False).json[0]
        assert found["status"] == "open"
        assert ("unsigned", "hub-a") in codes(reader)


@pytest.mark.parametrize("first", [False, True])
def test_who_lets_herself_in_beside_is_not_believed(first: bool, ada: Clone, clone: Clones, tmp_path: Path, hub: Path) -> None:
    """Another beginning, with another first signer: nobody can tell which is right, so that nobody is believed from there on."""
    mallory = clone("mallory").path
    key = key_path(tmp_path, "mallory")
    root = git(mallory, "rev-list", "--max-parents=0", "HEAD").split()[0]
    git(mallory, "checkout", "--quiet", "--detach", root)
    public = (tmp_path / "home" / "config" / "bd" / "keys" / "mallory.pub").read_text()
    (mallory / ".beads" / "allowed_signers").write_text(f"mallory {public}")
    git(mallory, "add", "--all")
    signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key}", "-c", "user.name=mallory"]
    git(mallory, *signing, "commit", "--quiet", "-S", "-m", "me first")
    aside = git(mallory, "rev-parse", "HEAD")
    merge(mallory, "origin/main", *((aside, "origin/main") if first else ("origin/main", aside)))
    git(mallory, "fetch", "--quiet")
    git(mallory, "checkout", "--quiet", "-B", "main", "origin/main")
    forge(mallory, key=key, message="claim", text=FORGED.replace("coder", "mallory"))
    everywhere(clone, ada, expected="open -")
    assert "unsigned" in [code for code, _ in codes(ada)]
    found = ada.here("claim", "hub-b", "--agent", "coder", "--json", check=False)
    assert found.code == 5
    assert "torn" in [one["code"] for one in ada.here("doctor", "--json", check=False).json["findings"]]
    assert tip_bead(hub, "hub-b").status == "open"


def revoked(ada: Clone, folder: Path) -> str:
    """Let coder sign no more; the hub's tip, as this clone then has it."""
    ada.here("identity", "revoke", "coder", "--agent", "ada")
    git(folder, "fetch", "--quiet")
    return git(folder, "rev-parse", "origin/main")


def before_coder(folder: Path) -> str:
    """The commit that let in ada, and nobody else yet."""
    return git(folder, "rev-list", "--reverse", "origin/main", "--", ".beads/allowed_signers").split()[0]


def test_a_merge_of_three_lets_nobody_in_again(ada: Clone, clone: Clones, tmp_path: Path) -> None:
    """Its first side is so old that what was taken back since looks new."""
    mallory = clone("mallory").path
    old, aside = before_coder(mallory), git(mallory, "rev-parse", "HEAD")
    tip = revoked(ada, mallory)
    merge(mallory, tip, old, tip, aside)
    forge(mallory, key=key_path(tmp_path, "coder"))
    everywhere(clone, ada, expected="open -")
    assert ("unsigned", "hub-a") in codes(ada)


def test_sides_that_have_met_before_let_nobody_in_again(
    ada: Clone, clone: Clones, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They parted at two commits, and at the later one coder was not let in yet."""
    mallory = clone("mallory").path
    old, before = before_coder(mallory), git(mallory, "rev-parse", "HEAD")
    git(mallory, "checkout", "--quiet", "--detach", old)
    with monkeypatch.context() as later:
        later.setenv("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z")
        git(mallory, "commit", "--quiet", "--allow-empty", "-m", "beside")
    beside = git(mallory, "rev-parse", "HEAD")
    merge(mallory, before, before, beside)
    aside = git(mallory, "commit-tree", f"{before}^{{tree}}", "-m", "aside", "-p", before, "-p", beside)
    tip = revoked(ada, mallory)
    merge(mallory, tip, tip, aside)
    git(mallory, "checkout", "--quiet", "-B", "main", before)
    forge(mallory, key=key_path(tmp_path, "coder"))
    everywhere(clone, ada, expected="open -")
    assert ("unsigned", "hub-a") in codes(ada)


@pytest.mark.parametrize("first", ["old", "tip"])
def test_a_merge_of_three_takes_nothing_back(first: str, ada: Clone, clone: Clones) -> None:
    """Of a bead that was open, then claimed, then closed, the claim does not come back."""
    mallory = clone("mallory").path
    old = git(mallory, "rev-parse", "HEAD")
    ada.here("claim", "hub-a", "--agent", "coder")
    git(mallory, "fetch", "--quiet")
    aside = git(mallory, "rev-parse", "origin/main")
    ada.here("close", "hub-a", "--reason", "done", "--agent", "coder")
    git(mallory, "fetch", "--quiet")
    tip = git(mallory, "rev-parse", "origin/main")
    merge(mallory, aside, *((old, tip, aside) if first == "old" else (tip, old, aside)))
    everywhere(clone, ada, expected="closed coder")
    assert ("unsigned", "hub-a") in codes(ada)


@pytest.mark.parametrize("start", ["root", "orphan"])
@pytest.mark.parametrize("first", [False, True])
def test_what_was_made_beside_as_nobody_was_asked_yet_is_not_believed(start: str, first: bool, ada: Clone, clone: Clones) -> None:
    """A side from before anybody was allowed, or with a beginning of its own, has a forged claim in it."""
    mallory = clone("mallory").path
    if start == "root":
        root = git(mallory, "rev-list", "--max-parents=0", "HEAD").split()[0]
        git(mallory, "checkout", "--quiet", "--detach", root)
    else:
        git(mallory, "checkout", "--quiet", "--orphan", "aside")
    text = git(mallory, "show", "origin/main:beads/hub-a.yaml")
    uid = next(line.partition(" ")[2] for line in text.splitlines() if line.startswith("uid: "))
    (mallory / "beads").mkdir(exist_ok=True)
    (mallory / "beads" / "hub-a.yaml").write_text(FORGED.replace("UID", uid))
    git(mallory, "add", "--all")
    git(mallory, "commit", "--quiet", "-m", "beside")
    aside = git(mallory, "rev-parse", "HEAD")
    git(mallory, "checkout", "--quiet", "--detach", "origin/main")
    (mallory / "beads" / "hub-a.yaml").write_text(FORGED.replace("UID", uid))
    git(mallory, "commit", "--quiet", "--all", "-m", "the same")
    made = git(mallory, "rev-parse", "HEAD")
    merge(mallory, made, *((aside, "origin/main") if first else ("origin/main", aside)))
    everywhere(clone, ada, expected="open -")
    assert ("unsigned", "hub-a") in codes(ada)


CLOSED = "id: hub-a\nuid: UID\ntitle: Work\nstatus: closed\nclosed_at: 2026-01-01T00:00:00Z\n"


def pull_signed(person: Path, key: str) -> None:
    """Commit something, pull, and push the merge, all of it signed by coder."""
    signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key}", "-c", "commit.gpgSign=true"]
    who = ["-c", "user.name=coder", "-c", "user.email=coder@hub"]
    (person / "beads" / "hub-new.yaml").write_text("id: hub-new\ntitle: New\nstatus: open\n")
    git(person, "add", "--all")
    git(person, *who, *signing, "commit", "--quiet", "-m", "a new bead")
    git(person, *who, *signing, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    assert len(git(person, "show", "-s", "--format=%P", "HEAD").split()) == 2
    assert "BEGIN SSH SIGNATURE" in git(person, "cat-file", "commit", "HEAD")
    git(person, "push", "--quiet", "origin", "HEAD:main")


@pytest.mark.parametrize("known", [False, True])
def test_who_pulls_and_signs_the_merge_has_not_signed_what_others_did(
    known: bool, ada: Clone, clone: Clones, tmp_path: Path
) -> None:
    """Also where the forged state was there already as the side parted."""
    mallory, person = clone("mallory").path, clone("person").path
    forge(mallory, text=CLOSED)
    if known:
        git(person, "pull", "--quiet", "--rebase")
        forge(mallory, text=CLOSED.replace("Work", "Work, renamed"))
    pull_signed(person, key_path(tmp_path, "coder"))
    everywhere(clone, ada, expected="open -")


@pytest.mark.parametrize("how", ["off", "gone"])
def test_who_pulls_and_signs_the_merge_turns_nothing_off_for_others(how: str, ada: Clone, clone: Clones, tmp_path: Path) -> None:
    mallory, person = clone("mallory").path, clone("person").path
    settings = mallory / ".beads" / "config.yaml"
    [line] = [line for line in settings.read_text().splitlines() if line.startswith("require_signed: ")]
    settings.write_text(settings.read_text().replace(line, "require_signed: false" if how == "off" else ""))
    push(mallory)
    pull_signed(person, key_path(tmp_path, "coder"))
    forge(mallory)
    everywhere(clone, ada, expected="open -")


def test_who_writes_in_a_merge_is_believed_of_that(ada: Clone, clone: Clones, tmp_path: Path) -> None:
    """Here what both sides have done to a bead is put together by hand."""
    mallory, person = clone("mallory").path, clone("person").path
    forge(mallory, text=CLOSED)
    git(person, "fetch", "--quiet")
    git(person, "commit", "--quiet", "--allow-empty", "-m", "beside")
    git(person, "merge", "--quiet", "--no-commit", "origin/main")
    text = (person / "beads" / "hub-a.yaml").read_text()
    (person / "beads" / "hub-a.yaml").write_text(f"{text}notes: It is done, I have looked.\n")
    git(person, "add", "--all")
    signing = ["-c", "gpg.format=ssh", "-c", f"user.signingkey={key_path(tmp_path, 'coder')}"]
    git(person, "-c", "user.name=coder", *signing, "commit", "--quiet", "-S", "-m", "merged")
    git(person, "push", "--quiet", "origin", "HEAD:main")
    everywhere(clone, ada, expected="closed -")
