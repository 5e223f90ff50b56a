"""Servers with rules for commits: what a hub can set so that every commit of bd keeps them, and what is told where one does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hub.hooks import hook
from tests.race.seeds import seed
from tests.running import run_here
from tests.truth import git, tip

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.running import Clone

    Clones = Callable[[str], Clone]

pytestmark = pytest.mark.one_in(15)

# Every new commit of the branch has to pass; `$c` is the commit.
EACH = """
while read old new ref; do
  case $ref in refs/heads/*) ;; *) continue ;; esac
  case $old in 0000*) range=$new ;; *) range=$old..$new ;; esac
  for c in $(git rev-list $range); do RULE; done
done
"""
SIGNED_OFF = EACH.replace(
    "RULE",
    """
    by=$(git log -1 --format='%an <%ae>' $c)
    [ "$(git log -1 --format='%(trailers:key=Signed-off-by,valueonly)' $c)" = "$by" ] || { echo "sign-off of $by is missing" >&2; exit 1; }""",
)
PATTERN = EACH.replace(
    "RULE", "git log -1 --format=%s $c | grep -q '^chore(beads): [a-z-]*: ' || { echo 'subject: chore(beads): ...' >&2; exit 1; }"
)
TICKET = EACH.replace(
    "RULE", "git log -1 --format='%(trailers:key=Ticket,valueonly)' $c | grep -qx OPS-1 || { echo 'no ticket' >&2; exit 1; }"
)
SIZE = EACH.replace("RULE", '[ $(git cat-file commit $c | wc -c) -lt 2000 ] || { echo "message too long" >&2; exit 1; }')


def write_everything(alice: Clone) -> None:
    """A commit by each road: made, claimed, edited by hand and published, closed; a setting."""
    alice.here("create", "New", "--id", "hub-new")
    alice.here("claim", "hub-new", "--agent", "coder")
    file = alice.path / "beads" / "hub-new.yaml"
    file.write_text(file.read_text() + "notes: by hand\n")
    alice.here("sync")
    alice.here("close", "hub-new", "--agent", "coder")
    alice.here("config", "set", "claim_ttl", "20m")


RULES = {
    "sign-off": (SIGNED_OFF, "sign_off", "true", "sign-off of Test Person"),
    "a pattern": (PATTERN, "commit_prefix", "chore(beads): ", "subject: chore(beads)"),
    "a trailer": (TICKET, "commit_trailers", "Ticket: OPS-1", "no ticket"),
}


@pytest.mark.parametrize("layer", ["hub", "clone"])
@pytest.mark.parametrize("rule", RULES)
def test_a_hub_with_a_rule(rule: str, layer: str, clone: Clones, hub: Path) -> None:
    script, key, value, words = RULES[rule]
    alice = clone("alice")
    if layer == "hub":
        alice.here("config", "set", key, value)
    else:
        hook(hub, "pre-receive", script)
        refused = alice.here("create", "Not so", "-d", "my text", "--json", code=5)
        assert words in refused.json["error"]
        assert refused.json["written"] == "local"
        [kept] = alice.here("sync", "--kept", "--json").json
        assert "my text" in git(alice.path, "show", kept["commit"])
        alice.here("config", "set", key, value, "--clone")
    hook(hub, "pre-receive", script)
    before = tip(hub)
    write_everything(alice)
    assert len(git(hub, "rev-list", f"{before}..main").split()) == 5
    assert alice.here("audit", "--json").json["violations"] == []


def test_gits_own_setting_signs_off_and_a_hub_is_made_by_the_rules(tmp_path: Path) -> None:
    bare = tmp_path / "rules.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    hook(bare, "pre-receive", SIGNED_OFF)
    run_here("init", "first", "--remote", str(bare), cwd=tmp_path, code=5)
    git(tmp_path, "config", "--global", "format.signOff", "true")
    run_here("init", "first", "--prefix", "hub", "--remote", str(bare), cwd=tmp_path)
    shown = run_here("config", "show", "--json", cwd=tmp_path / "first").json["sign_off"]
    assert shown == {"value": True, "source": "git"}
    run_here("create", "Signed", cwd=tmp_path / "first")


def test_a_limit_refuses_what_is_too_long_and_keeps_it(clone: Clones, hub: Path) -> None:
    alice = clone("alice")
    seed(alice, "hub-a")
    hook(hub, "pre-receive", SIZE)
    long = "many words " * 300
    refused = alice.here("comment", "hub-a", long, "--json", code=5)
    assert "message too long" in refused.json["error"]
    assert "scope" not in refused.json
    [kept] = alice.here("sync", "--kept", "--json").json
    assert long.strip() in git(alice.path, "show", kept["commit"])
    alice.here("comment", "hub-a", "few words")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("commit_trailers", "Bd-Verdict: all is well"),
        ("commit_trailers", "bd-op: {}"),
        ("commit_trailers", "no trailer"),
        ("commit_trailers", "Two words: x"),
        ("commit_prefix", "two\nlines"),
        ("commit_prefix", "x" * 200),
    ],
)
def test_what_would_forge_a_commit_is_no_setting(key: str, value: str, clone: Clones) -> None:
    assert clone("alice").here("config", "set", key, value, "--json", code=2).json["code"] == "bad_input"
