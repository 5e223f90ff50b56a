"""Who asks: the sources of an identity, who may claim, and the tokens that prove a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.running import run_here
from tests.runtime import RUNTIME
from tests.truth import git, tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

pytestmark = pytest.mark.one_in(6)

# The strongest first. Each is a way to give the name `<source>`, and what whoami calls it.
SOURCES = [
    ("flag", "--agent"),
    ("bd-agent", "BD_AGENT"),
    ("beads-actor", "BEADS_ACTOR"),
    ("bd-actor", "BD_ACTOR"),
    ("clone", "clone configuration"),
    ("user", "user configuration"),
]


@pytest.mark.parametrize("strongest", range(len(SOURCES)))
def test_the_strongest_source_names_the_agent(board: Clone, strongest: int) -> None:
    given = {name for name, _ in SOURCES[strongest:]}
    variables = {"bd-agent": "BD_AGENT", "beads-actor": "BEADS_ACTOR", "bd-actor": "BD_ACTOR"}
    for layer in ("clone", "user"):
        if layer in given:
            board.here("config", "set", "agent", layer, f"--{layer}")
    env = {variables[name]: name for name in given & set(variables)}
    flags = ["--agent", "flag"] if "flag" in given else []
    name, source = SOURCES[strongest]
    who = board.here("whoami", *flags, "--json", env=env).json
    assert (who["agent"], who["source"], who["owner"], who["can_claim"]) == (name, source, f"{name}@hub", True)
    claim = board.here("claim", "hub-bug", *flags, "--json", env=env).json[0]
    assert claim["claim"]["agent"] == name


def test_actor_is_the_same_as_agent(board: Clone) -> None:
    who = board.here("whoami", "--actor", "bob", "--json", env={"BD_AGENT": "other"}).json
    assert (who["agent"], who["source"]) == ("bob", "--actor")
    assert board.here("whoami", "--actor", "Ada Lovelace", "--json").json["agent"] == "ada-lovelace"


def test_without_a_name_git_serves_for_writes_and_claims_nothing(board: Clone) -> None:
    who = board.here("whoami", "--json").json
    assert (who["agent"], who["source"], who["by"], who["can_claim"]) == (
        "test-person",
        "git user.name",
        "human:Test Person",
        False,
    )
    assert board.here("create", "New", "--json").json["created_by"] == "human:Test Person"
    for args in (("claim", "hub-bug"), ("claim", "--next"), ("close", "hub-bug", "--next"), ("claim", "--next", "--count", "2")):
        refused = board.here(*args, code=2)
        assert "no agent is named" in refused.err
        assert "--agent NAME" in refused.err
        assert "BD_AGENT" in refused.err
        assert "bd whoami" in refused.err
    assert tip_bead(board.path, "hub-bug").status == "open"


def test_the_compatible_form_claims_as_gits_user(board: Clone) -> None:
    bead = board.here("update", "hub-bug", "--claim", "--json").json[0]
    assert (bead["assignee"], bead["owner"], bead["status"]) == ("test-person", "test-person@hub", "in_progress")
    again = board.here("update", "hub-bug", "--claim", check=False)
    assert again.code == 0, "it holds it already"
    other = board.here("update", "hub-bug", "--claim", env={"BD_SESSION": "another"}, check=False)
    assert other.code == 5
    assert "already claimed by test-person" in other.err


def test_the_login_name_serves_where_git_has_none(board: Clone, tmp_path: Path) -> None:
    (tmp_path / "home" / "gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    who = board.here("whoami", "--json", env={"USER": "ada"}).json
    assert (who["agent"], who["source"]) == ("ada", "login name")
    board.here("create", "New", env={"USER": "ada"})
    assert git(board.path, "log", "-1", "--format=%an") == "ada"


def test_the_domain_is_the_hubs(board: Clone) -> None:
    board.here("config", "set", "domain", "b4mad")
    claim = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]
    assert claim["owner"] == "bob@b4mad"
    assert board.here("whoami", "--agent", "bob", "--json").json["owner"] == "bob@b4mad"


def test_commits_name_who_wrote_them(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    assert git(board.path, "log", "-1", "--format=%an %s") == "bob claim: hub-bug by bob"
    board.here("comment", "hub-bug", "hello")
    assert git(board.path, "log", "-1", "--format=%an %ae") == "Test Person person@example.org"


# --- tokens -------------------------------------------------------------------------------


def test_the_clone_remembers_the_token(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    board.here("close", "hub-bug", "--reason", "done", "--agent", "bob")
    assert tip_bead(board.path, "hub-bug").status == "closed"


def test_another_agent_or_session_does_not_get_it(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    for how in ({"agent": "eve"}, {"agent": "bob", "session": "another"}):
        env = {"BD_SESSION": how.get("session", "test")}
        refused = board.here("close", "hub-bug", "--agent", how["agent"], "--json", env=env, code=5)
        assert refused.json["code"] == "stale_token"
        assert "BD_TOKEN" in refused.err
        assert "--resume" in refused.err
    assert tip_bead(board.path, "hub-bug").status == "in_progress"


def test_another_clone_does_not_have_it(clone: Callable[[str], Clone]) -> None:
    alice, bob = clone("alice"), clone("bob")
    bead_id = alice.here("q", "Shared").out.strip()
    token = alice.here("claim", bead_id, "--agent", "alice", "--json").json[0]["claim"]["token"]
    assert bob.here("close", bead_id, "--agent", "alice", "--json", code=5).json["code"] == "stale_token"
    bob.here("close", bead_id, "--agent", "alice", env={"BD_TOKEN": token})


def test_bd_token_wins(board: Clone) -> None:
    token = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]["token"]
    wrong = "0" * 26
    refused = board.here("close", "hub-bug", "--agent", "bob", "--json", env={"BD_TOKEN": wrong}, code=5)
    assert refused.json["code"] == "stale_token"
    assert "no longer current" in refused.err
    board.here("close", "hub-bug", "--agent", "whoever", env={"BD_TOKEN": token, "BD_SESSION": "elsewhere"})


def test_two_tokens_of_one_bead_and_none_is_supplied(board: Clone) -> None:
    """Which of two processes of one name is asking can't be told, so each has to say its token."""
    first = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]["token"]
    board.here("release", "hub-bug", "--reason", "later", "--agent", "overseer", "--force")
    text = board.here("claim", "hub-bug", "--agent", "bob")
    second = tip_bead(board.path, "hub-bug").claim.token
    assert f"export BD_TOKEN={second}" in text.out
    assert first != second
    refused = board.here("close", "hub-bug", "--agent", "bob", "--json", code=5)
    assert refused.json["code"] == "stale_token"
    assert "no token was given" in refused.err
    board.here("close", "hub-bug", "--agent", "bob", env={"BD_TOKEN": first}, code=5)
    board.here("close", "hub-bug", "--agent", "bob", env={"BD_TOKEN": second})


def test_a_claim_is_idempotent_for_who_holds_it(board: Clone) -> None:
    first = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]["token"]
    before = git(board.path, "rev-parse", "HEAD")
    elsewhere = {"BD_SESSION": "another"}
    for env in ({}, {**elsewhere, "BD_TOKEN": first}):
        assert board.here("claim", "hub-bug", "--agent", "bob", "--json", env=env).json[0]["claim"]["token"] == first
    board.here("claim", "hub-bug", "--agent", "bob", env=elsewhere, code=5)
    board.here("claim", "hub-bug", "--agent", "eve", code=5)
    assert git(board.path, "rev-parse", "HEAD") == before


def test_a_token_whose_claim_was_taken_away_ends_nothing(board: Clone) -> None:
    token = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]["token"]
    board.here("release", "hub-bug", "--reason", "gone silent", "--agent", "overseer", "--force")
    for env in ({}, {"BD_TOKEN": token}):
        refused = board.here("close", "hub-bug", "--reason", "done", "--agent", "bob", "--json", env=env, code=5)
        assert refused.json["code"] == "stale_token"
    assert tip_bead(board.path, "hub-bug").status == "open"
    board.here("close", "hub-bug", "--reason", "done", "--agent", "overseer")
    for env in ({}, {"BD_TOKEN": token}):
        board.here("close", "hub-bug", "--reason", "done", "--agent", "bob", env=env, code=5)
    board.here("close", "hub-bug", "--reason", "done", "--agent", "overseer")


def test_bd_token_of_one_bead_is_in_nobodys_way_at_another(board: Clone) -> None:
    token = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]["token"]
    other = board.here("q", "Another").out.strip()
    board.here("close", other, "--agent", "bob", env={"BD_TOKEN": token})


@pytest.mark.parametrize("which", [0, 1])
def test_bd_token_of_one_bead_beats_for_that_alone(board: Clone, which: int) -> None:
    """As in each command of `bd work --jobs 2`."""
    ids = ["hub-bug", board.here("q", "Another").out.strip()]
    claims = [board.here("claim", one, "--agent", "bob", "--json").json[0]["claim"]["token"] for one in ids]
    env = {"BD_TOKEN": claims[which]}
    assert board.here("heartbeat", "--agent", "bob", "--json", env=env).json["beads"] == [ids[which]]
    refused = board.here("heartbeat", ids[1 - which], "--agent", "bob", env=env, code=5)
    assert "no longer current" in refused.err


def test_what_was_closed_with_bd_token_is_closed_again_after_a_reopen(board: Clone) -> None:
    token = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]["token"]
    board.here("close", "hub-bug", "--agent", "bob", env={"BD_TOKEN": token})
    board.here("close", "hub-bug", "--agent", "bob", env={"BD_TOKEN": token})
    board.here("reopen", "hub-bug", "--agent", "bob")
    board.here("close", "hub-bug", "--agent", "bob")


def test_another_agent_in_the_clone_does_not_undo_a_claim(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    assert board.here("undo", "--agent", "eve", "--json", code=5).json["code"] == "stale_token"
    board.here("undo", "--agent", "bob")
    board.here("close", "hub-bug", "--agent", "bob")


def test_resume_takes_ones_own_claim_over(board: Clone) -> None:
    first = board.here("claim", "hub-bug", "--agent", "bob", "--json").json[0]["claim"]
    resumed = board.here("claim", "hub-bug", "--agent", "bob", "--resume", "--json", env={"BD_SESSION": "new"}).json[0]["claim"]
    assert resumed["token"] != first["token"]
    assert resumed["attempt"] == first["attempt"]
    board.here("close", "hub-bug", "--agent", "bob", env={"BD_TOKEN": first["token"]}, code=5)
    refused = board.here("claim", "hub-work", "--agent", "bob", "--resume", "--json", code=5)
    assert "codemonkey" in refused.err
    board.here("close", "hub-bug", "--agent", "bob", env={"BD_TOKEN": resumed["token"]})


def test_resume_without_an_id_takes_what_the_agent_holds(board: Clone) -> None:
    board.here("claim", "hub-bug", "--agent", "bob")
    assert board.here("claim", "--resume", "--agent", "bob", "--json").json[0]["id"] == "hub-bug"
    assert board.here("claim", "--resume", "--agent", "idler", "--json", code=3).json["code"] == "nothing_ready"


def test_force_with_a_reason_overrides_and_is_recorded(board: Clone) -> None:
    assert "needs --reason" in board.here("close", "hub-work", "--force", code=2).err
    for typed in (("close", "work"), ("cancel", "hub-work"), ("update", "hub-work", "--status", "open")):
        refused = board.here(*typed, "--force", "--json", code=2)
        assert "needs --reason" in refused.json["error"]
    board.here("close", "hub-work", "--force", "--reason", "its agent is gone")
    bead = tip_bead(board.path, "hub-work")
    assert bead is not None
    assert (bead.status, bead.get("close_reason"), bead.get("closed_by")) == ("closed", "its agent is gone", "human:Test Person")


def test_comments_labels_priority_and_links_are_free(board: Clone) -> None:
    for args in (
        ("comment", "hub-work", "how is it going?"),
        ("label", "add", "hub-work", "watched"),
        ("update", "hub-work", "--priority", "0"),
        ("dep", "add", "hub-work", "hub-bug", "--type", "related"),
        ("note", "hub-work", "seen"),
    ):
        board.here(*args, "--agent", "somebody-else")
    assert tip_bead(board.path, "hub-work").claim.agent == "codemonkey"


def test_an_agent_named_badly_is_refused_everywhere(board: Clone) -> None:
    for name in ("Bob", "a b", "-x", "a" * 64, "ümlaut", "../up"):
        refused = board.here("claim", "hub-bug", f"--agent={name}", "--json", code=2)
        assert "can't be an agent's name" in refused.err
        assert board.here("claim", "hub-bug", "--json", env={"BD_AGENT": name}, code=2).json["code"] == "bad_input"


def test_whoami_needs_a_hub(tmp_path: Path) -> None:
    run_here("whoami", "--agent", "bob", cwd=tmp_path, code=4)


@pytest.mark.parametrize("words", [("--json",), ()])
def test_a_claim_that_has_ended_in_the_same_push_is_not_told_as_held(
    board: Clone, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One push may carry the claim and, right behind it, what another command did about it."""
    from bd.operations.claims import Release
    from bd.store import Clone as Opened

    publish = Opened.publish

    def and_ended(hub: Any, operation: Any) -> Any:
        outcome = publish(hub, operation)
        release = Release(by="human:Ada", at=operation.at, runtime=RUNTIME, ids=["hub-bug"], reason="not now", force=True)
        return outcome.replace(commit=publish(hub, release).commit)

    monkeypatch.setattr(Opened, "publish", and_ended)
    told = board.here("claim", "hub-bug", "--agent", "bob", *words, code=5)
    assert "has ended it in the same push" in told.err
    if words:
        assert told.json["code"] == "stale_token"
    monkeypatch.undo()
    assert not list((board.path / ".git" / "bd" / "journal").glob("*.json")), "who claims next is not handed it"
    assert tip_bead(board.path, "hub-bug").status == "open"
