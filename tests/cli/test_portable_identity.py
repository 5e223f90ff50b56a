"""One identity on many hubs: its key, and what it says of itself: version, models, capabilities."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from bd.core.errors import BadInput
from bd.store.trust import agent_cards
from tests.running import Clone, run_here
from tests.truth import git, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Clones = Callable[[str], Clone]

pytestmark = [pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"), pytest.mark.one_in(4)]
SAID = ("--model", "opus,sonnet", "--capability", "git", "--capability", "python", "--agent-version", "1.4")
TOLD = {"version": "1.4", "models": ["opus", "sonnet"], "capabilities": ["git", "python"]}


@pytest.fixture
def second(tmp_path: Path) -> Clone:
    """A clone of another hub."""
    git(tmp_path, "init", "--quiet", "--bare", "-b", "main", "other.git")
    run_here("init", "other", "--prefix", "other", "--remote", str(tmp_path / "other.git"), cwd=tmp_path)
    return Clone(tmp_path / "other")


def shown(clone: Clone, agent: str = "coder") -> dict[str, object]:
    found: dict[str, object] = clone.here("identity", "show", "--agent", agent, "--json").json
    return found


def said_in(found: dict[str, object]) -> dict[str, object]:
    return {word: found[word] for word in agent_cards.KEYS if word in found}


def test_the_same_identity_serves_two_hubs(clone: Clones, second: Clone, hub: Path, tmp_path: Path) -> None:
    first = clone("alice")
    first.here("identity", "init", *SAID, "--agent", "coder")
    assert said_in(shown(first)) == said_in(shown(second)) == TOLD
    for one, bare in ((first, hub), (second, tmp_path / "other.git")):
        assert shown(one)["unlike"] == list(TOLD), "its agent file knows nothing yet"
        one.here("identity", "allow", "--agent", "coder")
        one.here("config", "set", "require_signed", "true", "--agent", "coder")
        assert "unlike" not in shown(one)
        assert b"capabilities: [git, python]" in (tip_file(bare, ".beads/agents/coder.yaml") or b"")
        bead = one.here("create", "Work", "--needs", "python", "--agent", "coder", "--json").json["id"]
        one.here("claim", bead, "--agent", "coder")
        assert one.here("audit", "--json").json["verified"]
        told = one.here("agent", "show", "coder", "--json").json
        assert (told["version"], told["models_available"]) == ("1.4", ["opus", "sonnet"])
    assert shown(first)["key"] == shown(second)["key"]


def test_a_file_carries_key_and_words_to_who_lets_it_in(clone: Clones, tmp_path: Path) -> None:
    """The agent's machine and the overseer's are two: what goes between them is one file."""
    ada = clone("ada")
    ada.here("identity", "init", "--agent", "ada")
    ada.here("identity", "allow", "--agent", "ada")
    there = {"XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}
    coder = clone("coder")
    coder.here("identity", "init", *SAID, "--agent", "coder", env=there)
    card = coder.here("identity", "show", "--agent", "coder", "--json", env=there)
    (tmp_path / "coder.json").write_text(card.out)
    ada.here("identity", "allow", "coder", str(tmp_path / "coder.json"), "--agent", "ada")
    assert {one["name"]: one["believed"] for one in ada.here("identity", "list", "--json").json} == {"ada": True, "coder": True}
    assert ada.here("agent", "show", "coder", "--json").json["capabilities"] == ["git", "python"]
    coder.here("sync", "--agent", "coder", env=there)
    again = coder.here("identity", "show", "--agent", "coder", "--json", env=there).json
    assert again["allowed"]
    assert "unlike" not in again


def test_what_an_agent_file_says_stays_and_is_carried_on(clone: Clones, second: Clone) -> None:
    first = clone("alice")
    first.here("agent", "add", "coder", "--capability", "gpu", "--model", "opus")
    first.here("identity", "init", "--agent", "coder")
    assert said_in(shown(second)) == {"models": ["opus"], "capabilities": ["gpu"]}
    second.here("agent", "add", "coder", "--capability", "git", "--role", "coding")
    told = second.here("agent", "show", "coder", "--json").json
    assert (told["capabilities"], told["models_available"]) == (["git"], ["opus"]), "what is typed wins"
    second.here("identity", "allow", "--agent", "coder")
    assert second.here("agent", "show", "coder", "--json").json["capabilities"] == ["git"]
    assert shown(second)["unlike"] == ["capabilities"]
    assert "differs in: capabilities" in second.here("identity", "show", "--agent", "coder").out


def test_saying_more_keeps_the_rest_and_the_key(clone: Clones) -> None:
    alice = clone("alice")
    key = alice.here("identity", "init", *SAID, "--agent", "coder", "--json").json["key"]
    found = alice.here("identity", "init", "--agent-version", "1.5", "--agent", "coder", "--json").json
    assert found["key"] == key
    assert said_in(found) == {**TOLD, "version": "1.5"}


def test_an_identity_needs_no_hub(tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    found = run_here("identity", "init", *SAID, "--agent", "coder", "--json", cwd=tmp_path / "nowhere").json
    assert said_in(found) == TOLD
    assert "allowed" not in found
    assert "this hub" not in run_here("identity", "show", "--agent", "coder", cwd=tmp_path / "nowhere").out


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "nothing", '{"version": 1}', '{"models": "opus"}', '{"models": [1]}', '{"capabilities": ["a\\u001bb"]}'),
        *(json.dumps({"models": ["x"] * 101}), json.dumps({"version": "x" * 201}), "[" * 100_000),
    ],
)
def test_whatever_is_no_identity_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        agent_cards.told_in(text, "it")


def test_what_came_before_is_shown_as_it_was(clone: Clones) -> None:
    """`--at` holds for whom the hub believes, too."""
    alice = clone("alice")
    alice.here("identity", "init", "--agent", "ada")
    before = git(alice.path, "rev-parse", "HEAD")
    alice.here("identity", "allow", "--agent", "ada")
    assert alice.here("identity", "show", "--agent", "ada", "--json").json["allowed"]
    assert not alice.here("identity", "show", "--agent", "ada", "--json", "--at", before).json["allowed"]
    assert alice.here("identity", "list", "--json", "--at", before).json == []
