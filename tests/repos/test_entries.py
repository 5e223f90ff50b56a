"""Entries of code repositories: what is taken, how they are written, trusted, and refused."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from bd.core.code_repos import Cloning, read_repo, repos_of
from bd.core.errors import BadInput
from bd.core.known_keys import unknown_keys
from tests.truth import git, tip_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.repos.conftest import Site
    from tests.running import Clone

pytestmark = pytest.mark.one_in(27)

GOOD = {"url": "https://git.example.org/relay.git", "base": "main"}


@pytest.mark.parametrize(
    "url",
    [
        *("ext::sh -c id", "fd::7", "-oProxyCommand=id", "--upload-pack=id", "", "relative/path", "./x", "a\nb", "x\x1b[0m"),
        *("https://", "https:///x", "ftp://h/x", "ssh://-oProxyCommand=id/x", "https://ada:secret@git.example.org/x"),
    ],
)
def test_a_url_that_git_must_not_get_is_refused(url: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_repo("relay", {**GOOD, "url": url})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["/srv/x.git", "https://h/x", "ssh://git@h:22/x", "git@h:x/y.git", "git://h/x", "file:///x"])
def test_a_url_of_a_repository_is_taken(url: str) -> None:
    assert read_repo("relay", {**GOOD, "url": url}).url == url


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("base", "a..b"),
        ("base", "refs/heads/main"),
        ("base", "-x"),
        ("base", "a b"),
        ("base", "x.lock"),
        ("base", 7),
        ("deliver", "merge"),
        ("setup", ["x"]),
        ("setup", "a\0b"),
        ("copy", "x"),
        ("copy", ["../x"]),
        ("copy", ["/etc/passwd"]),
        ("copy", [".git/config"]),
        ("copy", ["a/.GIT/hooks/x"]),
        ("cache", {"PATH": "x"}),
        ("cache", {"GIT_DIR": "x"}),
        ("cache", {"LD_PRELOAD": "x"}),
        ("cache", {"PIP": "../x"}),
        ("clone", {"filter": "sparse:oid=x"}),
        ("clone", {"sparse": ["../x"]}),
        ("clone", {"submodules": "yes"}),
        ("clone", {"min_free": "much"}),
        ("clone", {"depth": 1}),
        ("setpu", "make"),
    ],
)
def test_a_value_that_means_nothing_names_its_key(key: str, value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        read_repo("relay", {**GOOD, key: value})
    assert key in str(refused.value)


@pytest.mark.parametrize("name", ["", "Relay", "-x", "a/b", "..", "x..y", "con", "x.lock", ".x"])
def test_a_name_is_a_folder_too(name: str) -> None:
    with pytest.raises(BadInput):
        read_repo(name, GOOD)


def test_a_whole_entry_is_read() -> None:
    clone = {"filter": "blob:none", "sparse": ["src"], "submodules": True, "lfs": False, "min_free": "5GB"}
    entry = read_repo("relay", {**GOOD, "copy": [".env"], "cache": {"PIP_CACHE_DIR": "pip"}, "setup": "make", "clone": clone})
    assert (entry.copy, entry.cache, entry.setup, entry.deliver) == ((".env",), {"PIP_CACHE_DIR": "pip"}, "make", "push")
    assert entry.clone == Cloning("blob:none", ("src",), submodules=True, lfs=False, min_free=5 * 10**9)


def test_one_bad_entry_leaves_the_others() -> None:
    found, wrong = repos_of({"repos": {"good": GOOD, "bad": {"url": "x"}, "worse": 7}})
    assert ([*found], [*wrong]) == (["good"], ["bad", "worse"])


@pytest.mark.parametrize("size", ["9" * 400, "1." + "9" * 400, 10**400])
def test_an_entry_that_no_machine_has_room_for_is_not_valid(size: Any) -> None:
    found, wrong = repos_of({"repos": {1: GOOD, "vast": {**GOOD, "clone": {"min_free": size}}}})
    assert ([*found], [*wrong]) == (["1"], ["vast"])


def test_misspelt_keys_of_an_entry_are_named() -> None:
    found = unknown_keys(".beads/config.yaml", {"repos": {"relay": {**GOOD, "setpu": "x", "clone": {"filtre": 1}}}})
    assert [(one.key, one.nearest) for one in found] == [
        ("repos.relay.setpu", "repos.relay.setup"),
        ("repos.relay.clone.filtre", "repos.relay.clone.filter"),
    ]


# --- commands -----------------------------------------------------------------------------------


def test_add_takes_the_default_branch_and_keeps_what_is_not_typed(clone: Callable[[str], Clone], code: Path, hub: Path) -> None:
    alice = clone("alice")
    alice.here("repo", "add", "relay", "../code.git", "--setup", "make deps", "--min-free", "1GB")
    alice.here("repo", "add", "relay", "../code.git", "--deliver", "pull-request", "--setup", "")
    shown = alice.here("repo", "show", "relay", "--json").json
    expected = {"name": "relay", "url": str(code), "base": "main", "deliver": "pull-request", "clone": {"min_free": 10**9}}
    assert {key: value for key, value in shown.items() if key != "schema_version"} == expected
    assert b"make deps" not in (tip_file(hub, ".beads/config.yaml") or b"")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("relay", "nowhere.git"), "neither a URL nor an absolute path"),
        (("relay", "CODE", "--base", "mian"), "did you mean main?"),
        (("relay", "CODE", "--base", "a..b"), "can't be a branch"),
        (("relay", "CODE", "--cache", "PIP"), "is not VARIABLE=NAME"),
        (("relay", "ext::sh -c id"), "is not the URL"),
        (("Relay", "CODE"), "can't be a repository's name"),
    ],
)
def test_what_add_refuses(clone: Callable[[str], Clone], code: Path, words: tuple[str, ...], said: str) -> None:
    result = clone("alice").here("repo", "add", *(str(code) if word == "CODE" else word for word in words), code=2)
    assert said in result.err


def test_a_branch_called_agents_is_found_when_the_repository_is_added(clone: Callable[[str], Clone], code: Path) -> None:
    git(code, "branch", "agents", "main")
    assert "a branch agents" in clone("alice").here("repo", "add", "relay", str(code), code=2).err


def test_a_repository_that_is_gone_is_away_and_not_bad_input(clone: Callable[[str], Clone], code: Path) -> None:
    shutil.move(code, code.with_name("moved.git"))
    clone("alice").here("repo", "add", "relay", str(code), code=6)


def test_remove_takes_the_entry_away(site: Site) -> None:
    site.clone.here("repo", "remove", "relay")
    assert site.clone.here("repo", "list", "--json").json == []
    assert "did you mean" not in site.clone.here("repo", "remove", "relay", code=4).err


def test_a_url_that_is_not_trusted_here_is_not_asked(site: Site) -> None:
    site.clone.here("trust", "--revoke")
    shutil.move(site.code, site.code.with_name("moved.git"))
    assert "is not trusted" in site.clone.here("repo", "check", "relay", code=2).err


def test_check_says_whether_work_can_begin(site: Site) -> None:
    assert site.clone.here("repo", "check", "relay", "--json").json["may_push"] is True


# --- trust --------------------------------------------------------------------------------------


def test_every_key_of_an_entry_is_pinned(site: Site, clone: Callable[[str], Clone], code: Path) -> None:
    bob = clone("bob")
    changes = [("--setup", "id"), ("--teardown", "id"), ("--deliver", "none"), ("--copy", ".env"), ("--cache", "X=y"), ("--lfs",)]
    for words in changes:
        assert site.clone.here("trust", "--json").json[0]["trusted"] is True
        bob.here("repo", "add", "relay", str(code), *words)
        site.clone.here("sync")
        stopped = site.clone.here("repo", "list", "--json").json[0]["stopped"]
        assert "has changed since" in stopped, words
        assert [one["repo"] for one in site.clone.here("attention", "--json").json["repos"]] == ["relay"]
        site.clone.here("trust", "--yes")
    assert site.clone.here("attention", "--json").json["repos"] == []


def test_a_clone_that_never_trusted_an_entry_gets_no_work_and_no_alarm(site: Site, clone: Callable[[str], Clone]) -> None:
    bob = clone("bob")
    assert "is not trusted in this clone" in bob.here("repo", "list", "--json").json[0]["stopped"]
    assert bob.here("attention", "--json").json["repos"] == []


def test_trust_says_whom_it_means(site: Site) -> None:
    assert "that repository, and whoever may push to it" in site.clone.here("trust").out


def test_adding_pins_nothing_else(site: Site, clone: Callable[[str], Clone], code: Path) -> None:
    clone("bob").here("config", "set", "validators.tests", "make test")
    site.clone.here("sync")
    site.clone.here("repo", "add", "relay", str(code), "--setup", "make")
    found = {one["name"]: one["trusted"] for one in site.clone.here("trust", "--json").json}
    assert found == {"config.validators.tests": False, "config.repos.relay": True}


@pytest.mark.parametrize("variable", ["BD_TOKEN", "BD_BEAD_FILE"])
@pytest.mark.parametrize(
    "words",
    [
        ("trust", "--yes"),
        ("trust", "--revoke"),
        ("config", "set", "recover", "false"),
        ("config", "set", "agent", "x", "--clone"),
        ("config", "unset", "recover"),
        ("repo", "add", "relay", "CODE"),
        ("repo", "remove", "relay"),
        ("repo", "check", "relay"),
        ("take", "hub-1"),
        ("workspace", "prune", "hub-1", "--forget"),
    ],
)
def test_a_child_of_work_decides_nothing_about_the_machine(site: Site, variable: str, words: tuple[str, ...]) -> None:
    words = tuple(str(site.code) if word == "CODE" else word for word in words)
    assert "an agent can't" in site.clone.here(*words, env={variable: "x"}, code=5).err


def test_a_plan_with_dependencies_needs_a_repository_that_is_delivered(site: Site) -> None:
    plan = '{"title": "p", "tasks": [{"name": "a", "title": "A", "repo": "relay"}, {"name": "b", "title": "B", "repo": "relay", "depends_on": ["a"]}]}'
    site.clone.here("plan", "apply", "-", input=plan)
    site.clone.here("repo", "add", "relay", str(site.code), "--deliver", "none")
    assert "deliver: none" in site.clone.here("plan", "apply", "-", input=plan, code=2).err
    site.clone.here("plan", "apply", "-", input=plan.replace(', "depends_on": ["a"]', ""))


def test_a_repository_that_the_hub_does_not_have_is_named(site: Site, clone: Callable[[str], Clone]) -> None:
    assert "did you mean relay?" in site.clone.here("create", "X", "--repo", "rely").err
    bead = site.bead()
    assert "no repository elsewhere" in site.clone.here("update", bead, "--repo", "elsewhere").err
    assert site.clone.here("update", bead, "--repo", "relay").err == ""
    site.clone.here("repo", "remove", "relay")
    assert site.clone.here("create", "X", "--repo", "rely").err == ""
