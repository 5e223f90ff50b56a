"""A claim whose answer was lost is the agent's all the same: the next command of its clone finds the token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hub.hooks import git_wrapper
from tests.race.test_told_truly import entries
from tests.truth import tip_bead

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(24)

AWAY = 'echo "fatal: the remote end hung up unexpectedly" >&2; exit 128'
COMMANDS = {
    "close": ["--reason", "done"],
    "release": ["--reason", "later"],
    "fail": ["--reason", "crash", "--error", "broken"],
    "comment": ["half done"],
    "update": ["--title", "Other"],
    "heartbeat": [],
}


def lose_the_answer(clone: Clone, tmp_path: Path, *words: str) -> None:
    """Claim; the push arrives, and from then on the remote is away."""
    cut = tmp_path / "cut"
    script = f"""if [ "$verb" = push ]; then "$real" "$@" > /dev/null 2>&1; touch {cut}; fi
[ -e {cut} ] && case $verb in push|fetch|ls-remote) {AWAY};; esac"""
    lost = clone.bd("claim", *words, "--agent", "coder", "--json", env=git_wrapper(tmp_path / "bin", script), code=6)
    assert lost.json["written"] == "unknown"


@pytest.mark.parametrize("claim", [("hub-a",), ("--next",)])
@pytest.mark.parametrize("verb", COMMANDS)
def test_the_next_command_finds_the_token(verb: str, claim: tuple[str, ...], clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    lose_the_answer(ada, tmp_path, *claim)
    held = tip_bead(hub, "hub-a").get("claim")
    assert held["agent"] == "coder"
    ada.bd(verb, "hub-a", *COMMANDS[verb], "--agent", "coder")
    after = tip_bead(hub, "hub-a")
    assert (after.claim is None) == (verb in ("close", "release", "fail"))
    if after.claim is None:
        assert entries(ada) == []
    else:
        ada.bd("close", "hub-a", "--agent", "coder")
        assert tip_bead(hub, "hub-a").status == "closed"


def test_a_token_of_an_earlier_claim_does_not_hide_it(clone: Clones, hub: Path, tmp_path: Path) -> None:
    """Somebody else ended the earlier claim, and its clone still keeps the token."""
    ada, bob = clone("ada"), clone("bob")
    ada.here("create", "Do it", "--id", "hub-a")
    ada.here("claim", "hub-a", "--agent", "coder")
    bob.here("release", "hub-a", "--force", "--reason", "It is urgent")
    assert tip_bead(hub, "hub-a").claim is None
    lose_the_answer(ada, tmp_path, "hub-a")
    ada.bd("close", "hub-a", "--agent", "coder")
    assert tip_bead(hub, "hub-a").status == "closed"


def test_a_claim_that_was_killed_after_its_push_is_found_too(clone: Clones, hub: Path) -> None:
    ada = clone("ada")
    ada.here("create", "Do it", "--id", "hub-a")
    killed = ada.bd("claim", "hub-a", "--agent", "coder", env={"BD_TEST_STOP_AT": "pushed"}, check=False)
    assert killed.code == 137
    ada.bd("close", "hub-a", "--agent", "coder", "--reason", "done")
    assert tip_bead(hub, "hub-a").status == "closed"


@pytest.mark.parametrize("who", ["other agent", "other clone"])
def test_nobody_else_finds_it(who: str, clone: Clones, hub: Path, tmp_path: Path) -> None:
    ada, bob = clone("ada"), clone("bob")
    ada.here("create", "Do it", "--id", "hub-a")
    lose_the_answer(ada, tmp_path, "hub-a")
    asker, agent = (ada, "other") if who == "other agent" else (bob, "coder")
    assert "no token was given" in asker.bd("close", "hub-a", "--agent", agent, code=5).err
    assert tip_bead(hub, "hub-a").claim is not None
    ada.bd("close", "hub-a", "--agent", "coder")
